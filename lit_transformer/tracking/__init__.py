"""What goes to Weights & Biases, under which names; without an account and a network just as with them."""
