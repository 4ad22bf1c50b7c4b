"""``symbreak train``: a problem or a data file, one or more methods, side by side."""

from __future__ import annotations

import dataclasses
import functools
import shlex
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from symbreak import (
    METHODS,
    Problem,
    RunRecord,
    Topology,
    load_problem,
    problem_names,
)
from symbreak._support.checks import check_count, unknown
from symbreak._support.frames import choose_columns
from symbreak._support.signals import deferred_interrupts
from symbreak._support.words import few
from symbreak.activations import ACTIVATIONS
from symbreak.cli import _scores
from symbreak.cli._console import (
    CHARTS,
    Imports,
    check_out,
    console,
    import_here,
    shown,
    split_names,
)
from symbreak.cli._train_view import Trained, run_methods
from symbreak.inspection import is_constant, recorded_scores, scores
from symbreak.models import Model
from symbreak.objectives import LeastSquares
from symbreak.objectives._least_squares import check_threads
from symbreak.problems import read_problem, read_table
from symbreak.problems._files import Table, default_targets
from symbreak.topology import MAX_SIZE
from symbreak.training._committee import check_networks, split
from symbreak.training._recipe import make_plan, usual_evaluations
from symbreak.training._train import continued

DEFAULT_METHOD = "auto"
#: What Python calls an option, and an example of it.
OPTIONS = {
    "max_evaluations": "--evaluations 20000",
    "population_size": "--population-size 60",
    "seed": "--seed 1",
    "threads": "--threads 2",
    "alpha": "--alpha 0.01",
    "initial": "--from model.json",
    "n_networks": "--networks 4",
    "max_neurons": "--max-neurons 20",
}

_BUILT_IN = ", ".join(problem_names())
_DATA = functools.partial(typer.Option, rich_help_panel="Data file")
_NETWORK = functools.partial(typer.Option, rich_help_panel="Network")


