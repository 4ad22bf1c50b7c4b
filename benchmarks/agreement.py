"""How often is the bound broken that a training ends with: "fewer than X % of starts ..."?

A training ends when three of its starts agree, which is a rule that looks at what it stops. Here
are many trainings of each problem; all of their starts together say what share of starts ends in
something better than what a training has found. A bound at 95 % may be broken by one in twenty.

    python benchmarks/agreement.py        # what is missing; all in a quarter of an hour

Rows are kept one by one; several processes may share the work, each with the names of some.
"""

from __future__ import annotations

import argparse
from functools import cache
from pathlib import Path

import _kept
import numpy as np
from _datasets import SOURCES
from _tasks import load_task, loadable
from _timing import Row, use_one_thread

from symbreak import LeastSquares, Problem, Run, problem_names
from symbreak.training._recipe import bound, label_optima

RESULTS = Path(__file__).parent / "results" / "agreement.json"
PAPER = ("sinc", "inc-sinc", "sinc2d", "sinc3d", "autoenc-circle")
WITHOUT_RIDGE = ("boston/3", "boston/5", "cpus/5", "airquality/3", "glass/5", "pima/3")
#: What a problem says itself, or what is usual for its size.
BUDGET: int | None = None
TABLES = tuple(name for name, source in SOURCES.items() if source.task == "regression")


@cache
def problem_of(name: str) -> Problem:
    """The paper's, a table without a ridge, or a table whose ridge sets itself."""
    if name in (*problem_names(), *WITHOUT_RIDGE):
        return load_task(name)
    data = SOURCES[name].load()
    return Problem.from_arrays(data.X, data.y, hidden=(5,), name=name)


def broken(name: str, repeats: int) -> Row:
    """Shares of trainings whose bound was broken: that of a fixed number of starts, and ours."""
    objective, trainings = LeastSquares(problem_of(name)), []
    for seed in range(repeats):
        training = Run(objective, "auto", seed=seed, max_evaluations=BUDGET)
        while not training.finished:
            training.step()
        trainings.append(training.record().founds)
    every = [found for founds in trainings for found in founds]
    labels = np.array(label_optima(every, objective))  # the better first, those given up -1
    counts = np.bincount(labels[labels >= 0])
    better = np.concatenate([[0.0], np.cumsum(counts)[:-1]]) / len(labels)
    ends = np.cumsum([len(founds) for founds in trainings])
    parts = [part[part >= 0] for part in np.split(labels, ends[:-1])]
    found = [(len(f), better[p.min()]) for f, p in zip(trainings, parts, strict=True) if len(p)]
    n, missed = np.array(found).T
    ours = np.array([bound(int(k)) for k in n])
    return {
        "problem": name,
        "trainings": repeats,
        "starts": round(float(np.median(n)), 1),
        "optima": len(counts),
        "of a fixed number": round(float(np.mean(missed > 1 - 0.05 ** (1 / n))), 3),
        "broken": round(float(np.mean(missed > ours)), 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("problems", nargs="*", help="all by default")
    parser.add_argument("--repeats", type=int, default=100, help="trainings of each")
    options = parser.parse_args()
    use_one_thread()
    every = [*PAPER, *WITHOUT_RIDGE, *TABLES]
    for name in loadable(options.problems or every, problem_of):
        if not _kept.has(RESULTS, {"problem": name}):
            row = broken(name, options.repeats)
            _kept.add(RESULTS, row, lambda kept: every.index(kept["problem"]))
            print(*row.values(), flush=True)


if __name__ == "__main__":
    main()
