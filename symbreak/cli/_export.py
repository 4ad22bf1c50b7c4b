"""``symbreak export``: a saved model as source code or in a format of others."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from symbreak._support.checks import check_choice
from symbreak._support.writing import write_bytes
from symbreak.cli._console import ModelFile, check_out, console, option, shown
from symbreak.export import to_c, to_excel, to_latex, to_onnx, to_python
from symbreak.models import Model

SUFFIXES = {"c": ".c", "python": ".py", "onnx": ".onnx", "latex": ".tex", "excel": ".xlsx"}


def export_command(
    model: ModelFile,
    to: Annotated[str, typer.Option(help="c, python, onnx, latex or excel.")],
    out: Annotated[Path | None, option("FILE", "To write (default: the model's name)")] = None,
    name: Annotated[str, option("NAME", "What all names in C begin with")] = "model",
    real: Annotated[str, option("TYPE", "double, or float for small processors, in C")] = "double",
    digits: Annotated[int, typer.Option(min=1, max=17, help="Of a number in LaTeX.")] = 5,
    std: Annotated[bool, option(None, "Standard deviations too, in C and Python", "--std")] = False,
) -> None:
    """Write a model as C99, Python, ONNX, a formula in LaTeX or a workbook for Excel.

    The scalings of the data are in it, and what becomes of levels, dates and missing values.
    """
    check_choice("format", to, SUFFIXES)
    if std and to not in ("c", "python"):
        raise ValueError(f"--std is for c and python, got --to {to}.")
    network = Model.load(model)
    out = model.with_suffix(SUFFIXES[to]) if out is None else out
    check_out("--out", out)
    if out.resolve() == model.resolve():
        raise ValueError(f"--out must be another file than the model, got {out}.")
    content: str | bytes
    if to == "c":
        content = to_c(network, name, real, std)  # type: ignore[arg-type]
    elif to == "python":
        content = to_python(network, std)
    elif to == "latex":
        content = to_latex(network, digits)
    else:
        content = to_onnx(network) if to == "onnx" else to_excel(network)
    write_bytes(out, content.encode("ascii") if isinstance(content, str) else content)
    console.print(f"Saved in {shown(out)}")
