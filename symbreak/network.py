"""The network in readable NumPy: forward pass and output least squares (Section 2).

What computes a winner's output weights and predictions; searches use ``_kernels.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from symbreak._support.checks import Array, Mask
from symbreak.topology import Topology

__all__ = ["outputs"]

#: Class targets are fitted at 20, since tanh(20) is 1 (Section 2).
CLASS_SCALE = 20.0
#: Rounding errors of hidden outputs, relative to their size.
ROUNDING = 2.0**-52
#: A column of hidden outputs must keep more than so many times its rounding errors.
MIN_OVER_ROUNDING = 1000.0
#: Derivatives that are held at a time.
BLOCK = 2**21
#: What the bias of a hidden neuron costs of the ridge that a weight costs. A neuron that bends far
#: from the mean of its inputs is no less plausible than one that bends there: with the whole ridge
#: R2 on the table cpus was 0.832, with a tenth 0.846, with a hundredth 0.845 (2026-11).
BIAS_SHARE = 0.1


def forward(theta: Array, topology: Topology, X: Array) -> tuple[list[Array], list[Array]]:
    """Outputs of all layers but the last, those of the inputs X first; and the weighted sums."""
    outputs, sums = [X], list[Array]()
    for layer in topology.layers(theta)[: len(topology.hidden)]:
        sums.append(_sums(outputs[-1], layer))
        outputs.append(topology.activation.f(sums[-1]))
    return outputs, sums


def with_ones(A: Array) -> Array:
    """A (K, n) with a last column of ones, which carries a bias."""
    wider = np.ones((len(A), A.shape[1] + 1))
    wider[:, :-1] = A
    return wider


def hidden_outputs(theta: Array, topology: Topology, X: Array, *, shift: bool = False) -> Array:
    """Outputs ``A`` (K, N_{L-1}) of the last hidden layer for X (K, N_1) (Eq. 2).

    With ``shift`` a last column of ones is added, which carries the output bias.
    """
    A = forward(theta, topology, X)[0][-1]
    return with_ones(A) if shift else A


def outputs(theta: Array, topology: Topology, X: Array) -> Array:
    """Outputs (..., K, N_L) of complete networks theta (..., D) for X (K, N_1)."""
    if topology.outputs != "searched":
        raise ValueError(
            f"theta of a {topology} network has no output weights; use a topology with "
            "outputs='searched'."
        )
    return _sums(hidden_outputs(theta, topology, X), topology.layers(theta)[-1])


def _sums(x: Array, layer: Array) -> Array:
    """What the neurons of a layer (..., N, M + 1), or (..., N, M) without biases, make of x."""
    n = x.shape[-1]
    sums: Array = x @ np.swapaxes(layer[..., :n], -1, -2)
    return sums + layer[..., None, :, n] if layer.shape[-1] > n else sums


def linearisations(
    theta: Array, topology: Topology, output_weights: Array, X: Array
) -> Iterator[tuple[slice, Array, Array]]:
    """Rows of X (K, N_1), part by part; outputs (k, q) of a network, and their derivatives.

    These are (k, q, P), by theta and then by the output weights, row by row.
    """
    V, q, layers = output_weights, topology.n_outputs, topology.layers(theta)
    n_rows = max(BLOCK // ((theta.size + V.size) * q), 1)
    for first in range(0, len(X), n_rows):
        part = slice(first, first + n_rows)
        outputs, sums = forward(theta, topology, X[part])
        slopes = list(map(topology.activation.df, sums, outputs[1:]))
        A, K = outputs[-1], len(outputs[-1])
        A = with_ones(A) if len(V) > topology.hidden[-1] else A
        parts = [np.einsum("kn,qr->kqnr", A, np.eye(q)).reshape(K, q, -1)]
        back = slopes[-1][:, None, :] * V[: topology.hidden[-1]].T
        for n in range(len(layers) - 1, -1, -1):
            inputs = with_ones(outputs[n])
            parts.append(np.einsum("kqn,km->kqnm", back, inputs).reshape(K, q, -1))
            if n:
                back = slopes[n - 1][:, None, :] * (back @ layers[n][:, :-1])
        yield part, A @ V, np.concatenate(parts[::-1], axis=2)


def complete(theta: Array, topology: Topology, output_weights: Array) -> Array:
    """``theta`` with the output weights (N or N + 1, q) behind it: a complete network.

    Its topology is that with ``outputs="searched"``; missing output biases are zero.
    """
    q, missing = topology.n_outputs, topology.hidden[-1] + 1 - len(output_weights)
    return np.append(theta, np.vstack([output_weights, np.zeros((missing, q))]).T)


def divided(theta: Array, topology: Topology) -> tuple[Array, Array]:
    """Of a complete network: ``theta`` of its hidden layers, and its output weights (N + 1, q).

    The inverse of ``complete``, as a ``Model`` has them; missing biases are zero.
    """
    layers = topology.layers(theta)
    if not topology.biases:
        layers = tuple(np.column_stack([layer, np.zeros(len(layer))]) for layer in layers)
    return np.concatenate([layer.ravel() for layer in layers[:-1]]), layers[-1].T.copy()


def independent_columns(A: Array) -> Mask:
    """Which columns of A tell more than the ones before them and their own rounding errors.

    Column by column, by Gram-Schmidt: a column is dependent if what is left of it is no more than
    ``MIN_OVER_ROUNDING`` times the rounding errors in it, which grow with every subtraction.
    Fitted to such columns, a search would look for lucky rounding errors (paper-notes).
    """
    rest, independent = A.copy(), np.zeros(A.shape[1], dtype=np.bool_)
    rounding = ROUNDING**2 * np.sum(A**2, axis=0)
    for j in range(A.shape[1]):
        s = rest[:, j] @ rest[:, j]
        if s <= MIN_OVER_ROUNDING**2 * rounding[j]:
            continue
        independent[j] = True
        d = rest[:, j] @ rest[:, j + 1 :] / s
        rounding[j + 1 :] += d**2 * (rounding[j] + ROUNDING**2 * s)
        rest[:, j + 1 :] -= np.outer(rest[:, j], d)
    return independent


def weighted_rows(
    A: Array, Y: Array, weights: Array | None, alpha: float, *, shift: bool
) -> tuple[Array, Array]:
    """A and Y whose plain least squares are those with sample weights (K,) and a ridge alpha.

    Rows are scaled by the roots of their weights. Below them stand ``sqrt(alpha)`` on a diagonal
    of A and zeros in Y, so that the residual there is ``-sqrt(alpha)`` times an output weight. The
    last column of A is left out of that if it carries the output ``shift``.
    """
    if weights is not None:
        root = np.sqrt(weights)[:, None]
        A, Y = root * A, root * Y
    if alpha > 0:
        n = A.shape[1] - int(shift)
        A = np.vstack([A, np.sqrt(alpha) * np.eye(n, A.shape[1])])
        Y = np.vstack([Y, np.zeros((n, Y.shape[1]))])
    return A, Y


def fit_output_weights(
    A: Array, Y: Array, weights: Array | None = None, alpha: float = 0.0, *, shift: bool = False
) -> Array:
    """Least-squares output weights (columns of A, q) of targets Y (K, q).

    Dependent columns get none. For ``weights``, ``alpha`` and ``shift`` see ``weighted_rows``.
    """
    A, Y = weighted_rows(A, Y, weights, alpha, shift=shift)
    kept = independent_columns(A)
    fitted = np.zeros((A.shape[1], Y.shape[1]))
    fitted[kept], _, rank, _ = np.linalg.lstsq(A[:, kept], Y, rcond=None)
    if rank < np.count_nonzero(kept):
        # lstsq compares columns with the longest one, and left out short ones that count here.
        Q, R = np.linalg.qr(A[:, kept])
        fitted[kept] = np.linalg.solve(R, Q.T @ Y)
    return fitted


def mean_square(residuals: Array, weights: Array | None = None) -> float:
    """Mean over K samples and q outputs of squared residuals (K, q), weighted (Eq. 47)."""
    if weights is None:
        return float(np.mean(residuals**2))
    return float(weights @ np.sum(residuals**2, axis=1) / (weights.sum() * residuals.shape[1]))


@lru_cache(maxsize=64)
def ridge_shares(topology: Topology) -> Array:
    """Share of the ridge (D,) that each entry of ``theta`` bears: 1, or a tenth for a bias.

    The bias of an output bears nothing.
    """
    shares = np.ones(topology.dim)
    for layer in topology.layers(shares):
        layer[:, -1] = BIAS_SHARE
    shares.flags.writeable = False
    return shares


def evaluation_cost(topology: Topology, n_samples: int) -> int:
    """About how many multiply-adds an evaluation takes; an activation counts as ten."""
    layers = sum(n * columns + 10 * n for n, columns in topology.shapes)
    projections = topology.hidden[-1] * (topology.hidden[-1] + 2 * topology.n_outputs)
    return n_samples * (layers + projections)


def alignment_cost(topology: Topology) -> int:
    """About how many multiply-adds an alignment by sweeps takes, as ``evaluation_cost`` counts.

    It grows with the cube of the width. A step of an assignment takes as long as 15 multiply-adds
    of a kernel, and deep networks two rounds (measured on 19 nets, right to a factor of 3).
    """
    rounds = 1 if len(topology.hidden) == 1 else 2
    return 15 * rounds * sum(len(block) ** 3 + len(block) * block.size for block in topology.blocks)
