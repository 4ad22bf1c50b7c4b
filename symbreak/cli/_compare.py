"""``symbreak compare``: what has changed from a saved network to others, modulo symmetry."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from symbreak._support.checks import Array, check_folder
from symbreak._support.words import counted
from symbreak._support.writing import write_bytes, write_text
from symbreak.cli._console import argument, check_results, console, draw, file_option, option, shown
from symbreak.models import Model
from symbreak.problems._readers import read_arrays
from symbreak.symmetry import networks

#: More neurons of a layer are not listed.
MAX_NEURONS = 16


def compare_command(
    files: Annotated[list[Path], argument("FILES", "Networks, all .json or all .npz files.")],
    out: Annotated[Path | None, option("FOLDER", "Save the networks there, aligned")] = None,
    plot: Annotated[Path | None, file_option("Draw which neuron is which")] = None,
    activation: Annotated[
        str | None, option("NAME", "Of the hidden layers, as relu; needed for .npz files")
    ] = None,
    layout: Annotated[
        str, option("LAYOUT", "auto, inputs-by-outputs or outputs-by-inputs")
    ] = "auto",
) -> None:
    """Say which neuron of a network is which of the first's, and what has changed.

    --out brings them into the order of the first. Models are compared in its units.

    The files are models that train saved (.json), or hold a weight matrix per layer and, if there
    are any, a vector of biases per layer, in order and under any names (.npz):
    np.savez(file, *coefs_, *intercepts_), or a state dict.
    """
    _check_files(files, out)
    check_results(plot=plot)
    first, *others = [_read(path) for path in files]
    comparisons = {}
    for path, network in zip(files[1:], others, strict=True):
        comparison = networks.compare(network, first, activation, layout)
        comparisons[path.name] = comparison
        _say(comparison, path, files[0])
        if out is not None:
            _write(networks.align(network, first, activation, layout), out / path.name)
    if out is not None:
        _write(first, out / files[0].name)
        console.print(f"Saved {counted(len(files), 'network')} in {shown(out)}")
    if plot is not None:
        from symbreak.analysis import match_chart

        draw(match_chart(comparisons, files[0].name), plot)


def _check_files(files: list[Path], out: Path | None) -> None:
    if len(files) < 2 or len({path.suffix for path in files}) > 1:
        raise ValueError(
            "give two networks or more of one kind, .json files that train saved or .npz files of "
            f"arrays, got {', '.join(map(str, files))}."
        )
    if out is not None and len({path.name for path in files}) < len(files):
        raise ValueError("files of the same name cannot be saved in one folder; rename them.")
    if out is not None:
        check_folder("--out", out).mkdir(exist_ok=True)
        if any(out.samefile(path.parent) for path in files if path.exists()):
            raise ValueError(f"--out must be another folder than that of the networks, got {out}.")


def _read(path: Path) -> Any:
    """A model, or the arrays of a file by name; nothing in it can execute code."""
    if path.suffix == ".json":
        return Model.load(path)
    arrays = read_arrays(path)
    if taken := {"file", "allow_pickle"} & arrays.keys():
        raise ValueError(f"{path}: an array cannot be saved as {taken.pop()!r}; rename it.")
    return arrays


def _write(network: Any, path: Path) -> None:
    if isinstance(network, Model):
        write_text(path, network.to_json())
        return
    content = io.BytesIO()
    np.savez(content, **network)
    write_bytes(path, content.getvalue())


def _say(comparison: networks.Comparison, path: Path, anchor: Path) -> None:
    """Distances, and below them the neurons that stand for the first, second, ... of the anchor."""
    nearest = "the nearest replica" if comparison.proven else "nearest as far as sweeps can tell"
    distances = f"{comparison.distance_before:.4g} before, {comparison.distance:.4g} after"
    console.print(f"{shown(path.name)}: distance {distances} ({nearest} to {shown(anchor.name)})")
    layers = zip(comparison.orders, comparison.signs, comparison.agreement, strict=True)
    for h, (order, sign, agreement) in enumerate(layers, start=1):
        neurons = [f"{'-' if s < 0 else ''}{j + 1}" for j, s in zip(order, sign, strict=True)]
        more = " ..." if len(neurons) > MAX_NEURONS else ""
        listed = f"{' '.join(neurons[:MAX_NEURONS])}{more}"
        console.print(
            f"  hidden layer {h}: neurons {listed} stand for 1 to {len(order)}; least agreement "
            f"{agreement.min():.2f}"
        )
    names = [*(comparison.inputs or _numbered(comparison.weights[0], "input")), "bias"]
    for h, (before, after) in enumerate(comparison.weights[:-1], start=1):
        _say_changes(f"hidden layer {h}", names, before, after)
        names = [*_numbered(comparison.weights[h], "neuron"), "bias"]
    _say_changes("outputs", names, *comparison.weights[-1])


def _numbered(layer: Array, word: str) -> list[str]:
    return [f"{word} {i}" for i in range(1, layer.shape[-1])]


def _say_changes(layer: str, names: list[str], before: Array, after: Array) -> None:
    """Of each neuron how far its weights have moved, compared with their length, and the most."""
    for n, (old, new) in enumerate(zip(before, after, strict=True), start=1):
        if n > MAX_NEURONS:
            console.print(f"  {layer}: {len(before) - MAX_NEURONS:,} more")
            return
        moved = np.linalg.norm(new - old) / np.maximum(np.linalg.norm(old), 1e-300)
        i = int(np.abs(new - old).argmax())
        most = f", most in {shown(names[i])}: {old[i]:.3g} -> {new[i] + 0:.3g}" if moved else ""
        console.print(f"  {layer}, {n}: changed by {100 * moved:.0f} %{most}")
