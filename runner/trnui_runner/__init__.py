"""Runs one test of one checkpoint on this host and leaves a run folder behind. Knows nothing of the explorer."""

__version__ = "0.1.0"
