from __future__ import annotations

import pytest
import pytorch_lightning as pl

from callbacks import InitialWeights
from tests.callbacks.conftest import Setup


def test_a_trainer_or_a_model_of_another_class(setup: Setup) -> None:
    module = setup.module()
    plain = pl.Trainer(accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False)
    with pytest.raises(
        TypeError, match=r"^InitialWeights needs .* with pytorch_lightning\..*Trainer and LitTransformer"
    ):
        InitialWeights().on_fit_start(plain, module)
    with pytest.raises(TypeError, match=r"lit_transformer\.training\.trainer\.Trainer and LightningModule\.$"):
        InitialWeights().on_fit_start(setup.trainer([]), pl.LightningModule())
