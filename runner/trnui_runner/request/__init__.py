"""What to run: from a run request to the script, its steps and its NeuronCores."""
