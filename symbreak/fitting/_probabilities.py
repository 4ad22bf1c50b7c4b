"""Probabilities of classes: a network found by least squares, polished by cross-entropy.

Least squares separate classes, but their outputs are no probabilities, and classes that can be
separated leave no noise, so that the evidence asks for no ridge at all. So all layers go on from
there by cross-entropy, with ridges that compete on samples that a network has not seen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from symbreak._support.blas import single_threaded_blas
from symbreak._support.checks import Array
from symbreak.fitting._cross_entropy import CrossEntropy
from symbreak.fitting._folds import folds
from symbreak.models import Model
from symbreak.network import CLASS_SCALE
from symbreak.problems import Dataset, Problem

#: Ridges that compete.
RIDGES = tuple(10.0 ** (e / 2) for e in range(-6, 4))
#: The ridge where there are so many samples that it hardly matters, or no time to choose.
PLAIN_RIDGE = 1.0
#: So many predictions of unseen samples are enough to tell ridges apart.
ENOUGH_PREDICTIONS = 500
#: Iterations of a descent with all samples, and without some of them; and those that are done even
#: if there is no time, since without them there are no probabilities.
ITERATIONS, FOLD_ITERATIONS, FIRST_ITERATIONS = 200, 100, 20
#: A network that is trained without some samples starts from one whose ridge is so many steps
#: larger: one that has learned them by heart would not forget them.
AHEAD = 2
#: Standard deviation of the noise on that start: where all weights are 0, so is the gradient.
NUDGE = 0.1

MayGoOn = Callable[[], bool]


class Probable(NamedTuple):
    """A network with probabilities.

    Attributes:
        model: It has softmax outputs.
        alpha: Its ridge.
        n_effective: Number of parameters that the data determine.
    """

    model: Model
    alpha: float
    n_effective: float


@single_threaded_blas
def with_probabilities(
    model: Model, problem: Problem, may_go_on: MayGoOn = lambda: True
) -> Probable:
    """The network to which cross-entropy leads from a model, with outputs that are probabilities.

    Its ridge is the problem's; if that is ``"auto"``, the one with the least log-loss on the
    problem's validation data or, where there are none, in cross-validation. ``may_go_on`` is asked
    before each iteration; when it may not, the best so far is returned. The same input gives the
    same network.
    """
    if problem.task != "classification" or model.topology != problem.topology:
        raise ValueError(
            f"with_probabilities needs a {problem.topology} network and a problem of "
            f"classification, got {model.topology} and {problem.task}."
        )
    on = _objective(problem, model)
    start = np.concatenate([model.theta, model.output_weights.ravel() / CLASS_SCALE])
    alpha = PLAIN_RIDGE if problem.alpha == "auto" else problem.alpha
    x = on.fit(start, alpha, FIRST_ITERATIONS, lambda: True)
    if may_go_on() and problem.alpha == "auto":
        x, alpha = _chosen(problem, model, start, may_go_on) or (x, alpha)
    elif may_go_on():
        x = on.fit(x, alpha, ITERATIONS, may_go_on)
    n = model.theta.size
    weights = x[n:].reshape(model.output_weights.shape)
    found = replace(model, theta=x[:n].copy(), output_weights=weights.copy(), output="softmax")
    return Probable(found, alpha, on.n_effective(x, alpha))


def log_loss(model: Model, data: Dataset) -> float:
    """Mean cross-entropy of a model with softmax outputs on normalised data."""
    on = CrossEntropy(model.topology, data, shift=model.output_shift)
    return on.loss(np.concatenate([model.theta, model.output_weights.ravel()]))


def _objective(problem: Problem, model: Model) -> CrossEntropy:
    return CrossEntropy(model.topology, problem.train, shift=model.output_shift)


def _chosen(
    problem: Problem, model: Model, start: Array, may_go_on: MayGoOn
) -> tuple[Array, float] | None:
    """The vector and the ridge that best predict what was not seen; None if it may not go on."""
    path = _path(_objective(problem, model), start, may_go_on)
    if len(path) < len(RIDGES):
        return (path[-1], RIDGES[len(path) - 1]) if path else None
    best, least = RIDGES.index(PLAIN_RIDGE), np.inf
    for i in range(len(RIDGES) - 1, -1, -1):
        ahead = path[min(i + AHEAD, len(path) - 1)]
        loss = _unseen_loss(problem, model, path[i], ahead, RIDGES[i], may_go_on)
        if loss < least:
            best, least = i, loss
    return path[best], RIDGES[best]


def _path(on: CrossEntropy, start: Array, may_go_on: MayGoOn) -> list[Array]:
    """Networks of growing ridges, each from the one before; then from the one after, if better.

    Ends where it may not go on.
    """
    path: list[Array] = []
    for alpha in RIDGES:
        x = on.fit(path[-1] if path else start, alpha, ITERATIONS, may_go_on)
        if not may_go_on():
            return path
        path.append(x)
    for i in range(len(path) - 2, -1, -1):
        x = on.fit(path[i + 1], RIDGES[i], ITERATIONS, may_go_on)
        if on(x, RIDGES[i])[0] < on(path[i], RIDGES[i])[0]:
            path[i] = x
    return path


def _unseen_loss(
    problem: Problem, model: Model, x: Array, ahead: Array, alpha: float, may_go_on: MayGoOn
) -> float:
    """Log-loss on samples that were not shown; infinite if it may not go on."""
    shift = model.output_shift
    if problem.validation is not None:
        return CrossEntropy(model.topology, problem.validation, shift=shift).loss(x)
    start = ahead + NUDGE * np.random.default_rng(0).normal(size=len(ahead))
    total, n = 0.0, 0
    for shown, left_out in folds(problem):
        share = shown.train.total_weight / problem.train.total_weight
        without = _objective(shown, model).fit(start, share * alpha, FOLD_ITERATIONS, may_go_on)
        if not may_go_on():
            return np.inf
        total += left_out.train.total_weight * _objective(left_out, model).loss(without)
        n += len(left_out.train)
        if n >= ENOUGH_PREDICTIONS:
            break
    return total
