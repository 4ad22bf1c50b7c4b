"""What share of the ridge should output weights bear? Errors of samples that were not shown.

    python benchmarks/ridge_layers.py run      # what is missing in results/ridge_layers.json
    python benchmarks/ridge_layers.py write    # the table of docs/size.md

Functions with noise, none of which is scored elsewhere. Networks of a size follow the ridges as in
the comparison of sizes (``training/_paths.py``), trained on all samples; what counts is the least
error, over the ridges, of one network and of the mean of several, on 5,000 fresh samples without
noise. The share is compiled into kernels, so each has a process, and a cache, of its own.
"""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import _kept
import numpy as np
import pandas as pd
from _generalisation_page import filled
from _timing import Row
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from symbreak import Problem, _error_bars, _kernels, network
from symbreak._polish import _evidence
from symbreak._polish import _kernels as _polish_kernels
from symbreak.objectives import _cross_entropy
from symbreak.problems import Dataset
from symbreak.training._paths import FIRST_RIDGE, PathJob, follow, ridges

RESULTS = Path(__file__).parent / "results" / "ridge_layers.json"
PAGE = Path(__file__).parent.parent / "docs" / "size.md"
SHARES = (1, 10, 30, 100, 300, 1_000)  # one divided by the share that output weights bear
HIDDEN = ((12,), (20,), (8, 8), (16, 16))
NETWORKS, FRESH = 6, 5_000
HAVE_THE_SHARE = (network, _kernels, _polish_kernels, _evidence, _cross_entropy, _error_bars)

Array = NDArray[np.float64]


def piston(X: Array) -> Array:
    """The cycle time of a piston."""
    least = np.array([30, 0.005, 0.002, 1_000, 90_000, 290, 340])
    most = np.array([60, 0.02, 0.01, 5_000, 110_000, 296, 360])
    M, S, V0, k, P0, Ta, T0 = (least + X * (most - least)).T
    A = P0 * S + 19.62 * M - k * V0 / S
    V = S / (2 * k) * (np.sqrt(A**2 + 4 * k * P0 * V0 / T0 * Ta) - A)
    return 2 * np.pi * np.sqrt(M / (k + S**2 * P0 * V0 / T0 * Ta / V**2))


def arm(X: Array) -> Array:
    """How far the hand of an arm with four joints reaches."""
    angles, lengths = np.pi * np.cumsum(X[:, :4], axis=1), X[:, 4:]
    return np.hypot((lengths * np.cos(angles)).sum(1), (lengths * np.sin(angles)).sum(1))


def steps(X: Array) -> Array:
    """Thresholds, and inputs of few values."""
    four, three = np.floor(4 * X[:, 0]) / 3, np.floor(3 * X[:, 1]) / 2
    jumps = (X[:, 2] > 0.6) + 2 * four * (X[:, 3] > 0.3)
    return jumps + 2 * np.maximum(X[:, 4] - X[:, 5], 0) + three * np.sin(6 * X[:, 6])


def mixture(X: Array) -> Array:
    """A strength of mixtures: powers, a time that saturates, what helps above a threshold."""
    water, cement, days = 0.3 + X[:, 0], 0.3 + X[:, 1], 10 ** (2.5 * X[:, 2])
    age = np.log(1 + days / 3) / (1 + 0.3 * np.log(1 + days))
    more = (1 + 0.4 * X[:, 3] * (X[:, 3] > 0.4)) * (1 - 0.5 * X[:, 4] * X[:, 5])
    return cement**1.2 / water**1.3 * age * more + 0.5 * np.minimum(X[:, 6], 0.5) * X[:, 7]


def ishigami(X: Array) -> Array:
    """A sum of sines, one of which grows with the fourth power of another input."""
    a, b, c = np.pi * (2 * X[:, :3] - 1).T
    return np.sin(a) + 7 * np.sin(b) ** 2 + 0.1 * c**4 * np.sin(a)


