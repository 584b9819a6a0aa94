"""Lightning callbacks: scoring of components, checkpoints, monitors."""

from callbacks.average_checkpoint import AverageCheckpoint
from callbacks.best_checkpoints import BestBLEUCheckpoint, BestLossCheckpoint, LastCheckpoint, RecentCheckpoints
from callbacks.contribution import ContributionScore
from callbacks.gradient_norm import GradientNorm
from callbacks.sample_translations import SampleTranslations
from callbacks.throughput import Throughput

__all__ = [
    "AverageCheckpoint",
    "BestBLEUCheckpoint",
    "BestLossCheckpoint",
    "ContributionScore",
    "GradientNorm",
    "LastCheckpoint",
    "RecentCheckpoints",
    "SampleTranslations",
    "Throughput",
]
