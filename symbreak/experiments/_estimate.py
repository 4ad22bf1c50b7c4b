"""How long runs take: a model for time left, and a calibration for plans."""

from __future__ import annotations

import time
from itertools import pairwise

from symbreak._checks import check_kind, check_real
from symbreak.experiments._spec import RunSpec

_TANH = 25  # multiply-adds that take as long as a tanh, roughly


def relative_work(run: RunSpec) -> float:
    """Evaluations of a run times operations of one."""
    check_kind("run", run, RunSpec, "as StudySpec.runs gives")
    return run.max_evaluations * _operations(run)


def _operations(run: RunSpec) -> float:
    problem = run.load_problem()
    sizes = problem.topology.sizes
    forward = sum(a * b for a, b in pairwise(sizes[:-1]))
    fit = sizes[-2] * (sizes[-2] + 2 * sizes[-1])
    return len(problem.train) * (forward + fit + _TANH * sum(sizes[1:-1]))


def seconds_per_evaluation(run: RunSpec, at_least: float = 0.1) -> float:
    """Measured on the first generations of a run, for about ``at_least`` seconds."""
    check_kind("run", run, RunSpec, "as StudySpec.runs gives")
    check_real("at_least", at_least, 0, 1e9)
    training = run.start()
    for _ in range(2):  # loads compiled code: that of the first population, that of its successors
        if not training.finished:
            training.step()
    before, started = training.progress.n_evaluations, time.perf_counter()
    while (elapsed := time.perf_counter() - started) < at_least and not training.finished:
        training.step()
    done = training.progress.n_evaluations - before
    return elapsed / max(done, 1)
