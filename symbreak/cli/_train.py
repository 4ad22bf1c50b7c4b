"""``symbreak train``: a problem or a data file, one or more methods, side by side."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
import shlex
import sys
import threading
from pathlib import Path
from typing import Annotated, Any

import typer

from symbreak import METHODS, Problem, Topology, load_problem, problem_names, train, training
from symbreak._activations import ACTIVATIONS
from symbreak._support.checks import unknown
from symbreak._support.frames import choose_columns
from symbreak._support.progress import progress_bar
from symbreak._support.signals import deferred_interrupts
from symbreak._support.words import counted, few
from symbreak.cli import _scores
from symbreak.cli._console import (
    Encoding,
    Evaluations,
    Header,
    Imports,
    MaxTime,
    Names,
    Out,
    Page,
    PopulationSize,
    Seed,
    argument,
    check_results,
    console,
    draw,
    file_option,
    import_here,
    option,
    shell_words,
    shown,
    split_names,
)
from symbreak.cli._predict import read_shown
from symbreak.inspection import is_constant, recorded_scores, scores
from symbreak.models import Model
from symbreak.objectives import LeastSquares
from symbreak.problems import read_problem
from symbreak.problems._files import Table, default_targets
from symbreak.topology import MAX_SIZE
from symbreak.training._committee import split
from symbreak.training._recipe import make_plan, polish_of, usual_evaluations
from symbreak.training._record import Progress
from symbreak.training._size import what_takes_long

_data = functools.partial(option, panel="Data file")
_net = functools.partial(option, panel="Network")
_columns = functools.partial(_data, "COLUMN")


@shell_words()
def train_command(
    source: Annotated[
        str,
        argument(
            "PROBLEM_OR_FILE",
            f"One of {', '.join(problem_names())}, or a file: .csv, .csv.gz, .tsv, .xlsx, "
            ".parquet or .npz.",
        ),
    ],
    target: Annotated[Names, _columns("To predict; a,b for more (default: the last)")] = None,
    ignore: Annotated[Names, _columns("Not an input; a,b for more")] = None,
    categories: Annotated[Names, _columns("Holds levels; a,b for more")] = None,
    numbers: Annotated[Names, _columns("Holds numbers; a,b for more")] = None,
    task: Annotated[
        str | None, _data("TASK", "regression or classification (default: recognised)")
    ] = None,
    start: Annotated[
        Path | None, _data("MODEL", "Begin from this network (.json), with its columns", "--from")
    ] = None,
    header: Header = None,
    encoding: Encoding = None,
    validation: Annotated[float | None, _data("SHARE", "Of rows, to choose the network by")] = None,
    test: Annotated[float | None, _data("SHARE", "Of rows, held out and reported")] = None,
    hidden: Annotated[str | None, _net("SIZES", "Of hidden layers, as 5,3 (default: auto)")] = None,
    networks: Annotated[int | None, _net("N", "Averaged, at most (default: 8 or 1)")] = None,
    max_neurons: Annotated[int | None, _net("N", "Hidden neurons at most, in all")] = None,
    activation: Annotated[str | None, _net("NAME", f"One of {', '.join(ACTIVATIONS)}")] = None,
    alpha: Annotated[str | None, _net("NUMBER", "Strength of regularisation, or auto")] = None,
    method: Annotated[
        Names, option("METHOD", f"Repeat to compare: {', '.join(METHODS)}", "--method", "-m")
    ] = None,
    evaluations: Evaluations = None,
    max_time: MaxTime = None,
    seed: Seed = 0,
    data_seed: Annotated[int, option("N", "Of the data, or of their division", least=0)] = 0,
    population_size: PopulationSize = None,
    threads: Annotated[int, option("N", "For evaluations; 0 is one per core")] = 1,
    imports: Imports = None,
    out: Out = None,
    plot: Annotated[Path | None, file_option("Draw fit, residuals and convergence")] = None,
    page: Page = None,
) -> None:
    """Train the network of a problem or of your own data, with one or more methods."""
    check_results(out, plot, page)
    import_here(imports)
    reading: dict[str, Any] = {"targets": target, "ignore": ignore, "categories": categories}
    reading |= {"numbers": numbers, "task": task, "header": header, "encoding": encoding}
    reading |= {"validation": validation, "test": test}
    given = {key: value for key, value in reading.items() if value not in (None, [])}
    previous = None if start is None else Model.load(start)
    problem = _load(source, data_seed, given, previous)
    own = problem.rescale == "none"
    if hidden == "auto" and not own:
        raise ValueError(f"--hidden auto is for data files; {source} is a problem by name.")
    chooses = hidden in (None, "auto") and own
    if previous is not None:  # its size stays, unless another one is named
        hidden = ",".join(map(str, split(previous)[0].topology.hidden)) if chooses else hidden
        activation = activation or previous.topology.activation.name
    problem = _changed(problem, None if hidden == "auto" else hidden, activation, alpha)
    options: dict[str, Any] = {"max_evaluations": evaluations, "max_time": max_time, "seed": seed}
    options |= {"population_size": population_size, "threads": threads, "initial": previous}
    options |= {"n_networks": networks, "max_neurons": max_neurons}
    options["hidden"] = "auto" if chooses else None
    names = list(dict.fromkeys(method or ["auto"]))
    _check_methods(problem, names, options)
    searches = all(polish_of(name, None) != "restarts" for name in names)  # whose sizes stay
    _say_what(problem, chooses=chooses and previous is None and not searches)
    if own and max_time is None and evaluations is None and (what := what_takes_long(problem)):
        console.print(f"{what}; --time 60 ends after one, with the best so far")
    stop = threading.Event()
    with deferred_interrupts(stop.set):
        found = []
        for name in names:
            found.append(_run(problem, name, options, stop))
            if stop.is_set():
                break
        best = _scores.best_record([record for record, _ in found], problem)
        _scores.print_records([record for record, _ in found], problem, best)
        seen = next(curve for record, curve in found if record is best)
        _keep(problem, best, best.method if len(found) > 1 else "", out)
        if plot is not None and best.model is not None:
            _draw(problem, best, seen, plot)
        if page is not None and best.model is not None:
            write_page(best.model, problem, page)
    end_early(stop)


def end_early(stop: threading.Event) -> None:
    """Say that somebody has stopped it, if so."""
    if stop.is_set():
        console.print("Stopped early; this is the best so far.")
        raise typer.Exit(130)


def _run(
    problem: Problem, name: str, options: dict[str, Any], stop: threading.Event
) -> tuple[training.RunRecord, list[tuple[int, float]]]:
    """Train with a method; and rows (evaluations, error) of the network on its way.

    These are without the ridge, where that sets itself: the record has errors of searches only.
    """
    seen: list[tuple[int, float]] = []
    with progress_bar(name, options["max_time"], console, stop) as show:

        def watch(progress: Progress) -> bool:
            error = progress.fit_error
            if math.isfinite(error) and (not seen or error != seen[-1][1]):
                seen.append((progress.n_evaluations, error))
            return show(progress)

        record = train(problem, name, callback=watch, **options)
        show(f"error {_scores.error_in_words(record, problem)}")
    return record, seen if problem.ridge.sets_itself else []


def _check_methods(problem: Problem, names: list[str], options: dict[str, Any]) -> None:
    """All methods can be had with these options, or nothing starts."""
    objective, budget = LeastSquares(problem), options["max_evaluations"]
    budget = usual_evaluations(objective) if budget is None else budget
    for name in names:
        plan = make_plan(objective, name, budget, population_size=options["population_size"])
        if options["initial"] is not None and plan.polish == "none":
            raise ValueError(f"--from begins with a polish, and {name} has none; use auto.")


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
    table = read_shown(path, given.pop("header", None), given.pop("encoding", None))
    for key in ("targets", "ignore", "categories", "numbers"):
        names = (split_names(text, table.names) for text in given.get(key, ()))
        given[key] = list(itertools.chain(*names))
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
    if not given["targets"]:
        taken = [*given["ignore"], *model.columns]
        left = [name for name in table.names if name not in taken]
        if model.classes and len(left) > 1:  # it does not know what they are called
            raise ValueError(f"--target must say which column holds the classes: {few(left)}.")
        given["targets"] = [*model.target_names] or default_targets(table, taken)
    given["like"] = model.encoding
    inputs = [name for name in table.names if name not in given["targets"]]
    if chosen := choose_columns(str(table.path), inputs, model.columns):
        given["ignore"] += [name for name in inputs if name not in {*chosen, *given["ignore"]}]


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
        try:
            changes["alpha"] = alpha if alpha == "auto" else float(alpha)
        except ValueError:
            raise ValueError(f"--alpha must be a number or auto, got {alpha!r}.") from None
    return dataclasses.replace(problem, **changes) if changes else problem


def hidden_sizes(text: str) -> tuple[int, ...]:
    """Sizes of layers, as in 5,3."""
    parts = [part.strip() for part in text.replace("-", ",").split(",")]
    if not all(part.isdecimal() and 1 <= int(part) <= MAX_SIZE for part in parts):
        raise ValueError(f"hidden must be sizes of layers, each 1 to {MAX_SIZE:,}, got {text!r}.")
    return tuple(int(part) for part in parts)


def _say_what(problem: Problem, *, chooses: bool) -> None:
    net = problem.topology
    if problem.description:
        console.print(f"[bold]{shown(problem.name)}[/bold]  {shown(problem.description)}")
    if chooses:
        console.print(
            f"{counted(problem.train.n_rows, 'sample')}, {counted(net.n_inputs, 'input')}; the "
            "number of hidden neurons is chosen, --hidden 5 sets it"
        )
        return
    n_parameters = net.dim + (net.hidden[-1] + problem.output_shift) * net.n_outputs
    console.print(
        f"{net} network, {n_parameters:,} parameters ({net.dim:,} of them searched), "
        f"{problem.train.n_rows:,} samples; every network has {net.replicas_in_words} replicas"
    )


def _keep(problem: Problem, best: training.RunRecord, heading: str, out: Path | None) -> None:
    """Print how good the best is, and save it."""
    model = best.model
    if model is None:  # stopped before anything was found
        return
    if best.size_path or len(best.members) > 1:
        console.print(best.size_in_words)
    console.print()
    _scores.print_scores(model, recorded_scores(model) or scores(model, problem), heading)
    if (reason := model.origin.get("no_error_bars")) is not None:
        console.print(f"There are no error bars: {shown(reason)}.")
    if problem.ridge.sets_itself and is_constant(model, problem):
        console.print("It predicts the same for all rows. If they are no noise, try --alpha 0.01.")
    if out is not None:
        model.save(out)
        console.print(f"Saved in {shown(out)}")


def write_page(model: Model, problem: Problem, page: Path, *, seen: bool = True) -> None:
    """A page on a model and a table, which training has ``seen`` or not."""
    from symbreak.analysis import write_model_page

    command = shlex.join(["symbreak", *sys.argv[1:]])
    write_model_page(model, problem, page, command=command, seen=seen)
    console.print(f"Written to {shown(page)}")


def _draw(
    problem: Problem, record: training.RunRecord, seen: list[tuple[int, float]], plot: Path
) -> None:
    """Fit, residuals and convergence."""
    from symbreak.analysis import training_chart

    draw(training_chart(record, problem, seen), plot)
