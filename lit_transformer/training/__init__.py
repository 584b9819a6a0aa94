"""The Lightning shell: module, Trainer, and the analysis of a trained model."""
