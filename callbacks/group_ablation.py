"""Group ablation: BLEU as components are removed one after another, without retraining (Wang & Tu 2020, figure 9)."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Literal

from typing_extensions import override

from callbacks.component_scorer import ComponentScorer, refuse_unused
from lit_transformer.components import canonical_key, kind_of, select
from lit_transformer.console.tables import print_group_ablation
from lit_transformer.console.terminal import say
from lit_transformer.errors import UserError
from lit_transformer.files import write_text
from lit_transformer.importance.chains import Steps, single
from lit_transformer.importance.evaluation import Evaluation
from lit_transformer.importance.evaluator import Evaluator, Observer
from lit_transformer.importance.plan import Plan
from lit_transformer.importance.ranking import random_order
from lit_transformer.importance.score_table import ScoreTable, table_text
from lit_transformer.importance.variant import Variant, ablation
from lit_transformer.model.surgery import component_parameters
from lit_transformer.report.pictures import group_ablation_curve
from lit_transformer.runs.scores import differing, read_scores
from lit_transformer.tracking.run import log_group_ablation, others_of
from lit_transformer.training.analysis import Analysis
from lit_transformer.training.module import LitTransformer
from lit_transformer.training.trainer import Trainer

log = logging.getLogger(__name__)

CURVES = "group_ablation.csv"
SECTION = "group_ablation"
DEFAULT_K = 10

Order = Literal["greedy", "contribution", "criticality", "random"]


class GroupAblation(ComponentScorer):
    """Removes components of the trained model one after another, until k are gone or too much BLEU is lost.

    The order is chosen on validation. The curve is drawn on validation and, because the best of many noisy values looks
    better than it is, on test too. Writes its section of ``scores.json``, the same rows as ``group_ablation.csv``
    (those of other orders of the same model stay), and ``report/group_ablation.png``.

    Args:
        components: Which components may go: ids (d:sa:3), ranges (d:sa:1-3), kinds (d:sa), sides (d:*) or all (*).
        k: How many to remove; 10, or all of fewer, when not given.
        max_loss: Stop as soon as more BLEU points than this are lost on validation; null for never.
        order: greedy (each time the one whose removal costs least, given those that are gone), contribution or
            criticality (the lowest scores first, from this checkpoint's scores.json), or random.
        seeds: Seeds of the random orders, each another number from 0 up; their mean and spread are shown. 1, 2 and 3
            when not given.
        matched: Random orders take the n-th component from the same kind as the n-th of the greedy order, which must
            have been found before.
        test: Draw the curve on the test split too.

    Raises:
        UserError: A setting is out of its range, or was given where it can't matter.
    """

    apart_by = ("order", "matched", "seeds")

    def __init__(
        self,
        components: list[str] | None = None,
        k: int | None = None,
        max_loss: float | None = None,
        order: Order = "greedy",
        seeds: list[int] | None = None,
        matched: bool = False,
        test: bool = True,
    ) -> None:
        super().__init__(components)
        if k is not None and k < 1:
            raise UserError(f"GroupAblation's k is {k!r}; give a number of components from 1 up.")
        if max_loss is not None and max_loss <= 0:
            raise UserError(f"GroupAblation's max_loss is {max_loss!r}; give BLEU points above 0, or null.")
        # Python's generator takes a negative seed for the positive one.
        if seeds is not None and (not seeds or len(set(seeds)) < len(seeds) or min(seeds) < 0):
            raise UserError(
                f"GroupAblation's seeds are {seeds!r}; give at least one number from 0 up, and each once, such as "
                "[1, 2, 3]."
            )
        self.k, self.max_loss, self.order, self.matched, self.test = k, max_loss, order, matched, test
        self.seeds = [1, 2, 3] if seeds is None else seeds
        if order != "random":
            refuse_unused(GroupAblation, "seeds", seeds, "order: random")
            refuse_unused(GroupAblation, "matched", matched, "order: random")

    @override
    def check(self, trainer: Trainer, pl_module: LitTransformer) -> None:
        """Refuse what can't be removed now, not after days of training.

        Raises:
            UserError: A selector matches nothing, or there are fewer than k components.
        """
        super().check(trainer, pl_module)
        chosen = select(trainer.analysis_settings.components or self.components, pl_module.structure.components)
        self._count(chosen)

    @property
    @override
    def makes(self) -> str:
        return self.order

    @override
    def plan(self, analysis: Analysis) -> Plan:
        chosen = self.chosen(analysis)
        k = self._count(chosen)
        test = k + 1 if self.test else 0
        if self.order == "greedy":
            first = [ablation(component) for component in chosen]
            return Plan([Variant(), *first], sum(len(chosen) - gone for gone in range(1, k)) + test)
        number = (len(self.seeds) if self.order == "random" else 1) * (k + test)
        if self._rests_on and self._is_made_before(analysis, chosen):
            return Plan([Variant()], number)
        sure = k if self.max_loss is None else 1
        orders = self._orders(analysis, chosen).values()
        certain = [ablation(*order[:step]) for order in orders for step in range(1, sure + 1)]
        return Plan([Variant(), *certain], number - len(certain))

    @override
    def on_analyze(self, trainer: Trainer, pl_module: LitTransformer, analysis: Analysis) -> None:
        """Choose the orders, draw their curves, and write them.

        Raises:
            UserError: A selector matches nothing, there are fewer than k components, or the scores that the order is
                made from are missing.
        """
        chosen, plan = self.chosen(analysis), self.plan(analysis)
        # Two random orders may have a step in common.
        with self.progress(analysis, len(set(plan.variants)) + plan.at_most, plan.at_most > 0) as shown:
            analysis.evaluator.run([single(Variant())])
            rows = self._curves(analysis, self._orders(analysis, chosen), shown)
        if analysis.is_first:
            self._write(trainer, analysis, rows)

    def _count(self, chosen: Sequence[str]) -> int:
        """Return how many to remove of these components.

        Raises:
            UserError: There are not so many.
        """
        if self.k is not None and self.k > len(chosen):
            raise UserError(
                f"GroupAblation's k is {self.k}, but its selectors leave {len(chosen)} components "
                f"({', '.join(chosen)}); choose k up to that, or more components."
            )
        return min(DEFAULT_K, len(chosen)) if self.k is None else self.k

    @property
    def _rests_on(self) -> str:
        """What the orders are made from; nothing for those that need nothing."""
        if self.order == "random":
            return "greedy" if self.matched else ""
        return "" if self.order == "greedy" else self.order

    def _is_made_before(self, analysis: Analysis, chosen: Sequence[str]) -> bool:
        """Whether a scorer before this one in the analysis makes what the orders rest on."""
        before = itertools.takewhile(lambda scorer: scorer is not self, analysis.scorers)
        return any(
            isinstance(scorer, ComponentScorer)
            and scorer.makes == self._rests_on
            and set(scorer.chosen(analysis)) >= set(chosen)
            for scorer in before
        )

    def _orders(self, analysis: Analysis, chosen: list[str]) -> dict[str, list[str]]:
        """Return the components of each order, by its name.

        Raises:
            UserError: What the order rests on is missing.
        """
        if self.order == "greedy":
            return {"greedy": self._greedy(analysis, chosen)}
        if self.order == "random":
            k = self._count(chosen)
            kinds = [kind_of(name) for name in self._known_greedy(analysis, k)] if self.matched else None
            name = "matched" if self.matched else "random"
            return {f"{name}-{seed}": random_order(chosen, k, seed, kinds) for seed in self.seeds}
        rows = self._scored(analysis, chosen)
        score = {name: (rows[name][self.order], rows[name].get("drop", 0.0)) for name in chosen}
        return {self.order: sorted(chosen, key=lambda name: (*score[name], canonical_key(name)))[: self._count(chosen)]}

    def _scored(self, analysis: Analysis, chosen: Sequence[str]) -> dict[str, Mapping[str, Any]]:
        """Return the rows of these components in scores that are of this model on these sentences.

        Raises:
            UserError: There are none that hold the score of the order for all of them.
        """
        told = []
        # Those of some components first: a contribution is relative to what it was scored with.
        for folder in dict.fromkeys((self.folder(analysis), analysis.folder)):
            scores = read_scores(folder, missing_ok=True)
            other = differing(scores, analysis.about()) if scores else []
            rows = {row["component"]: row for row in scores.get("components", []) if not other}
            missing = [name for name in chosen if self.order not in rows.get(name, {})]
            if not missing:
                return rows
            of_another = f" (those there are of another {', '.join(other)})" if other else ""
            told.append(f"{', '.join(missing)} have no such score in {str(folder)!r}{of_another}")
        raise UserError(
            f"GroupAblation's order is {self.order!r}, but {', and '.join(told)}; run {self.order.capitalize()}Score "
            "first, in the same analysis or before."
        )

    def _greedy(self, analysis: Analysis, chosen: list[str]) -> list[str]:
        evaluator, baseline = analysis.evaluator, analysis.evaluator.evaluate()
        removed: list[str] = []
        while len(removed) < self._count(chosen):
            left = [name for name in chosen if name not in removed]
            found = evaluator.run([single(ablation(*removed, name)) for name in left])
            # Of equal ones the first in canonical order, which is that of `chosen`.
            best = max(range(len(left)), key=lambda place: found[place].bleu)
            removed.append(left[best])
            if self._is_too_much(found[best].drop_from(baseline)):
                break
        return removed

    def _known_greedy(self, analysis: Analysis, k: int) -> list[str]:
        folder = self.folder(analysis)
        scores = read_scores(folder, missing_ok=True)
        section = {} if not scores or differing(scores, analysis.about()) else scores.get(SECTION, {})
        rows = self._kept(analysis, section).get("rows", [])
        found = [str(row["component"]) for row in rows if row["order"] == "greedy" and row["component"]]
        if len(found) < k:
            raise UserError(
                f"GroupAblation's matched random orders need a greedy order of {k} components in "
                f"{str(folder / 'scores.json')!r}; run it with order greedy first."
            )
        return found

    def _kept(self, analysis: Analysis, section: dict[str, Any]) -> dict[str, Any]:
        """Return the section of an earlier group ablation if it was among the same components, else nothing."""
        chosen = self.chosen(analysis)
        removed = {row["component"] for row in section.get("rows", []) if row["component"]}
        return section if section.get("components", chosen) == chosen and removed <= set(chosen) else {}

    def _is_too_much(self, drop: float) -> bool:
        return self.max_loss is not None and drop > self.max_loss

    def _curves(self, analysis: Analysis, orders: dict[str, list[str]], shown: Observer) -> list[dict[str, Any]]:
        """Evaluate each order on validation and test, and return a row per step."""
        rows = self._curve(analysis, orders, analysis.evaluator, "validation")
        if (evaluator := self._test_evaluator(analysis)) is not None:
            kept = {name: order[: sum(row["order"] == name for row in rows) - 1] for name, order in orders.items()}
            with evaluator.observed(shown):
                on_test = self._curve(analysis, kept, evaluator, "test")
            rows = [{**row, **tested} for row, tested in zip(rows, on_test, strict=True)]
        return rows

    def _curve(
        self, analysis: Analysis, orders: dict[str, list[str]], evaluator: Evaluator, split: str
    ) -> list[dict[str, Any]]:
        steps = {name: [ablation(*order[:n]) for n in range(len(order) + 1)] for name, order in orders.items()}
        if split == "validation" and self.max_loss is not None:
            chains = [partial(self._until_too_much, evaluator, variants) for variants in steps.values()]
            made = dict(zip(steps, evaluator.run(chains), strict=True))
        else:
            new = [variant for variants in steps.values() for variant in variants if not evaluator.known(variant)]
            evaluator.run([single(variant) for variant in dict.fromkeys(new)])
            made = {name: [evaluator.evaluate(variant) for variant in variants] for name, variants in steps.items()}
        network, rows = analysis.module.network, []
        for name, found in made.items():
            gone = ["", *orders[name]]
            sizes = [sum(p.numel() for p in component_parameters(network, c).values()) if c else 0 for c in gone]
            drops = [evaluation.drop_from(found[0]) for evaluation in found]
            for step, evaluation in enumerate(found):
                rows.append(
                    {
                        "order": name,
                        "step": step,
                        "component": gone[step],
                        "parameters_removed": sum(sizes[: step + 1]),
                        f"{split}_bleu": evaluation.bleu,
                        f"{split}_drop": drops[step],
                    }
                )
        return rows

    def _until_too_much(self, evaluator: Evaluator, variants: Sequence[Variant]) -> Steps:
        """Ask for an order's steps until too much is lost; returns their evaluations."""
        found: list[Evaluation] = []
        for variant in variants:
            # What is known has been shown.
            found.append(evaluator.evaluate(variant) if evaluator.known(variant) else (yield variant))
            if self._is_too_much(found[-1].drop_from(found[0])):
                break
        return found

    def _test_evaluator(self, analysis: Analysis) -> Evaluator | None:
        if not self.test:
            return None
        try:
            return analysis.evaluator_of("test")
        except UserError as error:
            log.warning("There is no curve on test: %s", error)
            return None

    def _write(self, trainer: Trainer, analysis: Analysis, rows: list[dict[str, Any]]) -> None:
        folder, table = self.folder(analysis), self.table(analysis)
        made = {row["order"] for row in rows}
        section = self._joined(analysis, table, rows)
        rows = section["rows"]
        table.add(SECTION, section, [])
        table.write()
        columns = list(dict.fromkeys(name for row in rows for name in row))
        write_text(folder / CURVES, table_text(columns, rows))
        picture = self.report_folder(analysis) / "group_ablation.png"
        group_ablation_curve(rows, picture, subtitle=f"{analysis.checkpoint.name}; orders are chosen on validation")
        print_group_ablation([row for row in rows if row["order"] in made], analysis.about())
        for path in (folder / CURVES, folder / "scores.json", picture):
            say(path)
        new = [row for row in rows if row["order"] in made]
        for logger in others_of(trainer.loggers):
            for row in new:
                logger.log_metrics({f"analysis/{SECTION}/{row['order']}/{row['step']}": row["validation_bleu"]})
        log_group_ablation(trainer.loggers, new, picture)

    def _joined(self, analysis: Analysis, table: ScoreTable, made: list[dict[str, Any]]) -> dict[str, Any]:
        """Return the section of these rows and of the other orders that were made before among the same components."""
        earlier, folder = table.section(SECTION), self.folder(analysis)
        before = self._kept(analysis, earlier)
        if earlier and not before:
            log.warning("The group ablation in %s was among other components, and is replaced.", folder)
        orders = {row["order"] for row in made}
        kept = [row for row in before.get("rows", []) if row["order"] not in orders]
        tests = [before["test_set"]] if "test_set" in before and any("test_bleu" in row for row in kept) else []
        if "test_bleu" in made[0]:
            found = analysis.about("test")["scoring_set"]
            if tests and tests[0] != found:
                log.warning("The other orders in %s lose their BLEU on test, which was that of another set.", folder)
            if tests != [found]:
                kept = [{name: row[name] for name in row if name not in ("test_bleu", "test_drop")} for row in kept]
            tests = [found]
        return {
            "chosen_on": "validation",
            "components": self.chosen(analysis),
            **({"test_set": tests[0]} if tests else {}),
            "rows": [*kept, *made],
        }
