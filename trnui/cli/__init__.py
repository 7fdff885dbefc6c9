"""The command line; commands/ holds one module a command."""
