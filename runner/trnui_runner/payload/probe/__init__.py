"""Loaded into every Python process of a run, by path: `sitecustomize` waits for torch, `trnui_probe` then observes it.

Nothing of trnui imports these files; they need Python 3.10 or newer and its standard library alone.
"""
