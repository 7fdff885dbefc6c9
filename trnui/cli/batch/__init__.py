"""What the sub-commands of `trnui batch` share: making a batch, where its rows are from, following it."""
