"""``symbreak align``: one saved network brought near to another."""

from __future__ import annotations

import dataclasses
import io
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from symbreak._support.writing import write_bytes, write_text
from symbreak.cli._console import check_out, console, shown
from symbreak.models import Model
from symbreak.problems import read_arrays
from symbreak.symmetry import AlignedNetwork, align_networks

Arrays = dict[str, NDArray[Any]]


def align_command(
    network: Annotated[Path, typer.Argument(help="The network to align, an .npz or .json file.")],
    anchor: Annotated[Path, typer.Argument(help="The network to align it to, of the same kind.")],
    out: Annotated[Path, typer.Option(help="Save the aligned network in this file, of that kind.")],
    activation: Annotated[str, typer.Option(help="Of the hidden layers, e.g. relu.")] = "tanh",
    layout: Annotated[
        str, typer.Option(help="auto, inputs-by-outputs or outputs-by-inputs.")
    ] = "auto",
) -> None:
    """Reorder and flip the hidden neurons of a network so that it is nearest to another.

    The files are models that train saved (.json), or hold a weight matrix per layer and, if there
    are any, a vector of shifts per layer, in order and under any names (.npz):
    np.savez(file, *coefs_, *intercepts_), or a state dict.
    """
    kind = _kind(network, anchor)
    check_out("--out", out, kind)
    if kind == ".json":
        _align_models(network, anchor, out)
        return
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
    _say(aligned, anchor, out)


def _kind(network: Path, anchor: Path) -> str:
    """``".json"`` for two models, ``".npz"`` for two files of arrays."""
    models = [path.suffix == ".json" for path in (network, anchor)]
    if any(models) and not all(models):
        raise ValueError(
            "both networks must be of one kind, two .json files that train saved or two .npz files "
            f"of arrays, got {network} and {anchor}."
        )
    return ".json" if all(models) else ".npz"


def _align_models(network: Path, anchor: Path, out: Path) -> None:
    """The same for models that train saved."""
    ours, theirs = Model.load(network), Model.load(anchor)
    if ours.topology != theirs.topology or ours.output_shift != theirs.output_shift:
        raise ValueError(
            f"both models must be of the same network, got {ours.topology} and {theirs.topology}."
        )
    activation = ours.topology.activation.name
    aligned = align_networks(*_layers(ours), *_layers(theirs), activation, "inputs-by-outputs")
    pairs = list(zip(aligned.weights, aligned.shifts or (), strict=True))
    weights, last = pairs.pop()
    theta = np.concatenate([np.column_stack([w.T, shifts]).ravel() for w, shifts in pairs])
    if ours.output_shift:
        weights = np.vstack([weights, last])
    write_text(out, dataclasses.replace(ours, theta=theta, output_weights=weights).to_json())
    _say(aligned, anchor, out)


def _layers(model: Model) -> tuple[list[NDArray[Any]], list[NDArray[Any]]]:
    """Weights and shifts of each layer, the last one with zeros if it has none."""
    layers = model.topology.layers(model.theta)
    n, q = model.topology.hidden[-1], model.topology.n_outputs
    last = model.output_weights[n] if model.output_shift else np.zeros(q)
    weights = [*(layer[:, :-1].T for layer in layers), model.output_weights[:n]]
    return weights, [*(layer[:, -1] for layer in layers), last]


def _say(aligned: AlignedNetwork, anchor: Path, out: Path) -> None:
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
