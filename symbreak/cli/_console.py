"""What all commands share: the console, options, errors without tracebacks, ``--import``."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from symbreak._support.words import CHART_FORMATS


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Go on in silence: the reader of a pipe has seen enough, and a model is still saved."""
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


console = _Console(highlight=False)

#: Tables are at least as wide.
NARROWEST = 80
#: The option for an argument of the library.
FLAGS = {
    **{name: f"--{name}" for name in ("alpha", "hidden", "method", "seed", "threads", "timeout")},
    **{name: f"--{name}" for name in ("categories", "encoding", "ignore", "numbers", "target")},
    **{name: f"--{name}" for name in ("test", "validation", "vectorized")},
    "initial": "--from",
    "max_evaluations": "--evaluations",
    "max_neurons": "--max-neurons",
    "max_time": "--time",
    "n_networks": "--networks",
    "population_size": "--population-size",
    "targets": "--target",
}


def option(
    metavar: str | None, what: str, *flags: str, panel: str | None = None, least: Any = None
) -> Any:
    """An option: what its value is called, what it is for, and its names if not its argument's."""
    return typer.Option(*flags, metavar=metavar, help=what, rich_help_panel=panel, min=least)


def file_option(what: str, suffixes: Sequence[str] = CHART_FORMATS) -> Any:
    """An option for a file to write."""
    return option("FILE", f"{what} ({', '.join(suffixes)})")


def argument(metavar: str, what: str) -> Any:
    """An argument: what it is called, and what it is."""
    return typer.Argument(metavar=metavar, help=what)


Names = list[str] | None
Imports = Annotated[
    Names, option("MODULE", "A module that adds your methods or problems; repeatable", "--import")
]
ModelFile = Annotated[Path, argument("MODEL", "What train --out saved, a .json file.")]
Header = Annotated[
    bool | None,
    option(None, "Does the file name its columns? (default: recognised)", panel="Data file"),
]
Encoding = Annotated[
    str | None, option("NAME", "Of a text file, as cp1252 (default: utf-8)", panel="Data file")
]
Evaluations = Annotated[
    int | None,
    option(
        "N",
        "At most (default: the problem's; for a file what takes seconds)",
        "--evaluations",
        "-n",
    ),
]
MaxTime = Annotated[
    float | None, option("SECONDS", "At most, for each method", "--time", least=0.001)
]
Seed = Annotated[int, option("N", "Of the search; the same gives the same result")]
PopulationSize = Annotated[
    int | None, option("N", "Candidates per generation (default: the problem's)")
]
Out = Annotated[Path | None, file_option("Save the model", (".json",))]
Page = Annotated[Path | None, file_option("Write a page on the model", (".html",))]


def fail(message: object, code: int = 2) -> None:
    """End with a message on standard error."""
    _say_on_stderr("[red]Error:[/red]", message)
    sys.exit(code)


def warn(message: object) -> None:
    """Say something that matters on standard error."""
    _say_on_stderr("Warning:", message)


def _say_on_stderr(heading: str, message: object) -> None:
    stderr = Console(stderr=True, highlight=False, soft_wrap=True)
    lines = map(shown, str(message).split("\n"))
    stderr.print(heading, "\n".join(lines))


@contextmanager
def shell_words() -> Iterator[None]:
    """Let errors name options instead of the arguments of the library."""
    try:
        yield
    except ValueError as error:
        raise ValueError(in_shell_words(str(error))) from None


def in_shell_words(text: str) -> str:
    """A message of the library, with options in the place of the arguments that it names."""
    text = re.sub(
        rf"\b({'|'.join(FLAGS)})=(['\"]?)([\w-]+)\2",
        lambda found: f"{FLAGS[found[1]]} {found[3]}".removesuffix(" True"),
        re.sub(r", or polish=.none.|; ask for polish=", "", text),  # which has no option
    )
    name, _, rest = text.partition(" ")
    return f"{FLAGS[name]} {rest}" if name in FLAGS else text


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


def columns(*headings: str, words: int = 1, gap: int = 2) -> Table:
    """A table without lines; so many columns are of words, the others of numbers."""
    table = Table(box=None, pad_edge=False, padding=(0, gap, 0, 0))
    for i, heading in enumerate(headings):
        table.add_column(heading, justify="left" if i < words else "right", no_wrap=True)
    return table


def print_table(table: Table) -> None:
    """Print a table; a terminal wraps what is too wide for it, rich would cut it."""
    Console(highlight=False, width=max(console.width, NARROWEST)).print(table)


def check_out(option: str, path: Path | None, *suffixes: str) -> None:
    """Refuse a file to write that could not be written, before any work is done."""
    if path is None:
        return
    if path.is_dir() or not path.resolve().parent.is_dir():
        raise ValueError(f"{option} must be a file in a folder that exists, got {path}.")
    if suffixes and path.suffix not in suffixes:
        raise ValueError(f"{option} must end with {' or '.join(suffixes)}, got {path}.")
    if not os.access(path if path.exists() else path.resolve().parent, os.W_OK):
        raise ValueError(f"{option} cannot be written: {path}.")


def check_results(
    out: Path | None = None, plot: Path | None = None, page: Path | None = None
) -> None:
    """Refuse a model, a chart or a page that could not be written, before any work is done."""
    check_out("--out", out, ".json")
    check_out("--plot", plot, *CHART_FORMATS)
    check_out("--page", page, ".html")
    if plot is not None or page is not None:
        from symbreak.analysis import save_chart  # noqa: F401  (missing now, not in the end)


def draw(chart: Any, plot: Path) -> None:
    """Save a chart, and say where."""
    from symbreak.analysis import save_chart

    save_chart(chart, plot)
    console.print(f"Drawn in {shown(plot)}")


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Say warnings in a line each, without the code that they arose in."""

    def show(message: object, *where: object, **more: object) -> None:
        warn(in_shell_words(str(message)))

    with warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = show
        yield


def run_kindly(app: Callable[[], object]) -> None:
    """Run a command line; what goes wrong ends with a message and an exit code.

    2 for bad input, 1 for a store, a disk or a cluster that fails.
    """
    try:
        app()
    except ValueError as error:
        fail(error)
    except BrokenPipeError:  # the reader of a pipe has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        where = f"{error.filename}: " if error.filename and error.strerror else ""
        fail(f"{where}{error.strerror or error}", code=1)
    except RuntimeError as error:
        from symbreak.experiments import ExecutorError, StoreError  # loaded, if it is one

        if not isinstance(error, StoreError | ExecutorError):
            raise
        fail(error, code=1)
    except MemoryError:
        fail("this is too large for the memory of the machine; use smaller sizes.")
    except ModuleNotFoundError as error:
        if "pip install" not in str(error):  # of an extra, which says so
            raise
        fail(error, code=1)


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
