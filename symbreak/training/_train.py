"""Train a network in one call, for some evaluations or some seconds."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from symbreak._support.blas import one_blas_thread
from symbreak._support.checks import check_callable, check_real
from symbreak._support.interrupts import deferred_interrupts
from symbreak.methods import check_settings
from symbreak.problems import Problem
from symbreak.training._records import Progress, RunRecord
from symbreak.training._starts import Elsewhere
from symbreak.training._training import UNLIMITED, Training


def train(
    problem: Problem,
    method: str = "auto",
    *,
    max_evaluations: int | None = None,
    max_time: float | None = None,
    polish: str | None = None,
    seed: int = 0,
    population_size: int | None = None,
    threads: int = 1,
    initial: ArrayLike | None = None,
    elsewhere: Elsewhere | None = None,
    callback: Callable[[Progress], object] | None = None,
    **settings: Any,
) -> RunRecord:
    """Train the network of a problem and record the run.

    Args:
        problem: From ``load_problem`` or ``Problem.from_arrays``.
        method: A name in ``METHODS``; or ``"auto"``, short searches with symmetry breaking, or
            random candidates where they do as well, each followed by a polish, until their
            agreement says that it is enough (docs/trainer.md).
        max_evaluations: Budget, never exceeded; by default the problem's own, or none if there is
            a ``max_time``.
        max_time: Seconds after which to stop. The record says how many evaluations there were;
            asking for that number gives the same result.
        polish: ``"none"``, a search alone, as in the paper; ``"final"``, a polish at the end;
            ``"restarts"``, a polish after a short search, again and again. By default the method's
            own: ``"restarts"`` for ``"auto"``, ``"none"`` for the others. A population or a setting
            that is named is searched with in every restart.
        seed: Same seed, same result, with any number of threads.
        population_size: Candidates per generation; by default the problem's own.
        threads: Threads of the evaluation, or of independent starts; 0 means one per core.
        initial: A vector (D,) to polish first, before any search; with ``polish="final"`` instead
            of one.
        elsewhere: Runs so many starts as there are ``threads`` in other processes or machines: a
            function from their jobs to what ``run_start`` returns for each.
        callback: Called after each step; the run stops early if it returns True.
        **settings: Other arguments of the optimiser, such as ``F`` or ``sigma``.

    Ctrl-C ends the run after the step under way, with the best so far.
    """
    check_callable("callback", callback)
    check_settings(method, settings, train.__kwdefaults__ or ())
    if max_evaluations is None and max_time is not None:
        max_evaluations = UNLIMITED
    run = Training(
        problem,
        method,
        max_evaluations=max_evaluations,
        polish=polish,
        seed=seed,
        population_size=population_size,
        threads=threads,
        initial=initial,
        elsewhere=elsewhere,
        **settings,
    )
    seconds = np.inf if max_time is None else check_real("max_time", max_time, 0, 1e9)
    interrupted, deadline = threading.Event(), time.monotonic() + seconds
    step = 0.0  # seconds of the last one; the next one begins if half of it has its place
    with deferred_interrupts(interrupted.set), one_blas_thread():
        while not (run.finished or interrupted.is_set()):
            if (started := time.monotonic()) + step / 2 >= deadline:
                break
            run.step()
            step = time.monotonic() - started
            answer = None if callback is None else callback(run.progress)
            if isinstance(answer, bool | np.bool_) and answer:
                break
        return run.record(time_is_up=time.monotonic() + step / 2 >= deadline)
