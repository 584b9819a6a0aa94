from __future__ import annotations

from dataclasses import fields

import pytest
from jsonargparse import ArgumentParser

from callbacks import ComponentPruning, ComponentRewinding, ShallowDecoder, Theseus
from callbacks.component_choice import ComponentChoice
from lit_transformer.importance.selection import SelectionOptions

CHOOSING = (ComponentPruning, ComponentRewinding, ShallowDecoder, Theseus)


@pytest.mark.parametrize("callback", CHOOSING)
def test_every_option_has_its_type_and_its_help(callback: type[ComponentChoice]) -> None:
    parser = ArgumentParser()
    parser.add_class_arguments(callback, "callback")
    actions = {action.dest.removeprefix("callback."): action for action in parser._actions}
    for option in (*fields(SelectionOptions), *fields(callback)):
        told = str(actions[option.name].help)
        assert len(told.split()) >= 4, option.name
    # The parser shows a type that it could not resolve, and then takes any value for it.
    assert "Unvalidated" not in parser.format_help()


def test_options_by_place_and_by_name() -> None:
    assert ComponentPruning(["d:sa:1"], init="random").selection == ComponentPruning(components=["d:sa:1"]).selection
    callback = ComponentRewinding(by="random", count=2, seed=3, to="step:05")
    assert (callback.selection.by, callback.selection.count, callback.selection.seed) == ("random", 2, 3)
    assert (callback.scores, callback.to, callback.only_rewound) == (None, "step:5", False)
