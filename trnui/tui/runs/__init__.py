"""All runs and batches of this host: their list, and the monitor that says when one has ended."""
