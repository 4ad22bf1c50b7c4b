"""The command line: each command parses, calls one library function and prints."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from symbreak import __version__
from symbreak._support.signals import done_loading
from symbreak.cli._console import console, fail, plain_warnings, run_kindly

#: What each command is for; its module is loaded when it is called, since NumPy, SciPy and numba
#: take longer to load than a help text may.
COMMANDS = {
    "train": "Train the network of a problem or of your own data, with one or more methods.",
    "evolve": "Evolve a network for a problem of control, or against a function of yours.",
    "predict": "Predict the targets of new data, in the units of the training data.",
    "inspect": "Show a model: its network, where it came from, and how much each input matters.",
    "export": "Write a model as C99, Python, ONNX, a formula in LaTeX or a workbook for Excel.",
    "problems": "List the paper's problems and yours, or draw one.",
    "study": "Run every missing run of a study; safe to stop, kill and start again.",
    "report": "Turn stores, finished or still running, into a page with tables and figures.",
    "compare": "Say which neuron of a network is which of the first's, and what has changed.",
    "store": "Join, check and export the stores of studies.",
}


class _LazyGroup(TyperGroup):
    """Shows what commands are for without loading them; says that Ctrl-C has ended one."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:  # of which typer says nothing
            fail("stopped before there was a result.", code=130)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, _, rest = super().resolve_command(ctx, args)
        command = load_command(name or "")
        done_loading()
        return name, command, rest


def load_command(name: str) -> Any:
    """A command with all its options."""
    module = import_module(f"symbreak.cli._{name}")
    if name == "store":
        return typer.main.get_command(module.app)
    alone = typer.Typer(add_completion=False)
    alone.command(name)(getattr(module, f"{name}_command"))
    return typer.main.get_command(alone)


app = typer.Typer(
    name="symbreak",
    help="Train small neural networks by global search, without searching the same network twice.",
    cls=_LazyGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
for _name, _help in COMMANDS.items():
    app.command(_name, help=_help)(lambda: None)


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


def main() -> None:
    """Run the command line."""
    with plain_warnings():
        run_kindly(app)
