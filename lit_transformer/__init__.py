"""Train a translation Transformer and find out which of its sub-layers matter."""

__version__ = "0.1.0"
