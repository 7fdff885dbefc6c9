"""May it run here: preflight checks, consent, and the summary of this host."""
