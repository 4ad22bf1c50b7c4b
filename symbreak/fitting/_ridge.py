"""The ridge of a found network by cross-validation, since the evidence often trusts data too much.

The evidence is that of one optimum, in Gauss-Newton's approximation, and its ridge is where an
iteration settles: with few samples per parameter, a far larger ridge may have the larger evidence.
Ridges of classes compete by cross-entropy (``_probabilities``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from symbreak.fitting._estimation import loss_of
from symbreak.fitting._folds import FOLDS, folds
from symbreak.models import Model
from symbreak.polish import Polisher
from symbreak.problems import Problem
from symbreak.training import EvidenceResult, evidence

#: Ridges that compete with that of the evidence, if they are larger.
RIDGES = tuple(10.0 ** (e / 2) for e in range(-4, 5))
#: With fewer samples, leaving some out says nothing. With more multiply-adds per iteration, the
#: hundreds of iterations would take longer than the search.
MIN_SAMPLES, MAX_WORK = 4 * FOLDS, 1e8
#: Iterations that adapt a network to a larger ridge, or to fewer samples.
ITERATIONS = 30
#: A network that is trained without some samples starts from one whose ridge is so many steps
#: larger.
AHEAD = 2
#: A loss so many times the smallest is worse, and not by chance. Below a ridge that is too small,
#: an even smaller one that seems as good as the best is so by chance: on one part of the table
#: diamonds R2 was 0.77 with it and 0.88 without.
CLEARLY_WORSE = 1.05


def is_worthwhile(problem: Problem) -> bool:
    """Whether cross-validation can tell ridges apart, in a few seconds."""
    K, net = len(problem.train), problem.topology
    return K >= MIN_SAMPLES and K * net.n_outputs * net.dim**2 <= MAX_WORK


def with_validated_ridge(
    model: Model, problem: Problem, alpha: float, may_go_on: Callable[[], bool]
) -> EvidenceResult:
    """A regression whose ridge ``alpha`` is the evidence's, with that ridge or a better one."""
    start = evidence(replace(problem, alpha=alpha), model.theta, max_iterations=0)
    return cross_validated(problem, start, may_go_on)


def cross_validated(
    problem: Problem, found: EvidenceResult, may_go_on: Callable[[], bool]
) -> EvidenceResult:
    """The network with the ridge that best predicts what it has not seen: its own, or a larger one.

    With growing ridges, each network starts from the one before. They are compared on the
    validation set if there is one, else by leaving samples out, part by part: from the largest
    ridge down, until the best one lies between two that predict clearly worse. ``may_go_on`` is
    asked before each iteration; without time for all of that, the network stays as it is. The same
    input gives the same network.
    """
    path = [found]
    for alpha in (ridge for ridge in RIDGES if ridge > found.alpha):
        if not may_go_on():
            return found
        path.append(_polished(replace(problem, alpha=alpha), path[-1], may_go_on))
    last = len(path) - 1
    losses: list[float] = []
    for i in range(last, -1, -1):
        losses.append(_loss(problem, path[i], path[min(i + AHEAD, last)], may_go_on))
        if not may_go_on():
            return found
        if min(losses[0], losses[-1]) > CLEARLY_WORSE * min(losses):
            break
    best = path[last - int(np.argmin(losses))]
    return found if best.model is None else best


def _polished(
    problem: Problem, start: EvidenceResult, may_go_on: Callable[[], bool]
) -> EvidenceResult:
    polisher = Polisher(problem, start.theta, max_iterations=ITERATIONS)
    while not polisher.finished and may_go_on():
        polisher.step()
    return evidence(problem, polisher.theta, max_iterations=0)


def _loss(
    problem: Problem, found: EvidenceResult, start: EvidenceResult, may_go_on: Callable[[], bool]
) -> float:
    """Mean squared error on samples that were not shown; of no meaning if it may not go on.

    Networks without them are polished from ``start``, which has a larger ridge: one that has
    learned samples by heart would not forget them.
    """
    if problem.validation is not None:
        return _error(replace(problem, train=problem.validation), found)
    total = 0.0
    for shown, left_out in folds(problem):
        share = shown.train.total_weight / problem.train.total_weight
        without = _polished(replace(shown, alpha=share * found.alpha), start, may_go_on)
        total += (1 - share) * _error(left_out, without)
    return total


def _error(problem: Problem, found: EvidenceResult) -> float:
    return np.inf if found.model is None else loss_of(found.model, problem)
