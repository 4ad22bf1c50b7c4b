"""``symbreak study``: every missing run of a study, with a live view."""

from __future__ import annotations

import os
import time
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer
from rich.live import Live
from rich.progress import BarColumn, Progress, TextColumn, track
from rich.table import Table

from symbreak._checks import check_count, check_real
from symbreak.cli._console import console
from symbreak.experiments import (
    BUILT_IN,
    Archive,
    Store,
    StudySpec,
    Update,
    missing_runs,
    relative_work,
    run_study,
    seconds_per_evaluation,
)


def study_command(
    study: Annotated[str, typer.Argument(help=f"A TOML file, or one of: {', '.join(BUILT_IN)}.")],
    store: Annotated[Path, typer.Option(help="Where results go; made if missing.")] = Path(
        "study.db"
    ),
    workers: Annotated[int, typer.Option(help="Processes; 0 is one per core.")] = 0,
    shard: Annotated[str, typer.Option(help="i/n: part i of n, for job arrays.")] = "1/1",
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Also try again what failed before.")
    ] = False,
    archive: Annotated[
        Path | None, typer.Option(help="Leave out the runs that this archive has.")
    ] = None,
    checkpoint_every: Annotated[
        float, typer.Option(help="Seconds between checkpoints of a long run.")
    ] = 60.0,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would run, and for how long.")
    ] = False,
) -> None:
    """Run every missing run of a study; safe to stop, kill and start again."""
    spec = StudySpec.load(study)
    part = _parse_shard(shard)
    check_count("--workers", workers, 0)
    check_real("--checkpoint-every", checkpoint_every, 0, 1e9)
    known = Archive(archive).keys if archive else frozenset()
    if dry_run and not store.exists():
        new = (run for run in spec.runs() if run.key not in known)
        _print_plan(spec, Counter((run.problem, run.method) for run in new), workers)
        return
    with Store(store) as opened:
        todo = missing_runs(spec, opened, shard=part, retry_failed=retry_failed, known=known)
        counts = Counter((run.problem, run.method) for run in todo)
        if dry_run:
            _print_plan(spec, counts, workers)
            return
        console.print(_extent(spec, counts))
        if not counts:
            return
        view = _View(spec, counts)
        try:
            with Live(view, console=console, refresh_per_second=4):
                result = run_study(
                    spec,
                    opened,
                    workers=workers,
                    shard=part,
                    retry_failed=retry_failed,
                    known=known,
                    checkpoint_every=checkpoint_every,
                    on_run=view.update,
                )
        finally:
            if not console.is_terminal:
                console.print()  # where there is no live view its last line has no end
    console.print(f"{result.finished:,} runs added to {store}")
    again = f"symbreak study {study} --store {store}"
    if result.failed:
        console.print(
            f"{result.failed:,} runs failed; why is in the store. Try again with: "
            f"{again} --retry-failed",
            soft_wrap=True,
        )
    if result.interrupted:
        console.print(f"Stopped early; nothing is lost. Go on with: {again}", soft_wrap=True)
        raise typer.Exit(130)
    if result.failed:
        raise typer.Exit(1)


def _extent(spec: StudySpec, counts: Counter[tuple[str, str]]) -> str:
    if not counts:
        return f"[bold]{spec.name}[/bold]: nothing to do, all {spec.n_runs:,} runs are there"
    sizes = f"{len(spec.problems)} problems, {len(spec.methods)} methods"
    return (
        f"[bold]{spec.name}[/bold]: {counts.total():,} runs to do of {spec.n_runs:,} "
        f"({sizes}, {spec.repetitions} repetitions)"
    )


def _parse_shard(text: str) -> tuple[int, int]:
    try:
        i, n = map(int, text.split("/"))
    except ValueError:
        i, n = 0, 0
    if not 1 <= i <= n:
        raise ValueError(f"--shard must be i/n with 1 <= i <= n, such as 2/8, got {text!r}.")
    return i, n


