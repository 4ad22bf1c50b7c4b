"""What all commands share: the console, errors without tracebacks, ``--import``."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from symbreak._support.words import CHART_FORMATS, how_to_install


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Go on in silence: the reader of a pipe has seen enough, and a model is still saved."""
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


console = _Console(highlight=False)

CHARTS = CHART_FORMATS
#: Which extra brings a module.
EXTRAS = {
    **dict.fromkeys(("altair", "vl_convert", "jinja2", "markupsafe"), "report"),
    "gymnasium": "control",
    **dict.fromkeys(("dask", "distributed"), "cluster"),
}

Imports = Annotated[
    list[str] | None,
    typer.Option(
        "--import",
        metavar="MODULE",
        help="A module that adds your methods or problems; repeatable.",
    ),
]


def fail(message: object, code: int = 2) -> None:
    """End with a message on standard error."""
    Console(stderr=True, highlight=False, soft_wrap=True).print(
        f"[red]Error:[/red] {escape(str(message))}"
    )
    sys.exit(code)


def plain() -> bool:
    """Whether the terminal knows letters of ASCII only."""
    return not console.encoding.lower().startswith("utf")


def say(text: str) -> None:
    """Print a line that a terminal may wrap but rich does not; a file's name is no markup."""
    console.print(text, markup=False, soft_wrap=True)


def shown(text: object) -> str:
    """What users named, to be printed: no markup in it counts, and no control character."""
    printable = (c if c.isprintable() else ascii(c)[1:-1] for c in str(text))
    return escape("".join(printable))


def check_out(option: str, path: Path, *suffixes: str) -> None:
    """Refuse a file to write that could not be written, before any work is done."""
    if path.is_dir() or not path.resolve().parent.is_dir():
        raise ValueError(f"{option} must be a file in a folder that exists, got {path}.")
    if suffixes and path.suffix not in suffixes:
        raise ValueError(f"{option} must end with {' or '.join(suffixes)}, got {path}.")
    if not os.access(path if path.exists() else path.resolve().parent, os.W_OK):
        raise ValueError(f"{option} cannot be written: {path}.")


def run_kindly(app: Callable[[], object]) -> None:
    """Run a command line; what goes wrong ends with a message and an exit code.

    2 for bad input, 1 for a store, a disk or a cluster that fails, 130 for Ctrl-C.
    """
    try:
        app()
    except ValueError as error:
        fail(error)
    except BrokenPipeError:  # the reader of a pipe has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        fail(error, code=1)
    except RuntimeError as error:
        from symbreak.experiments import ExecutorError, StoreError  # loaded, if it is one

        if not isinstance(error, StoreError | ExecutorError):
            raise
        fail(error, code=1)
    except MemoryError:
        fail("this is too large for the memory of the machine; use smaller sizes.")
    except ModuleNotFoundError as error:
        if error.name not in EXTRAS:
            raise
        extra = EXTRAS[error.name]
        fail(f"{error.name} is missing; install it with: {how_to_install(extra)}", code=1)
    except KeyboardInterrupt:
        fail("stopped before there was a result.", code=130)


def split_names(text: str, known: Sequence[str]) -> list[str]:
    """Names of columns that an option was given: one, or several with commas between them."""
    return [text] if text in known else [name.strip() for name in text.split(",")]


def import_here(names: list[str] | None) -> tuple[str, ...]:
    """Import modules of the user; those in the current folder count, as with ``python -m``."""
    if not names:
        return ()
    from symbreak.experiments._run import import_modules  # only now: a start stays quick

    if (here := os.getcwd()) not in sys.path:
        sys.path.insert(0, here)  # workers get it, too
    return import_modules(names)
