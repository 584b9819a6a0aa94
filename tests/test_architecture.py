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

# From the ground up. A room is a file or a folder of lit_transformer, or the package `callbacks`; it imports itself and
# the rooms on the floors below. CONTRIBUTING.md shows this table.
FLOORS = (
    ("errors", "version"),
    ("components", "console", "files", "grammar", "metrics"),
    ("data", "runs", "structure"),
    ("model", "tracking"),
    ("decoding",),
    ("importance",),
    ("report", "training"),
    ("callbacks", "cli", "lit_transformer", "study"),
    ("__main__",),
)
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}

WITHOUT_LIGHTNING = ("model", "decoding", "importance")
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


def room_of(name: str) -> str | None:
    """The room that a dotted name belongs to; None outside the project."""
    first, *rest = name.split(".")
    if first == "callbacks":
        return first
    if first != "lit_transformer":
        return None
    return rest[0] if rest and rest[0] in ROOMS else first


def room_of_file(path: Path) -> str:
    room = room_of(".".join(path.relative_to(ROOT).with_suffix("").parts))
    assert room is not None
    return room


ROOMS = {Path(path.relative_to(ROOT).parts[1]).stem for path in sources("lit_transformer")} - {"__init__"}


def violations(path: Path) -> list[str]:
    own = room_of_file(path)
    used = {(name, room) for name in imports(path) if (room := room_of(name)) not in (None, own)}
    return [f"{path.relative_to(ROOT)} imports {name}" for name, room in used if FLOOR[str(room)] >= FLOOR[own]]


def test_every_room_has_a_floor() -> None:
    assert {room_of_file(path) for path in sources("lit_transformer", "callbacks")} == FLOOR.keys()


def test_contributing_shows_the_floors() -> None:
    table = "\n".join(f"   {floor}  {', '.join(rooms)}" for floor, rooms in enumerate(FLOORS, start=1))
    assert f"   ```\n{table}\n   ```" in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def test_files_import_only_from_floors_below() -> None:
    assert [found for path in sources("lit_transformer", "callbacks") for found in violations(path)] == []


def test_the_application_never_imports_the_callbacks() -> None:
    importing = [path for path in sources("lit_transformer") if "callbacks" in map(room_of, imports(path))]
    assert importing == []


@pytest.mark.parametrize(
    ("imported", "unwanted"),
    [
        ("lit_transformer", ("torch", "numpy", "pandas", "yaml")),
        ("lit_transformer.report.command", ("torch", "pytorch_lightning", "wandb", "pandas", "altair", "vl_convert")),
    ],
)
def test_what_a_light_command_loads(imported: str, unwanted: tuple[str, ...]) -> None:
    code = f"import sys, {imported}; print(*(name for name in {unwanted} if name in sys.modules))"
    made = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert made.stdout.strip() == ""


@pytest.mark.parametrize("room", WITHOUT_LIGHTNING)
def test_the_core_knows_neither_lightning_nor_wandb(room: str) -> None:
    files = [path for path in sources("lit_transformer") if room_of_file(path) == room]
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
