"""Slow, obvious twins of the network and its error, written from the paper alone.

Every function follows one equation or algorithm of Urfalioglu and Arikan, "Symmetry Breaking in
Neuroevolution", in nested loops that can be checked against the printed page. Nothing here is
taken from the library: tests compare the two. "paper-notes N" names the note that says how the
paper is read where it is silent or wrong. Twins of symmetries, optimizers and the polish are in
``reference_symmetry.py``, ``reference_de.py``, ``reference_cmaes.py`` and ``reference_polish.py``.

Conventions: ``sizes = (N_1, ..., N_L)``; ``theta`` is one-dimensional and holds the hidden layers
in order, each as its neurons' rows ``(w_n, tau_n)`` with the shift last (Eqs. 1, 5, 10). Hidden
layers count from 0, so ``layer`` is the paper's ``l - 2``; neurons count from 0 as well.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import mpmath
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Sizes = Sequence[int]


def dimension(sizes: Sizes) -> int:
    """Count the parameters D of theta: a row (w_n, tau_n) per hidden neuron (Eqs. 1, 5, 10)."""
    return sum(sizes[h + 1] * (sizes[h] + 1) for h in range(len(sizes) - 2))


def neuron_indices(sizes: Sizes, layer: int, neuron: int) -> list[int]:
    """List where (w_1, ..., w_N, tau) of one hidden neuron stand in theta (Eqs. 1, 5, 10)."""
    start = 0
    for earlier in range(layer):
        start += sizes[earlier + 1] * (sizes[earlier] + 1)
    width = sizes[layer] + 1
    return [start + neuron * width + i for i in range(width)]


ACTIVATIONS = {
    "tanh": math.tanh,
    "sin": math.sin,
    "softsign": lambda z: z / (1 + abs(z)),
    "logistic": lambda z: 1 / (1 + math.exp(-z)),
    "relu": lambda z: max(z, 0.0),
}


def hidden_outputs(theta: Array, sizes: Sizes, X: Array, activation: str = "tanh") -> Array:
    """Compute the outputs of the last hidden layer, one neuron at a time (Eq. 2)."""
    parameters = [float(value) for value in np.asarray(theta)]
    rows = []
    for sample in np.asarray(X):
        x = [float(value) for value in sample]
        for layer in range(len(sizes) - 2):
            outputs = []
            for neuron in range(sizes[layer + 1]):
                *weights, shift = neuron_indices(sizes, layer, neuron)
                total = parameters[shift]
                for i, index in enumerate(weights):
                    total += parameters[index] * x[i]
                outputs.append(ACTIVATIONS[activation](total))
            x = outputs
        rows.append(x)
    return np.array(rows, dtype=float).reshape(len(rows), sizes[-2])


def feasible(theta: Array, rescale: str) -> tuple[Array, float]:
    """Pull a vector back into the ball of radius sqrt(D), for a penalty (Sec. 6, paper-notes 1).

    To length 1 for "unit", as the paper prints; to sqrt(D) for "radius", which is continuous.
    """
    theta = np.array(theta, dtype=float)
    radius = math.sqrt(theta.size)
    length = math.hypot(*theta)
    if rescale == "none" or not length > radius:
        return theta, 0.0
    target = 1.0 if rescale == "unit" else radius
    return theta / length * target, 50.0 * (length - radius)


def error(
    theta: Array,
    sizes: Sizes,
    X: Array,
    Y: Array,
    *,
    task: str = "regression",
    output_error: str = "linear",
    output_shift: bool = False,
    rescale: str = "unit",
    activation: str = "tanh",
    weights: Array | None = None,
    alpha: float = 0.0,
) -> float:
    """Compute the mean squared error with least-squares output weights, and the penalty (Eq. 47).

    The output layer is Eq. 3 for regression. For classification (Eqs. 4 and 9) the weights are
    fitted to the 0/1 targets times 20. Follows paper-notes 1, 14 and 15.
    """
    evaluated, penalty = feasible(theta, rescale)
    A = hidden_outputs(evaluated, sizes, X, activation)
    Y = np.asarray(Y, dtype=float)
    if output_shift:
        A = np.column_stack([A, np.ones(len(A))])
    scale = 20.0 if task == "classification" else 1.0
    if weights is None and alpha == 0:
        fit, cost = least_squares_fit(A, scale * Y), 0.0
    else:
        V = ridge_weights(A, scale * Y, weights, alpha, output_shift)
        fit, cost = A @ V, ridge_cost(evaluated, sizes, V / scale, alpha, output_shift)
    predicted = np.tanh(fit) if output_error == "tanh" else fit / scale
    total = weighted_squares(Y - predicted, weights) + cost
    total_weight = len(Y) if weights is None else float(sum(weights))
    return total / (total_weight * Y.shape[1]) + penalty


def ridge_weights(
    A: Array, targets: Array, weights: Array | None, alpha: float, output_shift: bool
) -> Array:
    """Solve the normal equations of weighted least squares with a ridge, but for a shift's."""
    n = A.shape[1]
    M, b = np.zeros((n, n)), np.zeros((n, targets.shape[1]))
    for k in range(len(A)):
        w = 1.0 if weights is None else float(weights[k])
        for i in range(n):
            b[i] += w * A[k, i] * targets[k]
            for j in range(n):
                M[i, j] += w * A[k, i] * A[k, j]
    for i in range(n - 1 if output_shift else n):
        M[i, i] += alpha
    solution: Array = np.linalg.solve(M, b)
    return solution


