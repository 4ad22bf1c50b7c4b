"""``symbreak study``: every missing run of a study, with bars or a line now and then."""

from __future__ import annotations

import logging
import os
import shlex
import sys
import time
from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, track

from symbreak._support.checks import check_count, check_real
from symbreak._support.progress import LINE_EVERY
from symbreak._support.words import counted
from symbreak.cli._console import (
    Imports,
    Names,
    argument,
    columns,
    console,
    import_here,
    option,
    say,
)
from symbreak.experiments import Archive, Store, StudySpec, run_study
from symbreak.experiments._driver import Update
from symbreak.experiments._execution import missing_runs
from symbreak.experiments._spec import seconds_per_evaluation
from symbreak.experiments._study import BUILT_IN, check_shard

MEASURE_FOR = 10.0  # seconds before the time left is said: the first runs compile
WIDE = 90  # columns of a terminal with room for words


def study_command(
    study: Annotated[str, argument("STUDY", f"A TOML file, or one of: {', '.join(BUILT_IN)}.")],
    store: Annotated[Path, option("FILE", "Where results go; made if missing")] = Path("study.db"),
    problems: Annotated[Names, option("NAME", "Only this problem; repeatable", "--problem")] = None,
    methods: Annotated[Names, option("NAME", "Only this method; repeatable", "--method")] = None,
    workers: Annotated[int, option("N", "Processes; 0 is one per core")] = 0,
    shard: Annotated[str, option("I/N", "Part i of n, for job arrays")] = "1/1",
    retry_failed: Annotated[
        bool, option(None, "Also try again what failed before", "--retry-failed")
    ] = False,
    archive: Annotated[
        Path | None, option("FOLDER", "Leave out the runs that this archive has")
    ] = None,
    imports: Imports = None,
    checkpoint_every: Annotated[
        float, option("SECONDS", "Between checkpoints of a long run")
    ] = 5.0,
    cluster: Annotated[
        str | None, option("ADDRESS", "Of Dask: tcp://host:8786, or a scheduler file")
    ] = None,
    dry_run: Annotated[
        bool, option(None, "Only say what would run, and for how long", "--dry-run")
    ] = False,
) -> None:
    """Run every missing run of a study; safe to stop, kill and start again."""
    modules = import_here(imports)
    spec = StudySpec.load(study, problems=problems or (), methods=methods or ())
    part = _parse_shard(shard)
    check_count("--workers", workers, 0)
    check_real("--checkpoint-every", checkpoint_every, 0, 1e9)
    known = frozenset(Archive(archive).runs()["key"]) if archive else frozenset()
    there = not dry_run or store.exists()
    with Store(store, read_only=dry_run) if there else nullcontext() as opened:
        wanted, n_failed = (run for run in spec.runs(part) if run.key not in known), 0
        todo = wanted if opened is None else missing_runs(spec, opened, part, retry_failed, known)
        if opened is not None:
            opened.check_study(spec)
            if not retry_failed and opened.count("failure"):  # before, and left out for it
                n_failed = sum(opened.has_failed(run.key) for run in wanted)
        counts = Counter((run.problem, run.method) for run in todo)
        console.print(_extent(spec, counts, part, n_failed))
        if not counts and n_failed:
            _print_failed(n_failed)
            raise typer.Exit(1)
        if dry_run and counts:
            _print_plan(spec, counts, workers)
        if opened is None or dry_run or not counts:
            return
        if cluster is not None:
            logging.disable(logging.ERROR)  # of Dask; what matters is said in other words
            say(f"Connecting to {cluster}, which may take half a minute")
        with StudyView(counts) as view:
            result = run_study(
                spec,
                opened,
                workers=workers,
                shard=part,
                retry_failed=retry_failed,
                known=known,
                imports=modules,
                checkpoint_every=checkpoint_every,
                on_run=view.hear,
                executor=cluster,
                on_news=say,
            )
    say(f"{counted(result.finished, 'run')} added to {store}")
    if n_failed := n_failed + result.failed:
        _print_failed(n_failed)
    if result.interrupted:
        say(f"Stopped early; nothing is lost. Go on with: {_again()}")
        raise typer.Exit(130)
    if n_failed:
        raise typer.Exit(1)


def _print_failed(n_failed: int) -> None:
    words = f"{counted(n_failed, 'run')} failed; why is in the store. Try again with: "
    say(words + _again("--retry-failed"))


def _again(*more: str) -> str:
    """The command that was given, but for ``--dry-run``, and with some options more."""
    given = [word for word in sys.argv[1:] if word != "--dry-run"]
    return shlex.join(["symbreak", *given, *(word for word in more if word not in given)])


