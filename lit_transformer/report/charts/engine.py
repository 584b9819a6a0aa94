"""Calls of vl-convert, which runs Vega-Lite in a JavaScript engine of its own, without a browser or a network."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from typing import Any

_CALL = """
import json, sys, vl_convert
name, arguments, options = json.load(sys.stdin)
made = getattr(vl_convert, name)(*arguments, **options)
sys.stdout.buffer.write(made if isinstance(made, bytes) else made.encode())
"""


def call(name: str, *arguments: Any, **options: Any) -> bytes:
    """Return what a function of vl-convert makes; text is encoded as UTF-8.

    A process that was forked after the engine's start has none of the engine's threads, and would wait for them
    forever: there the call runs in a new process.

    Args:
        name: The function, such as ``vegalite_to_png``.
        arguments: Its arguments, of types that JSON has.
        options: Its keyword arguments, of types that JSON has.
    """
    if _engine_process() == os.getpid():
        # Its engine takes a second to start, which only a drawing should wait for.
        import vl_convert

        made = getattr(vl_convert, name)(*arguments, **options)
        return made if isinstance(made, bytes) else made.encode()
    given = json.dumps([name, arguments, options]).encode()
    return subprocess.run([sys.executable, "-c", _CALL], input=given, stdout=subprocess.PIPE, check=True).stdout


@functools.cache
def _engine_process() -> int:
    """Return the id of the process that called first, and started the engine; forked processes inherit the answer."""
    return os.getpid()
