"""Which checkpoints run on AWS Trainium, with which stack, and does it run here: explorer and command line."""

__version__ = "0.1.0"