def _extent(
    spec: StudySpec, counts: Counter[tuple[str, str]], shard: tuple[int, int], n_failed: int
) -> str:
    i, n = shard
    planned = len(range(i - 1, spec.n_runs, n))
    name, part = f"[bold]{escape(spec.name)}[/bold]", f" of shard {i}/{n}" if n > 1 else ""
    if not counts and n_failed:
        return f"{name}: nothing new to do of {counted(planned, 'run')}{part}"
    if not counts:
        there = f"all {planned:,} runs{part} are" if planned != 1 else f"the only run{part} is"
        return f"{name}: nothing to do, {there} there"
    parts = (len(spec.problems), "problem"), (len(spec.methods), "method")
    sizes = ", ".join(counted(*each) for each in (*parts, (spec.repetitions, "repetition")))
    text = f"{name}: {counted(counts.total(), 'run')} to do of {planned:,}{part} ({sizes})"
    return text + (f"; {n_failed:,} failed before" if n_failed else "")


def _parse_shard(text: str) -> tuple[int, int]:
    try:
        i, n = map(int, text.split("/"))
        return check_shard((i, n))
    except ValueError:
        words = f"--shard must be i/n with 1 <= i <= n, such as 2/8, got {text!r}."
        raise ValueError(words) from None


def _print_plan(spec: StudySpec, counts: Counter[tuple[str, str]], workers: int) -> None:
    """What would run, with an estimate of the time from a short calibration."""
    pairs = [run for run in spec.first_runs() if counts[run.problem, run.method]]
    seconds: dict[str, float] = {}
    runs, budgets = Counter[str](), {run.problem: run.max_evaluations for run in pairs}
    for run in track(pairs, "measuring", console=console, transient=True):
        n, name = counts[run.problem, run.method], run.problem
        runs[name] += n
        here = n * run.max_evaluations * seconds_per_evaluation(run)
        seconds[name] = seconds.get(name, 0.0) + here
    table = columns("problem", "runs", "evaluations", "time on one core")
    for name, n in runs.items():
        table.add_row(escape(name), f"{n:,}", f"{budgets[name]:,}", duration(seconds[name]))
    console.print(table)
    n_workers = workers or os.cpu_count() or 1
    total = duration(sum(seconds.values()) / n_workers)
    console.print(f"about {total} with {n_workers} workers; nothing was run")


class StudyView(Progress):
    """Bars per problem and overall, runs per minute, time left, best errors so far.

    The time left is by runs, since they come repetition by repetition, in an order of no meaning.
    """

    def __init__(self, counts: Counter[tuple[str, str]]):
        self._n, self._finished = counts.total(), Counter[str]()
        self._under_way: dict[str, tuple[str, float]] = {}  # key -> problem, share done
        self._started = self._said = time.monotonic()
        self._best: dict[str, float] = {}
        self._wide = console.width >= WIDE
        super().__init__(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=30 if self._wide else 10),
            TextColumn("{task.fields[runs]}", markup=False, justify="right"),
            TextColumn("{task.fields[words]}", style="dim", markup=False),
            console=console,
            refresh_per_second=4,
            disable=not console.is_terminal,
        )
        self._runs: Counter[str] = Counter()
        for (problem, _), n in counts.items():
            self._runs[problem] += n
        self._bars = {
            name: self.add_task(name, total=n, runs=f"0/{n}", words="")
            for name, n in self._runs.items()
        }
        self._overall = self.add_task("all", total=self._n, runs=self._counts(), words="")

    def hear(self, update: Update) -> None:
        """Take in news of a run."""
        run, name, now = update.run, update.run.problem, time.monotonic()
        self._under_way.pop(run.key, None)
        if update.status == "restarted":
            say(f"the checkpoint of {name}, {run.method} was damaged; it starts again")
        elif update.status == "running":
            self._under_way[run.key] = name, update.n_evaluations / run.max_evaluations
        else:
            self._finished[name] += 1
        if update.error < self._best.get(name, float("inf")):
            self._best[name] = update.error
            best = f"best error {update.error:.3g} by {run.method}"
            self.update(self._bars[name], words=best if self._wide else f"{update.error:.3g}")
        done = self._finished.copy()
        for problem, share in self._under_way.values():
            done[problem] += share  # type: ignore[assignment]
        runs = f"{self._finished[name]}/{self._runs[name]}"
        self.update(self._bars[name], completed=done[name], runs=runs)
        runs, words = self._counts(), self._words(now - self._started)
        self.update(self._overall, completed=done.total(), runs=runs, words=words)
        if not console.is_terminal and now - self._said >= LINE_EVERY:
            self._said = now
            say(f"{runs}, {words}")

    def _counts(self) -> str:
        return f"{self._finished.total():,}/{self._n:,} runs"

    def _words(self, seconds: float) -> str:
        finished, words = self._finished.total(), []
        if self._wide or not console.is_terminal:
            words.append(f"{60 * finished / max(seconds, 1e-9):,.0f} runs a minute")
        left = self._n - finished
        if left and finished and seconds >= MEASURE_FOR:
            words.append(f"about {duration(seconds * left / finished)} left")
        return ", ".join(words)


def duration(seconds: float) -> str:
    """``50 s``, ``12 min``, ``3.5 h`` or ``2.1 days``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f} min"
    if seconds < 36 * 3600:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 86400:.1f} days"
