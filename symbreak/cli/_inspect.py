"""``symbreak inspect``: what a saved model is, in the terminal."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Table

from symbreak.cli._console import CHARTS, check_out, console, few, shown
from symbreak.inspection import sensitivity
from symbreak.models import Model

#: More rows, or longer strings, are not read.
MAX_INPUTS, MAX_NEURONS, MAX_TEXT = 20, 7, 40
WIDTH, NARROWEST = 60, 5
SCALARS = (str, int, float, bool)


def inspect_command(
    model: Annotated[Path, typer.Argument(help="What train --out saved, a .json file.")],
    plot: Annotated[
        Path | None,
        typer.Option(help="Draw the network with its weights (.html, .svg, .png, .pdf)."),
    ] = None,
) -> None:
    """Show a model: its network, where it came from, and how much each input matters."""
    network = Model.load(model)
    if plot is not None:
        check_out("--plot", plot, *CHARTS)
        from symbreak.analysis import network_chart, save_chart

        save_chart(network_chart(network), plot)
    _print_facts(network)
    console.print()
    console.print(drawing(network), markup=False)
    console.print()
    _print_sensitivity(network)
    if plot is not None:
        console.print(f"Drawn in {shown(plot)}")


def _print_facts(model: Model) -> None:
    net = model.topology
    facts: dict[str, Any] = {
        "network": f"{net}, {net.activation} neurons",
        "task": model.task,
        "parameters": f"{net.dim + model.output_weights.size:,}",
        "output": f"{model.output}, {'with' if model.output_shift else 'without'} bias",
    }
    if model.classes:
        facts["classes"] = few([str(label)[:MAX_TEXT] for label in model.classes], 10)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(no_wrap=True, max_width=16, overflow="ellipsis")
    table.add_column(overflow="fold")
    if model.encoding is not None:
        facts["columns"] = "; ".join(line[:200] for line in model.encoding.in_words[:MAX_INPUTS])
    for name, value in (*facts.items(), *_flat(model.origin)):
        table.add_row(shown(name), shown(value))
    console.print(table)


def _flat(origin: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Facts of an origin as lines; numbers in four digits, tables in one line."""
    lines = []
    for name, value in list(origin.items())[:MAX_INPUTS]:
        if isinstance(value, Mapping):
            parts = [f"{k} {v}" for k, v in list(value.items())[:10] if isinstance(v, SCALARS)]
            value = ", ".join(parts)
        if isinstance(value, SCALARS):  # a file may hold anything else too
            text = f"{value:.4g}" if isinstance(value, float) else str(value)
            lines.append((name, text if len(text) <= 200 else f"{text[:200]} ..."))
    return lines


def _print_sensitivity(model: Model) -> None:
    """Inputs in the order of how much they matter, as bars."""
    effects = sensitivity(model).mean(axis=1)
    names = model.feature_names or tuple(f"x{i + 1}" for i in range(len(effects)))
    if model.encoding is not None:  # inputs that were made of one column count together
        owners = [feature.column for feature in model.encoding.features]
        effects, names = np.bincount(owners, effects), model.encoding.names
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("input", no_wrap=True, max_width=24, overflow="ellipsis")
    table.add_column("sensitivity", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    bar = "#" if _is_plain() else "\u2588"
    for i in np.argsort(-effects)[:MAX_INPUTS]:
        length = round(20 * effects[i] / max(effects.max(), 1e-300))
        table.add_row(shown(names[i]), f"{effects[i]:.3g}", bar * length)
    console.print(table)
    if len(effects) > MAX_INPUTS:
        console.print(f"and {len(effects) - MAX_INPUTS:,} inputs that matter less")
    console.print(
        "sensitivity: mean change of the outputs per change of the input, both in standard "
        "deviations",
        style="dim",
    )


def _is_plain() -> bool:
    """Whether the terminal knows letters of ASCII only."""
    return not console.encoding.lower().startswith("utf")


def drawing(model: Model) -> str:
    """The network as columns of neurons, no wider than a narrow terminal.

    Each neuron of a layer reads all before it, so that one upright line joins two layers.
    """
    sizes = model.topology.sizes
    step = min(14, WIDTH // len(sizes))
    if step < NARROWEST:
        return str(model.topology)
    columns = [_neurons(n) for n in sizes]
    height = max(map(len, columns))
    padded = [_centred(column, height) for column in columns]
    lines = ["".join(_line(row, step)) for row in zip(*padded, strict=True)]
    names = ["inputs", *[f"hidden {h}" for h in range(1, len(sizes) - 1)], "outputs"]
    if step > max(map(len, names)):
        lines.insert(0, "".join(name.ljust(step) for name in names))
    lines.append("".join(f"{n:,}".ljust(step) for n in sizes))
    return "\n".join(line.rstrip() for line in lines)


def _neurons(n: int) -> list[str]:
    dot, gap = ("o", ":") if _is_plain() else ("\u25cf", "\u22ee")
    if n <= MAX_NEURONS:
        return [dot] * n
    half = MAX_NEURONS // 2
    return [dot] * half + [gap] + [dot] * half


def _centred(column: list[str], height: int) -> list[str]:
    top = (height - len(column)) // 2
    return [" "] * top + column + [" "] * (height - top - len(column))


def _line(row: tuple[str, ...], step: int) -> Iterator[str]:
    """Neurons of one line of the drawing, with the lines that join them."""
    dash, joints = ("-", " |||") if _is_plain() else ("\u2500", " \u251c\u2524\u253c")
    for left, right in itertools.pairwise(row):
        joint = joints[2 * (left != " ") + (right != " ")]
        half = (step - 2) // 2
        before = (" " if left == " " else dash) * half
        after = (" " if right == " " else dash) * (step - 2 - half)
        yield left + before + joint + after
    yield row[-1]
