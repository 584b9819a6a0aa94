"""What a command shows in the terminal, and how it answers signals."""
