"""The house rules that a machine can check: who imports whom, file lengths, and what no file may hold."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

# From the ground up. A unit is a module or folder of lit_transformer, or the package `callbacks`; it imports itself
# and what stands on the floors below it.
FLOORS = (
    {"errors", "version"},
    {"files", "components", "flags", "other_processes", "signals", "terminal"},
    {"bleu", "data", "checkpoints", "checkpoint_settings", "fit_settings", "metrics_log", "recipe", "run_folder"},
    {"tracking"},
    {"model", "loggers", "progress", "terminal_tables", "translations"},
    {"surgery", "decoding", "initial_weights"},
    {"importance", "module"},
    {"analysis", "report"},
    {"trainer", "translator"},
    {"callbacks", "cli", "study"},
    {"__main__", "lit_transformer"},
)
FLOOR = {unit: floor for floor, units in enumerate(FLOORS) for unit in units}
# Modules that share the floor and the topic of a unit.
BELONGS_TO = {
    "analysis_config": "analysis",
    "chrf": "bleu",
    "corpus_choice": "cli",
    "default_callbacks": "cli",
    "parser_messages": "errors",
    "scoring": "analysis",
    "split_scoring": "module",
    "trainer_checks": "recipe",
}

WITHOUT_LIGHTNING = ("model", "decoding", "surgery", "importance")
MAX_LINES = 400
# Libraries that are installed under another name than they are imported.
DISTRIBUTION = {"yaml": "pyyaml", "vl_convert": "vl_convert_python"}


def tracked() -> list[Path]:
    """Every file that git tracks or would track."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return sorted(path for name in listed.split("\0") if name and (path := ROOT / name).is_file())


def sources(*folders: str) -> list[Path]:
    return [path for path in tracked() if path.suffix == ".py" and path.relative_to(ROOT).parts[0] in folders]


def imports(path: Path) -> Iterator[str]:
    """The full name of each module or object that a file imports, wherever in the file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.relative_to(ROOT)}: relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def unit_of(name: str) -> str | None:
    """The unit that a dotted name belongs to; None outside the project."""
    first, *rest = name.split(".")
    if first == "callbacks":
        return first
    if first != "lit_transformer":
        return None
    unit = first if not rest or rest[0] == "__init__" else rest[0]
    return BELONGS_TO.get(unit, unit)


def unit_of_file(path: Path) -> str:
    unit = unit_of(".".join(path.relative_to(ROOT).with_suffix("").parts))
    assert unit is not None
    return unit


def floor(unit: str) -> int:
    """The floor of a unit; the top one for a unit that has none yet, which a test of its own tells."""
    return FLOOR.get(unit, len(FLOORS))


def violations(path: Path) -> list[str]:
    own = unit_of_file(path)
    used = {(name, unit) for name in imports(path) if (unit := unit_of(name)) not in (None, own)}
    return [f"{path.relative_to(ROOT)} imports {name}" for name, unit in used if floor(str(unit)) >= floor(own)]


def test_every_module_has_a_floor() -> None:
    units = {unit_of_file(path) for path in sources("lit_transformer", "callbacks")}
    assert units <= FLOOR.keys(), f"give {sorted(units - FLOOR.keys())} a place in FLOORS"


def test_files_import_only_from_floors_below() -> None:
    assert [found for path in sources("lit_transformer", "callbacks") for found in violations(path)] == []


def test_the_application_never_imports_the_callbacks() -> None:
    importing = [path for path in sources("lit_transformer") if "callbacks" in map(unit_of, imports(path))]
    assert importing == []


@pytest.mark.parametrize(
    ("imported", "unwanted"),
    [
        ("lit_transformer", ("torch", "numpy", "pandas", "yaml")),
        ("lit_transformer.report.command", ("torch", "pytorch_lightning", "wandb", "pandas", "altair", "matplotlib")),
    ],
)
def test_what_a_light_command_loads(imported: str, unwanted: tuple[str, ...]) -> None:
    code = f"import sys, {imported}; print(*(name for name in {unwanted} if name in sys.modules))"
    made = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert made.stdout.strip() == ""


@pytest.mark.parametrize("unit", WITHOUT_LIGHTNING)
def test_the_core_knows_neither_lightning_nor_wandb(unit: str) -> None:
    files = [path for path in sources("lit_transformer") if unit_of_file(path) == unit]
    assert files
    for path in files:
        roots = {name.partition(".")[0] for name in imports(path)}
        assert not roots & {"pytorch_lightning", "lightning", "wandb"}, path


def test_nobody_imports_the_other_lightning() -> None:
    importing = [
        path
        for path in tracked()
        if path.suffix == ".py" and any(name.partition(".")[0] == "lightning" for name in imports(path))
    ]
    assert importing == []


def test_every_library_that_is_imported_is_asked_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    dependencies = [*project["dependencies"], *project["optional-dependencies"]["wandb-report"]]
    asked = {re.split(r"[^\w-]", line)[0].lower().replace("-", "_") for line in dependencies}
    own = {"lit_transformer", "callbacks", "__future__"}
    roots = {name.partition(".")[0] for path in sources(*own) for name in imports(path)}
    assert {DISTRIBUTION.get(root, root) for root in roots - own - sys.stdlib_module_names} <= asked


def test_files_stay_short() -> None:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in tracked() if path.suffix == ".py"}
    assert {str(path): lines for path, lines in lengths.items() if lines > MAX_LINES} == {}


def forbidden() -> re.Pattern[str]:
    """Registry hosts and paths of the machines that this is written on, in pieces, so that this file holds none."""
    folders = "|".join(("wo" + "rk", "ro" + "ot", "fa" + "rm", r"tmp/[a-z]+_jobs"))
    hosts = "|".join(("py" + "pi", "python" + "hosted", "npm" + "js", "deb[.]deb" + "ian"))
    return re.compile(
        rf"(?:^|[^A-Za-z0-9_.])/(?:{folders})(?:/|\b)|https?://(?:[a-z-]+[.])*(?:{hosts})[.]", re.MULTILINE
    )


@pytest.mark.parametrize(
    ("text", "caught"),
    [
        ("cd /wo" + "rk/main", True),
        ("'/ro" + "ot'", True),
        ("https://files.python" + "hosted.org/x", True),
        ("https://py" + "pi.org/simple", True),
        ("a frame/wo" + "rk of art", False),
        (".github/workflows/ci.yml", False),
        ("https://www.apache.org/licenses/", False),
    ],
)
def test_the_search_for_machine_paths_finds_them(text: str, caught: bool) -> None:
    assert bool(forbidden().search(text)) is caught


def test_no_file_names_a_machine_or_a_registry() -> None:
    found = {}
    for path in tracked():
        try:
            match = forbidden().search(path.read_text(encoding="utf-8"))
        except UnicodeDecodeError:
            continue
        if match:
            found[str(path.relative_to(ROOT))] = match.group()
    assert found == {}
