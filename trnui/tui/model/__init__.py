"""A model's page."""
