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
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, NamedTuple

import numpy as np

from symbreak._polish._linearisation import jacobian_cost
from symbreak._support.checks import Array
from symbreak._support.words import counted
from symbreak.models import Model
from symbreak.network import evaluation_cost
from symbreak.objectives._cross_entropy import log_softmax
from symbreak.problems import Problem
from symbreak.topology import Topology
from symbreak.training._basis import Basis, scales_of
from symbreak.training._paths import SAMPLES, Path, PathJob, first_ridge, follow, parts_of, ridges
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
#: Multiply-adds that the comparison may take by default; or its share of evaluations or seconds.
WORK, SHARE = 4e11, 0.5
#: Multiply-adds of cross-entropy, in plain NumPy, take so many times longer: 8 to 11 thousand
#: millions a second, of polishes 15 to 20 (2026-11).
SLOWER = 2
#: Samples times inputs, of which no more count than there are samples, or times outputs, from which
#: a training may take minutes: 20 s for 1,500 samples of 300 classes (2026-11).
MANY = 1_000_000
#: Evaluations without which a path does not begin.
LEAST_EVALUATIONS = 100
#: A size is as good as the best if its loss is larger by less than so many standard errors, or by
#: less than this share.
AS_GOOD, SAME = 0.25, 1e-3
#: A ridge for each input is taken if the loss is smaller by more than so many standard errors. Of
#: the tables of ``benchmarks/ridge_groups.py`` it did harm where it was by 1.4 and less (2026-11).
CLEARLY = 2
#: Iterations of a path that ends early, as most do; and paths of a size that is given,
#: one after the other: with one ridge, and twice with one for each input.
ITERATIONS_OF_A_PATH, PATHS_ALONE = 160, 3
#: Sizes with a ridge for each input take no longer than those before them, or than this, some three
#: seconds: on a table of 246 rows they took twice as long.
LITTLE_WORK = 5e10
#: Inputs that may have a ridge each, at most.
MOST_INPUTS = 300
#: Networks in the committee, if nothing else is said: with 8, squared errors were larger by 5 % in
#: the mean where optima differ (docs/size.md, 2026-11).
N_NETWORKS = 16


class Choice(NamedTuple):
    """Hidden layers and a ridge, and what the training of these may begin with."""

    hidden: tuple[int, ...]
    alpha: float | Literal["auto"]
    thetas: Array | None = None  # (n, D), for inputs times their scales
    scales: Array | None = None  # (d,)


class Compared(NamedTuple):
    """What was found of a size, with its best ridge."""

    tried: Tried
    losses: Array  # of all that was left out
    thetas: Array  # (n, D), part by part, for inputs as they are
    n_parts: int
    scales: Array | None = None  # (d,) that inputs had, about


