"""What benchmarks minimise, where it is not the library's own.

The error of ``symbreak.LeastSquares`` as users of other packages would write it, for a whole
population at once, with NumPy, and with JAX for packages that run on it; and a slow function of a
network, which worker processes can import.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from _timing import Array

from symbreak import Problem
from symbreak.objectives._network import Network

Objective = Callable[[Array], Array]


class Counted:
    """An objective that counts its evaluations and remembers the best error."""

    def __init__(self, errors_of: Objective) -> None:
        self.errors_of = errors_of
        self.n_evaluations = 0
        self.best = np.inf

    def __call__(self, population: Array) -> Array:
        errors = self.errors_of(population)
        self.n_evaluations += len(errors)
        self.best = min(self.best, float(errors.min()))
        return errors


def batched_errors(problem: Problem, xp: Any) -> Callable[[Any], Any]:
    """The objective with arrays of ``xp``: ``numpy`` or ``jax.numpy``.

    The corner of R in ``[A | y] = QR`` holds the residual of the least-squares fit: one stacked
    factorisation without Q solves the output layers of all candidates.
    """
    topology = problem.topology
    X, y = xp.asarray(problem.train.X), xp.asarray(problem.train.y)
    n, radius = topology.hidden[-1], topology.dim**0.5

    def errors_of(population: Any) -> Any:
        norm = xp.linalg.norm(population, axis=1, keepdims=True)
        theta = xp.where(norm <= radius, population, population / norm)
        x, first = X, 0
        for rows, columns in topology.shapes:
            layer = theta[:, first : first + rows * columns].reshape(-1, rows, columns)
            x = xp.tanh(x @ layer[:, :, :-1].swapaxes(1, 2) + layer[:, None, :, -1])
            first += rows * columns
        columns_and_targets = xp.concatenate([x, xp.broadcast_to(y, (len(x), *y.shape))], axis=2)
        corner = xp.linalg.qr(columns_and_targets, mode="r")[:, n:, n:]
        return (corner**2).sum((1, 2)) / y.size + 50 * xp.maximum(norm[:, 0] - radius, 0)

    return errors_of


def busy(network: Network) -> float:
    """A Python fitness that computes for a millisecond."""
    end = time.thread_time() + 1e-3
    while time.thread_time() < end:
        pass
    return float(network.theta @ network.theta)
