"""Many rows as one batch: its folder, the order in which rows start, the keeper that starts them, and the engines below it."""
