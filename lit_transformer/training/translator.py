"""A trained model that translates sentences from Python, without a Trainer: ``lit_transformer.load``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import torch

from lit_transformer.data.datamodule import TranslationDataModule
from lit_transformer.decoding import DecodingSettings, in_precision, translate
from lit_transformer.errors import UserError
from lit_transformer.model import Transformer
from lit_transformer.model.surgery import ablated
from lit_transformer.runs.checkpoints import find_checkpoint, read_checkpoint
from lit_transformer.training.module import LitTransformer


class Translator:
    """A trained model with its tokenizer and its decoding settings; `load` makes one.

    Args:
        network: The model, on its device.
        data: The data settings that it was trained with, and its tokenizer.
        decoding: How it is decoded. Assign other settings to decode otherwise.
    """

    def __init__(self, network: Transformer, data: TranslationDataModule, decoding: DecodingSettings) -> None:
        self.network = network
        self.data = data
        self.decoding = decoding

    @property
    def components(self) -> list[str]:
        """The ids of the model's components, such as ``d:sa:1``, encoder first."""
        return list(self.network.components())

    def translate(self, sentences: Sequence[str]) -> list[str]:
        """Translate sentences; the text is that of ``lit-transformer predict`` for the same lines.

        Args:
            sentences: One source sentence each; a blank one is translated to the empty string.

        Returns:
            The translations, in the order of the sentences.

        Raises:
            UserError: A single string was given, or the model gives NaN.
        """
        if isinstance(sentences, str):
            raise UserError(f"translate takes a list of sentences; got the string {sentences!r}. Give [sentence].")
        self.data.set_inputs(list(sentences))
        network = in_precision(self.network, self.decoding.precision)
        device = next(network.parameters()).device
        translations = [""] * len(sentences)
        for batch in self.data.predict_dataloader():
            texts, _ = translate(network, batch.to(device), self.decoding, self.data.tokenizer.decode)
            for index, text in zip(batch.index.tolist(), texts, strict=True):
                translations[index] = text
        return translations

    def ablated(self, components: str | Iterable[str]) -> AbstractContextManager[list[str]]:
        """Ablate components while the context lasts: what they add to the residual stream is zero.

        Afterwards the model is bit for bit what it was, whatever happened inside.

        Args:
            components: Ids (``d:sa:3``), ranges (``d:sa:1-3``), kinds (``d:sa``) or sides (``d:*``), one or several.

        Returns:
            A context manager that gives the ids of the ablated components.

        Raises:
            UserError: A selector matches no component.

        Example:
            >>> import lit_transformer
            >>> model = lit_transformer.load("runs/demo/version_0")  # doctest: +SKIP
            >>> with model.ablated("d:sa:1"):  # doctest: +SKIP
            ...     print(model.translate(["The red cat sees the old goat."]))
        """
        return ablated(self.network, components)


def load(run: str | Path, device: torch.device | str = "cpu") -> Translator:
    """Load a trained model with its tokenizer and decoding settings, which its checkpoint holds.

    Args:
        run: The folder of a run, whose ``average.ckpt`` is taken, else ``best-loss.ckpt``; or a checkpoint.
        device: Where to compute, such as ``cuda``.

    Raises:
        UserError: There is no checkpoint, or it can't be read.
    """
    path = find_checkpoint(run)
    # Workers pay off for a corpus, not for some sentences.
    data = TranslationDataModule.of_checkpoint(read_checkpoint(path), workers=0)
    module = LitTransformer.load_from_checkpoint(path, map_location=torch.device(device), weights_only=True)
    return Translator(module.network.eval(), data, module.decoding)
