"""How long runs take: a model for time left, and a calibration for plans."""

from __future__ import annotations

import time

from symbreak._support.checks import check_kind, check_real
from symbreak.experiments._spec import RunSpec
from symbreak.network import evaluation_cost


def relative_work(run: RunSpec) -> float:
    """Evaluations of a run times the multiply-adds of one: how long runs take beside each other."""
    check_kind("run", run, RunSpec, "as StudySpec.runs gives")
    problem = run.load_problem()
    return float(run.max_evaluations * evaluation_cost(problem.topology, len(problem.train)))


def seconds_per_evaluation(run: RunSpec, at_least: float = 0.1) -> float:
    """What an evaluation takes, measured for at least so many seconds at the start of a run."""
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
