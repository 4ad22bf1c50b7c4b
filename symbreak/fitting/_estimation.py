"""What the estimators do with samples, scalings and budgets, without scikit-learn."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars

from symbreak._support.blas import single_threaded_blas
from symbreak._support.checks import Array, IntArray
from symbreak.fitting._probabilities import PLAIN_RIDGE, Probable, log_loss, with_probabilities
from symbreak.models import Model
from symbreak.network import (
    CLASS_SCALE,
    evaluation_cost,
    fit_output_weights,
    hidden_outputs,
)
from symbreak.polish import jacobian_cost
from symbreak.problems import Dataset, Problem, Scaling
from symbreak.training import Progress, RunRecord, evidence, short_search

#: Multiply-adds that a fit may take by default: a few seconds of one core.
WORK = 2e10
#: But no more evaluations than this, or iterations of a polish, of which few samples make many
#: evaluations; and iterations at least.
MAX_EVALUATIONS, MAX_ITERATIONS, MIN_ITERATIONS = 50_000, 1_000, 100
#: Samples that a search needs, in all or per parameter and output: it looks for a basin, which few
#: show as well as many. And that the polish needs to find its floor: hidden layers that have seen
#: more differ by about a hundredth of the noise. The output layer is fitted to all of them.
SEARCH_SAMPLES, POLISH_SAMPLES = (2_000, 20), (5_000, 75)
#: Where a part of the samples is searched first, its share of the budget; and of the time for
#: classes, before cross-entropy.
SEARCH_SHARE = 0.5
#: Rows of samples that are sent through a network at once.
CHUNK = 4_096


def default_evaluations(problem: Problem) -> int:
    """Evaluations of a fit that names no budget, by size of network and data alone."""
    K, net = len(problem.train), problem.topology
    iteration = jacobian_cost(net, K, output_shift=problem.output_shift) + 1
    most = max(MAX_EVALUATIONS, MAX_ITERATIONS * iteration)
    least = short_search(problem)[1] + MIN_ITERATIONS * iteration
    return max(least, min(most, round(WORK / evaluation_cost(net, K))))


def part_of(problem: Problem, needed: tuple[int, int]) -> Problem:
    """The problem with as many samples as are needed, if it has at least twice as many.

    Samples come in random order (``merge_samples``).
    """
    K, net = len(problem.train), problem.topology
    n = max(needed[0], needed[1] * net.dim // net.n_outputs)
    if 2 * n > K:
        return problem
    alpha = problem.alpha if problem.alpha == "auto" else problem.alpha * n / K
    return replace(problem, train=_first_samples(problem.train, n), alpha=alpha)


def _first_samples(data: Dataset, n: int, after: int = 0) -> Dataset:
    weights = None if data.weights is None else data.weights[after : after + n]
    return Dataset(data.X[after : after + n], data.y[after : after + n], weights)


def classified(
    model: Model, problem: Problem, may_go_on: Callable[[], bool]
) -> tuple[Probable, float]:
    """A model of classes, polished by cross-entropy; and what is left of that.

    Samples of which a polish needs a part only are too many to be learned by heart: the ridge
    makes no difference.
    """
    part = part_of(problem, POLISH_SAMPLES)
    if part is not problem and problem.alpha == "auto":
        part = replace(part, alpha=PLAIN_RIDGE)
    found = with_probabilities(model, part, may_go_on)
    return found, log_loss(found.model, part.train)


def n_effective_parameters(problem: Problem, record: RunRecord) -> float:
    """Parameters that the data determine; all of them, if no ridge holds any."""
    assert record.model is not None
    if record.alpha == 0:
        return float(record.model.theta.size + record.model.output_weights.size)
    if record.n_effective is not None:
        return record.n_effective
    held = replace(problem, alpha=record.alpha)
    return evidence(held, record.model.theta, max_iterations=0).n_effective


def refitted(model: Model, problem: Problem, alpha: float) -> Model:
    """The same hidden layers with the best output layer for all samples of a problem."""
    A, Y = _condensed(model, problem.train)
    V = fit_output_weights(A, _scale(model) * Y, None, alpha, shift=model.output_shift)
    return replace(model, output_weights=V)


def loss_of(model: Model, problem: Problem) -> float:
    """Mean squared error on the training samples of outputs fitted by least squares."""
    A, Y = _condensed(model, problem.train)
    weights = problem.train.weights
    total = len(problem.train) if weights is None else float(weights.sum())
    squares = float(np.sum((A @ model.output_weights / _scale(model) - Y) ** 2))
    return squares / (total * problem.topology.n_outputs)


@single_threaded_blas
def _condensed(model: Model, data: Dataset) -> tuple[Array, Array]:
    """Hidden outputs and targets in no more rows than columns, with the same least squares.

    By orthogonal transformations, part by part: all of them at once would fill memory.
    """
    n, net = len(model.output_weights), model.topology
    R = np.empty((0, n + net.n_outputs))
    for first in range(0, len(data), CHUNK):
        part = _first_samples(data, CHUNK, after=first)
        A = hidden_outputs(model.theta, net, part.X, shift=model.output_shift)
        rows = np.hstack([A, part.y])
        if part.weights is not None:
            rows *= np.sqrt(part.weights)[:, None]
        R = np.linalg.qr(np.vstack([R, rows])).R
    return R[:, :n], R[:, n:]


def _scale(model: Model) -> float:
    return CLASS_SCALE if model.classes else 1.0


def standardise(values: Array, weights: Array | None) -> Scaling:
    """Normalise the columns of an array in place, one by one, and say how."""
    scalings = [Scaling.fit(values[:, [j]], weights) for j in range(values.shape[1])]
    scaling = Scaling(
        *(np.concatenate([getattr(s, f) for s in scalings]) for f in ("mean", "scale"))
    )
    values -= scaling.mean
    values /= scaling.scale
    return scaling


def merge_samples(
    X: Array, y: NDArray[Any], weights: Array | None
) -> tuple[IntArray, Array | None]:
    """Rows to keep, in an order of their own, and their weights; None if all count once.

    Equal samples become one, with the sum of their weights. So neither the order of samples, nor
    repeating one instead of giving it more weight, changes a bit of a fit.
    """
    Y = np.unique(y, return_inverse=True)[1][:, None] if y.ndim == 1 else y
    keys = _row_keys(X, Y)
    rows = np.argsort(keys, kind="stable")
    before, after = rows[:-1], rows[1:]
    alike = np.flatnonzero(keys[before] == keys[after])
    same = [(Z[before[alike]] == Z[after[alike]]).all(axis=1) for Z in (X, Y)]
    is_first = np.ones(len(rows), dtype=np.bool_)
    is_first[alike + 1] = ~(same[0] & same[1])
    merged = np.bincount(np.cumsum(is_first) - 1, None if weights is None else weights[rows])
    return rows[is_first], None if np.all(merged == 1) else merged.astype(np.float64)


def _row_keys(*parts: NDArray[Any]) -> NDArray[np.uint64]:
    """A hash of each row, column by column: a sort of whole rows would need copies of them all."""
    keys = np.zeros(len(parts[0]), dtype=np.uint64)
    for part in parts:
        for column in part.T:
            keys ^= (column + 0.0).view(np.uint64)  # -0 and 0 are equal
            keys *= np.uint64(0x9E3779B97F4A7C15)
            keys ^= keys >> np.uint64(29)
    return keys


def raw_layers(model: Model) -> tuple[list[Array], list[Array]]:
    """Weights (fan-in, n) and shifts (n,) of all layers, for inputs and targets in raw units.

    The scalings are folded into the first and the last layer. What comes out of the last one is
    what ``model.output`` is applied to.
    """
    layers = model.topology.layers(model.theta)
    coefs = [layer[:, :-1].T.copy() for layer in layers]
    shifts = [layer[:, -1].copy() for layer in layers]
    coefs[0] /= model.inputs.scale[:, None]
    shifts[0] -= model.inputs.mean @ coefs[0]
    V = model.output_weights[: model.topology.hidden[-1]]
    shift = model.output_weights[-1] if model.output_shift else np.zeros(V.shape[1])
    coefs.append(V * model.targets.scale)
    shifts.append(shift * model.targets.scale + model.targets.mean)
    return coefs, shifts


def rescaled_theta(model: Model, inputs: Scaling) -> Array:
    """The ``theta`` (D,) of the same hidden layers for inputs that are normalised otherwise."""
    theta = model.theta.copy()
    first, before = model.topology.layers(theta)[0], model.inputs
    first[:, -1] += first[:, :-1] @ ((inputs.mean - before.mean) / before.scale)
    first[:, :-1] *= inputs.scale / before.scale
    return theta


@contextmanager
def progress_bar(name: str, max_time: float | None) -> Iterator[Callable[[Progress], None]]:
    """A bar on standard error, and a callback that moves it ten times a second."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TextColumn("{task.fields[error]}"),
        TimeElapsedColumn(),
    )
    started = shown = time.monotonic()
    last: Progress | None = None
    with Bars(*columns, console=Console(stderr=True)) as bars:
        task = bars.add_task(name, total=1.0, error="")

        def show(progress: Progress) -> None:
            nonlocal shown, last
            last = progress
            if (now := time.monotonic()) - shown < 0.1:
                return
            shown = now
            spent = progress.n_evaluations / progress.max_evaluations
            if max_time is not None:
                spent = max(spent, (now - started) / max_time)
            bars.update(task, completed=spent, error=_in_words(progress))

        yield show
        if last is not None:  # much may have happened since the bar moved
            bars.update(task, completed=1.0, error=_in_words(last))


def _in_words(progress: Progress) -> str:
    n = progress.n_starts  # none where a method has no restarts
    starts = f", {n} start{'' if n == 1 else 's'}" if n else ""
    return f"loss {progress.error_in_words}{starts}"