def ridge_shares(sizes: Sizes) -> list[float]:
    """List what each entry of theta bears of the ridge: a weight all, a neuron's shift a tenth."""
    shares = []
    for n_inputs, n_neurons in itertools.pairwise(sizes[:-1]):
        for _ in range(n_neurons):
            shares += [1.0] * n_inputs + [0.1]
    return shares


def ridge_cost(theta: Array, sizes: Sizes, V: Array, alpha: float, output_shift: bool) -> float:
    """Add the squares of all parameters but the output shift's by their shares, times alpha."""
    total = 0.0
    for value, share in zip(theta, ridge_shares(sizes), strict=True):
        total += share * float(value) ** 2
    for i in range(len(V) - 1 if output_shift else len(V)):
        for value in V[i]:
            total += float(value) ** 2
    return alpha * total


def weighted_squares(residuals: Array, weights: Array | None) -> float:
    """Sum the squares of a (K, q) array, each times its sample's weight."""
    total = 0.0
    for k in range(len(residuals)):
        for residual in residuals[k]:
            total += (1.0 if weights is None else float(weights[k])) * float(residual) ** 2
    return total


def least_squares_fit(A: Array, targets: Array) -> Array:
    """Fit the targets linearly on the columns of A and return the fitted values (Eqs. 3 and 8)."""
    weights = np.linalg.lstsq(A, targets, rcond=None)[0]
    fit: Array = A @ weights
    return fit


def exact_residual(A: Array, Y: Array, digits: int = 60) -> float:
    """Compute the mean squared residual of a least-squares fit in many digits (Eqs. 3 and 47).

    Orthogonalises the columns one after the other (Gram-Schmidt) and takes what is left of each
    target. A column of which at most 10^-(digits/2) of its norm remains is dropped: it is
    zero, or depends on the columns before it.
    """
    A, Y = np.asarray(A, dtype=float), np.asarray(Y, dtype=float)
    K, q = Y.shape
    with mpmath.workdps(digits):
        smallest = mpmath.mpf(10) ** (-mpmath.mpf(digits) / 2)
        basis: list[list[mpmath.mpf]] = []
        for j in range(A.shape[1]):
            column = [mpmath.mpf(float(value)) for value in A[:, j]]
            rest = remove_projections(column, basis)
            norm = mpmath.sqrt(mpmath.fdot(rest, rest))
            if norm > smallest * mpmath.sqrt(mpmath.fdot(column, column)):
                basis.append([value / norm for value in rest])
        total = mpmath.mpf(0)
        for n in range(q):
            target = [mpmath.mpf(float(value)) for value in Y[:, n]]
            rest = remove_projections(target, basis)
            total += mpmath.fdot(rest, rest)
        return float(total / (K * q))


def exact_ridge(
    A: Array, Y: Array, weights: Array, alpha: float, output_shift: bool, digits: int = 60
) -> float:
    """Compute the least of sum w r^2 + alpha ||V||^2 over V in many digits, over sum w and q.

    By the normal equations, which many digits make as good as any; a last column of A that carries
    the output shift has no ridge.
    """
    A, Y = np.asarray(A, dtype=float), np.asarray(Y, dtype=float)
    with mpmath.workdps(digits):
        M, T, W = mpmath.matrix(A.tolist()), mpmath.matrix(Y.tolist()), mpmath.diag(weights)
        R = mpmath.diag([alpha] * A.shape[1])
        if output_shift:
            R[A.shape[1] - 1, A.shape[1] - 1] = 0
        total = mpmath.mpf(0)
        for n in range(Y.shape[1]):
            target = T[:, n]
            V = mpmath.lu_solve(M.T * W * M + R, M.T * W * target)
            rest = target - M * V
            total += (rest.T * W * rest)[0] + (V.T * R * V)[0]
        return float(total / (mpmath.fsum(weights) * Y.shape[1]))


def remove_projections(vector: list[mpmath.mpf], basis: list[list[mpmath.mpf]]) -> list[mpmath.mpf]:
    """Subtract from a vector its projection on each of some orthonormal vectors, in turn."""
    for direction in basis:
        length = mpmath.fdot(vector, direction)
        vector = [v - length * d for v, d in zip(vector, direction, strict=True)]
    return vector
