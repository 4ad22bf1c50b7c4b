"""What is done with a network that was found: probabilities of classes, or a ridge by validation.

Least squares separate classes, but their outputs are no probabilities, and classes that can be
separated leave no noise, so that the evidence asks for no ridge at all. So all layers go on from
there by cross-entropy, with ridges that compete on samples that a network has not seen.

In regression the evidence often trusts data too much: it is that of one optimum, in Gauss-Newton's
approximation, and its ridge is where an iteration settles. With few samples per parameter a far
larger ridge may have the larger evidence. So larger ones compete with it, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from symbreak._polish._evidence import Evidence, evidence_of
from symbreak._polish._polisher import Polisher
from symbreak._support.blas import one_blas_thread
from symbreak._support.checks import Array
from symbreak.models import Model
from symbreak.network import CLASS_SCALE, fit_output_weights, hidden_outputs
from symbreak.objectives import LeastSquares
from symbreak.objectives._cross_entropy import CrossEntropy
from symbreak.problems import Dataset, Problem
from symbreak.training._record import RunRecord

MayGoOn = Callable[[], bool]

#: Samples that a polish needs to find its floor, in all or per parameter and output: hidden layers
#: that have seen more differ by about a hundredth of the noise.
POLISH_SAMPLES = (5_000, 75)
#: Into so many parts the samples are divided; each part is predicted once from the others.
FOLDS = 5
#: A network that is trained without some samples starts from one whose ridge is so many steps
#: larger: one that has learned them by heart would not forget them.
AHEAD = 2
#: Rows of samples that are sent through a network at once.
CHUNK = 4_096

#: Regression: ridges that compete with that of the evidence, if they are larger.
RIDGES = tuple(10.0 ** (e / 2) for e in range(-4, 5))
#: With fewer samples, leaving some out says nothing. With more multiply-adds per iteration, the
#: hundreds of iterations would take longer than the search.
MIN_SAMPLES, MAX_WORK = 4 * FOLDS, 1e8
#: Iterations that adapt a network to a larger ridge, or to fewer samples.
ITERATIONS = 30
#: A loss so many times the smallest is worse, and not by chance. Once a ridge is clearly too
#: small, all smaller ones are left out, although one may seem as good as the best by chance: on
#: one part of the table diamonds R2 was 0.77 with such a ridge and 0.88 without.
CLEARLY_WORSE = 1.05

#: Classes: ridges that compete.
CLASS_RIDGES = tuple(10.0 ** (e / 2) for e in range(-6, 4))
#: The ridge where there are so many samples that it hardly matters, or no time to choose.
PLAIN_RIDGE = 1.0
#: So many predictions of unseen samples are enough to tell ridges apart.
ENOUGH_PREDICTIONS = 500
#: Iterations of a descent with all samples, and without some of them; and those that are done even
#: if there is no time, since without them there are no probabilities.
DESCENT, FOLD_DESCENT, FIRST_DESCENT = 200, 100, 20
#: Standard deviation of the noise on that start: where all weights are 0, so is the gradient.
NUDGE = 0.1


def what_is_last(problem: Problem, record: RunRecord) -> str:
    """What is done with a network that was found, in words; empty if nothing is."""
    if has_probabilities(problem):
        return "polishing its probabilities"
    worthwhile = record.n_effective is not None and is_worthwhile(problem)
    return "trying larger ridges" if worthwhile else ""


def has_probabilities(problem: Problem) -> bool:
    """Whether networks of classes end with probabilities; those of the paper do not."""
    return problem.task == "classification" and problem.rescale == "none"


def apply_last_step(
    problem: Problem, record: RunRecord, may_go_on: MayGoOn, *, n_stages: int = 1
) -> RunRecord:
    """The record with its model in its last form.

    In what is left of the time; without any, probabilities are rough and a ridge stays.
    """
    model = record.model
    if model is None:
        return record
    if has_probabilities(problem):
        found = with_probabilities(model, part_for_classes(problem), may_go_on)
        record = replace(record, alpha=found.alpha, n_effective=found.n_effective)
        return record.with_model(found.model)
    if n_stages > 1:
        return record.with_model(refitted(model, problem, record.alpha))
    if not what_is_last(problem, record):
        return record
    held = with_validated_ridge(LeastSquares(problem), model.theta, record.alpha, may_go_on)
    if held.output_weights is None:
        return record
    model = replace(model, theta=held.theta, output_weights=held.output_weights)
    return replace(record, alpha=held.alpha, n_effective=held.n_effective).with_model(model)


def part_of(problem: Problem, needed: tuple[int, int]) -> Problem:
    """The problem with as many samples as are needed, if it has at least twice as many.

    Samples come in random order (``Problem.from_arrays``).
    """
    K, net, ridge = len(problem.train), problem.topology, problem.ridge
    n = max(needed[0], needed[1] * net.dim // net.n_outputs)
    if 2 * n > K:
        return problem
    alpha = problem.alpha if ridge.sets_itself else ridge.alpha * n / K
    return replace(problem, train=problem.train[:n], alpha=alpha)


def part_for_classes(problem: Problem) -> Problem:
    """What probabilities are learned from: a part of very many samples.

    These are too many to be learned by heart: the ridge makes no difference.
    """
    part = part_of(problem, POLISH_SAMPLES)
    if part is not problem and problem.ridge.sets_itself:
        part = replace(part, alpha=PLAIN_RIDGE)
    return part


def n_effective_parameters(problem: Problem, record: RunRecord) -> float:
    """Parameters of the first network that the data determine; all, if no ridge holds any."""
    first = record.members[0]
    if record.n_effective is not None:
        return record.n_effective
    if record.alpha == 0:
        return float(first.theta.size + first.output_weights.size)
    part = part_of(replace(problem, topology=first.topology), POLISH_SAMPLES)
    return evidence_of(LeastSquares(part).with_ridge(record.alpha), first.theta).n_effective


def refitted(model: Model, problem: Problem, alpha: float) -> Model:
    """The same hidden layers with the best output layer for all samples of a problem."""
    scale = CLASS_SCALE if model.classes else 1.0
    A, Y = _condensed(model.theta, problem, problem.train)
    V = fit_output_weights(A, scale * Y, None, alpha, shift=model.output_shift)
    return replace(model, output_weights=V)


@one_blas_thread()
def _condensed(theta: Array, problem: Problem, data: Dataset) -> tuple[Array, Array]:
    """Hidden outputs and targets in no more rows than columns, with the same least squares.

    By orthogonal transformations, part by part: all of them at once would fill memory.
    """
    net, shift = problem.topology, problem.output_shift
    n = net.hidden[-1] + shift
    R = np.empty((0, n + net.n_outputs))
    for first in range(0, len(data), CHUNK):
        part = data[first : first + CHUNK]
        rows = np.hstack([hidden_outputs(theta, net, part.X, shift=shift), part.y])
        if part.weights is not None:
            rows *= np.sqrt(part.weights)[:, None]
        R = np.linalg.qr(np.vstack([R, rows])).R
    return R[:, :n], R[:, n:]


def folds(problem: Problem) -> Iterator[tuple[Dataset, Dataset]]:
    """For each part, all other training samples, and the part.

    Parts have shares of every class that are as equal as can be.
    """
    data, K = problem.train, len(problem.train)
    classes = data.y.argmax(axis=1) if problem.task == "classification" else np.zeros(K)
    fold = np.empty(K, dtype=np.int64)
    fold[np.argsort(classes, kind="stable")] = np.arange(K) % FOLDS
    for f in range(min(FOLDS, K)):
        yield data[fold != f], data[fold == f]


# Regression


def is_worthwhile(problem: Problem) -> bool:
    """Whether cross-validation can tell ridges apart, in a few seconds."""
    return len(problem.train) >= MIN_SAMPLES and work_of(problem) <= MAX_WORK


def work_of(problem: Problem) -> int:
    """About how many multiply-adds an iteration of a polish takes."""
    net = problem.topology
    return len(problem.train) * net.n_outputs * net.dim**2


def with_validated_ridge(
    objective: LeastSquares, theta: Array, alpha: float, may_go_on: MayGoOn
) -> Evidence:
    """The network with the ridge that best predicts what it has not seen: its own, or a larger one.

    ``alpha`` is the evidence's. With growing ridges, each network starts from the one before. They
    are compared on the validation set if there is one, else by leaving samples out, part by part:
    from the largest ridge down, until the best one lies between two that predict clearly worse.
    ``may_go_on`` is asked before each iteration; without time for all of that, the network stays
    as it is. The same input gives the same network.
    """
    found = evidence_of(objective.with_ridge(alpha), theta)
    path = [found]
    for larger in (ridge for ridge in RIDGES if ridge > found.alpha):
        if not may_go_on():
            return found
        path.append(_polished(objective.with_ridge(larger), path[-1], may_go_on))
    problem, last = objective.problem, len(path) - 1
    parts = [
        (LeastSquares(replace(problem, train=shown)), left_out)
        for shown, left_out in (folds(problem) if problem.validation is None else ())
    ]
    losses: list[float] = []
    for i in range(last, -1, -1):
        start = path[min(i + AHEAD, last)]
        losses.append(_unseen_loss(parts, problem, path[i], start, may_go_on))
        if not may_go_on():
            return found
        if min(losses[0], losses[-1]) > CLEARLY_WORSE * min(losses):
            break
    best = path[last - int(np.argmin(losses))]
    return found if best.output_weights is None else best


def _polished(objective: LeastSquares, start: Evidence, may_go_on: MayGoOn) -> Evidence:
    polisher = Polisher(objective, start.theta, max_iterations=ITERATIONS)
    while not polisher.finished and may_go_on():
        polisher.step()
    return evidence_of(objective, polisher.theta)


def _unseen_loss(
    parts: list[tuple[LeastSquares, Dataset]],
    problem: Problem,
    found: Evidence,
    start: Evidence,
    may_go_on: MayGoOn,
) -> float:
    """Mean squared error on samples that were not shown; of no meaning if it may not go on.

    On those for validation, or on parts that were left out. Networks without these are polished
    from ``start``, which has a larger ridge.
    """

    def error(found: Evidence, data: Dataset) -> float:
        if found.output_weights is None:
            return np.inf
        A, Y = _condensed(found.theta, problem, data)
        squares = float(np.sum((A @ found.output_weights - Y) ** 2))
        return squares / (data.total_weight * problem.topology.n_outputs)

    if problem.validation is not None:
        return error(found, problem.validation)
    total = 0.0
    for shown, left_out in parts:
        share = shown.problem.train.total_weight / problem.train.total_weight
        without = _polished(shown.with_ridge(share * found.alpha), start, may_go_on)
        total += (1 - share) * error(without, left_out)
    return total


# Classes


class Probable(NamedTuple):
    """A network with probabilities, its ridge, and how many parameters the data determine."""

    model: Model
    alpha: float
    n_effective: float


@one_blas_thread()
def with_probabilities(
    model: Model, problem: Problem, may_go_on: MayGoOn = lambda: True
) -> Probable:
    """The network to which cross-entropy leads from a model, with outputs that are probabilities.

    Its ridge is the problem's; if that sets itself, the one with the least log-loss on the
    problem's validation data or, where there are none, in cross-validation. ``may_go_on`` is asked
    before each iteration; when it may not, the best so far is returned. The same input gives the
    same network.
    """
    on = _entropy(problem, problem.train)
    start = np.concatenate([model.theta, model.output_weights.ravel() / CLASS_SCALE])
    chooses = problem.ridge.sets_itself
    alpha = PLAIN_RIDGE if chooses else problem.ridge.alpha
    x = on.fit(start, alpha, FIRST_DESCENT, lambda: True)
    if may_go_on() and chooses:
        x, alpha = _chosen(problem, start, may_go_on) or (x, alpha)
    elif may_go_on():
        x = on.fit(x, alpha, DESCENT, may_go_on)
    n = model.theta.size
    weights = x[n:].reshape(model.output_weights.shape)
    found = replace(model, theta=x[:n].copy(), output_weights=weights.copy(), output="softmax")
    return Probable(found, alpha, on.n_effective(x, alpha))


def log_loss(model: Model, data: Dataset) -> float:
    """Mean cross-entropy of a model with softmax outputs on normalised data."""
    on = CrossEntropy(model.topology, data, shift=model.output_shift)
    return on.loss(np.concatenate([model.theta, model.output_weights.ravel()]))


def _entropy(problem: Problem, data: Dataset) -> CrossEntropy:
    return CrossEntropy(problem.topology, data, shift=problem.output_shift)


def _chosen(problem: Problem, start: Array, may_go_on: MayGoOn) -> tuple[Array, float] | None:
    """The vector and the ridge that best predict what was not seen; None if it may not go on.

    Judged by as many parts as there is time for, each left out once with every ridge.
    """
    path = _path(_entropy(problem, problem.train), start, may_go_on)
    if len(path) < len(CLASS_RIDGES):
        return None
    losses = np.zeros(len(path))
    if problem.validation is not None:
        losses += [_entropy(problem, problem.validation).loss(x) for x in path]
    else:
        for part in _unseen_losses(problem, path, may_go_on):
            losses += part
    if not losses.any():
        return path[CLASS_RIDGES.index(PLAIN_RIDGE)], PLAIN_RIDGE
    best = len(path) - 1 - int(np.argmin(losses[::-1]))  # of equals the largest
    return path[best], CLASS_RIDGES[best]


def _path(on: CrossEntropy, start: Array, may_go_on: MayGoOn) -> list[Array]:
    """Networks of growing ridges, each from the one before; then from the one after, if better.

    Ends where it may not go on.
    """
    path: list[Array] = []
    for alpha in CLASS_RIDGES:
        x = on.fit(path[-1] if path else start, alpha, DESCENT, may_go_on)
        if not may_go_on():
            return path
        path.append(x)
    for i in range(len(path) - 2, -1, -1):
        x = on.fit(path[i + 1], CLASS_RIDGES[i], DESCENT, may_go_on)
        if on(x, CLASS_RIDGES[i])[0] < on(path[i], CLASS_RIDGES[i])[0]:
            path[i] = x
    return path


def _unseen_losses(problem: Problem, path: list[Array], may_go_on: MayGoOn) -> Iterator[Array]:
    """Log-losses on one part after another that was not shown, one for each ridge."""
    nudge = NUDGE * np.random.default_rng(0).normal(size=len(path[0]))
    n = 0
    for shown, left_out in folds(problem):
        share = shown.total_weight / problem.train.total_weight
        on, unseen = _entropy(problem, shown), _entropy(problem, left_out)
        losses = np.empty(len(path))
        for i, alpha in enumerate(CLASS_RIDGES):
            start = path[min(i + AHEAD, len(path) - 1)] + nudge
            without = on.fit(start, share * alpha, FOLD_DESCENT, may_go_on)
            if not may_go_on():
                return
            losses[i] = left_out.total_weight * unseen.loss(without)
        yield losses
        if (n := n + len(left_out)) >= ENOUGH_PREDICTIONS:
            return
