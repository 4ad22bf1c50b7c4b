"""``symbreak align``: one saved network brought near to another."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from symbreak.cli._console import check_out, console, shown
from symbreak.models import write_bytes
from symbreak.problems import read_arrays
from symbreak.symmetry import align_networks

Arrays = dict[str, NDArray[Any]]


def align_command(
    network: Annotated[Path, typer.Argument(help="The network to align, an .npz file.")],
    anchor: Annotated[Path, typer.Argument(help="The network to align it to, an .npz file.")],
    out: Annotated[Path, typer.Option(help="Save the aligned network in this .npz file.")],
    activation: Annotated[str, typer.Option(help="Of the hidden layers, e.g. relu.")] = "tanh",
    layout: Annotated[
        str, typer.Option(help="auto, inputs-by-outputs or outputs-by-inputs.")
    ] = "auto",
) -> None:
    """Reorder and flip the hidden neurons of a network so that it is nearest to another.

    The files hold a weight matrix per layer and, if there are any, a vector of shifts per layer,
    in order and under any names: np.savez(file, *coefs_, *intercepts_), or a state dict.
    """
    check_out("--out", out)
    arrays, weights, shifts = _read(network)
    _, anchor_weights, anchor_shifts = _read(anchor)
    parameters = (
        _values(weights),
        _values(shifts),
        _values(anchor_weights),
        _values(anchor_shifts),
    )
    aligned = align_networks(*parameters, activation, layout)  # type: ignore[arg-type]
    new = dict(zip(weights, aligned.weights, strict=True))
    new |= dict(zip(shifts, aligned.shifts or (), strict=True))
    content = io.BytesIO()
    np.savez(content, **{name: new[name] for name in arrays})  # type: ignore[arg-type]
    write_bytes(out, content.getvalue())
    nearest = "the nearest replica" if aligned.proven else "nearest as far as sweeps can tell"
    distances = f"{aligned.distance_before:.4g} before, {aligned.distance:.4g} after"
    console.print(f"distance to {shown(anchor.name)}: {distances}, {nearest}")
    console.print(f"Saved in {shown(out)}")


def _values(arrays: Arrays) -> list[NDArray[Any]] | None:
    return list(arrays.values()) or None


def _read(path: Path) -> tuple[Arrays, Arrays, Arrays]:
    """All arrays of a file, its matrices and its vectors; nothing in it can execute code."""
    if not path.is_file():
        raise ValueError(f"there is no file {str(path)!r}; give an .npz file of a network.")
    arrays = read_arrays(path)
    if taken := {"file", "allow_pickle"} & arrays.keys():
        raise ValueError(f"{path}: an array cannot be saved as {taken.pop()!r}; rename it.")
    weights = {name: array for name, array in arrays.items() if array.ndim == 2}
    shifts = {name: array for name, array in arrays.items() if array.ndim == 1}
    if (
        len(weights) + len(shifts) < len(arrays)
        or not weights
        or len(shifts) not in (0, len(weights))
    ):
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise ValueError(
            f"{path} must hold a matrix per layer, and a vector of shifts per layer or none, "
            f"got {shapes or 'nothing'}."
        )
    return arrays, weights, shifts
