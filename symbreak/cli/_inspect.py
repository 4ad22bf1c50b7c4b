"""``symbreak inspect``: what a saved model is, in the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
from rich.table import Table as Lines

from symbreak._support.checks import Array
from symbreak._support.words import counted, few
from symbreak.cli._console import (
    ModelFile,
    Page,
    check_results,
    console,
    draw,
    file_option,
    option,
    plain,
    shown,
)
from symbreak.cli._predict import choose_inputs, inputs_of, read_shown
from symbreak.cli._scores import print_scores
from symbreak.cli._train import write_page
from symbreak.inspection import (
    Effect,
    effects,
    importance,
    origin_in_words,
    recorded_scores,
    relevance,
    scores,
)
from symbreak.models import Model
from symbreak.problems import Dataset, Problem
from symbreak.problems._files import default_targets
from symbreak.problems._tables import Table, check_known, text_of

#: More rows, or longer strings, are not read.
MAX_INPUTS, MAX_TEXT = 20, 40


def inspect_command(
    model: ModelFile,
    plot: Annotated[Path | None, file_option("Draw the network with its weights")] = None,
    data: Annotated[Path | None, option("FILE", "A table with its inputs and targets")] = None,
    page: Page = None,
) -> None:
    """Show a model: its network, where it came from, and how much each input matters.

    With --data also how good it is on that table, which is taken for new rows.
    """
    network = Model.load(model)
    if page is not None and data is None:
        raise ValueError("--page needs a table to show the model with: --data FILE.")
    check_results(plot=plot, page=page)
    problem = None if data is None else problem_of(network, read_shown(data))
    _print_facts(network)
    console.print()
    _print_sensitivity(network)
    found = recorded_scores(network)
    if problem is not None:
        found["this table"] = scores(network, problem)["training"]
    if found:
        console.print()
        print_scores(network, found)
    if problem is not None and problem.description:
        console.print(problem.description)
    if problem is not None:
        _print_effects(network, problem)
    if page is not None and problem is not None:
        write_page(network, problem, page, seen=False)
    if plot is not None:
        from symbreak.analysis import network_chart

        draw(network_chart(network), plot)


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
    table = Lines(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(no_wrap=True, max_width=16, overflow="ellipsis")
    table.add_column(overflow="fold")
    if model.encoding is not None:
        facts["columns"] = "; ".join(line[:200] for line in model.encoding.in_words[:MAX_INPUTS])
    for name, value in (*facts.items(), *origin_in_words(model, MAX_INPUTS)):
        table.add_row(shown(name), shown(value))
    console.print(table)


def problem_of(model: Model, table: Table) -> Problem:
    """A table as the data of a model, all of it, in the model's units."""
    columns = choose_inputs(model, table)
    goals = list(model.target_names) or default_targets(table, columns)
    check_known(table, goals)
    if (lost := table.missing(goals)).any() and not lost.all():
        table = table.take(~lost)
    y = _classes_of(model, table, goals[-1]) if model.classes else table.numbers(goals)
    return Problem(
        name=table.path.name,
        topology=model.topology,
        task=model.task,
        train=Dataset(model.inputs(inputs_of(model, table, columns)), model.targets(y)),
        description=f"{counted(lost.sum(), 'row')} without a target left out" if lost.any() else "",
        inputs=model.inputs,
        targets=model.targets,
        classes=model.classes,
        feature_names=model.feature_names,
        target_names=model.target_names,
        encoding=model.encoding,
    )


def _classes_of(model: Model, table: Table, goal: str) -> Array:
    """A column as ones and zeros, one a class; files of text have numbers as text."""
    labels, classes = table.labels(goal), model.classes
    if isinstance(classes[0], str):
        same = np.array([text_of(label) for label in labels.tolist()])[:, None] == classes
    else:
        same = table.numbers([goal]) == np.array(classes, dtype=np.float64)
    if not same.any(axis=1).all():
        raise ValueError(
            f"{table.path}: {goal} must hold the classes of the model, "
            f"{few([str(label) for label in classes])}; {labels[~same.any(axis=1)][0]} is none."
        )
    return same.astype(np.float64)


def _print_effects(model: Model, problem: Problem) -> None:
    """What each column does to the mean prediction over the rows of a table."""
    found = effects(model, problem, MAX_INPUTS)
    told = importance(model, problem, found)
    goals = model.output_names
    j = 1 if len(model.classes) == 2 else 0
    table = Lines(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for heading in told["columns"]:
        table.add_column(heading, overflow="ellipsis", max_width=24)
    table.add_column(f"mean {shown(goals[j])[:20]}")
    for effect, row in zip(found, told["rows"], strict=True):
        low, high = (int(one) for one in (effect.means[:, j].argmin(), effect.means[:, j].argmax()))
        ends = [f"{effect.means[i, j]:.4g} at {_level(effect, i)}" for i in (low, high)]
        cells = [cell.replace("\u00d7", "x") for cell in row]
        table.add_row(*map(shown, cells), shown(" to ".join(ends)))
    console.print()
    console.print(table)


def _level(effect: Effect, i: int) -> str:
    """A value of a column in words."""
    if effect.levels:
        return effect.levels[i]
    if effect.is_date:
        return str(np.datetime64(int(effect.values[i]), "D"))
    return f"{effect.values[i]:.4g}"


def _print_sensitivity(model: Model) -> None:
    """Inputs in the order of how much they matter, as bars."""
    names = model.columns
    effects = relevance(model)
    table = Lines(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("input", no_wrap=True, max_width=24, overflow="ellipsis")
    table.add_column("sensitivity", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    bar = "#" if plain() else "\u2588"
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
