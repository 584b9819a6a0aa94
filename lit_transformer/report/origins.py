"""What a run was trained on and with, in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from lit_transformer.report.runs import Run


def _seed(run: Run) -> str:
    return _text(run.config.get("seed_everything", _data(run).get("seed")))


def _corpus(run: Run) -> str:
    data = _data(run)
    if data.get("dataset"):
        told = [data["dataset"], data.get("dataset_config")]
        size = data.get("train_size")
        if data["dataset"] == "grammar" and isinstance(size, int):
            told.append(f"{size:,} pairs")
    else:
        told = [data.get("train"), f"in {data['dir']}" if data.get("dir") else None]
    return ", ".join(map(_text, filter(None, told)))


def _languages(run: Run) -> str:
    data = _data(run)
    pair = [data.get(f"{side}_language") for side in ("source", "target")]
    return " to ".join(map(_text, pair)) if all(pair) else ""


def _layers(run: Run) -> str:
    model = run.settings("model")
    layers = [model.get(f"{side}_layers") for side in ("encoder", "decoder")]
    return "+".join(map(_text, layers)) if all(layers) else ""


def _of_model(name: str) -> Callable[[Run], str]:
    return lambda run: _text(run.settings("model").get(name))


def _dropout(run: Run) -> str:
    model = run.settings("model")
    told = [_text(model.get("dropout"))]
    told += [
        f"{where} {_text(rate)}" for where in ("attention", "activation") if (rate := model.get(f"{where}_dropout"))
    ]
    return ", ".join(filter(None, told))


ORIGINS: Mapping[str, Callable[[Run], str]] = {
    "seed": _seed,
    "corpus": _corpus,
    "languages": _languages,
    "layers": _layers,
    "width": _of_model("d_model"),
    "feed-forward": _of_model("feed_forward"),
    "heads": _of_model("heads"),
    "dropout": _dropout,
}
"""What runs of one report may differ in that they are held against each other for, by name; nothing where unknown."""


def _data(run: Run) -> Mapping[str, Any]:
    """Return the settings of the data: of the training, or else of the analysis."""
    found: Mapping[str, Any] = run.settings("data") or run.scores.get("data", {})
    return found


def _text(value: Any) -> str:
    return "" if value is None else str(value)
