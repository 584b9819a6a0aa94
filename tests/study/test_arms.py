from __future__ import annotations

from lit_transformer.structure import Structure
from lit_transformer.study.arms import rule_of_thumb


def test_the_rule_of_thumb_takes_low_self_attention_then_other_kinds() -> None:
    every = Structure(encoder_layers=2, decoder_layers=2).components
    order = ["d:sa:1", "d:sa:2", "d:ea:1", "e:sa:1", "e:sa:2", "e:ff:1", "e:ff:2", "d:ff:1", "d:ff:2"]
    assert rule_of_thumb(every, 20) == order
    assert [rule_of_thumb(every, count) for count in (1, 3)] == [order[:1], order[:3]]
