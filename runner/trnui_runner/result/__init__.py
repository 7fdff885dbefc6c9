"""What came out of a run: verdict, dataset row, bug report."""
