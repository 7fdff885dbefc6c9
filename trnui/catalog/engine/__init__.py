"""DuckDB over the rows, and every question asked of it."""
