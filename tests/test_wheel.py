"""The wheel works by itself: installed into an empty environment, used from another folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

from tests.report.making import make_run

ROOT = Path(__file__).parents[1]
PARTS = ("lit_transformer", "callbacks", "configs", "pyproject.toml", "README.md", "LICENSE")


def run(*command: str | Path, cwd: Path) -> str:
    """Run a command that knows nothing of the checkout, and return its output."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # Built from a copy: building leaves files beside the sources.
    copy = tmp_path_factory.mktemp("sources")
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(ROOT / part, copy / part)
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, copy, cwd=folder)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` folder of a new environment that holds the wheel and sees this one's other packages."""
    home = tmp_path_factory.mktemp("environment")
    venv.create(home, with_pip=False, symlinks=os.name != "nt")
    binaries = home / ("Scripts" if os.name == "nt" else "bin")
    python = binaries / "python"
    pip = (sys.executable, "-m", "pip", "--python", python, "install", "--no-index", "--no-deps")
    run(*pip, wheel, cwd=home)
    site_packages = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=home).strip())
    # A folder named in a .pth file is searched last, and .pth files in it are not read: an editable installation of
    # this project there stays unseen.
    (site_packages / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    return binaries


def test_wheel_holds_both_packages_and_the_configs(wheel: Path) -> None:
    held = set(zipfile.ZipFile(wheel).namelist())
    sources = {
        path.relative_to(ROOT).as_posix()
        for part in ("lit_transformer", "callbacks")
        for path in (ROOT / part).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    configs = {f"lit_transformer/configs/{path.name}" for path in (ROOT / "configs").glob("*.yaml")}
    expected = sources | configs
    assert "lit_transformer/report/html/report.css" in expected
    assert configs
    assert {name for name in held if ".dist-info/" not in name} == expected


def test_wheel_names_licence_and_command(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        texts = {Path(name).name: archive.read(name).decode() for name in archive.namelist() if ".dist-info/" in name}
    assert "License-Expression: Apache-2.0" in texts["METADATA"]
    assert texts["LICENSE"] == (ROOT / "LICENSE").read_text()
    assert "lit-transformer = lit_transformer.__main__:main" in texts["entry_points.txt"]


def test_commands_work_from_another_folder(environment: Path, tmp_path: Path) -> None:
    # Found, not imported, which would load torch.
    find = "from importlib.util import find_spec as f; print(f('lit_transformer').origin, f('callbacks').origin)"
    for where in run(environment / "python", "-c", find, cwd=tmp_path).split():
        assert Path(where).is_relative_to(environment.parent)
    assert "analyze" in run(environment / "lit-transformer", "--help", cwd=tmp_path)
    printed = run(environment / "lit-transformer", "fit", "--config", "demo.yaml", "--print_config", cwd=tmp_path)
    assert "name: demo" in printed
    assert str(ROOT) not in printed
    assert list(tmp_path.iterdir()) == []
    # The page is made of files in the wheel that are no Python.
    run(environment / "lit-transformer", "report", make_run(tmp_path / "run"), cwd=tmp_path)
    assert "vegaEmbed" in (tmp_path / "run" / "report" / "index.html").read_text(encoding="utf-8")


def test_pins_are_exact_and_cover_what_the_project_asks_for() -> None:
    pins = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    assert all(line.count("==") == 1 for line in pins)
    pinned = {line.partition("==")[0].lower().replace("_", "-") for line in pins}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = project["dependencies"] + project["optional-dependencies"]["dev"]
    names = {line.split(">")[0].split("[")[0].strip().lower().replace("_", "-") for line in asked}
    assert names <= pinned
