"""Bodies of the commands that `trnui` and `trnui-runner` share."""
