from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from lit_transformer.report.curves import group_ablation_curve


def order(name: str, *bleu: float, test: bool = True) -> list[dict[str, Any]]:
    return [
        {
            "order": name,
            "step": step,
            "component": f"d:sa:{step}" if step else "",
            "validation_bleu": value,
            "test_bleu": value - 1 if test else "",
        }
        for step, value in enumerate(bleu)
    ]


def test_a_line_per_order_and_split(tmp_path: Path) -> None:
    path = tmp_path / "curve.svg"
    rows = [*order("greedy", 30, 29.5, 27), *order("random-1", 30, 20, 10), *order("random-2", 30, 25)]
    group_ablation_curve(rows, path, subtitle="average.ckpt")
    text = path.read_text()
    for label in ("greedy, validation", "greedy, test", "random, validation (mean and range of 2)", "average.ckpt"):
        assert label in text


def test_a_single_order_names_its_components(tmp_path: Path) -> None:
    path = tmp_path / "curve.svg"
    group_ablation_curve(order("greedy", 30, 29.5, 27, test=False), path)
    text = path.read_text()
    assert "d:sa:2" in text
    assert "greedy, validation" in text
    assert "greedy, test" not in text


def test_the_same_rows_give_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a.png", "b.png"):
        group_ablation_curve(order("greedy", 30, 29.5, 27), tmp_path / name)
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


@pytest.mark.parametrize(("bleu", "from_zero"), [((30.0, 29.5, 29.0), False), ((30.0, 20.0, 5.0), True)])
def test_small_losses_can_be_seen(bleu: tuple[float, ...], from_zero: bool, tmp_path: Path) -> None:
    path = tmp_path / "curve.svg"
    group_ablation_curve(order("greedy", *bleu, test=False), path)
    # The labels of the axes: the number of removed components is 0 to 2, with the component below it.
    labels = re.findall(r">(\d+(?:\.\d+)?)</text>", path.read_text())
    scale = [float(label) for label in labels if label not in ("0", "1", "2")]
    assert (labels.count("0") == 2) is from_zero
    assert from_zero or min(scale) > 28


def test_nothing_to_draw(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no curve"):
        group_ablation_curve([], tmp_path / "curve.png")
