"""The network in readable NumPy: forward pass and output least squares (Section 2).

The slow twin of ``_kernels.py``, and what computes a winner's output weights and predictions.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from symbreak._checks import Array, Mask
from symbreak.topology import Topology

Rescale = Literal["unit", "radius"]
OutputError = Literal["linear", "tanh"]

#: Class targets are fitted at 20, since tanh(20) is 1 (Section 2).
CLASS_SCALE = 20.0
#: Price of leaving the feasible ball, per unit of length (Section 6).
PENALTY = 50.0
#: Rounding errors of hidden outputs, relative to their size.
NOISE = 2.0**-52
#: A column of hidden outputs must keep more than so many times its rounding errors.
SIGNAL = 1000.0


def feasible(theta: Array, rescale: Rescale = "unit") -> tuple[Array, float]:
    """The vector at which ``theta`` is evaluated, and its penalty (paper-notes 1).

    Inside the ball of radius ``sqrt D`` that is ``theta`` itself and no penalty.
    """
    norm, radius = float(np.linalg.norm(theta)), float(np.sqrt(theta.size))
    if norm <= radius:
        return theta.copy(), 0.0
    length = 1.0 if rescale == "unit" else radius
    return length * (theta / norm), PENALTY * (norm - radius)


def hidden_outputs(theta: Array, topology: Topology, X: Array, *, shift: bool = False) -> Array:
    """Outputs ``A`` (K, N_{L-1}) of the last hidden layer for X (K, N_1) (Eq. 2).

    With ``shift`` a last column of ones is added, which carries the output shift.
    """
    x = X
    for layer in topology.layers(theta):
        x = topology.activation.f(x @ layer[:, :-1].T + layer[:, -1])
    return np.column_stack([x, np.ones(len(x))]) if shift else x


def independent_columns(A: Array) -> Mask:
    """Which columns of A tell more than the ones before them and their own rounding errors.

    Column by column, by Gram-Schmidt: a column is dependent if what is left of it is no more than
    ``SIGNAL`` times the rounding errors in it, which grow with every subtraction. Fitted to such
    columns, a search would look for lucky rounding errors (paper-notes).
    """
    rest, independent = A.copy(), np.zeros(A.shape[1], dtype=np.bool_)
    noise = NOISE**2 * np.sum(A**2, axis=0)
    for j in range(A.shape[1]):
        s = rest[:, j] @ rest[:, j]
        if s <= SIGNAL**2 * noise[j]:
            continue
        independent[j] = True
        d = rest[:, j] @ rest[:, j + 1 :] / s
        noise[j + 1 :] += d**2 * (noise[j] + NOISE**2 * s)
        rest[:, j + 1 :] -= np.outer(rest[:, j], d)
    return independent


def fit_output_weights(A: Array, Y: Array) -> Array:
    """Least-squares output weights (columns of A, q) of targets Y (K, q).

    Dependent columns get none.
    """
    kept = independent_columns(A)
    weights = np.zeros((A.shape[1], Y.shape[1]))
    weights[kept] = np.linalg.lstsq(A[:, kept], Y, rcond=None)[0]
    return weights


def fit_error(A: Array, Y: Array, output_error: OutputError) -> float:
    """Mean squared error of the best output layer on hidden outputs A (Eq. 47).

    ``"linear"`` is the residual of the linear fit. ``"tanh"``, for classes only, sends a fit to
    the rescaled targets through tanh and compares with the 0/1 targets (paper-notes 15).
    """
    if output_error == "linear":
        return float(np.mean((Y - A @ fit_output_weights(A, Y)) ** 2))
    fitted = A @ fit_output_weights(A, CLASS_SCALE * Y)
    return float(np.mean((Y - np.tanh(fitted)) ** 2))


def error(
    theta: Array,
    topology: Topology,
    X: Array,
    Y: Array,
    *,
    rescale: Rescale = "unit",
    output_error: OutputError = "linear",
    output_shift: bool = False,
) -> float:
    """What the search minimises: fit error plus penalty; infinite if not finite."""
    evaluated, penalty = feasible(theta, rescale)
    A = hidden_outputs(evaluated, topology, X, shift=output_shift)
    if not np.isfinite(A).all():
        return float("inf")
    total = fit_error(A, Y, output_error) + penalty
    return total if np.isfinite(total) else float("inf")
