"""A training under way: a bar for each method."""

from __future__ import annotations

import math
import threading
from typing import Any, NamedTuple

from symbreak import Problem, RunRecord, train, training
from symbreak._support.progress import progress_bar
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
    problem: Problem, names: list[str], options: dict[str, Any], stop: threading.Event
) -> list[Trained]:
    """Train with one method after the other, until there is a Ctrl-C."""
    found: list[Trained] = []
    for name in names:
        found.append(_run_method(problem, name, options, stop))
        if stop.is_set():
            break
    return found


def _run_method(
    problem: Problem, name: str, options: dict[str, Any], stop: threading.Event
) -> Trained:
    seen: list[tuple[int, float]] = []
    with progress_bar(name, options["max_time"], console, stop) as show:

        def watch(progress: training.Progress) -> bool:
            error = progress.fit_error
            if math.isfinite(error) and (not seen or error != seen[-1][1]):
                seen.append((progress.n_evaluations, error))
            show(progress)
            return stop.is_set()

        record = train(problem, name, callback=watch, **options)
        show(f"error {_scores.error_in_words(record, problem)}")
    return Trained(record, seen if problem.ridge.sets_itself else [])
