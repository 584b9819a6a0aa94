from __future__ import annotations

import math
from typing import Any

import pytest

from lit_transformer.components import component_ids, kind_of
from lit_transformer.errors import UserError
from lit_transformer.importance.selection import Selection, config_in_current_terms, in_current_terms

EXISTING = component_ids(2, 2)
SCORES: dict[str, Any] = {
    "components": [
        {"component": name, "contribution": score, "drop": drop, "criticality": 1 - place / 10}
        for place, (name, score, drop) in enumerate(
            zip(
                EXISTING,
                (0.3, 0.0, 1.0, 0.5, 0.0, 0.2, 0.7, 0.9, 1.0, 0.4),
                (0.6, -0.5, 3.0, 1.0, -0.9, 0.4, 1.4, 1.8, 2.5, 0.8),
                strict=True,
            )
        )
    ],
    "group_ablation": {
        "rows": [
            {"order": order, "step": step, "component": name, "validation_drop": drop}
            for order, steps in (
                ("random-1", (("", 0.0), ("d:ff:1", 9.0))),
                ("greedy", (("", 0.0), ("d:sa:2", -0.1), ("e:sa:2", 0.4), ("d:ea:1", 0.2), ("e:ff:1", 3.0))),
            )
            for step, (name, drop) in enumerate(steps)
        ]
    },
    "layer_ablation": {
        "rows": [
            {"step": 0, "layer": None, "components": [], "validation_drop": 0.0},
            {"step": 1, "layer": 2, "components": ["d:sa:2", "d:ea:2", "d:ff:2"], "validation_drop": 1.5},
            {"step": 2, "layer": 1, "components": ["d:sa:1", "d:ff:1"], "validation_drop": 1.25},
        ]
    },
}
LAYER_2 = ["d:sa:2", "d:ea:2", "d:ff:2"]


def test_explicit() -> None:
    assert Selection(["d:sa", "e:ff:2"]).of(EXISTING) == ["e:ff:2", "d:sa:1", "d:sa:2"]


def test_components_override_the_options_that_choose() -> None:
    # No scores are needed, nor is a choice that could not be made refused.
    selection = Selection(["d:sa"], by="contribution", count=99, most=True, seed=2, among=["e:*"])
    assert selection.of(EXISTING) == ["d:sa:1", "d:sa:2"]
    assert selection.overridden == ["by", "count", "most", "among"]
    assert selection == Selection(["d:sa"], seed=2)
    assert Selection(["d:sa"], seed=2).overridden == []


BEFORE = {"components": ["d:*"], "by": "contribution", "count": 1}


@pytest.mark.parametrize(
    ("before", "now"),
    [
        (BEFORE, {**BEFORE, "components": None, "among": ["d:*"]}),
        ({**BEFORE, "components": None}, {**BEFORE, "components": None}),
        ({**BEFORE, "by": None}, {**BEFORE, "by": None}),
        ({"components": ["d:*"]}, {"components": ["d:*"]}),
        # Written since there is `among`.
        ({**BEFORE, "among": None}, {**BEFORE, "among": None}),
    ],
)
def test_options_from_before_there_was_among(before: dict[str, Any], now: dict[str, Any]) -> None:
    assert in_current_terms(before) == now
    others = [{"class_path": "callbacks.Memory"}, "callbacks.Throughput"]
    configs = [
        {"name": "run", "trainer": {"devices": 1, "callbacks": [*others, {"init_args": options}]}}
        for options in (before, now)
    ]
    assert config_in_current_terms(configs[0]) == configs[1]
    assert config_in_current_terms({"trainer": {"callbacks": None}}) == {"trainer": {"callbacks": None}}
    assert config_in_current_terms({}) == {}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        # Of equal contributions the lower drop goes first.
        ({"by": "contribution", "count": 3}, ["d:sa:1", "e:sa:2", "d:sa:2"]),
        ({"by": "contribution", "count": 2, "most": True}, ["e:ff:1", "d:ff:1"]),
        ({"by": "contribution", "threshold": 0.2}, ["d:sa:1", "e:sa:2", "d:sa:2"]),
        ({"by": "contribution", "threshold": 0.9, "most": True}, ["e:ff:1", "d:ff:1", "d:ea:2"]),
        ({"by": "contribution", "count": 2, "among": ["e:*"]}, ["e:sa:2", "e:sa:1"]),
        ({"by": "criticality", "count": 2}, ["d:ff:2", "d:ff:1"]),
        ({"by": "group_ablation", "count": 2}, ["d:sa:2", "e:sa:2"]),
        # As many as cost so little together, though an earlier step cost more.
        ({"by": "group_ablation", "threshold": 0.3}, ["d:sa:2", "e:sa:2", "d:ea:1"]),
        ({"by": "layers", "count": 1}, LAYER_2),
        ({"by": "layers", "count": 1, "among": ["d:*:2"]}, LAYER_2),
        ({"by": "layers", "count": 2}, [*LAYER_2, "d:sa:1", "d:ff:1"]),
        ({"by": "layers", "threshold": 1.3}, [*LAYER_2, "d:sa:1", "d:ff:1"]),
    ],
)
def test_by_score(options: dict[str, Any], expected: list[str]) -> None:
    assert Selection(**options).of(EXISTING, SCORES) == expected


