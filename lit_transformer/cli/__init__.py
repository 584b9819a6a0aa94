"""The command line on top of LightningCLI."""
