"""docs/files.md names every column and key that runs and studies write."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import yaml
from pytorch_lightning.callbacks import ModelCheckpoint
from safetensors import safe_open

import callbacks
from callbacks import BestLossCheckpoint, InitialWeights, LastCheckpoint
from callbacks.component_change import ComponentChange
from lit_transformer.importance import module_criticality
from lit_transformer.runs.metrics import COLUMNS
from lit_transformer.study.conduct import run_study
from lit_transformer.study.scoring import score
from lit_transformer.study.speed import speeds
from tests.callbacks.conftest import Setup
from tests.end_to_end.running import MODEL, TRAINER, load, of, options, read_csv, read_json, succeed, write_text
from tests.study.making import Laboratory, Reading, settings_of

ROOT = Path(__file__).parents[1]
RESTS_ON = "What a number rests on"
WHOLE = {"state_dict", "optimizer_states", "lr_schedulers", "loops", "hyper_parameters", "datamodule_hyper_parameters"}
STANDS_FOR = {
    "<component>": r"[ed]:(?:sa|ff|ea):\d+",
    "<key>": r"[0-9a-f]{32}",
    "<n>": r"\d+",
    "<stage>": r"(?:[a-z][\w.-]*-seed\d+|scoring(?:-rates)?)",
}
FILE = re.compile(r"`([^`*\n]*\.(?:csv|jsonl?|yaml|md|txt|ckpt|safetensors|model|png|html|log|lock))`")
SMALL = {"train_size": 60, "validation_size": 12, "test_size": 6, "max_tokens": 500, "tokenizer.vocab_size": 400}


@cache
def sections() -> dict[str, set[str]]:
    """The names in the first column of the tables below each heading, by each file that the heading names."""
    found: dict[str, set[str]] = {}
    files: list[str] = []
    for line in (ROOT / "docs/files.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            title = line.lstrip("# ")
            files = re.findall(r"`([^`]+)`", title) or [title]
        elif line.startswith("| `"):
            names = re.findall(r"`([^`]+)`", line.split(" | ")[0])
            for file in files:
                found.setdefault(file, set()).update(names)
    return found


def pattern(name: str) -> re.Pattern[str]:
    """What a documented name stands for; a name in angle brackets for what `STANDS_FOR` tells, or else for anything."""
    parts = re.split(r"(<[^>]+>)", name)
    return re.compile(
        "".join(STANDS_FOR.get(part, ".+") if part.startswith("<") else re.escape(part) for part in parts)
    )


def missing(names: Iterable[str], *files: str) -> set[str]:
    """Return the names that the tables of these files lack."""
    documented = {name for file in files for name in sections()[file]}
    # A name made of another column's stands for each of these, and for no more.
    documented |= {name.replace("<column>", other) for name in documented if "<column>" in name for other in documented}
    known = [pattern(name) for name in documented if "<column>" not in name]
    return {name for name in names if not any(each.fullmatch(name) for each in known)}


def keys(value: Any, path: str = "") -> Iterator[str]:
    """Yield the dotted names of all that is in a JSON value; ``[]`` leads into a list of objects."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from keys(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and value and isinstance(value[0], Mapping):
        for inner in value:
            yield from keys(inner, f"{path}[]")
    else:
        yield path


