"""Slow, obvious twins of CMA-ES; conventions of ``reference.py``."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.reference import Array

BreakOne = Callable[[Array, Array], tuple[Array, bool]]


@dataclass
class CMAESState:
    """The distribution N(mean, sigma^2 C) and its paths (paper-notes 11)."""

    mean: Array
    sigma: float
    C: Array
    p_sigma: Array
    p_c: Array
    generation: int


def cmaes_constants(dim: int, population_size: int) -> dict[str, Any]:
    """Compute the constants of the CMA-ES C code (Sec. 6 settings; paper-notes 13)."""
    N = dim
    mu = population_size // 2
    raw = [math.log(mu + 1) - math.log(i) for i in range(1, mu + 1)]
    weights = [w / sum(raw) for w in raw]
    mu_eff = 1.0 / sum(w**2 for w in weights)
    c_sigma = (mu_eff + 2.0) / (N + mu_eff + 3.0)
    d_sigma = 1.0 + 2.0 * max(0.0, math.sqrt((mu_eff - 1.0) / (N + 1.0)) - 1.0) + c_sigma
    mu_cov = mu_eff
    rank_one = 2.0 / (N + 1.4142) ** 2
    rank_mu = min(1.0, (2.0 * mu_eff - 1.0) / ((N + 2.0) ** 2 + mu_eff))
    return dict(
        mu=mu,
        weights=np.array(weights),
        mu_eff=mu_eff,
        c_sigma=c_sigma,
        d_sigma=d_sigma,
        c_c=4.0 / (N + 4.0),
        mu_cov=mu_cov,
        c_cov=(1.0 / mu_cov) * rank_one + (1.0 - 1.0 / mu_cov) * rank_mu,
        chi_n=math.sqrt(N) * (1.0 - 1.0 / (4.0 * N) + 1.0 / (21.0 * N**2)),
    )


def inverse_root(C: Array) -> Array:
    """Compute C^(-1/2) = B D^-1 B' from the eigenvectors B and eigenvalues D^2 of C."""
    eigenvalues, B = np.linalg.eigh(C)
    root: Array = B @ np.diag(1.0 / np.sqrt(eigenvalues)) @ B.T
    return root


def algorithm_3(
    ranked: Array, modified: Sequence[bool], anchor: Array, weights: Array, replace_mean: bool
) -> Array:
    """Compute the new mean of CMA-ES, m = sum w_j theta_j (Algorithm 3; paper-notes 7 and 8)."""
    mean = np.zeros(ranked.shape[1])
    for j, weight in enumerate(weights):
        chosen = anchor if replace_mean and modified[j] else ranked[j]
        mean = mean + weight * chosen
    return mean


def own_weights(weights: Array, modified: Sequence[bool]) -> tuple[float, Array]:
    """Weigh only candidates that breaking left alone: their share, and weights that sum to one."""
    kept = np.array([0.0 if m else w for w, m in zip(weights, modified, strict=False)])
    share = float(kept.sum())
    return share, kept / share if share > 0 else kept


def next_covariance(
    state: CMAESState, ranked: Array, p_c: Array, h: float, k: dict[str, Any], weights: Array
) -> Array:
    """Update C by the path (rank one) and the best candidates (rank mu; paper-notes 8 and 13)."""
    c_c, c_cov, mu_cov = k["c_c"], k["c_cov"], k["mu_cov"]
    rank_mu = np.zeros_like(state.C)
    for i, weight in enumerate(weights):
        step = (ranked[i] - state.mean) / state.sigma
        rank_mu = rank_mu + weight * np.outer(step, step)
    rank_one = np.outer(p_c, p_c) + (1.0 - h) * c_c * (2.0 - c_c) * state.C
    return (
        (1.0 - c_cov) * state.C
        + (c_cov / mu_cov) * rank_one
        + c_cov * (1.0 - 1.0 / mu_cov) * rank_mu
    )


def next_sigma(
    sigma: float,
    p_sigma: Array,
    shift: Array,
    sorted_errors: Array,
    k: dict[str, Any],
    damped: bool,
) -> float:
    """Update the step size, damped by the shift of breaking (Eqs. 45 and 46; paper-notes 9).

    If the best error equals the one at 0-based rank N_p // 2, sigma grows besides; the damping
    does not touch that (paper-notes 13).
    """
    D, population_size = len(p_sigma), len(sorted_errors)
    chi = (k["c_sigma"] / k["d_sigma"]) * (math.hypot(*p_sigma) / k["chi_n"] - 1.0)
    if damped:
        chi = chi * math.exp(-0.05 * D**2 * math.hypot(*shift))
    sigma = sigma * math.exp(chi)
    if sorted_errors[0] == sorted_errors[population_size // 2]:
        sigma = sigma * math.exp(0.2 + k["c_sigma"] / k["d_sigma"])
    return sigma


def cmaes_generation(
    state: CMAESState,
    candidates: Array,
    errors: Array,
    anchor: Array,
    break_one: BreakOne | None,
    replace_mean: bool = False,
    damped: bool = False,
    own_partition: bool = False,
) -> CMAESState:
    """Carry out one generation of CMA-ES with symmetry breaking (Algorithm 3, Eqs. 45 and 46).

    Follows paper-notes 4, 5, 7, 8, 9, 11 and 13, without any guard or repair.
    """
    candidates, anchor = np.asarray(candidates, dtype=float), np.asarray(anchor, dtype=float)
    errors = np.asarray(errors, dtype=float)
    population_size, N = candidates.shape
    k = cmaes_constants(N, population_size)
    mu, mu_eff, c_sigma, c_c = k["mu"], k["mu_eff"], k["c_sigma"], k["c_c"]

    broken, modified = candidates.copy(), [False] * population_size
    if break_one is not None:
        for j in range(population_size):
            broken[j], modified[j] = break_one(candidates[j].copy(), anchor)
    order = np.argsort(errors, kind="stable")
    ranked, ranked_modified = broken[order], [modified[j] for j in order]
    shift = ranked[:mu].mean(axis=0) - candidates[order][:mu].mean(axis=0)

    share, own = own_weights(k["weights"], ranked_modified)
    if own_partition and share > 0.5:
        mean = algorithm_3(ranked, ranked_modified, anchor, own, False)
    else:
        mean = algorithm_3(ranked, ranked_modified, anchor, k["weights"], replace_mean)
    y = (mean - state.mean) / state.sigma
    p_sigma = (1.0 - c_sigma) * state.p_sigma + math.sqrt(c_sigma * (2.0 - c_sigma) * mu_eff) * (
        inverse_root(state.C) @ y
    )
    g = state.generation + 1
    unbiased = math.hypot(*p_sigma) / math.sqrt(1.0 - (1.0 - c_sigma) ** (2 * g))
    h = 1.0 if unbiased / k["chi_n"] < 1.4 + 2.0 / (N + 1.0) else 0.0
    p_c = (1.0 - c_c) * state.p_c + h * math.sqrt(c_c * (2.0 - c_c) * mu_eff) * y
    weights = own if own_partition and share > 0.1 else k["weights"]
    C = next_covariance(state, ranked, p_c, h, k, weights)
    sigma = next_sigma(state.sigma, p_sigma, shift, errors[order], k, damped)
    return CMAESState(mean, sigma, C, p_sigma, p_c, g)
