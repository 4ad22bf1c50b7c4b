"""``--import``: modules of the user that add methods and problems."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

Imports = Annotated[
    list[str] | None,
    typer.Option(
        "--import",
        metavar="MODULE",
        help="A module that adds your methods or problems; repeatable.",
    ),
]


def import_here(names: list[str] | None) -> tuple[str, ...]:
    """Import modules; those in the current folder count, as with ``python -m``."""
    if not names:
        return ()
    from symbreak.experiments._imports import import_modules  # only now: a start stays quick

    if (here := os.getcwd()) not in sys.path:
        sys.path.insert(0, here)  # workers get it, too
    return import_modules(names)
