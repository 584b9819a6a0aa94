from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from lit_transformer.errors import UserError
from lit_transformer.report.wandb_reading import ReportedRun, ReportedStudy, reported_run, reported_studies
from lit_transformer.report.wandb_report import MOST_RUN_SETS, publish, report_blocks, title_of
from tests.report import making

reports = pytest.importorskip("wandb_workspaces.reports.v2", reason="wandb-workspaces is not installed")

ROWS = [
    {
        "component": "e:sa:1",
        "parameters": 1000,
        "drop": 0.5,
        "drop_lower": -0.25,
        "drop_upper": 1.0,
        "contribution": 0.1,
    },
    {"component": "d:ff:2", "parameters": 2000, "drop": 12.345, "contribution": 1.0, "criticality": 0.9},
]
STEP = {"step": 0, "component": "", "validation_bleu": 30.0, "validation_drop": 0.0}
SCORES = {
    "baseline": {"bleu": 30.0, "sentences": 500},
    "scoring_set": {"name": "validation", "split": "validation", "sentences": 500},
    "signature": "nrefs:1|tok:13a",
    "decoding": {"beam": 4},
    "correlations": {"contribution_and_criticality": 0.875},
    "group_ablation": {"rows": [making.steps_of(order, [], 0.0)[0] for order in ("greedy", "random-1")]},
    "components": ROWS,
}


def make_run(folder: Path, analysed: bool = True, config: str = "name: demo\n") -> Path:
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text(config, encoding="utf-8")
    if analysed:
        (folder / "analysis/average").mkdir(parents=True)
        (folder / "analysis/average/scores.json").write_text(json.dumps(SCORES), encoding="utf-8")
    return folder


def make_study(folder: Path, started_from: Path) -> Path:
    make_run(folder / "runs/pruned/version_0", False, f"start_from: {started_from}/checkpoints/average.ckpt\n")
    (folder / "study.md").write_text("# Study s\n\n| arm |\n| --- |\n", encoding="utf-8")
    return folder


def spec(blocks: Sequence[Any]) -> dict[str, Any]:
    """The report as it would be sent, with a server that knows every project."""
    known = {"project": {"internalId": "id"}}
    with (
        mock.patch("wandb_workspaces.reports.v2.interface._get_api"),
        mock.patch("wandb_workspaces.reports.v2.interface.execute_graphql", return_value=known),
    ):
        model = reports.Report(project="p", entity="e", title="t", blocks=list(blocks))._to_model()
    content: dict[str, Any] = json.loads(model.spec.model_dump_json(by_alias=True, exclude_none=True))
    return content


def grids(blocks: Sequence[Any]) -> list[Any]:
    return [block for block in blocks if isinstance(block, reports.PanelGrid)]


def texts(blocks: Sequence[Any]) -> str:
    return "\n".join(block.text for block in blocks if isinstance(block, reports.MarkdownBlock))


@pytest.fixture
def blocks(tmp_path: Path) -> list[Any]:
    first = make_run(tmp_path / "runs/demo/version_0")
    second = make_run(tmp_path / "runs/demo/version_1", analysed=False)
    return report_blocks(
        [reported_run(first), reported_run(second)], [ReportedStudy("s", "# Study s")], "me", "project"
    )


