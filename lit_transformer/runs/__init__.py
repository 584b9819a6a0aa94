"""The folder of a run, and readers for its files."""
