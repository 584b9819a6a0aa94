from __future__ import annotations

import pytest
import torch

from lit_transformer.training.recipe import learning_rate_factor, step_seed


class TestLearningRate:
    def test_vaswanis_schedule(self) -> None:
        # Vaswani et al. 2017, equation 3, with the paper's base model: d_model 512, 4000 steps of warm-up.
        def published(step: int) -> float:
            return 512**-0.5 * min(step**-0.5, step * 4000**-1.5)

        factor = learning_rate_factor("inverse_sqrt", 4000)
        peak = published(4000)
        assert peak == pytest.approx(6.9877e-4, rel=1e-4)
        for step in (1, 2, 100, 3999, 4000, 4001, 10_000, 100_000):
            assert peak * factor(step - 1) == pytest.approx(published(step), rel=1e-12)

    @pytest.mark.parametrize(
        ("schedule", "warmup", "golden"),
        [
            ("inverse_sqrt", 4, {0: 0.25, 1: 0.5, 2: 0.75, 3: 1.0, 15: 0.5, 63: 0.25}),
            ("constant", 4, {0: 0.25, 3: 1.0, 4: 1.0, 10**6: 1.0}),
            ("constant", 0, {0: 1.0, 9: 1.0}),
            ("inverse_sqrt", 0, {0: 1.0, 3: 0.5, 99: 0.1}),
            ("inverse_sqrt", 1, {0: 1.0, 3: 0.5}),
        ],
    )
    def test_golden_values(self, schedule: str, warmup: int, golden: dict[int, float]) -> None:
        factor = learning_rate_factor(schedule, warmup)
        assert {step: factor(step) for step in golden} == pytest.approx(golden)


def test_the_seed_of_a_step_is_its_own() -> None:
    places = [(s, g, b, r) for s in (1, 2, 11) for g in (0, 1, 11, 111) for b in (0, 1, 11, 111) for r in (0, 1, 11)]
    seeds = {step_seed(*place) for place in places}
    assert len(seeds) == len(places)
    assert all(-(2**63) <= seed < 2**63 for seed in seeds)
    assert step_seed(1, 2, 3, 0) == step_seed(1, 2, 3, 0)
    torch.manual_seed(min(seeds))  # negative ones are seeds too


def test_the_seed_of_a_step_is_the_same_on_every_machine() -> None:
    # printf 1/250/3/0 | sha256sum: the first 8 bytes, as a signed number.
    assert step_seed(1, 250, 3, 0) == 7277408191006345106
