"""A training under way: a bar for each method."""

from __future__ import annotations

import math
import threading
import time
from typing import Any, NamedTuple

from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from symbreak import Problem, RunRecord, train, training
from symbreak.cli import _scores
from symbreak.cli._console import console


class Trained(NamedTuple):
    """What a method found.

    Attributes:
        record: Of its run.
        seen: Rows (evaluations, error) of the network on its way, without the ridge, where that
            sets itself: the record has errors of searches only.
    """

    record: RunRecord
    seen: list[tuple[int, float]]


def run_methods(
    problem: Problem,
    names: list[str],
    options: dict[str, Any],
    stop: threading.Event,
) -> list[Trained]:
    """Train with one method after the other, until there is a Ctrl-C."""
    found = []
    with progress_bars() as bars:
        tasks = {name: bars.add_task(name, total=1.0, says="") for name in names}
        for name, task in tasks.items():
            bars.reset(task)  # its clock starts now
            watch = Watch(bars, task, stop, options["max_time"])
            record = train(problem, name, callback=watch, **options)
            found.append(Trained(record, watch.seen if problem.ridge.sets_itself else []))
            bars.update(task, says=f"error {_scores.error_in_words(record, problem)}")
            if stop.is_set():
                break
            bars.update(task, completed=1.0)
    return found


def progress_bars() -> Progress:
    return Progress(
        TextColumn("{task.description:<13}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TextColumn("{task.fields[says]:<15}"),
        TimeRemainingColumn(elapsed_when_finished=True),
        console=console,
    )


class Watch:
    """A callback that moves a bar ten times a second; generations are much shorter.

    Of a run that ends by time, the bar shows the time.

    Attributes:
        seen: Rows (evaluations, error without the ridge), one whenever that changes.
    """

    def __init__(
        self, bars: Progress, task: TaskID, stop: threading.Event, max_time: float | None
    ) -> None:
        self._bars, self._task, self._stop, self._max_time = bars, task, stop, max_time
        self._started, self._shown_at = time.monotonic(), 0.0
        self.seen: list[tuple[int, float]] = []

    def __call__(self, progress: training.Progress) -> bool:
        error = progress.fit_error
        if math.isfinite(error) and (not self.seen or error != self.seen[-1][1]):
            self.seen.append((progress.n_evaluations, error))
        if (now := time.monotonic()) - self._shown_at > 0.1 or progress.doing:
            self._shown_at = now
            done = progress.n_evaluations / progress.max_evaluations
            if self._max_time is not None:
                done = max(done, (now - self._started) / self._max_time)
            self._bars.update(self._task, completed=done, says=progress.in_words)
        return self._stop.is_set()
