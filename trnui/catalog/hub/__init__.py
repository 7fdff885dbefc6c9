"""Everything that talks to the Hugging Face Hub."""