class TestBlocks:
    def test_what_was_analysed_and_what_was_not(self, blocks: list[Any]) -> None:
        text = texts(blocks)
        assert "**demo-version_0**, average: 30.00 BLEU on 500 sentences of validation; 2 components" in text
        assert "signature `nrefs:1|tok:13a`" in text
        assert "rank correlation of contribution and criticality 0.88" in text
        assert "**demo-version_1**: not analysed" in text

    def test_the_table_of_components_is_sorted(self, blocks: list[Any]) -> None:
        lines = [line for line in texts(blocks).splitlines() if line.startswith("| ") and ":" in line]
        assert lines == [
            "| d:ff:2 | 2,000 | 12.35 |  | 1.00 | 0.90 |",
            "| e:sa:1 | 1,000 | 0.50 | -0.25 to 1.00 | 0.10 |  |",
        ]

    def test_heat_maps_stand_side_by_side(self, blocks: list[Any]) -> None:
        grid = grids(blocks)[0]
        media = [panel for panel in grid.panels if isinstance(panel, reports.MediaBrowser)]
        assert [panel.media_keys for panel in media] == [
            ["analysis/contribution_picture"],
            ["analysis/criticality_picture"],
        ]
        assert media[0].layout.y == media[1].layout.y
        assert media[0].layout.x + media[0].layout.w <= media[1].layout.x
        charts = [panel for panel in grid.panels if isinstance(panel, reports.CustomChart)]
        assert [chart.query["summaryTable"]["tableKey"] for chart in charts] == [
            "analysis/contribution_chart_table",
            "analysis/criticality_chart_table",
        ]
        assert [runset.name for runset in grid.runsets] == ["demo-version_0", "demo-version_1"]

    def test_curves_have_the_axes_that_they_were_logged_on(self, blocks: list[Any]) -> None:
        plots = [panel for grid in grids(blocks) for panel in grid.panels if isinstance(panel, reports.LinePlot)]
        assert {name: plot.x for plot in plots for name in plot.y} == {
            "val/bleu": "trainer/global_step",
            "val/loss": "trainer/global_step",
            "train/loss": "trainer/global_step",
            **{
                f"group_ablation/{order}/{split}_bleu": "group_ablation/removed"
                for order in ("greedy", "random-1")
                for split in ("validation", "test")
            },
        }

    def test_run_sets_ask_for_names_and_groups(self, blocks: list[Any]) -> None:
        sent = json.dumps(spec(blocks))
        for name in ("demo-version_0-fit", "demo-version_0-analyze", "demo-version_1-analyze", "s-study"):
            assert name in sent
        assert "group demo" in sent

    def test_it_can_be_sent(self, blocks: list[Any]) -> None:
        kinds = [block["type"] for block in spec(blocks)["blocks"]]
        assert kinds.count("panel-grid") == 5
        assert {"table-of-contents", "heading", "markdown-block"} <= set(kinds)

    def test_without_any_analysis(self, tmp_path: Path) -> None:
        run = reported_run(make_run(tmp_path / "runs/demo/version_0", analysed=False))
        made = report_blocks([run], [], "me", "project")
        assert "not analysed" in texts(made)
        assert spec(made)["blocks"]

    def test_a_study_alone(self) -> None:
        made = report_blocks([], [ReportedStudy("s", "# Study s")], "me", "project")
        assert texts(made) == "# Study s"
        assert "s-study" in json.dumps(spec(made))

    def test_many_runs_share_a_run_set(self) -> None:
        many = [ReportedRun(f"demo-version_{n}", f"group-{n}", [f"demo-version_{n}-fit"]) for n in range(200)]
        made = report_blocks(many, [], "me", "project")
        assert [len(grid.runsets) for grid in grids(made)] == [1, 1, 1]
        assert MOST_RUN_SETS < 200
        assert title_of([run.name for run in many]) == "Components of 200 runs"

    def test_text_from_a_file_stays_text(self, tmp_path: Path) -> None:
        folder = make_run(tmp_path / "runs/demo/version_0")
        path = folder / "analysis/average/scores.json"
        scores = {**SCORES, "scoring_set": {"name": "<b>a`b`\n# c", "split": "s", "sentences": 1}}
        path.write_text(json.dumps(scores), encoding="utf-8")
        text = texts(report_blocks([reported_run(folder)], [], "me", "project"))
        assert "1 sentences of &lt;b&gt;a'b' # c;" in text