def callback(name: str, **arguments: Any) -> dict[str, Any]:
    return {"class_path": f"callbacks.{name}", "init_args": arguments}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that was trained, tested, and analysed by everything there is."""
    root = tmp_path_factory.mktemp("whole")
    steps = {**TRAINER, "max_steps": 4, "val_check_interval": 2}
    kept = ["--checkpoint.average=2", "--checkpoint.keep_steps=[2]", "--model.chrf=true"]
    chosen = [*options("trainer", steps), *options("model", MODEL), *options("data", {"dataset": "grammar", **SMALL})]
    succeed(["fit", *chosen, *kept], root)
    folder = root / "runs/run/version_0"
    one = ["d:ff:1"]
    everything = [
        callback("ContributionScore"),
        callback("ContributionScore", value="mean"),
        callback("CriticalityScore", components=one, grid="full"),
        callback("CriticalityScore", components=one, variant="rerandomize", draws=2),
        callback("CriticalityScore", components=one, variant="chatterji", samples=1),
        callback("GroupAblation", k=1),
        callback("GroupAblation", k=1, order="random", seeds=[1]),
        callback("LayerAblation"),
    ]
    bisected = [callback("ContributionScore"), callback("CriticalityScore", search="bisect")]
    for name, scorers in {"everything": everything, "bisected": bisected}.items():
        (root / f"{name}.yaml").write_text(yaml.safe_dump({"trainer": {"callbacks": scorers}}), encoding="utf-8")
    with mock.patch.multiple(module_criticality, SIGMAS=(0.5,), GRID=(0.0, 1.0)):
        succeed(of("analyze", folder, "--config=everything.yaml", "--limit=8", "--record=[loss,chrf]"), root)
    succeed(of("analyze", folder, "--config=bisected.yaml", "--components=d:ff"), root)
    succeed(of("test", folder), root)
    score(folder / "checkpoints/average.ckpt", ["validation"], "cpu")
    return folder


def changes() -> dict[str, ComponentChange]:
    """A change of components by each callback that makes one, by the name of its record."""
    layer = ["d:sa:2", "d:ea:2", "d:ff:2"]
    arguments: dict[str, dict[str, Any]] = {
        "ComponentPruning": {"components": layer, "every_n_steps": 1},
        "ComponentRewinding": {"components": layer},
        "Theseus": {"components": ["d:ff"], "successor": "narrow", "size": 8},
        "LayerTheseus": {"group": 2},
        "ShallowDecoder": {"components": layer},
    }
    classes = {name: getattr(callbacks, name) for name in callbacks.__all__}
    made = {name: cls(**arguments[name]) for name, cls in classes.items() if issubclass(cls, ComponentChange)}
    return {each.name: each for each in made.values()}


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The folder of a run with each change, by the name of its record; and of one that was pruned from scratch."""
    text = write_text(tmp_path_factory.mktemp("text"))

    def train(each: list[Any], **more: Any) -> Path:
        setup = Setup(tmp_path_factory.mktemp("run") / "made/version_0", text)
        kept = [InitialWeights(), BestLossCheckpoint(), LastCheckpoint()]
        module = setup.module(decoder_layers=2)
        setup.trainer([*each, *kept], max_steps=2).fit(module, datamodule=setup.data(), **more)
        return setup.folder

    start = {"start_from": str(train([]) / "checkpoints/best-loss.ckpt")}
    scratch = callbacks.ComponentPruning(["d:ff:1"], init="random")
    runs = {name: train([each], **({} if name == "shallow" else start)) for name, each in changes().items()}
    return {**runs, "pruning from scratch": train([scratch])}


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a study one of whose stages fails."""
    root = tmp_path_factory.mktemp("study")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        settings = settings_of(arms=["continued", "pruned", "random"], seeds=[1, 2])
        laboratory = Laboratory(failing=["trained-random1-seed2"])
        run_study(settings, ROOT / "configs/demo.yaml", laboratory, Reading(), lambda: 0.0)
    return root / "studies/made"


def columns(path: Path) -> list[str]:
    with path.open(encoding="utf-8", newline="") as file:
        return next(csv.reader(file))


def test_what_is_not_documented_is_found() -> None:
    assert missing(["drop", "mean_drop", "mean_component_size", "drops"], "scores.csv") == {
        "mean_component_size",
        "drops",
    }
    assert missing(["analysis/criticality/d:ff:1", "analysis/criticality/mean"], "metrics.csv") == {
        "analysis/criticality/mean"
    }


def test_metrics(run: Path, changed: dict[str, Path]) -> None:
    assert missing(COLUMNS, "metrics.csv") == set()
    rows = [row for folder in (run, *changed.values()) for row in read_csv(folder / "metrics.csv")]
    names = {row["metric"] for row in rows}
    assert {"train/loss", "val/chrf", "test/bleu", "pruning/bleu_before", "theseus/probability"} <= names
    # A small run on a CPU does not come to all of them.
    for path in [*ROOT.glob("callbacks/*.py"), *ROOT.glob("lit_transformer/*.py")]:
        names |= set(re.findall(r'\.log\(\s*"([^"]+/[^"]+)"', path.read_text(encoding="utf-8")))
    assert missing(names, "metrics.csv") == set()


@pytest.mark.parametrize("folder", ["limit-8", "limit-8/selected", "selected"])
def test_scores(run: Path, folder: str) -> None:
    found = run / "analysis/average" / folder
    assert missing(columns(found / "scores.csv"), "scores.csv") == set()
    about = read_json(found / "scores.json")
    assert missing({name for row in about.pop("components") for name in row}, "scores.csv") == set()
    rows = about.get("group_ablation", {}).get("rows", [])
    assert missing({name for row in rows for name in row}, "group_ablation.csv") == set()
    if rows:
        about["group_ablation"] = {**about["group_ablation"], "rows": []}
        sets = about["group_ablation"].pop("test_set")
        assert missing(keys({"scoring_set": sets}), RESTS_ON) == set()
    assert missing(keys(about), "scores.json", RESTS_ON) == set()
    for name in ("criticality_curves.csv", "group_ablation.csv"):
        assert not (found / name).is_file() or missing(columns(found / name), name) == set()


def test_the_small_runs_write_what_is_optional(run: Path) -> None:
    found = {name for path in run.glob("analysis/**/scores.csv") for name in columns(path)}
    assert {"loss_rise", "exact_match", "mean_chrf", "monotone"} <= found
    assert {"module_criticality", "rerandomized_drop"} <= found


def test_correlations() -> None:
    source = "".join(path.read_text(encoding="utf-8") for path in ROOT.glob("callbacks/*.py"))
    names = re.findall(r'\.correlate\(\s*f?"([^"]+)"', source)
    made = {re.sub(r"{[^}]+}", prefix, name) for name in names for prefix in ("", "mean_")}
    assert len(made) >= 6
    assert missing({f"correlations.{name}" for name in made}, "scores.json") == set()


def test_evaluations(run: Path) -> None:
    paths = list(run.glob("analysis/**/evaluations.jsonl"))
    lines = [json.loads(line) for path in paths for line in path.read_text(encoding="utf-8").splitlines()]
    names = {name for line in lines for name in keys(line)}
    assert {"variant.ablated", "variant.draw", "variant.alpha"} < names
    assert missing(names, "evaluations.jsonl") == set()
    tensors: set[str] = set()
    for path in run.glob("analysis/**/*.safetensors"):
        with safe_open(path, "pt") as file:
            tensors.update(file.keys())
    assert {"record.loss", "record.chrf", "record.exact"} < tensors
    assert missing(tensors, "evaluations/<key>.safetensors") == set()


def test_module_criticalities(run: Path) -> None:
    [path] = run.glob("analysis/**/module_criticality/*.json")
    assert missing(keys(read_json(path)), "module_criticality/<key>.json") == set()


def test_examples_and_translations(run: Path) -> None:
    assert missing(keys(read_json(run / "analysis/average/limit-8/examples.json")), "examples.json") == set()
    for path in run.glob("translations/*/*/scores.json"):
        scores = read_json(path)
        assert missing(scores.pop("scores"), "metrics.csv") == set()
        assert missing(keys(scores), RESTS_ON) == set()


def test_configurations(run: Path) -> None:
    config = yaml.safe_load((run / "config.yaml").read_text(encoding="utf-8"))
    assert missing(config, "config.yaml") == set()
    analyses = list(run.glob("analysis/**/config.yaml"))
    assert analyses
    for path in analyses:
        analysis = yaml.safe_load(path.read_text(encoding="utf-8"))
        assert missing(analysis, "config.yaml", "analysis/.../config.yaml") == set()


def initial_weights(folder: Path) -> dict[str, Any]:
    with safe_open(folder / "initial_weights.safetensors", "pt") as file:
        header: dict[str, Any] = json.loads(file.metadata()["lit_transformer.initial_weights"])
    return header


def test_tokenizer_and_initial_weights(run: Path, changed: dict[str, Path]) -> None:
    first = (run / "tokenizer.model").read_bytes().split(b"\n")[0]
    assert missing(keys(json.loads(first)), "tokenizer.model") == set()
    for folder in (run, *changed.values()):
        assert missing(keys(initial_weights(folder)), "initial_weights.safetensors") == set()
    assert "born" in initial_weights(changed["theseus"])


def test_checkpoints(run: Path, changed: dict[str, Path]) -> None:
    paths = [*run.glob("checkpoints/*.ckpt"), *(folder / "checkpoints/last.ckpt" for folder in changed.values())]
    names = set()
    for path in paths:
        content = load(path)
        assert missing({f"data.{name}" for name in content["datamodule_hyper_parameters"]}, RESTS_ON) == set()
        content["lit_transformer"]["initial_weights"] = content["lit_transformer"]["config"] = ""
        content["callbacks"] = own_states(content.get("callbacks", {}))
        # What is in these is Lightning's, or has the names of options or weights.
        names |= {name if name in WHOLE else inner for name in content for inner in keys(content[name], name)}
    assert {"averaged", "callbacks.Theseus.chosen", "TranslationDataModule.tokenizer", *WHOLE} < names
    assert missing(names, "checkpoints/*.ckpt") == set()


def own_states(states: Mapping[str, Any]) -> dict[str, Any]:
    """Return which keys the states of our callbacks have, but for those of Lightning's kind, by class."""
    found = {name.partition("{")[0]: state for name, state in states.items()}
    ours = {name: state for name, state in found.items() if name in callbacks.__all__}
    ours = {name: state for name, state in ours.items() if not issubclass(getattr(callbacks, name), ModelCheckpoint)}
    return {name: dict.fromkeys(state, "") for name, state in ours.items()}


