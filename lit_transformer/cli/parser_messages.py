"""The line that a person is told in place of the parser's paragraphs about every type that a value might have had."""

from __future__ import annotations

import difflib
import importlib
import inspect
import re

from lit_transformer.errors import UserError

BASE = "pytorch_lightning.Callback"
"""What the parser takes an option of a callback for when no callback stands before it."""
_TYPES = {
    "int": "a whole number (int)",
    "float": "a number (float)",
    "str": "text (str)",
    "bool": "true or false (bool)",
    "NoneType": "null",
}
# A type as the parser shows it: a class, a choice of values, or a container.
_TYPE = re.compile(r"<class '([\w.]+)'>|typing\.Literal\[([^\]]*)\]|([\w.]+(?:\[[^\[\]]*\])?)")
_LONGEST = 200
_REMOVED = {
    "decoding": "analyze decodes every variant by itself",
    "confidence": "analyze decides nothing before all sentences are decoded",
}
"""Former options of analyze, and how things are now."""


def message_for_user(error: BaseException) -> str | None:
    """Return the line to show for a mistake of the user, or None for a fault of the program."""
    from jsonargparse import ArgumentError
    from pytorch_lightning.utilities.exceptions import MisconfigurationException

    if isinstance(error, UserError):
        return str(error)
    # What a class of the configuration refuses comes as a ValueError of the parser, when it is made.
    if isinstance(error, (ArgumentError, MisconfigurationException, ValueError)):
        cause = error.__cause__ or error.__context__
        while cause is not None:
            if isinstance(cause, UserError):
                return str(cause)
            cause = cause.__cause__ or cause.__context__
    if isinstance(error, ArgumentError):
        return parser_line(str(error))
    return " ".join(str(error).split()) if isinstance(error, MisconfigurationException) else None


def parser_line(text: str) -> str:
    """Return the line that says what is wrong with a setting, what is allowed and what to do.

    Args:
        text: The parser's message.

    Example:
        >>> parser_line('''Parser key "model.heads": Expected a <class 'int'>. Got value: many''')
        "--model.heads is 'many'; give a whole number (int). See --help."
    """
    flat = " ".join(text.split())
    option = re.match(
        r"(?i:unrecognized arguments: --|Subcommand 'analyze' does not accept option ')(\w+)(?![.\w])", flat
    )
    if option is not None and option[1] in _REMOVED:
        return f"--{option[1]} was removed: {_REMOVED[option[1]]}; leave it out."
    named = re.match(r'Parser key "([\w.]+)": ', flat)
    if named is not None:
        key, rest = f"--{named[1]}", flat[named.end() :]
        told = _class_line(key, rest) or _value_line(key, rest)
        if told is not None:
            return f"{told} See --help."
    flat = re.sub(r'Parser key "([\w.]+)"', r"--\1", flat)
    return f"{flat.rstrip('.')}. See --help."


def _class_line(key: str, text: str) -> str | None:
    """Return the line about a class of the configuration, such as a callback, or one of its options."""
    found = list(re.finditer(r"Problem with given class_path '([\w.]+)': ", text))
    problem = next((one for one in found if one[1] != BASE), found[0] if found else None)
    if problem is None:
        if "import path string" not in text and "Import path does not" not in text:
            return None
        return f"{key} is {_given(text)!r}, which names no class for it; give one such as callbacks.ContributionScore."
    name, rest = problem[1], text[problem.end() :]
    if option := re.match(r"Option '([\w.]+)' is not accepted", rest):
        return _option_line(key, name, option[1])
    if option := re.match(r'Parser key "([\w.]+)": ', rest):
        return _value_line(f"{key}.{option[1]}", rest[option.end() :])
    if lacking := re.match(r"the following arguments are required: ([\w., ]+?)(?= - |$)", rest):
        return f"{key}: {name} needs {lacking[1]}; give {key}.{lacking[1].split(',')[0]}."
    if re.match(r"module '[\w.]+' has no attribute|No module named", rest):
        module, _, wrong = name.rpartition(".")
        there = list(getattr(_imported(module), "__all__", ()))
        return f"{key}: there is no class {name!r}{_like(wrong, there)}" + (
            f"; give one of {', '.join(there)}." if there else "; give the full name of one, such as callbacks.NAME."
        )
    return None


def _option_line(key: str, name: str, option: str) -> str:
    if name == BASE:
        return (
            f"{key}.{option} is an option of a callback, but none is given before it; give --config prune.yaml or "
            f"another one with a callback, or {key}+=callbacks.NAME."
        )
    module, _, leaf = name.rpartition(".")
    there = [one for one in inspect.signature(getattr(_imported(module), leaf)).parameters if one != "kwargs"]
    return f"{key}.{option}: {name} has no option {option!r}{_like(option, there)}; it has {', '.join(there)}."


def _value_line(key: str, text: str) -> str | None:
    """Return the line about a value of another type than its setting has."""
    if single := re.match(r"Expected an? (.+?)\. Got value: (.*?)(?= - |$)", text):
        types, value = single[1], single[2]
    elif several := re.search(r"Subtypes: \[(.*?)\] Errors: ", text):
        types, value = several[1], _given(text)
    else:
        return None
    return f"{key} is {value!r}; give {_words(types)}."


def _given(text: str) -> str:
    """Return the value that was given, the innermost one that is told of; a long one is cut."""
    given = re.search(r"Given value: (.*?)(?= - Problem with| - Not a valid| - Expected a <class|$)", text)
    value = "" if given is None else given[1]
    return value if len(value) <= _LONGEST else f"{value[:_LONGEST]}…"


def _words(types: str) -> str:
    choices: list[str] = []
    others: list[str] = []
    for plain, given, other in _TYPE.findall(types):
        leaf = plain.rpartition(".")[2]
        choices += given.split(", ") if given else []
        others += [_TYPES.get(leaf, leaf) or other] if plain or other else []
    return " or ".join([f"one of {', '.join(choices)}"] * bool(choices) + others)


def _like(wrong: str, there: list[str]) -> str:
    near = difflib.get_close_matches(wrong, there, n=1)
    return f" ({near[0]}?)" if near else ""


def _imported(module: str) -> object:
    try:
        return importlib.import_module(module)
    except ImportError:
        return None