class TestReading:
    def test_the_group_is_that_of_the_parent(self, tmp_path: Path) -> None:
        parent = make_run(tmp_path / "runs/demo/version_0")
        tuned = make_run(tmp_path / "runs/tuned/version_0", False, f"start_from: {parent}/checkpoints/average.ckpt\n")
        assert reported_run(tuned).group == "demo"

    @pytest.mark.parametrize("given", ["checkpoints/average.ckpt", "checkpoints", ""])
    def test_an_analysis_elsewhere_has_the_name_of_its_run(self, given: str, tmp_path: Path) -> None:
        run = make_run(tmp_path / "runs/demo/version_3", config="wandb: {group: all}")
        elsewhere = tmp_path / "some/where"
        shutil.copytree(run / "analysis", elsewhere / "analysis")
        (elsewhere / "analysis/average/config.yaml").write_text(f"ckpt_path: {run / given}")
        found = reported_run(elsewhere)
        assert (found.name, found.group) == ("demo-version_3", "all")
        assert found.wandb_names == [f"demo-version_3-{command}" for command in ("fit", "test", "analyze")]
        assert found.analyses == reported_run(run).analyses

    def test_another_folder(self, tmp_path: Path) -> None:
        with pytest.raises(UserError, match="is no folder of a run"):
            reported_run(tmp_path)

    @pytest.mark.parametrize("content", ["{", "[]", '{"components": [{"component": "x"}]}', '{"components": []}'])
    def test_scores_that_cannot_be_read_are_a_line_beside_the_others(self, content: str, tmp_path: Path) -> None:
        run = make_run(tmp_path / "runs/demo/version_0")
        for name, stem in (("version_0", "older"), ("version_1", "average")):
            broken = tmp_path / "runs/demo" / name / "analysis" / stem
            broken.mkdir(parents=True)
            (broken / "scores.json").write_text(content)
        blocks = report_blocks([reported_run(run), reported_run(run.parent / "version_1")], [], "me", "project")
        text = texts(blocks)
        assert "**demo-version_0**, average: 30.00 BLEU" in text
        assert len(re.findall(r"\*\*demo-version_0\*\*: .*older/scores\.json.* analyze again", text)) == 1
        assert len(re.findall(r"\*\*demo-version_1\*\*: .*average/scores\.json.* analyze again", text)) == 1
        assert spec(blocks)["blocks"]

    def test_the_studies_of_a_run(self, tmp_path: Path) -> None:
        run, other = (make_run(tmp_path / "runs/demo" / f"version_{n}") for n in (0, 1))
        study = make_study(tmp_path / "studies/s", run)
        make_run(tmp_path / "studies/half/runs/a/version_0")
        assert [found.name for found in reported_studies([run])] == ["s"]
        assert reported_studies([other]) == []
        assert [found.name for found in reported_studies([study, run])] == ["s"]
        [trained] = study.glob("runs/*/version_0")
        assert [found.text for found in reported_studies([trained, run])] == ["# Study s\n\n| arm |\n| --- |\n"]

    def test_the_tables_of_a_study_say_what_their_bleu_rests_on(self, tmp_path: Path) -> None:
        study = making.make_study(tmp_path / "studies/s")
        text = "# Study s\n\n- BLEU: validation, 500 sentences."
        for written, told in (("", 3), (text, 2)):
            (study / "study.md").write_text(written)
            [found] = reported_studies([study])
            rests_on = (making.SIGNATURE, "validation, 500 sentences", "test, 400 sentences")
            assert [found.text.count(each) for each in rests_on] == [1, 1, 1]
            assert found.text.count("\n\nBLEU, ") == told


class TestPublish:
    @pytest.fixture
    def run(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        for name in ("WANDB_API_KEY", "WANDB_BASE_URL", "NETRC"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("HOME", str(tmp_path))
        return make_run(tmp_path / "runs/demo/version_0")

    @pytest.mark.parametrize("target", ["", "me", "me/", "/project", "me/project/more", "a b/c", "me/what?"])
    def test_another_form_of_target(self, target: str, run: Path) -> None:
        with pytest.raises(UserError, match=r"--wandb is .*; give ENTITY/PROJECT"):
            publish([run], target)

    def test_not_logged_in(self, run: Path) -> None:
        with pytest.raises(UserError, match="no API key here; log in with `wandb login`"):
            publish([run], "me/project")

    def test_without_the_package(self, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "wandb_workspaces.reports.v2", None)
        with pytest.raises(UserError, match=r"pip install 'lit-transformer\[wandb-report\]'"):
            publish([run], "me/project")

    def test_it_is_saved(self, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("WANDB_API_KEY", "0" * 40)
        saved: list[Any] = []

        def save(report: Any) -> Any:
            saved.append(report)
            return mock.Mock(url="https://wandb.ai/me/project/reports/x")

        with mock.patch.object(reports.Report, "save", save):
            assert publish([run], "me/my project") == "https://wandb.ai/me/project/reports/x"
        [report] = saved
        assert (report.entity, report.project, report.title) == ("me", "my project", "Components of demo-version_0")
        assert all(runset.entity == "me" for grid in grids(report.blocks) for runset in grid.runsets)

    @pytest.mark.parametrize("error", [ValueError("project 'me/p' not found"), ConnectionError("no route")])
    def test_what_the_server_says_is_one_line(
        self, error: Exception, run: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("WANDB_API_KEY", "0" * 40)
        with (
            mock.patch.object(reports.Report, "save", side_effect=error),
            pytest.raises(UserError, match=r"did not take the report: .*wandb sync") as raised,
        ):
            publish([run], "me/project")
        assert "\n" not in str(raised.value)