def train_command(
    source: Annotated[
        str,
        typer.Argument(
            metavar="PROBLEM_OR_FILE",
            help=f"One of {_BUILT_IN}, or a file: .csv, .csv.gz, .tsv, .xlsx, .parquet or .npz.",
        ),
    ],
    target: Annotated[
        list[str],
        _DATA("--target", metavar="COLUMN", help="To predict; a,b for more (default: the last)"),
    ] = [],  # noqa: B006  (typer copies it)
    ignore: Annotated[
        list[str], _DATA("--ignore", metavar="COLUMN", help="Not an input; a,b for more")
    ] = [],  # noqa: B006
    categories: Annotated[
        list[str], _DATA("--categories", metavar="COLUMN", help="Holds levels; a,b for more")
    ] = [],  # noqa: B006
    numbers: Annotated[
        list[str], _DATA("--numbers", metavar="COLUMN", help="Holds numbers; a,b for more")
    ] = [],  # noqa: B006
    task: Annotated[
        str | None,
        _DATA("--task", metavar="TASK", help="regression or classification (default: recognised)"),
    ] = None,
    start: Annotated[
        Path | None,
        _DATA("--from", metavar="MODEL", help="Begin from this network (.json), with its columns"),
    ] = None,
    header: Annotated[
        bool | None,
        _DATA("--header/--no-header", help="Does the file name its columns? (default: recognised)"),
    ] = None,
    encoding: Annotated[
        str | None, _DATA("--encoding", metavar="NAME", help="Of a text file (default: utf-8)")
    ] = None,
    validation: Annotated[
        float | None,
        _DATA("--validation", metavar="SHARE", help="Of the rows, to choose the network by"),
    ] = None,
    test: Annotated[
        float | None, _DATA("--test", metavar="SHARE", help="Of the rows, held out and reported")
    ] = None,
    hidden: Annotated[
        str | None,
        _NETWORK("--hidden", metavar="SIZES", help="Of hidden layers, as 5,3 (default: auto)"),
    ] = None,
    networks: Annotated[
        int | None,
        _NETWORK("--networks", metavar="N", help="Averaged into one, at most (default: 8 or 1)"),
    ] = None,
    max_neurons: Annotated[
        int | None, _NETWORK("--max-neurons", metavar="N", help="Hidden neurons at most, in all")
    ] = None,
    activation: Annotated[
        str | None,
        _NETWORK("--activation", metavar="NAME", help=f"One of {', '.join(ACTIVATIONS)}"),
    ] = None,
    alpha: Annotated[
        str | None,
        _NETWORK("--alpha", metavar="NUMBER", help="Strength of regularisation, or auto"),
    ] = None,
    method: Annotated[
        list[str],
        typer.Option(
            *("--method", "-m"),
            metavar="METHOD",
            help=f"Repeat to compare: {', '.join(METHODS)}",
        ),
    ] = [DEFAULT_METHOD],  # noqa: B006
    evaluations: Annotated[
        int | None,
        typer.Option(
            *("--evaluations", "-n"),
            metavar="N",
            help="Budget (default: the problem's, or of a file what takes seconds)",
        ),
    ] = None,
    max_time: Annotated[
        float | None,
        typer.Option("--time", metavar="SECONDS", help="For each method, at most"),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Of the search")] = 0,
    data_seed: Annotated[
        int, typer.Option(metavar="N", help="Of the data, or of their division")
    ] = 0,
    population_size: Annotated[
        int | None,
        typer.Option(metavar="N", help="Candidates per generation (default: the problem's)"),
    ] = None,
    threads: Annotated[
        int, typer.Option(metavar="N", help="For evaluations; 0 is one per core")
    ] = 1,
    imports: Imports = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Save the model (.json), the best of several"),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Draw fit, residuals and convergence (.html, .svg, .png, .pdf)"
        ),
    ] = None,
    page: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a page on the model (.html)")
    ] = None,
) -> None:
    """Train the network of a problem or of your own data, with one or more methods."""
    _check_files(out, plot, page)
    import_here(imports)
    reading = {
        "targets": tuple(target),
        "ignore": tuple(ignore),
        "categories": tuple(categories),
        "numbers": tuple(numbers),
        "task": task,
        "header": header,
        "encoding": encoding,
        "validation": validation,
        "test": test,
    }
    given = {key: value for key, value in reading.items() if value not in (None, ())}
    previous = None if start is None else Model.load(start)
    with shell_words(seed="--data-seed 1"):
        problem = _load(source, data_seed, given, previous)
    chooses = hidden == "auto" or (hidden is None and source not in problem_names())
    if chooses and previous is not None:  # its size stays
        hidden = ",".join(map(str, split(previous)[0].topology.hidden))
    if previous is not None:
        activation = activation or previous.topology.activation.name
    with shell_words():
        problem = _changed(problem, None if hidden == "auto" else hidden, activation, alpha)
    if max_time is not None and not max_time > 0:
        raise ValueError(f"--time must be a positive number of seconds, got {max_time:g}.")
    options: dict[str, Any] = {
        "max_evaluations": evaluations,
        "seed": seed,
        "population_size": population_size,
        "threads": threads,
    }
    names = list(dict.fromkeys(method))
    with shell_words():
        _check_methods(problem, names, options, previous, chooses)
        n = check_networks(problem, networks, max_neurons, averages=True, chooses=chooses)
    options |= {"n_networks": n if networks else None, "max_neurons": max_neurons}
    options["hidden"] = "auto" if chooses else None
    _say_what(problem, chooses=chooses and previous is None)
    _scores.print_extremes(problem)
    stop = threading.Event()
    with deferred_interrupts(stop.set):
        more = {"max_time": max_time, "initial": previous}
        found = run_methods(problem, names, {**options, **more}, stop)
        records = [one.record for one in found]
        best_record = _scores.best_record(records, problem)
        _scores.print_records(records, problem, best_record)
        best = next(one for one in found if one.record is best_record)
        _keep(problem, best, best_record.method if len(found) > 1 else "", out, plot)
        if page is not None and best_record.model is not None:
            _write_page(best_record.model, problem, page)
    if stop.is_set():
        console.print("Stopped early; this is the best so far.")
        raise typer.Exit(130)