#: Each with its inputs, samples, and noise in standard deviations.
TABLES: dict[str, tuple[Callable[[Array], Array], int, int, float]] = {
    "mixture, few": (mixture, 8, 300, 0.05),
    "mixture": (mixture, 8, 800, 0.15),
    "Ishigami": (ishigami, 4, 500, 0.1),
    "arm, few": (arm, 8, 400, 0.1),
    "arm": (arm, 8, 1_200, 0.05),
    "steps": (steps, 7, 800, 0.1),
    "piston": (piston, 7, 800, 0.05),
}


def scored(name: str, hidden: tuple[int, ...]) -> Row:
    """Errors, in variances of the target, of one network in the mean and of the mean of all."""
    function, d, n, noise = TABLES[name]
    X, fresh = (np.random.default_rng(s).uniform(size=(k, d)) for s, k in ((0, n), (1000, FRESH)))
    y, truth = function(X), function(fresh)
    y = y + noise * y.std() * np.random.default_rng(7).normal(size=n)
    problem = Problem.from_arrays(X, y, hidden=hidden)
    unseen = Dataset(problem.inputs(fresh), problem.targets(truth[:, None]))
    jobs = [
        PathJob(problem, unseen, 1.0, 0, number, FIRST_RIDGE, 10**9, 1e9)
        for number in range(NETWORKS)
    ]
    errors = np.array([follow(job).outputs for job in jobs]) - unseen.y
    variance = float(unseen.y.var())
    one = np.mean(errors**2, axis=(0, 2, 3)) / variance
    mean = np.mean(errors.mean(axis=0) ** 2, axis=(1, 2)) / variance
    best = int(np.nanargmin(mean))
    return {"one": np.nanmin(one), "mean": mean[best], "alpha": ridges(problem)[best]}


def measure(share: int) -> None:
    """What is missing of a share, in a process that has compiled no kernels yet."""
    for module in HAVE_THE_SHARE:
        module.OUTPUT_SHARE = 1 / share
    for name in TABLES:
        for hidden in HIDDEN:
            job = {"share": share, "function": name, "hidden": list(hidden)}
            if not _kept.has(RESULTS, job):
                row = {**job, **scored(name, hidden)}
                _kept.add(RESULTS, row, lambda r: (list(TABLES).index(r["function"]), r["share"]))
                print(row, flush=True)


def table(rows: pd.DataFrame) -> list[str]:
    """Each share beside the whole ridge: geometric means of how much larger errors are."""
    lines = ["| output weights bear | " + " | ".join(_heads()) + " |", "|---|" + "---|" * 4]
    whole = rows[rows["share"] == 1]
    for share in SHARES:
        mine = rows[rows["share"] == share]
        cells = []
        for layers in (1, 2):
            for what in ("one", "mean"):
                logs = [
                    np.log(group[group["hidden"].map(len) == layers][what]).mean()
                    for group in (mine, whole)
                ]
                cells.append(f"{math.exp(logs[0] - logs[1]):.2f}")
        lines.append(f"| {'all' if share == 1 else f'1 / {share}'} | " + " | ".join(cells) + " |")
    return lines


def _heads() -> list[str]:
    whats = "one network", f"mean of {NETWORKS}"
    return [f"{what}, {layers}" for layers in ("one layer", "two layers") for what in whats]


def pages() -> dict[Path, str]:
    """The page with what the results say."""
    return filled(pd.DataFrame(_kept.read(RESULTS)), {"ridge-layers": table}, [PAGE])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["run", "measure", "write"])
    parser.add_argument("--share", type=int, choices=SHARES, default=SHARES[2])
    options = parser.parse_args()
    if options.what == "write":
        for path, text in pages().items():
            path.write_text(text, encoding="utf-8")
    elif options.what == "measure":
        with threadpool_limits(limits=1):
            measure(options.share)
    else:
        for share in SHARES:
            with tempfile.TemporaryDirectory() as cache:
                again = [sys.executable, __file__, "measure", "--share", str(share)]
                subprocess.run(again, check=True, env=os.environ | {"NUMBA_CACHE_DIR": cache})


if __name__ == "__main__":
    main()
