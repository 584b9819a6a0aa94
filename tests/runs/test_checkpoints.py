from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import pytest
import torch

from lit_transformer.errors import UserError
from lit_transformer.runs.checkpoints import (
    CHECKPOINT_FORMAT,
    AtomicCheckpointIO,
    average_checkpoints,
    find_checkpoint,
    read_checkpoint,
    run_folder_of,
)


def checkpoint(**entries: Any) -> dict[str, Any]:
    return {"state_dict": {}, "lit_transformer": {"format": CHECKPOINT_FORMAT, "version": "0.1.0"}, **entries}


def saved(path: Path, **entries: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.save(checkpoint(**entries), path)
    return path


def touched(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()


class TestFind:
    def test_a_file_is_itself_whatever_its_name(self, tmp_path: Path) -> None:
        touched(tmp_path, "other.pt", "last.ckpt")
        assert find_checkpoint(tmp_path / "other.pt") == tmp_path / "other.pt"
        assert find_checkpoint(str(tmp_path / "other.pt"), "resume") == tmp_path / "other.pt"

    def test_the_average_is_scored_first_and_the_last_resumed(self, tmp_path: Path) -> None:
        folder = tmp_path / "checkpoints"
        touched(folder, "last.ckpt", "best-loss.ckpt", "best-bleu.ckpt", "step=5.ckpt")
        assert find_checkpoint(tmp_path) == folder / "best-loss.ckpt"
        assert find_checkpoint(tmp_path, "resume") == folder / "last.ckpt"
        touched(folder, "average.ckpt")
        assert find_checkpoint(tmp_path) == folder / "average.ckpt"
        assert find_checkpoint(folder) == folder / "average.ckpt"  # the folder of the checkpoints serves too

    @pytest.mark.parametrize(
        ("purpose", "there", "names"),
        [
            ("score", "last.ckpt", "checkpoints/average.ckpt and checkpoints/best-loss.ckpt"),
            ("resume", "best-loss.ckpt", "checkpoints/last.ckpt"),
        ],
    )
    def test_a_folder_without_it(self, tmp_path: Path, purpose: Any, there: str, names: str) -> None:
        touched(tmp_path / "checkpoints", there)
        with pytest.raises(UserError, match=rf"no checkpoint in '.*'; looked for {names}\."):
            find_checkpoint(tmp_path, purpose)

    def test_a_path_that_does_not_exist(self, tmp_path: Path) -> None:
        with pytest.raises(
            UserError, match=r"checkpoint '.*no\.ckpt' does not exist; give a \.ckpt file or the folder"
        ):
            find_checkpoint(tmp_path / "no.ckpt")

    def test_the_folder_of_the_run(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        assert run_folder_of("runs/a/version_0/checkpoints/last.ckpt") == tmp_path / "runs/a/version_0"
        assert run_folder_of("copied.ckpt") == tmp_path


class TestRead:
    def test_what_was_written(self, tmp_path: Path) -> None:
        weights = {"a": torch.arange(3.0), "b": torch.tensor(2, dtype=torch.int64)}
        read = read_checkpoint(saved(tmp_path / "a.ckpt", state_dict=weights, epoch=3))
        assert read["epoch"] == 3
        assert all(torch.equal(read["state_dict"][name], weights[name]) for name in weights)

    def test_a_missing_file(self, tmp_path: Path) -> None:
        with pytest.raises(UserError, match=r"'.*a\.ckpt' is no checkpoint of lit-transformer: no such file; give"):
            read_checkpoint(tmp_path / "a.ckpt")

    @pytest.mark.parametrize(
        "content",
        [b"", b"hello world\n", b"PK\x03\x04 and no more", os.urandom(2000), pickle.dumps({"a": 1}), b"{" * 5000],
        ids=["empty", "text", "half a zip", "random", "pickle", "braces"],
    )
    def test_garbage(self, tmp_path: Path, content: bytes) -> None:
        (tmp_path / "a.ckpt").write_bytes(content)
        with pytest.raises(UserError, match=r"is no checkpoint of lit-transformer: it cannot be read as a checkpoint"):
            read_checkpoint(tmp_path / "a.ckpt")

    def test_a_checkpoint_that_was_cut_off(self, tmp_path: Path) -> None:
        path = saved(tmp_path / "a.ckpt", state_dict={"a": torch.zeros(10_000)})
        path.write_bytes(path.read_bytes()[:20_000])
        with pytest.raises(UserError, match="cannot be read as a checkpoint"):
            read_checkpoint(path)

    def test_a_folder(self, tmp_path: Path) -> None:
        with pytest.raises(UserError, match="cannot be read as a checkpoint"):
            read_checkpoint(tmp_path)

    def test_a_file_that_would_run_code(self, tmp_path: Path) -> None:
        class Trap:
            def __reduce__(self) -> tuple[Any, ...]:
                return Path.touch, (tmp_path / "trapped",)

        torch.save(checkpoint(trap=Trap()), tmp_path / "a.ckpt")
        with pytest.raises(UserError, match="cannot be read as a checkpoint"):
            read_checkpoint(tmp_path / "a.ckpt")
        assert not (tmp_path / "trapped").exists()

    @pytest.mark.parametrize(
        "content",
        [
            {"state_dict": {"weight": torch.zeros(2)}, "pytorch-lightning_version": "2.6.6"},
            torch.zeros(3),
            {"lit_transformer": None},
            {"lit_transformer": "yes"},
            {"lit_transformer": {"version": "0.1.0"}},
        ],
        ids=["lightning", "tensor", "none", "text", "no format"],
    )
    def test_a_file_of_another_program(self, tmp_path: Path, content: Any) -> None:
        torch.save(content, tmp_path / "a.ckpt")
        with pytest.raises(UserError, match=r"'.*a\.ckpt' is a file of another program; give a \.ckpt file"):
            read_checkpoint(tmp_path / "a.ckpt")

    def test_a_later_format(self, tmp_path: Path) -> None:
        path = saved(tmp_path / "a.ckpt", lit_transformer={"format": CHECKPOINT_FORMAT + 1, "version": "9.0"})
        with pytest.raises(UserError, match=r"has checkpoint format 2, this program reads up to 1; install a newer"):
            read_checkpoint(path)


class TestAtomicCheckpointIO:
    def test_written_and_read(self, tmp_path: Path) -> None:
        AtomicCheckpointIO().save_checkpoint(checkpoint(epoch=1), tmp_path / "checkpoints" / "a.ckpt")
        assert read_checkpoint(tmp_path / "checkpoints" / "a.ckpt")["epoch"] == 1
        assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == ["a.ckpt"]

    @pytest.mark.parametrize(
        ("error", "raised"),
        [
            (OSError(28, "No space left on device"), UserError),
            (RuntimeError("PytorchStreamWriter failed writing file data/0: file write failed"), UserError),
            (KeyboardInterrupt(), KeyboardInterrupt),
        ],
    )
    def test_a_failure_in_the_middle_leaves_the_old_one(
        self,
        tmp_path: Path,
        error: BaseException,
        raised: type[BaseException],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        path = saved(tmp_path / "last.ckpt", epoch=1)
        before = path.read_bytes()

        def half(content: Any, place: Path) -> None:
            place.write_bytes(before[:100])
            raise error

        monkeypatch.setattr(torch, "save", half)
        with pytest.raises(raised) as caught:
            AtomicCheckpointIO().save_checkpoint(checkpoint(epoch=2), path)
        if raised is UserError:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            assert f"cannot write {str(path)!r}: {reason}." in str(caught.value)
        assert path.read_bytes() == before
        assert list(tmp_path.iterdir()) == [path]


class TestAverage:
    def states(self) -> list[dict[str, torch.Tensor]]:
        return [
            {"a": torch.tensor([1.0, 2.0, 1e8]), "half": torch.tensor([1.0], dtype=torch.bfloat16)},
            {"a": torch.tensor([2.0, 4.0, 1.0]), "half": torch.tensor([2.0], dtype=torch.bfloat16)},
            {"a": torch.tensor([6.0, 0.0, -1e8]), "half": torch.tensor([3.0], dtype=torch.bfloat16)},
        ]

    def paths(self, folder: Path) -> list[Path]:
        made = enumerate(self.states(), start=1)
        return [saved(folder / f"step={n}.ckpt", state_dict=s, epoch=n, optimizer_states=[n]) for n, s in made]

    def test_the_mean_of_known_tensors(self, tmp_path: Path) -> None:
        average = average_checkpoints(self.paths(tmp_path))
        # In float32, 1e8 + 1 - 1e8 would be 0.
        assert torch.equal(average["state_dict"]["a"], torch.tensor([3.0, 2.0, 1 / 3]))
        assert torch.equal(average["state_dict"]["half"], torch.tensor([2.0], dtype=torch.bfloat16))

    def test_the_rest_is_the_last_ones_without_what_training_needs(self, tmp_path: Path) -> None:
        average = average_checkpoints(self.paths(tmp_path))
        assert average.keys() == {"state_dict", "lit_transformer", "epoch", "averaged"}
        assert average["epoch"] == 3
        assert average["averaged"] == ["step=1.ckpt", "step=2.ckpt", "step=3.ckpt"]

    def test_one_is_its_own_average(self, tmp_path: Path) -> None:
        (path, *_) = self.paths(tmp_path)
        assert torch.equal(average_checkpoints([path])["state_dict"]["a"], self.states()[0]["a"])

    def test_runs_that_started_from_different_weights(self, tmp_path: Path) -> None:
        paths = []
        for number, digest in enumerate(("1" * 64, "1" * 64, "2" * 64)):
            about = {"format": 1, "version": "0", "initial_weights": {"digest": digest}}
            state = self.states()[number]
            paths.append(saved(tmp_path / f"{number}.ckpt", state_dict=state, lit_transformer=about))
        assert average_checkpoints(paths[:2])["state_dict"]["a"].tolist()[:2] == [1.5, 3.0]
        with pytest.raises(UserError, match=r"2\.ckpt' and '.*0\.ckpt' were trained from different initial weights"):
            average_checkpoints(paths)

    def test_it_is_a_checkpoint(self, tmp_path: Path) -> None:
        AtomicCheckpointIO().save_checkpoint(average_checkpoints(self.paths(tmp_path)), tmp_path / "average.ckpt")
        assert torch.equal(
            read_checkpoint(tmp_path / "average.ckpt")["state_dict"]["a"], torch.tensor([3.0, 2.0, 1 / 3])
        )

    @pytest.mark.parametrize(
        "state", [{"a": torch.zeros(3)}, {"a": torch.zeros(2), "half": torch.zeros(1)}, {"b": torch.zeros(3)}]
    )
    def test_another_structure(self, tmp_path: Path, state: dict[str, torch.Tensor]) -> None:
        paths = [*self.paths(tmp_path), saved(tmp_path / "step=9.ckpt", state_dict=state)]
        with pytest.raises(UserError, match=r"'.*step=9\.ckpt' has another structure than '.*step=1\.ckpt'; average"):
            average_checkpoints(paths)