def _check_methods(
    problem: Problem,
    names: list[str],
    options: dict[str, Any],
    previous: Model | None,
    chooses: bool,
) -> None:
    """All is right, or nothing starts."""
    objective = LeastSquares(problem)
    if previous is not None:
        continued(previous, problem, "auto" if chooses else None)
    check_threads(options["threads"])
    check_count("seed", options["seed"], 0)
    for name in names:
        budget = usual_evaluations(objective)
        if options["max_evaluations"] is not None:
            budget = check_count("max_evaluations", options["max_evaluations"], 1)
        plan = make_plan(objective, name, budget, population_size=options["population_size"])
        if previous is not None and plan.polish == "none":
            raise ValueError(f"--from begins with a polish, and {name} has none; use auto.")


def _check_files(out: Path | None, plot: Path | None, page: Path | None) -> None:
    """All that can be wrong with what is written in the end."""
    if out is not None:
        check_out("--out", out, ".json")
    if plot is not None:
        check_out("--plot", plot, *CHARTS)
    if page is not None:
        check_out("--page", page, ".html")
    if plot is not None or page is not None:
        from symbreak.analysis import training_chart  # noqa: F401  (missing now, not in the end)


@contextmanager
def shell_words(**others: str) -> Iterator[None]:
    """Errors of what an option was given name the option, with an example; ``others`` differ."""
    try:
        yield
    except ValueError as error:
        name, _, said = str(error).partition(" ")
        example = {**OPTIONS, **others}.get(name)
        if example is None:
            raise
        option = example.partition(" ")[0]
        raise ValueError(f"{option} {said} Example: {example}.") from None


def _load(source: str, seed: int, given: dict[str, Any], previous: Model | None) -> Problem:
    """A problem by name, or else of a data file, with the columns of a previous model."""
    if source in problem_names():
        if given:
            option = next(iter(given)).removesuffix("s")
            raise ValueError(f"--{option} is for data files; {source} is a problem by name.")
        return load_problem(source, seed=seed)
    path = Path(source)
    if not path.exists():
        if path.suffix or len(path.parts) > 1:
            raise ValueError(f"no data file {source!r}, and no problem of that name.")
        error = unknown("problem", source, problem_names())
        raise ValueError(f"{error} If it is your own, --import the module that adds it.")
    table = read_table(path, header=given.pop("header", None), encoding=given.pop("encoding", None))
    for key in ("targets", "ignore", "categories", "numbers"):
        given[key] = [
            name for text in given.get(key, ()) for name in split_names(text, table.names)
        ]
    if previous is not None:
        _same_columns(given, table, previous)
    problem = read_problem(table, name=path.name, seed=seed, **{"task": "auto", **given})
    found = "given" if "task" in given else "recognised, --task changes it"
    goals = problem.target_names or given["targets"] or default_targets(table, given["ignore"])
    goal = ", ".join(goals)
    console.print(
        f"{shown(path.name)}: {shown(table.format)}\n"
        f"{problem.task} ({found}) of [bold]{shown(goal)}[/bold] "
        f"from {shown(few(problem.encoding.names if problem.encoding else problem.feature_names))}"
    )
    for line in problem.encoding.in_words if problem.encoding else ():
        console.print(shown(line))
    if "column 1" in problem.feature_names:  # what spreadsheets and frames put first
        console.print("column 1 has no name; if it only counts rows, use --ignore 'column 1'")
    return problem


def _same_columns(given: dict[str, Any], table: Table, model: Model) -> None:
    """Targets and inputs are those of a model, as far as nothing else is said."""
    wanted = model.encoding.names if model.encoding else model.feature_names
    if not given["targets"]:
        taken = [*given["ignore"], *wanted]
        left = [name for name in table.names if name not in taken]
        if wanted and model.classes and len(left) > 1:  # it does not know what they are called
            raise ValueError(f"--target must say which column holds the classes: {few(left)}.")
        given["targets"] = [*model.target_names] or default_targets(table, taken)
    given["like"] = model.encoding
    inputs = [name for name in table.names if name not in given["targets"]]
    if wanted:
        choose_columns(str(table.path), inputs, wanted)
        given["ignore"] += [name for name in inputs if name not in {*wanted, *given["ignore"]}]


