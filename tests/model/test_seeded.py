from __future__ import annotations

import torch

from lit_transformer.model import TransformerConfig, fresh_seed, seeded_transformer, weights_digest

CONFIG = TransformerConfig(20, 20, 1, 1, 8, 12, 2)


def test_the_seed_decides() -> None:
    digests = []
    for seed in (1, 1, 2, 2**32 - 1):
        torch.rand(1)
        digests.append(weights_digest(seeded_transformer(CONFIG, seed)))
    assert digests[0] == digests[1]
    assert len(set(digests)) == 3


def test_every_purpose_draw_and_model_has_a_fresh_seed_of_its_own() -> None:
    cases = [
        (purpose, seed, draw, before)
        for purpose in ("pruning", "rewinding")
        for seed in (0, 1, 2**32 - 1)
        for draw in range(20)
        for before in (None, "a", "b")
    ]
    found = [fresh_seed(*case) for case in cases]
    assert len(set(found)) == len(cases)
    assert all(0 <= fresh < 2**32 and fresh != seed for fresh, (_, seed, _, _) in zip(found, cases, strict=True))
    # On every machine, at all times; by sha256sum of "pruning/1/0/".
    assert fresh_seed("pruning", 1) == 0x695CCCC4


def test_no_random_state_is_used_up() -> None:
    before = torch.random.get_rng_state()
    seeded_transformer(CONFIG, 1)
    assert torch.equal(torch.random.get_rng_state(), before)


def test_what_does_not_shape_the_weights_does_not_change_them() -> None:
    other = TransformerConfig(20, 20, 1, 1, 8, 12, 2, dropout=0.5, activation_dropout=0.3)
    assert weights_digest(seeded_transformer(other, 1)) == weights_digest(seeded_transformer(CONFIG, 1))