def test_at_random() -> None:
    first, second = (Selection(by="random", count=4, seed=seed).of(EXISTING) for seed in (1, 2))
    assert first == Selection(by="random", count=4, seed=1).of(EXISTING[::-1])
    assert first != second
    assert len(set(first)) == 4
    by_score = Selection(by="contribution", count=4).of(EXISTING, SCORES)
    matched = Selection(by="random", count=4, seed=2, match="contribution").of(EXISTING, SCORES)
    assert [kind_of(name) for name in matched] == [kind_of(name) for name in by_score]


@pytest.mark.parametrize("count", range(1, 11))
def test_a_matched_choice_is_another_one_where_there_is_one(count: int) -> None:
    least = Selection(by="contribution", count=count).of(EXISTING, SCORES)
    drawn = [Selection(by="random", count=count, seed=seed, match="contribution") for seed in range(60)]
    found = [selection.of(EXISTING, SCORES) for selection in drawn]
    kinds = sorted(map(kind_of, least))
    assert all(sorted(map(kind_of, names)) == kinds for names in found)
    there = {kind: sum(kind_of(each) == kind for each in EXISTING) for kind in kinds}
    sets = math.prod(math.comb(number, kinds.count(kind)) for kind, number in there.items())
    assert {set(names) == set(least) for names in found} == {sets == 1}
    # And every other one is drawn.
    assert len({frozenset(names) for names in found}) == max(sets - 1, 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "nothing is chosen"),
        ({"among": ["d:sa"], "count": 1}, "nothing is chosen"),
        ({"components": []}, "components is an empty list"),
        ({"components": [], "by": "contribution", "count": 1}, "components is an empty list"),
        ({"among": [], "by": "contribution", "count": 1}, "among is an empty list"),
        ({"by": "contribution"}, "either count or threshold"),
        ({"by": "contribution", "count": 1, "threshold": 0.1}, "either count or threshold"),
        ({"by": "contribution", "count": 0}, "from 1 up"),
        ({"by": "size", "count": 1}, "one of contribution, criticality, group_ablation, layers, random"),
        ({"by": "random", "threshold": 0.1}, "random choice has no threshold"),
        ({"by": "group_ablation", "count": 1, "most": True}, "cost least together"),
        ({"by": "layers", "count": 0}, "a number of decoder layers from 1 up"),
        ({"by": "layers", "count": 1, "most": True}, "decoder layers cost least together"),
        ({"by": "contribution", "count": 1, "match": "criticality"}, "match is for a random choice"),
    ],
)
def test_what_means_nothing_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        Selection(**options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"components": ["d:sa:9"]}, "'d:sa:9' matches nothing"),
        ({"by": "contribution", "count": 11}, "there are 10 components"),
        ({"by": "contribution", "threshold": -1.0}, "no component has a contribution within"),
        ({"by": "group_ablation", "count": 5}, "removed 4"),
        ({"by": "group_ablation", "count": 2, "among": ["d:*"]}, "e:sa:2 may not be chosen"),
        ({"by": "group_ablation", "threshold": -0.5}, "no components cost within the threshold of -0.5"),
        ({"by": "layers", "count": 3}, "removed 2 decoder layers; choose fewer, or run LayerAblation further"),
        ({"by": "layers", "count": 1, "among": ["d:sa"]}, "d:ea:2, d:ff:2 may not be chosen"),
        ({"by": "layers", "threshold": 1.0}, "no decoder layers cost within the threshold of 1.0 BLEU"),
    ],
)
def test_what_there_is_not(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        Selection(**options).of(EXISTING, SCORES)


def test_scores_that_lack_something() -> None:
    few = {"components": SCORES["components"][:9]}
    with pytest.raises(UserError, match="no contribution of d:ff:2"):
        Selection(by="contribution", count=1).of(EXISTING, few)
    with pytest.raises(UserError, match="run GroupAblation first"):
        Selection(by="group_ablation", count=1).of(EXISTING, few)
    with pytest.raises(UserError, match="run LayerAblation first"):
        Selection(by="layers", count=1).of(EXISTING, few)
