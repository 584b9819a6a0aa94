"""Lightning callbacks: scoring, pruning and rewinding of components, checkpoints, monitors."""

from callbacks.average_checkpoint import AverageCheckpoint
from callbacks.best_checkpoints import BestBLEUCheckpoint, BestLossCheckpoint, LastCheckpoint, RecentCheckpoints
from callbacks.contribution import ContributionScore
from callbacks.criticality import CriticalityScore
from callbacks.gradient_norm import GradientNorm
from callbacks.group_ablation import GroupAblation
from callbacks.initial_weights import InitialWeights
from callbacks.kept_checkpoints import KeptCheckpoints
from callbacks.layer_ablation import LayerAblation
from callbacks.layer_theseus import LayerTheseus
from callbacks.learning_rate_rewinding import LearningRateRewinding
from callbacks.memory import Memory
from callbacks.non_terminated import NonTerminated
from callbacks.pruning import ComponentPruning
from callbacks.rewinding import ComponentRewinding
from callbacks.run_progress import RunProgress
from callbacks.sample_translations import SampleTranslations
from callbacks.shallow_decoder import ShallowDecoder
from callbacks.theseus import Theseus
from callbacks.throughput import Throughput
from callbacks.wandb_tracking import WandbTracking

__all__ = [
    "AverageCheckpoint",
    "BestBLEUCheckpoint",
    "BestLossCheckpoint",
    "ComponentPruning",
    "ComponentRewinding",
    "ContributionScore",
    "CriticalityScore",
    "GradientNorm",
    "GroupAblation",
    "InitialWeights",
    "KeptCheckpoints",
    "LastCheckpoint",
    "LayerAblation",
    "LayerTheseus",
    "LearningRateRewinding",
    "Memory",
    "NonTerminated",
    "RecentCheckpoints",
    "RunProgress",
    "SampleTranslations",
    "ShallowDecoder",
    "Theseus",
    "Throughput",
    "WandbTracking",
]
