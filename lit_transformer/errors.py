"""The one exception that stands for a mistake of the person at the keyboard."""

from __future__ import annotations


class UserError(Exception):
    """Bad input: a message of one line that says what is wrong, what is allowed and what to do.

    The command line prints the message without a traceback and exits with status 2; a program that uses the package
    as a library catches it like any other exception.
    """

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.split()))


class FirstProcessGoneError(UserError):
    """The first process, which shows the messages of all, is gone; the others tell it themselves."""
