"""Metrics of translation quality: corpus BLEU and chrF."""
