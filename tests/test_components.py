from __future__ import annotations

import random

import pytest

from lit_transformer.components import KINDS, canonical_key, component_ids, kind_of, layer_of, select
from lit_transformer.errors import UserError

SIX = component_ids(6, 6)


def test_a_base_transformer_has_thirty_components_in_canonical_order() -> None:
    kinds = ("e:sa", "e:ff", "d:sa", "d:ea", "d:ff")
    assert component_ids(6, 6) == [f"{kind}:{layer}" for kind in kinds for layer in range(1, 7)]
    assert len(SIX) == 30


def test_the_sides_may_differ_in_depth() -> None:
    assert component_ids(2, 1) == ["e:sa:1", "e:sa:2", "e:ff:1", "e:ff:2", "d:sa:1", "d:ea:1", "d:ff:1"]


def test_canonical_order_counts_layers_as_numbers() -> None:
    ids = component_ids(12, 12)
    shuffled = random.Random(1).sample(ids, len(ids))
    assert sorted(shuffled, key=canonical_key) == ids
    assert sorted(ids) != ids  # as text, layer 10 would come before layer 2


def test_parts_of_an_id() -> None:
    assert [kind_of(component) for component in SIX[::6]] == list(KINDS)
    assert (kind_of("d:ea:12"), layer_of("d:ea:12")) == ("d:ea", 12)


@pytest.mark.parametrize(
    ("selectors", "chosen"),
    [
        ("d:sa:3", ["d:sa:3"]),
        ("d:sa:2-4", ["d:sa:2", "d:sa:3", "d:sa:4"]),
        ("d:sa:5-9", ["d:sa:5", "d:sa:6"]),
        ("d:ea", [f"d:ea:{layer}" for layer in range(1, 7)]),
        ("e:*", SIX[:12]),
        ("d:*:1", ["d:sa:1", "d:ea:1", "d:ff:1"]),
        ("*", SIX),
        ("*:6", ["e:sa:6", "e:ff:6", "d:sa:6", "d:ea:6", "d:ff:6"]),
        (" d:ff:1 ", ["d:ff:1"]),
        (["d:ff:2", "e:sa:1", "d:ff", "d:ff:2"], ["e:sa:1", *(f"d:ff:{layer}" for layer in range(1, 7))]),
    ],
)
def test_selectors(selectors: str | list[str], chosen: list[str]) -> None:
    assert select(selectors, SIX) == chosen
    assert select(selectors, SIX[::-1]) == chosen  # canonical, whatever the order of the model's list


@pytest.mark.parametrize(
    "selector",
    ["d:sa:7", "d:sa:0", "e:ea", "D:SA:1", "d:sa:3-2", "d", "d:xx", "d:sa:", "d:sa:1-", "", "d:sa:1:2", "**"],
)
def test_a_selector_that_matches_nothing_lists_what_exists(selector: str) -> None:
    with pytest.raises(
        UserError, match=r"matches nothing in this model; it has e:sa:1, e:ff:1, d:sa:1.*d:\*"
    ) as caught:
        select(["*", selector], component_ids(1, 1))
    assert repr(selector) in str(caught.value)


def test_no_selector_at_all() -> None:
    with pytest.raises(UserError, match="no component selected; it has e:sa:1"):
        select([], SIX)
