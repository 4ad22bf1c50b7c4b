"""How long do networks of 5 to 500 neurons take to train, beside scikit-learn and PyTorch?

The goal is the training error that scikit-learn's ``lbfgs`` reaches in the best of five starts, to
within a thousandth; its seconds are those of all five. ``auto``, and PyTorch's L-BFGS and Adam
where it is installed, begin again with other seeds until they are there, or until they have had the
time that five starts may take. Nobody has a ridge, classes are targets 0 and 1, and what counts is
the mean squared error. Seconds are those of one core; every row is kept as soon as it is there.

    python benchmarks/size.py --minutes 10      # what is missing, for so long
    python scripts/update_readme.py             # the table of docs/performance.md
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from itertools import count, product
from pathlib import Path
from time import monotonic

import _kept
import numpy as np
from _contestants import ours
from _sklearn import sklearn_restarts
from _timing import Array, Row, use_one_thread
from _watch import Enough, Watch

from symbreak import Problem

RESULTS = Path(__file__).parent / "results" / "size.json"

TASKS = ("one output", "ten outputs", "ten classes")
ROWS, NEURONS = (500, 5_000, 50_000), (5, 20, 100, 500)
INPUTS, TEACHERS, NOISE = 8, 20, 0.1
LBFGS, OURS = "scikit-learn", "auto"
TORCH = ("torch L-BFGS", "torch Adam")
STARTS = 5
#: Seconds of one start of ``lbfgs``; it counts with what it has reached by then.
LIMITS = {500: 1.0, 5_000: 2.0, 50_000: 5.0}
#: By so much others may miss the goal: optima are the same, if not to the last digit.
NEAR = 1.001
BATCH = 200

Train = Callable[[Problem, int, Watch], None]


class Clock(Watch):
    """A watch that believes what it is told: measuring large networks would take too long."""

    def see_network(self, theta: Array) -> None:
        """Nothing: ``see`` has been told."""


@cache
def problem_of(task: str, rows: int, neurons: int) -> Problem:
    """What a network of twenty neurons makes of normal inputs, with noise."""
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(INPUTS, TEACHERS)) / np.sqrt(INPUTS)
    output = rng.normal(size=(TEACHERS, 1 if task == "one output" else 10))
    X = rng.normal(size=(rows, INPUTS))
    y = np.tanh(2 * X @ hidden) @ output
    y += NOISE * y.std() * rng.normal(size=y.shape)
    is_class = task == "ten classes"
    return Problem.from_arrays(
        X,
        y.argmax(axis=1) if is_class else y,
        task="classification" if is_class else "regression",
        hidden=(neurons,),
        alpha=0.0,
        merge=False,
        name_outliers=False,
    )


def torch_trainer(who: str) -> Train:
    """All weights of a network, from PyTorch's own random starts."""
    import torch

    def train(problem: Problem, seed: int, watch: Watch) -> None:
        torch.set_num_threads(1)
        torch.manual_seed(seed)
        X, y = torch.from_numpy(problem.train.X), torch.from_numpy(problem.train.y)
        n_inputs, n, n_outputs = problem.topology.sizes
        layers = torch.nn.Linear(n_inputs, n), torch.nn.Tanh(), torch.nn.Linear(n, n_outputs)
        network, mean_square = torch.nn.Sequential(*layers).double(), torch.nn.MSELoss()
        adam = who == "torch Adam"
        if adam:
            optimizer = torch.optim.Adam(network.parameters())
        else:
            optimizer = torch.optim.LBFGS(network.parameters(), line_search_fn="strong_wolfe")

        def loss_of(rows: slice | torch.Tensor) -> float:
            optimizer.zero_grad()
            loss = mean_square(network(X[rows]), y[rows])
            loss.backward()
            return loss.item()

        def all_of_them() -> float:
            loss = loss_of(slice(None))
            watch.see(loss)
            return loss

        while True:  # an epoch, or twenty iterations
            if adam:
                for batch in torch.randperm(len(X)).split(BATCH):
                    loss_of(batch)
                    optimizer.step()
                with torch.no_grad():
                    watch.see(float(mean_square(network(X), y)))
            else:
                before = watch.error
                optimizer.step(all_of_them)
                if not watch.error < before:
                    return

    return train


def trainers() -> dict[str, Train]:
    """Who is compared; scikit-learn, which sets the goals, first."""
    others = {who: torch_trainer(who) for who in TORCH if find_spec("torch")}
    return {LBFGS: sklearn_restarts, OURS: ours("auto", "restarts")} | others


def watched(train: Train, problem: Problem, limit: float, goal: float, starts: int) -> Watch:
    """The watch of a trainer that had so many starts, the time or the goal at most."""
    watch = Clock(problem, limit, goal)
    try:
        for seed in range(starts) if starts else count():
            train(problem, seed, watch)
    except Enough:
        pass
    return watch


def measured(task: str, rows: int, neurons: int, who: str) -> Row:
    """One row of the results."""
    job: Row = {"task": task, "rows": rows, "neurons": neurons, "who": who}
    problem, train, limit = problem_of(task, rows, neurons), trainers()[who], LIMITS[rows]
    watched(train, problem_of(task, 500, neurons), 0.3, 0.0, 1)  # compiles, fills caches
    if who == LBFGS:
        seen = [
            watched(lambda p, _, w, s=seed: train(p, s, w), problem, limit, 0.0, 1)
            for seed in range(STARTS)
        ]
        job["seconds"] = round(sum(watch.seconds for watch in seen), 3)
        job["error"] = float(min(watch.error for watch in seen))
        return job | {"cut": sum(watch.seconds >= limit for watch in seen)}
    best = next(r["error"] for r in _kept.read(RESULTS) if r == r | job | {"who": LBFGS})
    goal = NEAR * float(best)
    watch = watched(train, problem, STARTS * limit, goal, 0)
    job["seconds"], job["error"] = round(watch.seconds, 3), float(watch.error)
    return job | {"reached": bool(watch.error <= goal)}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop after so many")
    options = parser.parse_args()
    use_one_thread()
    end, who = monotonic() + 60 * options.minutes, tuple(trainers())
    grid = (TASKS, ROWS, NEURONS, (*who[:2], *TORCH))

    def place(row: Row) -> list[int]:
        return [known.index(value) for known, value in zip(grid, row.values(), strict=False)]

    jobs = [job for names in (who[:2], who[2:]) for job in product(ROWS, NEURONS, TASKS, names)]
    for rows, neurons, task, name in jobs:
        job = {"task": task, "rows": rows, "neurons": neurons, "who": name}
        if monotonic() > end:
            return
        if not _kept.has(RESULTS, job):
            row = measured(**job)
            _kept.add(RESULTS, row, place)
            print(*row.values(), flush=True)


if __name__ == "__main__":
    main()
