"""Training under way: a bar for each method, and the last steps with what it found."""

from __future__ import annotations

import dataclasses
import math
import threading
import time
from typing import Any, NamedTuple

from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from symbreak import Problem, RunRecord, train, training
from symbreak.cli import _scores
from symbreak.cli._console import console
from symbreak.fitting import SEARCH_SHARE, classified, is_worthwhile, with_validated_ridge


class Found(NamedTuple):
    """What a method found.

    Attributes:
        record: Of its run; with one method, its model is in its last form.
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
) -> list[Found]:
    """Train with one method after the other, until there is a Ctrl-C."""
    found = []
    with _progress_bars() as bars:
        max_time = options["max_time"]
        budget = max_time or options["max_evaluations"] or problem.max_evaluations
        share = {"max_time": None if max_time is None else max_time * _search_share(problem)}
        tasks = {name: bars.add_task(name, total=budget, says="") for name in names}
        for name, task in tasks.items():
            bars.reset(task)  # its clock starts now
            watch = _Watch(bars, task, stop, max_time)
            record = train(problem, name, callback=watch, **(options | share))
            if len(names) == 1:  # the error that is shown is that of what is kept
                bars.update(task, says=last_step(problem, record))
                record = finished(record, problem, stop, max_time)
            found.append(Found(record, watch.seen if problem.alpha == "auto" else []))
            bars.update(task, says=f"error {_scores.error_in_words(record, problem)}")
            if stop.is_set():
                break
            bars.update(task, completed=budget)
    return found


def _progress_bars() -> Progress:
    return Progress(
        TextColumn("{task.description:<13}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TextColumn("{task.fields[says]:<15}"),
        TimeRemainingColumn(elapsed_when_finished=True),
        console=console,
    )


class _Watch:
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
        error = progress.plain_error
        if math.isfinite(error) and (not self.seen or error != self.seen[-1][1]):
            self.seen.append((progress.n_evaluations, error))
        if (now := time.monotonic()) - self._shown_at > 0.1:
            self._shown_at = now
            done = progress.n_evaluations if self._max_time is None else now - self._started
            says = f"error {progress.error_in_words}"
            self._bars.update(self._task, completed=done, says=says)
        return self._stop.is_set()


def _search_share(problem: Problem) -> float:
    """What of its time a search may take: probabilities need the rest."""
    return SEARCH_SHARE if _has_probabilities(problem) else 1.0


def _has_probabilities(problem: Problem) -> bool:
    return problem.task == "classification" and problem.alpha == "auto"


def last_step(problem: Problem, record: RunRecord) -> str:
    """What is done with a network that was found, in words; empty if nothing is."""
    if _has_probabilities(problem):
        return "polishing its probabilities"
    worthwhile = record.n_effective is not None and is_worthwhile(problem)
    return "trying larger ridges" if worthwhile else ""


def finished(
    record: RunRecord, problem: Problem, stop: threading.Event, max_time: float | None
) -> RunRecord:
    """With what an estimator makes of its model, too: probabilities, or a validated ridge.

    In what the run has left of its time; without any, probabilities are rough and a ridge stays.
    """
    model = record.model
    if model is None or not last_step(problem, record):
        return record

    left = math.inf if max_time is None else max_time - record.seconds
    deadline = time.monotonic() + left

    def may_go_on() -> bool:
        return not stop.is_set() and time.monotonic() < deadline

    if problem.task == "classification":
        last = classified(model, problem, may_go_on)[0].model
    else:
        last = with_validated_ridge(model, problem, record.alpha, may_go_on).model or model
    origin = {**model.origin, "error": _scores.kept_error(last, problem)}
    return dataclasses.replace(record, model=dataclasses.replace(last, origin=origin))