def what_takes_long(problem: Problem) -> str:
    """What to expect of a table that is wide, or has many outputs; empty if it is neither."""
    net, K = problem.topology, len(problem.train)
    width, what = max((net.n_inputs, "input"), (net.n_outputs, "output"))
    if min(K, SAMPLES) * max(min(net.n_inputs, K), net.n_outputs) < MANY:
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
    sizes: tuple[tuple[int, ...], ...]  # of a single one, only the ridge is chosen
    may_scale: bool  # whether inputs may have a ridge each
    threads: int = 1
    executor: Executor | None = None
    n_evaluations: int = 0  # of networks, whatever their size

    def __post_init__(self) -> None:
        self._parts = parts_of(self.problem)
        self._deadline = time.monotonic() + SHARE * self.seconds
        self._spent, self._most = 0.0, math.inf
        self._must_end = True  # paths, but those of a very large network
        self._found: list[Compared] = []

    @property
    def tried(self) -> list[Tried]:
        """Sizes, and how well they did."""
        return [found.tried for found in self._found]

    def choose(self, say: Callable[[str, int], object]) -> Choice:
        """Try sizes as long as that is worthwhile, and take the best.

        ``say`` is told what is tried, after how many evaluations.
        """
        if len(self.sizes) == 1:
            return self._choose_ridges(self.sizes[0], say)
        most = math.inf if self.max_neurons is None else self.max_neurons
        allowed = [hidden for hidden in self.sizes if sum(hidden) <= most] or [(1,)]
        for hidden in allowed if self._parts else ():
            if self._is_worthwhile(hidden, self.tried):
                say(f"trying {_in_words(hidden)}", self.n_evaluations)
                if not self._try(hidden):
                    break
        if not self.tried:
            usual = max((h for h in allowed if sum(h) <= USUAL), default=allowed[0])
            return Choice(usual, self.problem.alpha)
        self._scale_inputs(allowed, say)
        return self._choice(self._found[self._best()])

    def _choose_ridges(self, hidden: tuple[int, ...], say: Callable[[str, int], object]) -> Choice:
        """The ridge of a size that is given, of each input if that is better.

        Large networks are compared on as many parts as there is room for, on one at least.
        """
        say("trying ridges", self.n_evaluations)
        if self._parts:
            net, shown = sized(self.problem, hidden, 0.0).topology, len(self._parts[0].shown)
            shift = self.problem.output_shift
            whole = ITERATIONS_OF_A_PATH * jacobian_cost(net, shown, output_shift=shift)
            room = self._left / self._price(net) / whole / PATHS_ALONE
            self._parts = self._parts[: max(int(room), 1)]
            self._must_end = room >= 1
            if self._try(hidden):
                self._scale_inputs([], say)
        return self._choice(self._found[0]) if self._found else Choice(hidden, self.problem.alpha)

    def _choice(self, found: Compared) -> Choice:
        """To train that size with all samples."""
        alpha, hidden, thetas = self.problem.alpha, found.tried.hidden, found.thetas
        if self.problem.ridge.sets_itself:
            share = self.problem.train.total_weight / self.problem.train[:SAMPLES].total_weight
            alpha = share * found.tried.alpha
        if found.scales is not None:
            thetas = Basis.scaled(found.scales).unfolded(thetas, hidden)
        return Choice(hidden, alpha, thetas, found.scales)

    def _is_worthwhile(self, hidden: tuple[int, ...], tried: list[Tried]) -> bool:
        """Whether there is hope for a size, after those before it."""
        if not tried:
            return True
        alike = [one.loss for one in tried if len(one.hidden) == len(hidden)]
        net = sized(self.problem, hidden, 0.0).topology
        too_many = net.dim > MORE * net.n_outputs * len(self._parts[0].shown)
        if len(hidden) == 1 and alike:
            best = int(np.argmax(np.array(alike) <= (1 + SAME) * min(alike)))
            is_large = too_many or hidden[0] > LARGE
            return len(alike) - 1 - best < (1 if is_large else IN_VAIN)
        if alike:
            return alike[-1] <= min(one.loss for one in tried if sum(one.hidden) <= LARGE)
        best = sum(min(tried, key=lambda one: one.loss).hidden)
        return TIMES * best >= sum(hidden) and not too_many

    def _try(self, hidden: tuple[int, ...]) -> bool:
        """Compare one more size; whether there was time and budget for it."""
        found = self._compared(hidden)
        if found is not None:
            self._found.append(found)
        return found is not None

    def _scale_inputs(
        self, allowed: list[tuple[int, ...]], say: Callable[[str, int], object]
    ) -> None:
        """Give each input a ridge of its own, if that predicts clearly better."""
        if not (self.may_scale and 1 < self.problem.topology.n_inputs <= MOST_INPUTS):
            return
        plain, best = list(self._found), self._found[self._best()]
        self._try_scales(best, allowed, say)
        less, w = best.losses - self._found[self._best()].losses, self._weights
        if w @ less / w.sum() <= CLEARLY * standard_error(less, w):
            self._found = plain

    def _try_scales(
        self,
        before: Compared,
        allowed: list[tuple[int, ...]],
        say: Callable[[str, int], object],
    ) -> None:
        """Try the best size so far with a ridge for each input, and then larger ones.

        Scales are those of the best before, learned part by part from what was shown: they know
        nothing of what is left out.
        """
        if allowed:
            little = LITTLE_WORK if self.max_evaluations is None else 0
            self._most = self._spent + max(self._spent, little)
        first, w, tried = before.tried.hidden, self._weights, [before.tried]
        for i, hidden in enumerate([first, first, *(h for h in allowed if sum(h) > sum(first))]):
            if not self.may_go_on():
                return
            if i > 1 and not self._is_worthwhile(hidden, tried):
                continue
            say(f"trying {_in_words(hidden)} with a ridge for each input", self.n_evaluations)
            found = self._compared(hidden, before)
            if found is None:
                return
            tried.append(found.tried)
            less = before.losses - found.losses
            margin = max(SAME * before.tried.loss, 0 if i else AS_GOOD * standard_error(less, w))
            if w @ less / w.sum() > margin:
                sizes = [one.hidden for one in self.tried]
                own = sizes.index(hidden) if hidden in sizes else len(sizes)
                self._found[own : own + 1] = [found]
                before = found
            elif i == 0:
                return

    def _compared(self, hidden: tuple[int, ...], before: Compared | None = None) -> Compared | None:
        """What becomes of a size; None for want of time. Scales are those of networks before."""
        problem = sized(self.problem, hidden, self.problem.alpha)
        n = len(self._parts) * min(2, self.n_members(hidden))
        price = self._price(problem.topology)
        limit = int(self._left / price / n)
        left = self._deadline - time.monotonic()
        if limit < LEAST_EVALUATIONS or left <= 0:
            return None
        best = min(self.tried, key=lambda one: one.loss).alpha if self.tried else None
        first = first_ridge(problem, best)
        bases = None if before is None else self._bases(before)
        jobs = []
        for number in range(n):
            i, limits = number % len(self._parts), (first, limit, left)
            part = self._parts[i]
            shown, left_out = part.shown, part.left_out
            if bases is not None:
                shown, left_out = bases[i].data(shown), bases[i].data(left_out)
            own = replace(problem, train=shown, validation=None, test=None)
            jobs.append(PathJob(own, left_out, part.share, self.seed, number, *limits))
        paths = self._followed(jobs)
        n_evaluations = sum(path.n_evaluations for path in paths)
        self.n_evaluations += n_evaluations
        self._spent += price * n_evaluations
        if self._must_end and not all(path.is_whole for path in paths):
            return None
        found = self._judged(hidden, paths, bases)
        if before is None or found is None:
            return found
        return found._replace(scales=self._scales(before))

    def _price(self, net: Topology) -> float:
        """Of an evaluation, in what is left."""
        if self.max_evaluations is not None:
            return 1.0
        slower = SLOWER if self.problem.task == "classification" else 1
        return slower * float(evaluation_cost(net, len(self._parts[0].shown)))

    @property
    def _left(self) -> float:
        """Evaluations, or multiply-adds, that the comparison may still take."""
        total = WORK * (PATHS_ALONE if len(self.sizes) == 1 else 1)
        if self.max_evaluations is not None:
            total = SHARE * self.max_evaluations
        return min(total, self._most) - self._spent

    def _scales(self, before: Compared, first: int = 0, step: int = 1) -> Array:
        """What networks make of the inputs."""
        thetas, d = before.thetas[first::step], self.problem.topology.n_inputs
        return scales_of(thetas, d, before.tried.hidden)

    def _bases(self, before: Compared) -> list[Basis]:
        """Scaled inputs, part by part."""
        n = before.n_parts
        return [Basis.scaled(self._scales(before, i, n)) for i in range(n)]

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

    def _judged(
        self, hidden: tuple[int, ...], paths: list[Path], bases: list[Basis] | None
    ) -> Compared | None:
        """What the best ridge of a size has led to; None if that is nothing."""
        losses, w = self._losses(hidden, paths), self._weights
        totals = losses @ w / w.sum()
        best = len(totals) - 1 - int(totals[::-1].argmin())  # of equals the largest ridge
        if totals[best] == math.inf:
            return None
        thetas = [path.thetas[best] for path in paths]
        if bases is not None:
            n = len(self._parts)
            thetas = [bases[i % n].folded(theta, hidden) for i, theta in enumerate(thetas)]
        alpha, error = ridges(self.problem)[best], standard_error(losses[best], w)
        tried = Tried(hidden, float(totals[best]), error, alpha)
        return Compared(tried, losses[best], np.stack(thetas), len(self._parts))

    def _best(self) -> int:
        """The smallest of those that are as good as the best."""
        w, losses = self._weights, [found.losses for found in self._found]
        best = min(range(len(losses)), key=lambda i: self.tried[i].loss)
        nothing = SAME * self.tried[best].loss
        differences = [one - losses[best] for one in losses]
        good = [
            i
            for i, more in enumerate(differences)
            if w @ more / w.sum() <= max(AS_GOOD * standard_error(more, w), nothing)
        ]
        return min(good, key=lambda i: (sum(self.tried[i].hidden), i), default=best)


def sized(problem: Problem, hidden: tuple[int, ...], alpha: float | Literal["auto"]) -> Problem:
    """The problem with other hidden layers, and a ridge."""
    net = problem.topology
    sizes = (net.n_inputs, *hidden, net.n_outputs)
    return replace(problem, topology=Topology(sizes, net.activation), alpha=alpha)


def _in_words(hidden: tuple[int, ...]) -> str:
    return f"{'-'.join(map(str, hidden))} neurons"


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
