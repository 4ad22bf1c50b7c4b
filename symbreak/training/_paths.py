"""One size of a network with one part of the samples left out: a path from ridge to ridge.

It begins at random with a middle ridge and goes on from there with smaller, then with larger ones.
What it makes of the samples that were left out says which size and which ridge predict best.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from symbreak._polish._polisher import Polisher
from symbreak._support.blas import one_blas_thread
from symbreak._support.checks import Array
from symbreak._support.random import stream
from symbreak.network import hidden_outputs
from symbreak.objectives import LeastSquares
from symbreak.objectives._cross_entropy import CrossEntropy, log_softmax
from symbreak.problems import Dataset, Problem
from symbreak.training._last_step import MIN_SAMPLES, folds
from symbreak.training._recipe import LEAST, MANY, SOME

#: Samples that sizes are compared on, and predictions that are enough.
SAMPLES, PREDICTIONS = 4_000, 600
#: Ridges, and where the first paths begin; those of larger networks so many steps above the best
#: one so far. A path ends in either direction where the loss is so many times the least, or was not
#: better than that by a share worth mentioning for more ridges than this.
RIDGES = tuple(10.0 ** (e / 2) for e in range(-12, 5))
FIRST_RIDGE, STEPS = 1.0, 2
WORSE, BETTER, IN_VAIN = 1.3, 0.995, 1
#: Iterations with the first ridge, and with each other one; by cross-entropy, whose iterations are
#: cheaper and bring less, so many times more, of about so many evaluations each.
FIRST_ITERATIONS, ITERATIONS = 60, 25
BY_ENTROPY, EVALUATIONS = 2, 4

MayGoOn = Callable[[], bool]
#: From a vector with a ridge in so many iterations and evaluations at most to another one; what
#: that makes of the samples that were left out; evaluations that it took.
Step = Callable[[Array, float, int, int], tuple[Array, Array, int]]


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


class PathJob(NamedTuple):
    """A path to follow, here or in another process: the same there, bit by bit."""

    problem: Problem  # the network, and the samples that are shown
    left_out: Dataset
    share: float  # how much of all is shown: ridges are held in proportion
    seed: int
    number: int
    first_ridge: float
    max_evaluations: int
    max_time: float  # in seconds


class Path(NamedTuple):
    """What a path has led to, ridge by ridge."""

    outputs: Array  # (ridges, n, q) of what was left out, before softmax; NaN if not tried
    thetas: Array  # (ridges, D)
    n_evaluations: int
    is_whole: bool  # it did not end for want of time or evaluations


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


def ridges(problem: Problem) -> tuple[float, ...]:
    """Those that compete; or the one that is given."""
    return RIDGES if problem.ridge.sets_itself else (problem.ridge.alpha,)


def first_ridge(problem: Problem, best: float | None = None) -> float:
    """Where paths begin: with a middle ridge, or some steps above the best of smaller networks."""
    alphas = ridges(problem)
    if len(alphas) == 1:
        return alphas[0]
    usual = alphas.index(FIRST_RIDGE)
    return alphas[usual if best is None else min(usual, alphas.index(best) + STEPS)]


def follow(job: PathJob, may_go_on: MayGoOn = lambda: True) -> Path:
    """Follow a path from its first ridge down, and then from there up."""
    deadline = time.monotonic() + job.max_time
    alphas = ridges(job.problem)
    middle = alphas.index(job.first_ridge)
    outputs = np.full((len(alphas), *job.left_out.y.shape), np.nan)
    thetas = np.zeros((len(alphas), job.problem.topology.dim))
    spent, least = MANY, np.inf

    def has_time() -> bool:
        return may_go_on() and time.monotonic() < deadline

    with one_blas_thread():
        make = _by_entropy if job.problem.task == "classification" else _by_squares
        first, step = make(job, has_time)
        for order in (range(middle, -1, -1), range(middle + 1, len(alphas))):
            x, in_vain = first, 0
            for i in order:
                iterations = FIRST_ITERATIONS if i == middle else ITERATIONS
                left = job.max_evaluations - spent
                if not has_time() or left < LEAST:
                    return Path(outputs, thetas, spent, is_whole=False)
                x, outputs[i], n = step(x, job.share * alphas[i], iterations, left)
                thetas[i], spent = x[: thetas.shape[1]], spent + n
                first = x if i == middle else first
                loss = float(losses(job.problem, outputs[i], job.left_out).mean())
                in_vain = 0 if loss < BETTER * least else in_vain + 1
                least = min(loss, least)
                if in_vain > IN_VAIN or not loss <= WORSE * least:
                    break
    return Path(outputs, thetas, spent, is_whole=has_time() and spent < job.max_evaluations)


def losses(problem: Problem, outputs: Array, data: Dataset) -> Array:
    """Squared errors, or cross-entropies, of samples (n,) with outputs (n, q)."""
    if problem.task == "classification":
        return -np.sum(data.y * log_softmax(outputs), axis=1)
    return np.mean((outputs - data.y) ** 2, axis=1)


def _random(on: LeastSquares, job: PathJob) -> Array:
    """The best of some random networks, as where a training begins."""
    net = on.topology
    n = MANY if len(net.hidden) > 1 else SOME
    rng = stream(job.seed, "size", str(net), job.number)
    candidates = rng.uniform(-1, 1, size=(n, net.dim))
    if on.units is not None:
        candidates *= on.units
    return candidates[int(on(candidates).argmin())]


def _by_squares(job: PathJob, has_time: MayGoOn) -> tuple[Array, Step]:
    """Numbers: polishes, with the best output layer wherever they are."""
    on = LeastSquares(replace(job.problem, alpha=job.share * job.first_ridge))
    net, shift = job.problem.topology, job.problem.output_shift

    def step(x: Array, alpha: float, iterations: int, left: int) -> tuple[Array, Array, int]:
        limits = {"max_iterations": iterations, "max_evaluations": left}
        polisher = Polisher(on.with_ridge(alpha), x, **limits)
        while not polisher.finished and has_time():
            polisher.step()
        V = polisher.output_weights()
        n = left if polisher.reason == "budget" else polisher.n_evaluations
        if V is None:
            return x, np.full(job.left_out.y.shape, np.nan), n
        A = hidden_outputs(polisher.theta, net, job.left_out.X, shift=shift)
        return polisher.theta.copy(), A @ V, n

    return _random(on, job), step


def _by_entropy(job: PathJob, has_time: MayGoOn) -> tuple[Array, Step]:
    """Classes: descents of all layers, from the best output layer by least squares."""
    on = LeastSquares(replace(job.problem, alpha=job.share * job.first_ridge))
    theta = _random(on, job)
    V = on.model(theta).output_weights / on.class_scale
    net, shift = job.problem.topology, job.problem.output_shift
    shown = CrossEntropy(net, job.problem.train, shift=shift)

    def step(x: Array, alpha: float, iterations: int, left: int) -> tuple[Array, Array, int]:
        n = min(EVALUATIONS * BY_ENTROPY * iterations, left)
        x = shown.fit(x, alpha, n // EVALUATIONS, has_time)
        A = hidden_outputs(x[: net.dim], net, job.left_out.X, shift=shift)
        return x, A @ x[net.dim :].reshape(-1, net.n_outputs), n

    return np.concatenate([theta, V.ravel()]), step
