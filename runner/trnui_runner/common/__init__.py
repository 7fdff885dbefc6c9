"""Ground floor: errors, text, files, the dataset's schema, host programs. Imports nothing else of ours."""
