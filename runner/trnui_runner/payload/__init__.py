"""Code that the run's own interpreter executes by file path: Python 3.10, standard library, torch and transformers."""
