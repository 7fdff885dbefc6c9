"""Answers made of answers: compare, failures, a model's report, export."""
