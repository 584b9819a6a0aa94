from __future__ import annotations

import json

import pytest

from lit_transformer.importance.variant import Variant, ablation


@pytest.mark.parametrize(
    ("variant", "name"),
    [
        (Variant(), "baseline"),
        (ablation("d:sa:3"), "d:sa:3"),
        (ablation("d:ff:1", "e:sa:2"), "e:sa:2+d:ff:1"),
        (ablation("d:ff:1", value="mean"), "d:ff:1 (mean)"),
        (Variant(interpolated="d:ea:1", alpha=0.3), "d:ea:1 at 0.3"),
        (Variant(interpolated="d:ea:1", alpha=0.0, draw=2), "d:ea:1 at 0 draw 2"),
    ],
)
def test_names_and_files(variant: Variant, name: str) -> None:
    assert variant.name == name
    assert Variant.from_dict(json.loads(json.dumps(variant.as_dict()))) == variant


def test_components_that_differ_from_the_trained_model() -> None:
    assert ablation("d:ff:1", "e:sa:2").changed == ("e:sa:2", "d:ff:1")
    assert Variant(interpolated="d:ea:1", alpha=0.3).changed == ("d:ea:1",)
    assert Variant().changed == ()


def test_variants_of_earlier_journals() -> None:
    drafted = {"ablated": ["d:sa:1", "d:ff:1"], "draft": ["d:sa:1"], "plain": True}
    assert Variant.from_dict(drafted) == ablation("d:sa:1", "d:ff:1")
    along_a_path = {"interpolated": "d:ea:1", "alpha": 0.3, "path": [0.0, 0.1]}
    assert Variant.from_dict(along_a_path) == Variant(interpolated="d:ea:1", alpha=0.3)


def test_only_what_is_not_as_in_the_baseline_is_written() -> None:
    assert Variant().as_dict() == {}
    assert ablation("d:ff:1").as_dict() == {"ablated": ["d:ff:1"]}


@pytest.mark.parametrize(
    "fields",
    [
        {"ablated": ("d:ff:1", "e:sa:1")},
        {"ablated": ("e:sa:1", "e:sa:1")},
        {"interpolated": "e:sa:1", "alpha": 1.1},
    ],
)
def test_nonsense_is_refused(fields: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"order|alpha"):
        Variant(**fields)  # type: ignore[arg-type]


def test_initial_weights_are_needed_for_interpolation_only() -> None:
    assert Variant(interpolated="d:ea:1", alpha=0.3).needs_initial
    # Its fresh weights are none of the initial ones, and so depend on them.
    assert Variant(interpolated="d:ea:1", alpha=0.0, draw=1).needs_initial
    assert not ablation("d:ea:1").needs_initial
