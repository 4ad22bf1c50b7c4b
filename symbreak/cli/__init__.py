"""The command line: each command parses, calls one library function and prints."""

from __future__ import annotations

from typing import Annotated

import typer

from symbreak import __version__
from symbreak.cli import (
    _align,
    _export,
    _inspect,
    _predict,
    _problems,
    _report,
    _store,
    _study,
    _train,
)
from symbreak.cli._console import console, run_kindly

app = typer.Typer(
    name="symbreak",
    help="Train small neural networks by global search, without searching the same network twice.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        console.print(f"symbreak {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    pass


app.command("train")(_train.train_command)
app.command("predict")(_predict.predict_command)
app.command("inspect")(_inspect.inspect_command)
app.command("export")(_export.export_command)
app.command("problems")(_problems.problems_command)
app.command("study")(_study.study_command)
app.command("report")(_report.report_command)
app.command("align")(_align.align_command)
app.add_typer(_store.app, name="store")


def main() -> None:
    """Run the command line."""
    run_kindly(app)
