"""A toy model with sentences that it half translates."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from lit_transformer.data.batch import Batch, collate
from lit_transformer.decoding import translate
from lit_transformer.model import Transformer, TransformerConfig
from tests.importance.toy import SETTINGS, spell


@pytest.fixture
def model() -> Transformer:
    torch.manual_seed(3)
    model = Transformer(TransformerConfig(24, 24, 2, 2, 16, 24, 2, norm="pre", tie_embeddings="none")).eval()
    nn.init.normal_(model.output.weight, std=0.5)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:  # biases start at 0, where they would hide a mistake
                parameter.add_(0.2 * torch.randn_like(parameter))
    return model


@pytest.fixture
def batches(model: Transformer) -> list[Batch]:
    """Sentences whose references are what the whole model says, with every fifth word changed: BLEU is not 100."""
    random = np.random.default_rng(1)
    sources = [random.integers(4, 24, random.integers(2, 9)).tolist() for _ in range(16)]
    made = []
    for first in range(0, 16, 6):
        rows = np.arange(first, min(first + 6, 16))
        batch = collate(rows, [(sources[row], [4]) for row in rows])
        texts, _ = translate(model, batch, SETTINGS, spell)
        changed = [" ".join("x" if n % 5 == 4 else word for n, word in enumerate(t.split())) for t in texts]
        made.append(collate(rows, [(sources[row], [4]) for row in rows], [("s", text) for text in changed]))
    return made
