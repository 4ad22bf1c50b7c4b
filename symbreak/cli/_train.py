"""``symbreak train``: a problem or a data file, one or more methods, side by side."""

from __future__ import annotations

import dataclasses
import functools
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from symbreak import (
    METHODS,
    Problem,
    RunRecord,
    Topology,
    load_problem,
    problem_names,
    train,
    training,
)
from symbreak._support.checks import unknown
from symbreak._support.interrupts import deferred_interrupts
from symbreak.activations import ACTIVATIONS
from symbreak.cli import _scores
from symbreak.cli._console import CHARTS, check_out, console, few, shown
from symbreak.evaluation import plain_error
from symbreak.fitting import classified, is_worthwhile, with_validated_ridge
from symbreak.inspection import is_constant
from symbreak.models import Model
from symbreak.problems import read_problem, read_table

DEFAULT_METHOD = "auto"
#: What a network of a user's own data is given that the paper's has not (paper-notes 1, 14): no
#: ball, an output shift, and a ridge that sets itself.
FILE_SETTINGS = {"rescale": "none", "output_shift": True, "alpha": "auto"}

_BUILT_IN = ", ".join(problem_names())
_DATA = functools.partial(typer.Option, rich_help_panel="Data file")
_NETWORK = functools.partial(typer.Option, rich_help_panel="Network")


