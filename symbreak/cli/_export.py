"""``symbreak export``: a saved model as source code or in a format of others."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from symbreak._support.checks import check_choice
from symbreak._support.writing import write_bytes
from symbreak.cli._console import check_out, console, shown
from symbreak.export import to_c, to_onnx, to_python
from symbreak.models import Model

SUFFIXES = {"c": ".c", "python": ".py", "onnx": ".onnx"}


def export_command(
    model: Annotated[Path, typer.Argument(help="What train --out saved, a .json file.")],
    to: Annotated[str, typer.Option(help="c, python or onnx.")],
    out: Annotated[
        Path | None, typer.Option(help="The file to write (default: the model's name)")
    ] = None,
    name: Annotated[str, typer.Option(help="What all names in C begin with.")] = "model",
    real: Annotated[str, typer.Option(help="double, or float for small processors, in C.")] = (
        "double"
    ),
) -> None:
    """Write a model as C99, as Python without packages, or as ONNX; scalings are in it."""
    check_choice("format", to, SUFFIXES)
    network = Model.load(model)
    out = model.with_suffix(SUFFIXES[to]) if out is None else out
    check_out("--out", out)
    if out.resolve() == model.resolve():
        raise ValueError(f"--out must be another file than the model, got {out}.")
    if to == "onnx":
        content = to_onnx(network)
    else:
        source = to_python(network) if to == "python" else to_c(network, name, real)  # type: ignore[arg-type]
        content = source.encode("ascii")
    write_bytes(out, content)
    console.print(f"Saved in {shown(out)}")
