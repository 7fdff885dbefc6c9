"""Everything about a run on screen."""