def _changed(
    problem: Problem, hidden: str | None, activation: str | None, alpha: str | None
) -> Problem:
    """The problem with another network or regularisation."""
    net = problem.topology
    layers = net.hidden if hidden is None else hidden_sizes(hidden)
    kind = net.activation if activation is None else activation
    changes: dict[str, Any] = {}
    if hidden is not None or activation is not None:
        changes["topology"] = Topology((net.n_inputs, *layers, net.n_outputs), kind)  # type: ignore[arg-type]
    if alpha is not None:
        changes["alpha"] = alpha if alpha == "auto" else _number("--alpha", alpha)
    return dataclasses.replace(problem, **changes) if changes else problem


def hidden_sizes(text: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.replace("-", ",").split(",")]
    if not all(part.isdecimal() and 1 <= int(part) <= MAX_SIZE for part in parts):
        raise ValueError(
            f"--hidden must be auto, or sizes of layers, each from 1 to {MAX_SIZE:,}, got "
            f"{text!r}. Example: --hidden 5,3."
        )
    return tuple(int(part) for part in parts)


def _number(option: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{option} must be a number or auto, got {text!r}.") from None


def _say_what(problem: Problem, *, chooses: bool) -> None:
    net = problem.topology
    if problem.description:
        console.print(f"[bold]{shown(problem.name)}[/bold]  {shown(problem.description)}")
    if chooses:
        console.print(
            f"{len(problem.train):,} samples, {net.n_inputs:,} inputs; the number of hidden "
            "neurons is chosen, --hidden 5 sets it"
        )
        return
    n_parameters = net.dim + (net.hidden[-1] + problem.output_shift) * net.n_outputs
    console.print(
        f"{net} network, {n_parameters:,} parameters ({net.dim:,} of them searched), "
        f"{len(problem.train):,} samples; every network has {net.replicas_in_words} replicas"
    )


def _keep(
    problem: Problem, best: Trained, heading: str, out: Path | None, plot: Path | None
) -> None:
    """Print how good the best is, save and draw it."""
    model = best.record.model
    if model is None:  # stopped before anything was found
        return
    if best.record.size_path or len(best.record.members) > 1:
        console.print(best.record.size_in_words)
    console.print()
    _scores.print_scores(model, recorded_scores(model) or scores(model, problem), heading)
    if (reason := model.origin.get("no_error_bars")) is not None:
        console.print(f"There are no error bars: {shown(reason)}.")
    if problem.ridge.sets_itself and is_constant(model, problem):
        console.print("It predicts the same for all rows. If they are no noise, try --alpha 0.01.")
    if out is not None:
        model.save(out)
        console.print(f"Saved in {shown(out)}")
    if plot is not None:
        _draw(model, problem, best.record, best.seen, plot)


def _write_page(model: Model, problem: Problem, page: Path) -> None:
    from symbreak.analysis import write_model_page

    write_model_page(model, problem, page, command=shlex.join(["symbreak", *sys.argv[1:]]))
    console.print(f"Written to {shown(page)}")


def _draw(
    model: Model, problem: Problem, record: RunRecord, seen: list[tuple[int, float]], plot: Path
) -> None:
    """Fit, residuals and convergence."""
    from symbreak.analysis import save_chart, training_chart

    evaluations, errors = record.evaluations, record.errors
    if seen:
        curve = np.array([*seen, (record.n_evaluations, seen[-1][1])])
        evaluations, errors = curve[:, 0].astype(np.int64), curve[:, 1]
    with_ridge = False if seen else None
    chart = training_chart(
        *(model, problem, evaluations, errors),
        with_ridge=with_ridge,
        size_path=record.size_path,
    )
    save_chart(chart, plot)
    console.print(f"Drawn in {shown(plot)}")
