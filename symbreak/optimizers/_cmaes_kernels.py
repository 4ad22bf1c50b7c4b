"""Compiled steps of CMA-ES: draw candidates, learn from them, decompose the covariance."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from symbreak._support.checks import Array, IntArray, Mask
from symbreak._support.compile import compiled

_compiled = compiled(error_model="numpy")

#: Eigenvalues of C stay above this part of the largest.
MIN_EIGENVALUE = 1e-14
_SMALLEST = float(np.finfo(float).tiny)
#: Weight of the candidates in the anchor's partition that is enough to learn from them alone.
OWN_MEAN, OWN_COVARIANCE = 0.5, 0.1
#: Candidates that are drawn together, so that inner loops are long and data stay in the cache.
ROWS = 64


class Constants(NamedTuple):
    """Strategy parameters of the C code (paper-notes 13)."""

    w: Array  # weights of the best mu candidates
    mu_eff: float
    c_sigma: float
    d_sigma: float
    c_c: float
    mu_cov: float
    c_cov: float
    chi_n: float  # E ||N(0, I)||


def strategy_constants(N: int, lam: int) -> Constants:
    """The C code's constants for dimension N and lambda candidates (paper-notes 13)."""
    mu = lam // 2
    w = np.log(mu + 1) - np.log(np.arange(1, mu + 1))  # w_i ~ ln(mu + 1) - ln i
    w /= w.sum()
    mu_eff = mu_cov = 1 / float(np.sum(w**2))
    c_sigma = (mu_eff + 2) / (N + mu_eff + 3)
    d_sigma = 1 + 2 * max(0.0, math.sqrt((mu_eff - 1) / (N + 1)) - 1) + c_sigma
    rank_one = 2 / (N + 1.4142) ** 2
    rank_mu = min(1.0, (2 * mu_eff - 1) / ((N + 2) ** 2 + mu_eff))
    c_cov = rank_one / mu_cov + (1 - 1 / mu_cov) * rank_mu
    chi_n = math.sqrt(N) * (1 - 1 / (4 * N) + 1 / (21 * N**2))  # E ||N(0, I)||, nearly
    return Constants(w, mu_eff, c_sigma, d_sigma, 4 / (N + 4), mu_cov, c_cov, chi_n)


@_compiled
def damped_step_size(sigma: float, log_step: float, shift: Array) -> float:
    """Step-size update, damped by the shift that symmetry breaking caused (Eq. 46).

    With ``shift = 0`` this is the ordinary update ``sigma exp(chi)`` (Eq. 45).
    """
    D = len(shift)
    total = 0.0
    for d in range(D):
        total += shift[d] * shift[d]
    damping = math.exp(-0.05 * D**2 * math.sqrt(total))  # Eq. 46: exp(-0.05 D^2 ||s||)
    exponent = log_step * damping if damping > 0 else 0.0  # inf * 0
    return sigma * math.exp(min(exponent, 100.0))  # Eq. 46; exp(710) would overflow


@_compiled
def axes_and_root(C: Array, p_sigma: Array) -> tuple[Array, Array, Array, bool]:
    """Eigenvectors B and axis lengths of C, its symmetric root, and whether C needs repair.

    Eigenvalues below their floor are raised to it.

    Raises:
        ValueError: if C or the path is not finite, or LAPACK does not converge.
    """
    if not math.isfinite(p_sigma.sum()):
        raise ValueError
    eigenvalues, B = np.linalg.eigh(C)  # C = B diag B'; ascending; raises ValueError here
    floor = MIN_EIGENVALUE * max(eigenvalues[-1], _SMALLEST)
    scales = np.sqrt(np.maximum(eigenvalues, floor))
    return np.ascontiguousarray(B), scales, _symmetric_root(B, scales), eigenvalues[0] < floor


@_compiled
def _symmetric_root(B: Array, scales: Array) -> Array:
    """``B diag(scales) B'``: unique, where B is not.

    Eigenvectors may have either sign, and be rotated where eigenvalues are equal: that depends on
    the LAPACK at hand.
    """
    D = len(scales)
    root, rows = np.zeros((D, D)), np.ascontiguousarray(B.T)  # eigenvectors in a row each
    for k in range(D):
        for i in range(D):
            a = rows[k, i] * scales[k]
            for j in range(D):
                root[i, j] += a * rows[k, j]
    return root


@_compiled
def to_candidates(z: Array, mean: Array, sigma: float, root: Array) -> None:
    """``m + sigma C^1/2 z`` for every row of z, in place; the root is symmetric."""
    N, D = z.shape
    columns, x = np.empty((D, ROWS)), np.empty(ROWS)
    for first in range(0, N, ROWS):
        n = min(ROWS, N - first)
        for i in range(n):
            for d in range(D):
                columns[d, i] = z[first + i, d]
        for d in range(D):
            x[:] = 0.0  # to be C^1/2 z, ~ N(0, C)
            k = 0
            while k + 4 <= D:  # four columns a pass: a quarter of the traffic on x
                a0, a1, a2, a3 = root[d, k], root[d, k + 1], root[d, k + 2], root[d, k + 3]
                c0, c1, c2, c3 = columns[k], columns[k + 1], columns[k + 2], columns[k + 3]
                for i in range(n):
                    x[i] = x[i] + a0 * c0[i] + a1 * c1[i] + a2 * c2[i] + a3 * c3[i]
                k += 4
            while k < D:
                a, c = root[d, k], columns[k]
                for i in range(n):
                    x[i] = x[i] + a * c[i]
                k += 1
            for i in range(n):
                z[first + i, d] = mean[d] + sigma * x[i]  # ~ N(m, sigma^2 C)


