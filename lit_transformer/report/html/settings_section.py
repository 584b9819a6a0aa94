"""What a run was made with, and how to make it again."""

from __future__ import annotations

from collections.abc import Sequence

from lit_transformer.report.html import again
from lit_transformer.report.html.section import Section
from lit_transformer.report.origins import ORIGINS
from lit_transformer.report.runs import Run
from lit_transformer.report.studies import Study


def settings_section(run: Run, studies: Sequence[Study] = (), report: Sequence[str] = ()) -> Section:
    """Return what the numbers of a run rest on, with the commands that make them again.

    Args:
        run: The run.
        studies: The studies that are shown beside it.
        report: The command of the report; that of the run alone where not given.
    """
    scores = run.scores
    facts = [("run", str(run.folder))]
    if scores:
        decoding = ", ".join(f"{name} {value}" for name, value in scores.get("decoding", {}).items())
        versions = ", ".join(f"{name} {value}" for name, value in scores.get("versions", {}).items())
        facts += [
            ("checkpoint", str(scores.get("checkpoint", ""))),
            ("scoring set", run.scoring_set),
            ("digest of the scoring set", str(scores.get("scoring_set", {}).get("digest", ""))),
            ("signature", str(scores.get("signature", ""))),
            ("decoding", decoding),
            ("digest of the weights", str(scores.get("weights", ""))),
            ("digest of the tokenizer", str(scores.get("tokenizer", ""))),
            ("digest of the initial weights", str(scores.get("criticality", {}).get("initial_weights", ""))),
            ("versions", versions),
        ]
    for name, what in (("contribution", "cap epsilon"), ("criticality", "epsilon search grid include_norm")):
        found = scores.get(name, {})
        facts.append((name, ", ".join(f"{each} {found[each]}" for each in what.split() if each in found)))
    model, trainer = run.settings("model"), run.settings("trainer")
    facts += [(name, told(run)) for name, told in ORIGINS.items()]
    names = ("norm", "tie_embeddings")
    facts.append(("model", ", ".join(f"{name} {model[name]}" for name in names if model.get(name) is not None)))
    learning = ("learning_rate", "warmup_steps", "label_smoothing")
    trained = [f"{name} {model[name]}" for name in learning if model.get(name) is not None]
    trained += [f"{name} {trainer[name]}" for name in ("precision", "max_epochs") if trainer.get(name) is not None]
    facts.append(("training", ", ".join(trained)))
    if run.config.get("start_from"):
        facts.append(("started from", str(run.config["start_from"])))
    own = list(report) or again.report_command([run.folder], None)
    commands = [*again.run_commands(run), *again.study_commands(studies), own]
    return Section(
        "settings",
        "Settings",
        facts=[fact for fact in facts if fact[1]],
        commands=again.lines(commands),
    )
