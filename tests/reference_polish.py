"""Slow, obvious twins of polishing: dense matrices, QR, one formula a line.

``P`` projects off the columns of the hidden outputs ``A`` (with ``sqrt(alpha) I`` under them for a
ridge); the residual is ``r = P y``, Kaufman's Jacobian ``J = -P (dA) W``.
"""

from __future__ import annotations

import mpmath
import numpy as np

from symbreak import network
from tests.reference import ridge_shares


def derivatives(theta, topology, X, W):
    """Derivatives of ``A W`` by theta with W fixed, (K, q, D), by back-propagation."""
    layers, outputs, slopes = topology.layers(theta), [X], []
    for layer in layers:
        z = outputs[-1] @ layer[:, :-1].T + layer[:, -1]
        outputs.append(topology.activation.f(z))
        slopes.append(topology.activation.df(z, outputs[-1]))
    parts = []
    delta = slopes[-1][:, None, :] * W.T  # (K, q, n)
    for h in range(len(layers) - 1, -1, -1):
        source = np.column_stack([outputs[h], np.ones(len(X))])
        part = delta[..., None] * source[:, None, None, :]
        parts.insert(0, part.reshape(len(X), len(W.T), -1))
        if h:
            delta = (delta @ layers[h][:, :-1]) * slopes[h - 1][:, None, :]
    return np.concatenate(parts, axis=2)


def fit(theta, topology, X, Y, *, shift=False, alpha=0.0, weights=None):
    """Augmented and weighted hidden outputs and targets, kept columns, output weights."""
    root = np.sqrt(np.ones(len(X)) if weights is None else weights)[:, None]
    A = network.hidden_outputs(theta, topology, X, shift=shift)
    ridge = np.sqrt(alpha) * np.eye(A.shape[1])[: topology.hidden[-1]]
    A, Y = np.vstack([root * A, ridge]), np.vstack([root * Y, np.zeros((len(ridge), Y.shape[1]))])
    kept = network.independent_columns(A)
    W = np.zeros((A.shape[1], Y.shape[1]))
    W[kept] = np.linalg.lstsq(A[:, kept], Y, rcond=None)[0]
    return A, Y, kept, W, root


def objective(theta, topology, X, Y, *, alpha=0.0, **options):
    """The sum of squares that polishing minimises."""
    A, Y, _, W, _ = fit(theta, topology, X, Y, alpha=alpha, **options)
    return np.sum((Y - A @ W) ** 2) + alpha * (ridge_shares(topology.sizes) @ theta**2)


def kaufman(theta, topology, X, Y, **options):
    """Kaufman's Jacobian (K + n, q, D) and the residual (K + n, q)."""
    A, Y, kept, W, root = fit(theta, topology, X, Y, **options)
    n_last = topology.hidden[-1]
    B = root[:, :, None] * derivatives(theta, topology, X, W[:n_last])
    B = np.concatenate([B, np.zeros((len(A) - len(B), *B.shape[1:]))])
    Q = np.linalg.qr(A[:, kept])[0]
    flat = B.reshape(len(B), -1)
    J = flat - Q @ (Q.T @ flat)
    J -= Q @ (Q.T @ J)  # twice is enough
    return -J.reshape(B.shape), Y - A @ W


def normal_equations(theta, topology, X, Y, **options):
    """``J'J`` and ``J'r``."""
    J, r = kaufman(theta, topology, X, Y, **options)
    J = J.reshape(-1, len(theta))
    return J.T @ J, J.T @ r.ravel()


def iterate(theta, problem, damping):
    """One iteration without ball and ridge: a step, its error and what the model promised."""
    topology, X, Y = problem.topology, problem.train.X, problem.train.y
    G, g = normal_equations(theta, topology, X, Y, shift=problem.output_shift)
    largest = G.diagonal().max()
    S = np.sqrt(largest * np.maximum(G.diagonal(), 1e-12 * largest))
    step = -np.linalg.solve(G + damping * np.diag(S), g)
    promised = -(step @ G @ step + 2 * g @ step) / Y.size
    trial = theta + step
    A = network.hidden_outputs(trial, topology, X, shift=problem.output_shift)
    return trial, float(np.mean((Y - A @ network.fit_output_weights(A, Y)) ** 2)), promised


def exact_gradient(theta, sizes, X, Y, alpha, weights, digits=60):
    """Half the gradient of the objective of a net with one hidden tanh layer and output shift.

    In ``digits`` digits, by differences a third as long.
    """
    with mpmath.workdps(digits):
        h = mpmath.mpf(10) ** (-digits // 3)

        def value(parameters):
            return _exact_objective(parameters, sizes, X, Y, mpmath.mpf(alpha), weights)

        gradient = []
        for i in range(len(theta)):
            up, down = (
                value([mpmath.mpf(t) + s * h * (i == j) for j, t in enumerate(theta)])
                for s in (1, -1)
            )
            gradient.append(float((up - down) / (4 * h)))
        return np.array(gradient)


def _exact_objective(theta, sizes, X, Y, alpha, weights):
    d, n, q = sizes
    rows = [theta[i * (d + 1) : (i + 1) * (d + 1)] for i in range(n)]
    A = mpmath.matrix(len(X), n + 1)
    for k, sample in enumerate(X):
        for i, row in enumerate(rows):
            z = row[d] + sum(w * mpmath.mpf(float(x)) for w, x in zip(row, sample, strict=False))
            A[k, i] = mpmath.tanh(z)
        A[k, n] = mpmath.mpf(1)
    omega = mpmath.diag([mpmath.mpf(float(w)) for w in weights])
    ridge = mpmath.diag([alpha] * n + [mpmath.mpf(0)])
    total = alpha * sum(t**2 for t in theta)
    for o in range(q):
        y = mpmath.matrix([mpmath.mpf(float(v)) for v in Y[:, o]])
        w = mpmath.lu_solve(A.T * omega * A + ridge, A.T * omega * y)
        r = y - A * w
        total += (r.T * omega * r)[0] + (w.T * ridge * w)[0]
    return total
