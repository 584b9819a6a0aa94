"""Runs and studies as files, which nobody trained."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from lit_transformer.components import component_ids, kind_of, layer_of
from lit_transformer.importance.score_table import table_text
from lit_transformer.importance.scores import contribution_scores

SIGNATURE = "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0"
BASELINE = 30.0


def component_rows(drops: Mapping[str, float], criticality: bool = True) -> list[dict[str, Any]]:
    """Return the rows of ``scores.json``: the first component is surely important, the others are undecided."""
    results = contribution_scores(BASELINE, {name: BASELINE - drop for name, drop in drops.items()})
    rows = []
    for name, drop in drops.items():
        row = {
            "component": name,
            "kind": kind_of(name),
            "layer": layer_of(name),
            "parameters": 100 * layer_of(name),
            "baseline_bleu": BASELINE,
            "ablated_bleu": BASELINE - drop,
            "drop": drop,
            "drop_lower": drop - 0.6,
            "drop_upper": drop + 0.6,
            "label": "important" if drop - 0.6 > 0.5 else "undecided",
            "contribution": results[name].contribution,
            "rank": results[name].rank,
            "non_terminated": 0.0,
        }
        if criticality:
            row |= {"criticality": round(results[name].contribution, 1), "relative_distance": 0.5, "cosine": 0.9}
        rows.append(row)
    return rows


def drops_of(layers: tuple[int, int], seed: int, pruned: Sequence[str] = ()) -> dict[str, float]:
    """Return BLEU lost without each component, different for each seed."""
    generator = random.Random(seed)
    return {name: generator.uniform(-0.3, 6.0) for name in component_ids(*layers, pruned)}


def steps_of(order: str, components: Sequence[str], loss: float) -> list[dict[str, Any]]:
    """Return the rows of a group ablation that loses as much at each step."""
    return [
        {
            "order": order,
            "step": step,
            "component": name,
            "parameters_removed": 100 * step,
            "validation_bleu": BASELINE - loss * step,
            "validation_drop": loss * step,
            "test_bleu": 31.0 - 2 * loss * step,
            "test_drop": 2 * loss * step,
        }
        for step, name in enumerate(["", *components])
    ]


def scores_of(drops: Mapping[str, float], seed: int = 1) -> dict[str, Any]:
    """Return the content of a ``scores.json``.

    Args:
        drops: BLEU lost without each component.
        seed: Makes the weights other ones.
    """
    return {
        "format": 2,
        "baseline": {"bleu": BASELINE, "sentences": 500},
        "reliable": True,
        "checkpoint": "average.ckpt",
        "scoring_set": {"name": "validation", "split": "validation", "sentences": 500, "digest": "d" * 64},
        "signature": SIGNATURE,
        "decoding": {"beam": 4, "length_penalty": 0.6},
        "weights": f"{seed:064x}",
        "tokenizer": "t" * 64,
        "data": {"source_language": "en", "target_language": "de", "dataset": "mine"},
        "contribution": {
            "cap": 0.1,
            "epsilon": 0.5,
            "exact_match": {name: {"past": 0.5, "modal": 0.25} for name in ("baseline", *drops)},
        },
        "layer_ablation": {
            "chosen_on": "validation",
            "rows": [
                {"step": 0, "layer": None, "components": [], "validation_bleu": BASELINE, "validation_drop": 0.0},
                {"step": 1, "layer": 1, "components": ["d:sa:1"], "validation_bleu": 20.5, "validation_drop": 9.5},
            ],
        },
        "criticality": {"epsilon": 0.5, "initial_weights": "i" * 64},
        "group_ablation": {"chosen_on": "validation", "rows": steps_of("greedy", list(drops)[:3], 0.2)},
        "components": component_rows(drops),
    }


def make_run(
    folder: Path,
    layers: tuple[int, int] = (2, 2),
    seed: int = 1,
    drops: Mapping[str, float] | None = None,
    sentence: str = "A house.",
    analysis: str = "average",
    **changed: Any,
) -> Path:
    """Write the files of a run that was trained and analysed, and return its folder.

    Args:
        folder: The folder of the run.
        layers: Encoder and decoder layers.
        seed: Seed of the scores.
        drops: BLEU lost without each component, in place of drawn ones.
        sentence: Source, reference and hypothesis of the examples.
        analysis: Name of the analysis.
        changed: Keys of ``scores.json`` with other values; None leaves one out.
    """
    drops = drops_of(layers, seed) if drops is None else drops
    scores = scores_of(drops, seed) | changed
    place = folder / "analysis" / analysis
    write_json(place / "scores.json", {name: value for name, value in scores.items() if value is not None})
    most = max(drops, key=drops.__getitem__)
    example = {
        "source": sentence,
        "reference": sentence,
        "baseline": sentence,
        "ablated": f"Not {sentence}",
        "fall": 9.5,
    }
    write_json(
        place / "examples.json",
        {
            "format": 1,
            "of": 500,
            "weights": scores["weights"],
            "most": {"component": most, "drop": drops[most], "changed": 40, "sentences": [example]},
            "least": {"component": min(drops, key=drops.__getitem__), "drop": -0.1, "changed": 0, "sentences": []},
        },
    )
    (folder / "checkpoints").mkdir()
    config = {"name": "made", "model": {"encoder_layers": layers[0], "heads": 4}, "trainer": {"max_epochs": 3}}
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    lines = [
        "step,epoch,metric,value,time",
        "9,0,train/loss,5.5,1.0",
        "19,1,train/loss,4.5,2.0",
        "19,1,val/bleu,20.5,2.0",
    ]
    (folder / "metrics.csv").write_text("\n".join(lines) + "\n")
    return folder


def make_study(folder: Path, seeds: int = 2) -> Path:
    """Write the tables of a study with two arms beside its control, and return its folder."""
    folder.mkdir(parents=True)
    done = {"family": "trained", "status": "done", "test_loss": 1.3, "sentences_per_second": 380.5}
    done |= {"signature": SIGNATURE, "validation_set": "validation, 500 sentences", "test_set": "test, 400 sentences"}
    done |= {"training_minutes": 12.5, "parameters": 2_308_096}
    rows: list[dict[str, Any]] = []
    for seed in range(1, seeds + 1):
        pruned: dict[str, Any] = {"components": "e:ff:1 e:ff:2 d:sa:1 d:sa:2"}
        pruned |= {f"difference_{name}_this_checkpoint_only": -0.5 for name in ("lower", "upper")}
        rows += [
            {**done, "arm": "continued", "seed": seed, "validation_bleu": 30.0, "test_bleu": 31.0},
            {**done, **pruned, "arm": "pruned", "seed": seed, "validation_bleu": 29.9}
            | {"test_bleu": f"30.{seed}", "difference": f"-0.{10 - seed}"},
            {"family": "trained", "arm": "rewound", "seed": seed, "status": "failed: no space left"},
        ]
    columns = ["family", "arm", "seed", "draw", *dict.fromkeys(name for row in rows for name in row)]
    (folder / "study.csv").write_text(table_text(list(dict.fromkeys(columns)), rows))
    bounds = "," if seeds == 1 else "-1.1,-0.3"
    verdict = "not decidable" if seeds == 1 else "worse"
    claim = f"trained,pruned,continued,{seeds},-0.75,{bounds},,0.03,{verdict}"
    head = "family,arm,control,seeds,mean_difference,lower,upper,p,corrected_p,verdict"
    (folder / "comparisons.csv").write_text(f"{head}\n{claim}\n")
    return folder


def write_json(path: Path, content: Any) -> None:
    """Write plain types as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
