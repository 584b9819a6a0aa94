"""Parallel text: corpora, tokenizer, encoded tables, batches."""
