"""Studies: arms that start from the same trained models, and the controls that make their comparison honest."""
