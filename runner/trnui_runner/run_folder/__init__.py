"""The run folder: its files, its events, and whoever follows them."""
