"""Lightning callbacks: scoring of components, checkpoints, monitors."""

from callbacks.average_checkpoint import AverageCheckpoint
from callbacks.best_checkpoints import BestBLEUCheckpoint, BestLossCheckpoint, LastCheckpoint, RecentCheckpoints
from callbacks.contribution import ContributionScore
from callbacks.criticality import CriticalityScore
from callbacks.gradient_norm import GradientNorm
from callbacks.group_ablation import GroupAblation
from callbacks.initial_weights import InitialWeights
from callbacks.sample_translations import SampleTranslations
from callbacks.throughput import Throughput

__all__ = [
    "AverageCheckpoint",
    "BestBLEUCheckpoint",
    "BestLossCheckpoint",
    "ContributionScore",
    "CriticalityScore",
    "GradientNorm",
    "GroupAblation",
    "InitialWeights",
    "LastCheckpoint",
    "RecentCheckpoints",
    "SampleTranslations",
    "Throughput",
]
