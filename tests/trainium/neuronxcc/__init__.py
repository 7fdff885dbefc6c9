"""Stand-in for neuronxcc: its version alone, read from the installed-distribution folder beside it."""

from importlib.metadata import version

__version__ = version("neuronx-cc")
