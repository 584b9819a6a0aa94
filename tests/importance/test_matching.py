from __future__ import annotations

import pytest

from lit_transformer.importance.matching import most_components, nearest_count, nearest_depth
from lit_transformer.structure import Structure

BASE = Structure()
# The seven that figure 9 of the paper removes from its English-German model: six of attention, one feed-forward.
SEVEN = ["d:sa:4", "d:ea:1", "d:ff:4", "d:sa:3", "d:sa:2", "d:ea:2", "d:sa:5"]


def test_seven_components_are_two_decoder_layers() -> None:
    match = nearest_depth(BASE, SEVEN)
    assert (match.layers, match.removed, match.of_layers) == (2, 8_403_456, 8_408_064)
    assert match.of_layers - match.removed == 4_608
    assert match.mismatch == pytest.approx(-0.0548, abs=1e-4)
    assert match.line == ("7 components (8,403,456 parameters) stand against 2 decoder layers (8,408,064): -0.05 %")
    assert nearest_count(BASE, [*SEVEN, "d:sa:1", "d:sa:6"], 2).components == tuple(SEVEN)


def test_one_layer_is_four_attentions_or_two_and_a_feed_forward() -> None:
    attention = [f"d:sa:{layer}" for layer in range(1, 7)]
    match = nearest_count(BASE, attention, 1)
    # 4 x 1,050,624 = 4,202,496 of 4,204,032.
    assert match.components == tuple(attention[:4])
    assert match.mismatch == pytest.approx(-0.0365, abs=1e-4)
    assert nearest_count(BASE, ["d:ff:1", "d:sa:1", "d:ea:1", "d:ff:2"], 1).components == ("d:ff:1", "d:sa:1", "d:ea:1")
    assert most_components(BASE) == 5
    assert most_components(Structure(encoder_layers=1, decoder_layers=1)) == 5


def test_a_layer_at_least_goes_and_one_stays() -> None:
    assert nearest_depth(BASE, ["d:sa:1"]).layers == 1
    assert nearest_depth(BASE, ["d:sa:1"]).mismatch == pytest.approx(-75.0, abs=0.1)
    assert nearest_depth(BASE, BASE.components).layers == 5
    with pytest.raises(ValueError, match="one layer"):
        nearest_depth(Structure(decoder_layers=1), ["d:sa:1"])
    with pytest.raises(ValueError, match="expected components"):
        nearest_count(BASE, [], 1)
