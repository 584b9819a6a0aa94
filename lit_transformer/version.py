"""The version of the program; it imports nothing, so that everything may import it."""

__version__ = "0.1.0"