@_compiled
def adapt(
    candidates: Array,
    broken: Array,
    order: IntArray,
    modified: Mask,
    anchor: Array,
    replace_mean: bool,
    own_partition: bool,
    k: Constants,
    mean: Array,
    sigma: float,
    C: Array,
    B: Array,
    scales: Array,
    p_sigma: Array,
    p_c: Array,
    g: int,
) -> tuple[Array, float]:
    """Learn from generation ``g``: the new mean and step size; C and both paths in place.

    ``order`` ranks candidates, of which the best mu count (paper-notes 7 and 8). One compiled
    function, since eight calls of small ones cost as much as what they compute.
    """
    w_mean, w_cov = k.w, k.w
    if own_partition:
        own, w_own = _own_weights(order, modified, k.w)
        if own > OWN_MEAN:
            w_mean = w_own
        if own > OWN_COVARIANCE:
            w_cov = w_own
    mu, D = len(k.w), len(mean)
    new_mean, shift, steps = np.zeros(D), np.zeros(D), np.empty((mu, D))
    per_sigma = 1 / sigma  # a division for each number would take a third of the time
    for j in range(mu):
        i = order[j]
        x, step = broken[i], steps[j]  # steps are those of the broken ones
        parent = anchor if replace_mean and modified[i] else x  # Algorithm 3
        for d in range(D):
            new_mean[d] += w_mean[j] * parent[d]  # m <- sum w_i x_i
            step[d] = (x[d] - mean[d]) * per_sigma
        if modified[i]:
            for d in range(D):
                shift[d] += x[d] - candidates[i, d]
    shift /= mu  # s of Eq. 46: of their plain centroid, by breaking
    y = (new_mean - mean) / sigma  # ~ N(0, C) / sqrt(mu_eff) under random selection
    length = _update_sigma_path(p_sigma, y, B, scales, k)
    settled = math.sqrt(1 - (1 - k.c_sigma) ** (2 * g))
    h = length / settled < 1.4 + 2 / (len(mean) + 1)  # not while the step size still grows fast
    intake = math.sqrt(k.c_c * (2 - k.c_c) * k.mu_eff) if h else 0.0
    for d in range(len(p_c)):  # p_c <- (1 - c_c) p_c + h sqrt(c_c (2 - c_c) mu_eff) y
        p_c[d] = (1 - k.c_c) * p_c[d] + intake * y[d]
    _update_covariance(C, p_c, steps, w_cov, h, k)
    # chi of Eq. 45 is (c_sigma / d_sigma) (||p_sigma|| / E ||N(0, I)|| - 1)
    return new_mean, damped_step_size(sigma, k.c_sigma / k.d_sigma * (length - 1), shift)


@_compiled
def _own_weights(order: IntArray, modified: Mask, w: Array) -> tuple[float, Array]:
    """What the unmodified of the best mu candidates weigh, and weights of them alone."""
    own, w_own = 0.0, np.zeros(len(w))
    for j in range(len(w)):
        if not modified[order[j]]:
            own += w[j]
            w_own[j] = w[j]
    return own, w_own / own if own > 0 else w_own


@_compiled
def _update_sigma_path(p_sigma: Array, y: Array, B: Array, scales: Array, k: Constants) -> float:
    """Evolution path of the step size from the step ``y`` of the mean; its length in ``chi_n``.

    ``p_sigma <- (1 - c_sigma) p_sigma + sqrt(c_sigma (2 - c_sigma) mu_eff) C^-1/2 y``, in place.
    """
    D = len(y)
    factor = math.sqrt(k.c_sigma * (2 - k.c_sigma) * k.mu_eff)
    for d in range(D):
        p_sigma[d] *= 1 - k.c_sigma
    for e in range(D):  # C^-1/2 = B diag(1 / scales) B'
        along = 0.0
        for d in range(D):
            along += B[d, e] * y[d]
        for d in range(D):
            p_sigma[d] += factor * B[d, e] * along / scales[e]
    total = 0.0
    for d in range(D):
        total += p_sigma[d] * p_sigma[d]
    return math.sqrt(total) / k.chi_n  # ||p_sigma|| / E ||N(0, I)||


@_compiled
def _update_covariance(C: Array, p_c: Array, y: Array, w: Array, h: bool, k: Constants) -> None:
    """Rank-one update by the path and rank-mu update by the steps y (mu, D), in place."""
    mu, D = y.shape
    rank_one, rank_mu = k.c_cov / k.mu_cov, k.c_cov * (1 - 1 / k.mu_cov)
    keep = 1 - k.c_cov + (0.0 if h else rank_one * k.c_c * (2 - k.c_c))
    for i in range(D):
        for j in range(D):
            C[i, j] = keep * C[i, j] + rank_one * p_c[i] * p_c[j]  # p_c p_c'
    m = 0  # and then sum w_i y_i y_i'
    while m + 4 <= mu:  # four steps a pass: a quarter of the traffic on C
        y0, y1, y2, y3 = y[m], y[m + 1], y[m + 2], y[m + 3]
        w0, w1, w2, w3 = w[m], w[m + 1], w[m + 2], w[m + 3]
        for i in range(D):
            a0, a1 = rank_mu * w0 * y0[i], rank_mu * w1 * y1[i]
            a2, a3 = rank_mu * w2 * y2[i], rank_mu * w3 * y3[i]
            row = C[i]
            for j in range(D):
                row[j] = row[j] + a0 * y0[j] + a1 * y1[j] + a2 * y2[j] + a3 * y3[j]
        m += 4
    while m < mu:
        for i in range(D):
            a = rank_mu * w[m] * y[m, i]
            for j in range(D):
                C[i, j] += a * y[m, j]
        m += 1