class _View:
    """Bars per problem and overall, runs per minute, time left, best errors so far."""

    def __init__(self, spec: StudySpec, counts: Counter[tuple[str, str]]) -> None:
        self._started = time.monotonic()
        self._work = {run.problem: relative_work(run) for run in spec.first_runs()}
        self._runs: Counter[str] = Counter()
        for (problem, _), n in counts.items():
            self._runs[problem] += n
        self._finished: Counter[str] = Counter()
        self._under_way: dict[str, tuple[str, float]] = {}  # key -> problem, share done
        self._best: dict[str, tuple[float, str]] = {}
        self._bars = Progress(
            TextColumn("{task.description:<14}"),
            BarColumn(bar_width=30),
            TextColumn("{task.fields[runs]:>10}"),
            TextColumn("{task.fields[best]}", style="dim"),
        )
        self._tasks = {
            name: self._bars.add_task(name, total=1.0, runs="", best="") for name in self._runs
        }
        self._overall = self._bars.add_task("all", total=1.0, runs="", best="")

    def update(self, update: Update) -> None:
        """Take in news of a run."""
        run = update.run
        if update.status == "running":
            self._under_way[run.key] = run.problem, update.n_evaluations / run.max_evaluations
        else:
            self._under_way.pop(run.key, None)
            self._finished[run.problem] += 1
        if update.error < self._best.get(run.problem, (float("inf"), ""))[0]:
            self._best[run.problem] = update.error, run.method

    def _done(self, problem: str) -> float:
        """Runs of a problem that are done, in fractions too."""
        under_way = sum(share for name, share in self._under_way.values() if name == problem)
        return self._finished[problem] + under_way

    def __rich__(self) -> Progress:
        for name, task in self._tasks.items():
            error, method = self._best.get(name, (0.0, ""))
            self._bars.update(
                task,
                completed=self._done(name) / self._runs[name],
                runs=f"{self._finished[name]}/{self._runs[name]} runs",
                best=f"best error {error:.3g} by {method}" if method else "",
            )
        total = sum(self._work[name] * n for name, n in self._runs.items())
        done = sum(self._work[name] * self._done(name) for name in self._runs)
        share = done / total if total else 1.0
        runs = f"{self._finished.total()}/{self._runs.total()} runs"
        self._bars.update(self._overall, completed=share, runs=runs, best=self._pace(share))
        return self._bars

    def _pace(self, share: float) -> str:
        elapsed = time.monotonic() - self._started
        words = f"{60 * self._finished.total() / elapsed:,.0f} runs a minute"
        if 0 < share < 1:
            words += f", about {duration(elapsed * (1 - share) / share)} left"
        return words


def _print_plan(spec: StudySpec, counts: Counter[tuple[str, str]], workers: int) -> None:
    """What would run, with an estimate of the time from a short calibration."""
    console.print(_extent(spec, counts))
    pairs = [run for run in spec.first_runs() if counts[run.problem, run.method]]
    seconds: Counter[str] = Counter()
    runs: Counter[str] = Counter()
    for run in track(pairs, "measuring", console=console, transient=True):
        n = counts[run.problem, run.method]
        runs[run.problem] += n
        seconds[run.problem] += n * run.max_evaluations * seconds_per_evaluation(run)  # type: ignore[assignment]
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("problem")
    for heading in ("runs", "evaluations each", "time on one core"):
        table.add_column(heading, justify="right")
    budgets = {run.problem: run.max_evaluations for run in pairs}
    for problem, n in runs.items():
        table.add_row(problem, f"{n:,}", f"{budgets[problem]:,}", duration(seconds[problem]))
    console.print(table)
    n_workers = workers or os.cpu_count() or 1
    total = duration(seconds.total() / n_workers)
    console.print(f"about {total} with {n_workers} workers; nothing was run")


def duration(seconds: float) -> str:
    """``50 s``, ``12 min``, ``3.5 h`` or ``2.1 days``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f} min"
    if seconds < 36 * 3600:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 86400:.1f} days"
