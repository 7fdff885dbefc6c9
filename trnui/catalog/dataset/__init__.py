"""From Parquet files on disk to normalized rows."""