def train_command(
    source: Annotated[
        str,
        typer.Argument(
            metavar="PROBLEM_OR_FILE",
            help=f"One of {_BUILT_IN}, or a data file: .csv, .csv.gz, .tsv, .parquet or .npz.",
        ),
    ],
    target: Annotated[
        list[str],
        _DATA("--target", metavar="COLUMN", help="To predict; repeat for more (default: the last)"),
    ] = [],  # noqa: B006  (typer copies it)
    ignore: Annotated[
        list[str], _DATA("--ignore", metavar="COLUMN", help="Not an input; repeat for more")
    ] = [],  # noqa: B006
    task: Annotated[
        str | None,
        _DATA("--task", metavar="TASK", help="regression or classification (default: recognised)"),
    ] = None,
    header: Annotated[
        bool | None,
        _DATA("--header/--no-header", help="Does the file name its columns? (default: recognised)"),
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
        _NETWORK("--hidden", metavar="SIZES", help="Of hidden layers, as 5,3 (default: 5)"),
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
        typer.Option(*("--evaluations", "-n"), metavar="N", help="Budget (default: the problem's)"),
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
) -> None:
    """Train the network of a problem or of your own data, with one or more methods."""
    _check_files(out, plot)
    reading = {
        "targets": tuple(target),
        "ignore": tuple(ignore),
        "task": task,
        "header": header,
        "validation": validation,
        "test": test,
    }
    given = {key: value for key, value in reading.items() if value not in (None, ())}
    problem = _load(source, data_seed, given)
    problem = _changed(problem, hidden, activation, alpha)
    if max_time is not None and not max_time > 0:
        raise ValueError(f"--time must be a positive number of seconds, got {max_time:g}.")
    options: dict[str, Any] = {
        "max_evaluations": evaluations,
        "seed": seed,
        "population_size": population_size,
        "threads": threads,
    }
    names = list(dict.fromkeys(method))
    for name in names:
        training.Training(problem, name, **options)  # all is right, or nothing starts
    _say_what(problem)
    stop = threading.Event()
    with deferred_interrupts(stop.set):
        found = _run(problem, names, {**options, "max_time": max_time}, stop)
        _finish(problem, found, stop, out, plot)
    if stop.is_set():
        console.print("Stopped early; this is the best so far.")
        raise typer.Exit(130)


def _check_files(out: Path | None, plot: Path | None) -> None:
    """All that can be wrong with what is written in the end."""
    if out is not None:
        check_out("--out", out, ".json")
    if plot is not None:
        check_out("--plot", plot, *CHARTS)
        import symbreak.analysis  # noqa: F401  (what it needs is missing now, not in the end)


def _load(source: str, seed: int, given: dict[str, Any]) -> Problem:
    """A problem by name, or else of a data file."""
    if source in problem_names():
        if given:
            option = next(iter(given)).removesuffix("s")
            raise ValueError(f"--{option} is for data files; {source} is a built-in problem.")
        return load_problem(source, seed=seed)
    path = Path(source)
    if not path.exists():
        if path.suffix or len(path.parts) > 1:
            raise ValueError(f"no data file {source!r}, and no problem of that name.")
        raise unknown("problem", source, problem_names())
    header = given.get("header")
    table = read_table(path, header=header)
    problem = read_problem(
        path, name=path.name, seed=seed, **{"task": "auto", **FILE_SETTINGS, **given}
    )
    found = "given" if "task" in given else "recognised, --task changes it"
    goal = ", ".join(problem.target_names) or ", ".join(given.get("targets", table.targets))
    console.print(
        f"{shown(path.name)}: {shown(table.format)}\n"
        f"{problem.task} ({found}) of [bold]{shown(goal)}[/bold] "
        f"from {shown(few(problem.feature_names))}"
    )
    if "column 1" in problem.feature_names:  # what spreadsheets and frames put first
        console.print("column 1 has no name; if it only counts rows, use --ignore 'column 1'")
    return problem


def _changed(
    problem: Problem, hidden: str | None, activation: str | None, alpha: str | None
) -> Problem:
    """The problem with another network or regularisation."""
    net = problem.topology
    layers = net.hidden if hidden is None else _sizes(hidden)
    kind = net.activation if activation is None else activation
    changes: dict[str, Any] = {}
    if hidden is not None or activation is not None:
        changes["topology"] = Topology((net.n_inputs, *layers, net.n_outputs), kind)  # type: ignore[arg-type]
    if alpha is not None:
        changes["alpha"] = alpha if alpha == "auto" else _number("--alpha", alpha)
    return dataclasses.replace(problem, **changes)


def _sizes(text: str) -> tuple[int, ...]:
    parts = text.replace("-", ",").split(",")
    if not all(part.strip().isdecimal() for part in parts):
        raise ValueError(f"--hidden must be sizes of layers, as in 5,3, got {text!r}.")
    return tuple(int(part) for part in parts)


def _number(option: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{option} must be a number or auto, got {text!r}.") from None


def _say_what(problem: Problem) -> None:
    net = problem.topology
    if problem.description:
        console.print(f"[bold]{shown(problem.name)}[/bold]  {shown(problem.description)}")
    console.print(
        f"{net} network, {net.dim} parameters, {len(problem.train)} samples; every network has "
        f"{net.replicas_in_words} replicas"
    )


def _run(
    problem: Problem,
    names: list[str],
    options: dict[str, Any],
    stop: threading.Event,
) -> list[RunRecord]:
    """Train with one method after the other, until there is a Ctrl-C."""
    records = []
    with _progress() as bars:
        budget = options["max_time"] or options["max_evaluations"] or problem.max_evaluations
        tasks = {name: bars.add_task(name, total=budget, error="") for name in names}
        for name, task in tasks.items():
            bars.reset(task)  # its clock starts now
            show = _show_progress(bars, task, stop, options["max_time"])
            record = train(problem, name, callback=show, **options)
            records.append(record)
            bars.update(task, error=f"{record.error:.3g}")
            if stop.is_set():
                break
            bars.update(task, completed=budget)
    return records


def _progress() -> Progress:
    return Progress(
        TextColumn("{task.description:<13}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TextColumn("best error {task.fields[error]:<8}"),
        TimeRemainingColumn(elapsed_when_finished=True),
        console=console,
    )


def _show_progress(
    bars: Progress, task: TaskID, stop: threading.Event, max_time: float | None
) -> Callable[[training.Progress], bool]:
    """A callback that moves a bar ten times a second; generations are much shorter.

    Of a run that ends by time, the bar shows the time.
    """
    started, shown_at = time.monotonic(), 0.0

    def show(progress: training.Progress) -> bool:
        nonlocal shown_at
        if (now := time.monotonic()) - shown_at > 0.1:
            shown_at = now
            done = progress.n_evaluations if max_time is None else now - started
            bars.update(task, completed=done, error=f"{progress.error:.3g}")
        return stop.is_set()

    return show


def _finished(model: Model, problem: Problem, record: RunRecord, stop: threading.Event) -> Model:
    """What an estimator makes of it, too: probabilities of classes, the ridge of a regression."""

    def may_go_on() -> bool:
        return not stop.is_set()

    if problem.task == "classification" and problem.alpha == "auto":
        with console.status("Polishing its probabilities"):
            return classified(model, problem, may_go_on)[0].model
    if record.n_effective is not None and is_worthwhile(problem):
        with console.status("Trying larger ridges"):
            held = with_validated_ridge(model, problem, record.alpha, may_go_on).model
        if held is not None:
            origin = {**model.origin, "error": plain_error(held, problem)}
            return dataclasses.replace(held, origin=origin)
    return model


def _finish(
    problem: Problem,
    records: list[RunRecord],
    stop: threading.Event,
    out: Path | None,
    plot: Path | None,
) -> None:
    """Print, save and draw what was found."""
    best = _scores.best_record(records, problem)
    _scores.print_records(records, problem, best)
    if best.model is None:  # stopped before anything was found
        return
    model = _finished(best.model, problem, best, stop)
    console.print()
    _scores.print_scores(model, problem, best.method if len(records) > 1 else "")
    if problem.alpha == "auto" and is_constant(model, problem):
        console.print("It predicts the same for all rows. If they are no noise, try --alpha 0.01.")
    if out is not None:
        model.save(out)
        console.print(f"Saved in {shown(out)}")
    if plot is not None:
        from symbreak.analysis import save_chart, training_chart

        save_chart(training_chart(model, problem, best.evaluations, best.errors), plot)
        console.print(f"Drawn in {shown(plot)}")
