"""Probabilities of classes: the output layer refitted by cross-entropy, the hidden ones kept.

Least squares separates classes, but its outputs are no probabilities. With the hidden layers fixed,
the output layer of a softmax is a convex fit, multinomial logistic regression. How strongly it is
held towards the mere frequencies of the classes is decided on samples that it has not seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from symbreak._blas import single_threaded_blas
from symbreak._checks import Array, Mask
from symbreak.evidence import evidence
from symbreak.models import Model
from symbreak.network import hidden_outputs, independent_columns
from symbreak.problems import Dataset, Problem

#: Ridges that compete, per sample, on hidden outputs of unit variance and no correlation.
RIDGES = tuple(10.0 ** (e / 2) for e in range(-12, 1))
#: Without validation data, each sample is predicted once from the others, in so many parts, by
#: networks that are polished so long without it.
FOLDS, FOLD_ITERATIONS = 5, 30


class _Fit(NamedTuple):
    """A softmax layer: logits are ``A @ weights`` for hidden outputs A with a last column of 1."""

    weights: Array

    def log_loss(self, A: Array, Y: Array, w: Array) -> float:
        """Mean cross-entropy on targets Y (K, q) with sample weights."""
        return float(-(w @ np.sum(Y * _log_softmax(A @ self.weights), axis=1)) / w.sum())


@single_threaded_blas
def calibrated(model: Model, problem: Problem) -> Model:
    """The same hidden layers with outputs that are probabilities of the classes.

    The ridge of the new output layer is the one with the least log-loss on the problem's
    validation data. Where there are none it is that of cross-validation, in which the hidden
    layers too are polished without the samples that are predicted: those trained with them know
    them, and would ask for far too sure probabilities. The same input gives the same model.
    """
    if problem.task != "classification" or model.topology != problem.topology:
        raise ValueError(
            f"calibrated needs a {problem.topology} network and a problem of classification, "
            f"got {model.topology} and {problem.task}."
        )
    train = _samples(model, problem.train)
    if problem.validation is not None:
        splits = [(train, _samples(model, problem.validation))]
    else:
        splits = list(_folds(model, problem))
    losses = [
        sum(_fit(*fitted, ridge).log_loss(*held_out) for fitted, held_out in splits)
        for ridge in RIDGES
    ]
    best = _fit(*train, RIDGES[int(np.argmin(losses))])
    return replace(model, output_weights=best.weights, output="softmax")


def log_loss(model: Model, data: Dataset) -> float:
    """Mean cross-entropy of a model with softmax outputs on normalised data."""
    A, Y, w = _samples(model, data)
    weights = model.output_weights
    if not model.output_shift:
        weights = np.vstack([weights, np.zeros(weights.shape[1])])
    return _Fit(weights).log_loss(A, Y, w)


Samples = tuple[Array, Array, Array]


def _samples(model: Model, data: Dataset) -> Samples:
    A = hidden_outputs(model.theta, model.topology, data.X, shift=True)
    weights = data.weights
    return A, data.y, np.ones(len(A)) if weights is None else weights


def _folds(model: Model, problem: Problem) -> Iterator[tuple[Samples, Samples]]:
    """Parts with as equal shares of every class as can be, and a network trained without each.

    The evidence holds it, so that it forgets what it is not shown.
    """
    X, y = problem.train.X, problem.train.y
    fold = np.empty(len(X), dtype=np.int64)
    fold[np.argsort(y.argmax(axis=1), kind="stable")] = np.arange(len(X)) % FOLDS
    for f in range(min(FOLDS, len(X))):
        out = fold == f
        fitted, held_out = _part(problem.train, ~out), _part(problem.train, out)
        theta = evidence(
            replace(problem, train=fitted), model.theta, max_iterations=FOLD_ITERATIONS
        ).theta
        without = replace(model, theta=theta)
        yield _samples(without, fitted), _samples(without, held_out)


def _part(data: Dataset, chosen: Mask) -> Dataset:
    arrays = (getattr(data, field.name) for field in fields(data))
    return Dataset(*(values if values is None else values[chosen] for values in arrays))  # type: ignore[arg-type]


def _fit(A: Array, Y: Array, w: Array, ridge: float) -> _Fit:
    """Multinomial logistic regression, in coordinates in which the ridge is fair."""
    n, q, share = A.shape[1] - 1, Y.shape[1], w / w.sum()
    mean = share @ A[:, :n]
    centred = A[:, :n] - mean
    kept = np.flatnonzero(independent_columns(centred))
    # sqrt(share) weighs rows, so that columns of Q have unit variance and no correlation
    R = np.linalg.qr(np.sqrt(share)[:, None] * centred[:, kept]).R
    Q = np.linalg.solve(R.T, centred[:, kept].T).T if len(kept) else np.empty((len(A), 0))
    Q = np.column_stack([Q, np.ones(len(A))])

    def objective(flat: Array) -> tuple[float, Array]:
        C = flat.reshape(-1, q)
        log_p = _log_softmax(Q @ C)
        held = C.copy()
        held[-1] *= 1e-3  # the shift is free, but for what makes the optimum unique and finite
        value = -share @ np.sum(Y * log_p, axis=1) + 0.5 * ridge * np.sum(held * C)
        return float(value), (Q.T @ (share[:, None] * (np.exp(log_p) - Y)) + ridge * held).ravel()

    start = np.zeros(Q.shape[1] * q)
    found = minimize(
        objective,
        start,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 500, "ftol": 1e-12, "gtol": 1e-8},
    )
    C = found.x.reshape(-1, q)
    weights = np.zeros((n + 1, q))
    if len(kept):
        weights[kept] = np.linalg.solve(R, C[:-1])
    weights[n] = C[-1] - mean @ weights[:n]
    return _Fit(weights)


def _log_softmax(z: Array) -> Array:
    z = z - z.max(axis=1, keepdims=True)
    return z - np.log(np.sum(np.exp(z), axis=1, keepdims=True))
