"""``symbreak train``: one problem, one or more methods, side by side."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table

from symbreak import METHODS, RunRecord, load_problem, problem_names, records, train, training
from symbreak._checks import large_number
from symbreak._interrupts import deferred_interrupts
from symbreak.cli._console import console


def train_command(
    problem: Annotated[str, typer.Argument(help=f"One of: {', '.join(problem_names())}.")],
    method: Annotated[
        list[str],
        typer.Option("--method", "-m", help=f"Repeat to compare. One of: {', '.join(METHODS)}."),
    ] = ["DE-SB"],  # noqa: B006  (typer copies it)
    evaluations: Annotated[
        int | None, typer.Option("--evaluations", "-n", help="Budget. [default: the problem's]")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the search.")] = 0,
    data_seed: Annotated[int, typer.Option(help="Seed of the data.")] = 0,
    population_size: Annotated[
        int | None, typer.Option(help="Candidates per generation. [default: the problem's]")
    ] = None,
    threads: Annotated[int, typer.Option(help="Evaluation threads; 0 is one per core.")] = 1,
    out: Annotated[
        Path | None, typer.Option(help="Save networks and curves in this .npz file.")
    ] = None,
) -> None:
    """Train the network of a problem with one or more methods, side by side."""
    data = load_problem(problem, seed=data_seed)
    options = {
        "max_evaluations": evaluations,
        "seed": seed,
        "population_size": population_size,
        "threads": threads,
    }
    names = list(dict.fromkeys(method))
    for name in names:
        training.Training(data, name, **options)  # type: ignore[arg-type]  # all is right, or nothing starts
    if out is not None and (out.is_dir() or not out.resolve().parent.is_dir()):
        raise ValueError(f"--out must be a file in a folder that exists, got {out}.")
    if out is not None:
        out.open("ab").close()  # it must be writable now, not after the training
    console.print(
        f"[bold]{data.name}[/bold]  {data.description}\n{data.topology} network, "
        f"{data.topology.dim} parameters, {len(data.train)} samples; every network has "
        f"{large_number(data.topology.n_replicas)} replicas"
    )
    stop, records = threading.Event(), []
    with deferred_interrupts(stop.set):
        with _progress() as bars:
            budget = data.max_evaluations if evaluations is None else evaluations
            tasks = {name: bars.add_task(name, total=budget, error="") for name in names}
            for name, task in tasks.items():
                bars.reset(task)  # its clock starts now
                show = _show_progress(bars, task, stop)
                record = train(data, name, callback=show, **options)  # type: ignore[arg-type]
                records.append(record)
                bars.update(task, error=f"{record.error:.3g}")
                if stop.is_set():
                    break
                bars.update(task, completed=budget)
        _print_records(records)
        if out is not None:
            _save(records, out)
    if stop.is_set():
        console.print("Stopped early; this is the best so far.")
        raise typer.Exit(130)


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
    bars: Progress, task: TaskID, stop: threading.Event
) -> Callable[[records.Progress], bool]:
    """A callback that moves a bar ten times a second; generations are much shorter."""
    shown = 0.0

    def show(progress: records.Progress) -> bool:
        nonlocal shown
        if (now := time.monotonic()) - shown > 0.1:
            shown = now
            bars.update(task, completed=progress.n_evaluations, error=f"{progress.error:.3g}")
        return stop.is_set()

    return show


def _print_records(records: list[RunRecord]) -> None:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("method", min_width=max(len(record.method) for record in records))
    classes = any(len(record.rates) for record in records)
    headings = [
        "error (MSE)",
        *["misclassified"] * classes,
        "evaluations",
        "conventions",
        "seconds",
    ]
    for heading in headings:
        table.add_column(heading, justify="right")
    best = min(record.error for record in records)
    for record in records:
        table.add_row(
            record.method,
            f"{record.error:.4g}",
            *[_misclassified(record)] * classes,
            f"{record.n_evaluations:,}",
            _conventions(record),
            f"{record.seconds:.2f}",
            style="bold" if record.error == best and len(records) > 1 else None,
        )
    # A terminal wraps what is too wide for it; rich would cut it.
    Console(highlight=False, width=max(console.width, 80)).print(table)
    for record in records:
        if record.n_nonfinite:
            console.print(f"{record.method}: {record.n_nonfinite:,} errors were not finite.")


def _misclassified(record: RunRecord) -> str:
    """Share of the test data, or else the validation data, where the validation rate was best."""
    if not len(record.rates):
        return ""
    validation, test = record.rates[-1, 2:]
    return f"{validation if np.isnan(test) else test:.1%}"


def _conventions(record: RunRecord) -> str:
    """Effective numbers of conventions among candidates, at first and at last."""
    if not len(record.spread):  # stopped before anything was found
        return ""
    return f"{record.spread[0, 2]:.0f} to {record.spread[-1, 2]:.1f}"


def _save(records: list[RunRecord], path: Path) -> None:
    """Plain arrays, named ``METHOD/field``; read them with ``numpy.load``."""
    fields = ("theta", "output_weights", "evaluations", "errors", "rates")
    arrays = {f"{r.method}/{field}": getattr(r, field) for r in records for field in fields}
    with path.open("wb") as file:  # savez would add .npz to another name
        np.savez(file, **arrays)
    console.print(f"Saved in {path}")
