"""Compare, failures and SQL."""