def test_changes(changed: dict[str, Path]) -> None:
    for name, folder in changed.items():
        file = f"{name.split()[0]}.json"
        record = read_json(folder / file)
        assert record["components"]
        assert missing(keys(record), file, RESTS_ON) == set()


def test_studies(study: Path) -> None:
    for name in ("study.csv", "comparisons.csv"):
        assert missing(columns(study / name), name) == set()
    names = set(keys(read_json(study / "study.json")))
    assert "stages.trained-random1-seed2.message" in names
    assert missing(names, "study.json") == set()
    speed = speeds({"average.ckpt": lambda: None}, 10, 1)
    assert missing(keys(speed), "speed-seed<n>.json") == set()


def test_every_file_is_named(run: Path, changed: dict[str, Path], study: Path) -> None:
    text = (ROOT / "docs/files.md").read_text(encoding="utf-8")
    known = [pattern(name.rpartition("/")[2]) for name in FILE.findall(text)]
    folders = (run, *changed.values(), study)
    files = {path.name for folder in folders for path in folder.rglob("*") if path.is_file()}
    # Made by the play of the study's commands only.
    files -= {"validation.scores", "test.scores"}
    assert len(files) > 30
    assert {name for name in files if not any(each.fullmatch(name) for each in known)} == set()


def test_versions(run: Path, changed: dict[str, Path], study: Path) -> None:
    rows = (line.split(" | ") for line in (ROOT / "docs/files.md").read_text(encoding="utf-8").splitlines())
    said = {row[0][2:]: row[2] for row in rows if len(row) == 4 and row[2].isdigit()}
    tokenizer = json.loads((run / "tokenizer.model").read_bytes().split(b"\n")[0])
    scores = run / "analysis/average/limit-8"
    written = {
        "`checkpoints/*.ckpt`": load(run / "checkpoints/last.ckpt")["lit_transformer"]["format"],
        "`initial_weights.safetensors`": initial_weights(run)["format"],
        "`tokenizer.model`": tokenizer["version"],
        "`analysis/.../scores.json`": read_json(scores / "scores.json")["format"],
        "`analysis/.../examples.json`": read_json(scores / "examples.json")["format"],
        "`pruning.json` and its like": read_json(changed["pruning"] / "pruning.json")["format"],
        "`study.json`": read_json(study / "study.json")["format"],
    }
    assert said == {name: str(version) for name, version in written.items()}
