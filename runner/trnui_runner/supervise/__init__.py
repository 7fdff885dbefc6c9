"""Start a run, watch it from outside, and end all of it."""
