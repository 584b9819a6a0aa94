"""How much each component matters: evaluations of variants of a model, and the scores made of them."""
