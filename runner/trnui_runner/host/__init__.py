"""What this host has: Neuron devices, cores and their owners, interpreters, stack, NEFF cache."""
