"""Pictures, tables and pages made of the scores of a run."""
