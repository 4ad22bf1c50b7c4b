"""How many hidden neurons? Sizes are compared on samples that their networks have not seen.

Sizes grow until larger ones predict no better; then networks with two hidden layers are tried. All
see the same parts of the samples, each part left out once, and on each part a path finds the ridge,
too: with that of the evidence, large networks often learn the noise. For a committee there are two
paths: from what both get wrong, and what only one does, follows the loss of the mean of many. What
the paths have found with the size and the ridge that predict best is where the final training
begins.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from symbreak._support.checks import Array
from symbreak._support.words import counted
from symbreak.models import Model
from symbreak.network import evaluation_cost
from symbreak.objectives._cross_entropy import log_softmax
from symbreak.problems import Dataset, Problem
from symbreak.topology import Topology
from symbreak.training._last_step import MIN_SAMPLES, folds
from symbreak.training._paths import Path, PathJob, first_ridge, follow, ridges
from symbreak.training._record import Tried

#: What may be tried, in this order, and the size without a comparison.
SIZES = ((2,), (3,), (5,), (8,), (12,), (20,), (8, 8), (40,), (16, 16))
USUAL = 5
#: One hidden layer grows until so many sizes in a row were in vain, or one before a large one: that
#: has more neurons than this, or so many times more weights than there are samples.
IN_VAIN, LARGE, MORE = 2, 20, 1.5
#: Two layers are tried if the best so far is at most so many times smaller; larger ones if depth
#: was better than any single layer that is not large.
TIMES = 3.2
#: Samples that sizes are compared on, and predictions that are enough.
SAMPLES, PREDICTIONS = 4_000, 600
#: Multiply-adds that the comparison may take by default; or its share of evaluations or seconds.
WORK, SHARE = 4e11, 0.5
#: Samples times inputs, or times outputs, from which a training may take minutes: 43 s for 100
#: samples with 10,000 inputs, 20 s for 1,500 samples of 300 classes (2026-11).
MANY = 1_000_000
#: Evaluations without which a path does not begin.
LEAST_EVALUATIONS = 100
#: A size is as good as the best if its loss is larger by less than so many standard errors, or by
#: less than this share.
AS_GOOD, SAME = 0.25, 1e-3
#: Networks in the committee, if nothing else is said.
N_NETWORKS = 8


class Part(NamedTuple):
    """Samples that are shown, their share of all, and those that are left out."""

    shown: Dataset
    share: float
    left_out: Dataset

    @property
    def weights(self) -> Array:
        """Of the samples that are left out."""
        weights = self.left_out.weights
        return np.ones(len(self.left_out)) if weights is None else weights


def parts_of(problem: Problem) -> list[Part]:
    """How samples are divided, for every size alike; not at all if there are too few."""
    train = problem.train[:SAMPLES]
    if problem.validation is not None:
        return [Part(train, 1.0, problem.validation)]
    if len(train) < MIN_SAMPLES:
        return []
    parts = [
        Part(shown, shown.total_weight / train.total_weight, left_out)
        for shown, left_out in folds(replace(problem, train=train))
    ]
    enough = np.cumsum([len(part.left_out) for part in parts]).searchsorted(PREDICTIONS)
    return parts[: int(enough) + 1]


def what_takes_long(problem: Problem) -> str:
    """What to expect of a table that is wide, or has many outputs; empty if it is neither."""
    net, K = problem.topology, len(problem.train)
    width, what = max((net.n_inputs, "input"), (net.n_outputs, "output"))
    if min(K, SAMPLES) * width < MANY:
        return ""
    return f"{counted(K, 'sample')} with {counted(width, what)} may take minutes"


@dataclass
class Comparison:
    """A comparison under way."""

    problem: Problem  # its topology says what else there is to know of the networks
    seed: int
    max_evaluations: int | None  # of a whole training; by default what ``WORK`` allows is taken
    n_networks: int
    max_neurons: int | None  # of the committee
    seconds: float  # that are left for a whole training
    may_go_on: Callable[[], bool]
    sizes: tuple[tuple[int, ...], ...] = SIZES  # of a single one, only the ridge is chosen
    threads: int = 1
    executor: Executor | None = None
    tried: list[Tried] = field(default_factory=list)
    n_evaluations: int = 0  # of networks, whatever their size

    def __post_init__(self) -> None:
        self._parts = parts_of(self.problem)
        self._deadline = time.monotonic() + SHARE * self.seconds
        self._spent = 0.0
        self._paths: list[tuple[Array, Array]] = []  # losses and thetas of what was tried

    def choose(self, say: Callable[[str, int], object]) -> tuple[Problem, Array | None]:
        """Try sizes as long as that is worthwhile, and take the best.

        Returns:
            The problem with the size and the ridge that were chosen, and networks (n, D) to begin
            with, if any; ``say`` is told what is tried, after how many evaluations.
        """
        most = math.inf if self.max_neurons is None else self.max_neurons
        allowed = [hidden for hidden in self.sizes if sum(hidden) <= most] or [(1,)]
        for hidden in allowed if self._parts else ():
            if self._is_worthwhile(hidden):
                what = f"{'-'.join(map(str, hidden))} neurons" if len(allowed) > 1 else "ridges"
                say(f"trying {what}", self.n_evaluations)
                if not self._try(hidden):
                    break
        if not self.tried:
            usual = max((h for h in allowed if sum(h) <= USUAL), default=allowed[0])
            return self._sized(usual), None
        best = self._best()
        chosen = self._sized(self.tried[best].hidden)
        if chosen.ridge.sets_itself:
            share = self.problem.train.total_weight / self.problem.train[:SAMPLES].total_weight
            chosen = replace(chosen, alpha=share * self.tried[best].alpha)
        return chosen, self._paths[best][1]

    def _is_worthwhile(self, hidden: tuple[int, ...]) -> bool:
        """Whether there is hope for a size, after those before it."""
        if not self.tried:
            return True
        alike = [one.loss for one in self.tried if len(one.hidden) == len(hidden)]
        net = self._sized(hidden).topology
        too_many = net.dim > MORE * net.n_outputs * len(self._parts[0].shown)
        if len(hidden) == 1:
            best = int(np.argmax(np.array(alike) <= (1 + SAME) * min(alike)))
            is_large = too_many or hidden[0] > LARGE
            return len(alike) - 1 - best < (1 if is_large else IN_VAIN)
        if alike:
            return alike[-1] <= min(one.loss for one in self.tried if sum(one.hidden) <= LARGE)
        best = sum(min(self.tried, key=lambda one: one.loss).hidden)
        return TIMES * best >= sum(hidden) and not too_many

    def _try(self, hidden: tuple[int, ...]) -> bool:
        """Compare one more size; whether there was time and budget for it."""
        problem = self._sized(hidden)
        price, total = 1.0, self.max_evaluations and SHARE * self.max_evaluations
        if total is None:
            total, price = WORK, float(evaluation_cost(problem.topology, len(self._parts[0].shown)))
        parts = self._parts * min(2, self.n_members(hidden))
        limit = int((total - self._spent) / price / len(parts))
        left = self._deadline - time.monotonic()
        if limit < LEAST_EVALUATIONS or left <= 0:
            return False
        best = min(self.tried, key=lambda one: one.loss).alpha if self.tried else None
        first = first_ridge(problem, best)
        jobs = [
            PathJob(
                replace(problem, train=part.shown, validation=None, test=None),
                *(part.left_out, part.share, self.seed, number, first, limit, left),
            )
            for number, part in enumerate(parts)
        ]
        paths = self._followed(jobs)
        n = sum(path.n_evaluations for path in paths)
        self.n_evaluations += n
        self._spent += price * n
        if not all(path.is_whole for path in paths):
            return False
        return self._note(hidden, paths)

    def _followed(self, jobs: list[PathJob]) -> list[Path]:
        if self.executor is not None:
            return list(self.executor.map(follow, jobs))
        with ThreadPoolExecutor(self.threads) as pool:
            run = map if self.threads == 1 else pool.map
            return list(run(partial(follow, may_go_on=self.may_go_on), jobs))

    @property
    def _weights(self) -> Array:
        return np.concatenate([part.weights for part in self._parts])

    def n_members(self, hidden: tuple[int, ...]) -> int:
        """Networks in a committee of such."""
        most = math.inf if self.max_neurons is None else self.max_neurons // sum(hidden)
        return int(min(self.n_networks, most))

    def _losses(self, hidden: tuple[int, ...], paths: list[Path]) -> Array:
        """Losses of a committee, or one network, (ridges, n); infinite where a ridge was not tried.

        The square of the mean of M errors is their product where two of them meet, which is in all
        but one of M cases, and else the square of one.
        """
        n, q = len(self._parts), self.problem.topology.n_outputs
        sums = [
            np.hstack([path.outputs for path in paths[i : i + n]]) for i in range(0, len(paths), n)
        ]
        y = np.vstack([part.left_out.y for part in self._parts])
        if self.problem.task == "classification":
            log_p = log_softmax(np.mean(sums, axis=0).reshape(-1, q)).reshape(sums[0].shape)
            found = -np.sum(y * log_p, axis=2)
        else:
            errors = np.array(sums) - y
            alone = 1 / self.n_members(hidden)
            both = alone * np.mean(errors**2, axis=0) + (1 - alone) * np.prod(errors, axis=0)
            found = np.mean(both, axis=2)
        return np.where(np.isnan(found).any(axis=1, keepdims=True), np.inf, found)

    def _note(self, hidden: tuple[int, ...], paths: list[Path]) -> bool:
        """Note what its best ridge has led to; whether that is anything."""
        losses, w = self._losses(hidden, paths), self._weights
        totals = losses @ w / w.sum()
        best = len(totals) - 1 - int(totals[::-1].argmin())  # of equals the largest ridge
        if totals[best] == math.inf:
            return False
        alpha, error = ridges(self.problem)[best], standard_error(losses[best], w)
        self.tried.append(Tried(hidden, float(totals[best]), error, alpha))
        self._paths.append((losses[best], np.stack([path.thetas[best] for path in paths])))
        return True

    def _best(self) -> int:
        """The smallest of those that are as good as the best."""
        w, losses = self._weights, [losses for losses, _ in self._paths]
        best = min(range(len(losses)), key=lambda i: self.tried[i].loss)
        nothing = SAME * self.tried[best].loss
        differences = [one - losses[best] for one in losses]
        good = [
            i
            for i, more in enumerate(differences)
            if w @ more / w.sum() <= max(AS_GOOD * standard_error(more, w), nothing)
        ]
        return min(good, key=lambda i: (sum(self.tried[i].hidden), i), default=best)

    def _sized(self, hidden: tuple[int, ...]) -> Problem:
        net = self.problem.topology
        sizes = (net.n_inputs, *hidden, net.n_outputs)
        return replace(self.problem, topology=Topology(sizes, net.activation))


def chosen_ridge(model: Model) -> float | None:
    """The ridge that was chosen with a model's size; None if none was, or it cannot be read."""
    tried, members = model.origin.get("size_path", ()), model.origin.get("networks", 1)
    try:
        hidden = [size // members for size in model.topology.hidden]
        return next(float(one["alpha"]) for one in tried if one["hidden"] == hidden)
    except (TypeError, ValueError, KeyError, StopIteration, ZeroDivisionError):
        return None


def standard_error(values: Array, weights: Array) -> float:
    """Of the weighted mean of independent values."""
    share = weights / weights.sum()
    return float(np.linalg.norm(share * (values - share @ values)))
