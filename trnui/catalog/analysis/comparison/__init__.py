"""Two stacks, or two commits of the dataset, set side by side."""
