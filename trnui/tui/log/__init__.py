"""The log viewer."""
