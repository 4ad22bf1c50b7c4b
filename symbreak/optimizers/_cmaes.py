"""CMA-ES (Hansen & Ostermeier), as its reference C code, with symmetry breaking (Algorithm 3)."""

from __future__ import annotations

import math
from contextlib import nullcontext
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from symbreak._support.blas import one_blas_thread
from symbreak._support.checks import (
    Array,
    check_finite,
    check_flag,
    check_magnitude,
    check_real,
    check_theta,
)
from symbreak.optimizers._base import Optimizer
from symbreak.optimizers._cmaes_kernels import (
    adapt,
    axes_and_root,
    strategy_constants,
    to_candidates,
)

#: Bounds of the step along the widest axis: beyond them a search is lost (paper-notes 9).
MIN_STEP, MAX_STEP = 1e-100, 1e10
#: Sigma drifts against C; outside 2^-40 to 2^40 a power of two moves from one to the other.
MAX_DRIFT = 40
#: Up to this size no BLAS divides a decomposition among threads, and none need be forbidden.
UNTHREADED = 32


class CMAES(Optimizer):
    """Covariance Matrix Adaptation Evolution Strategy; candidates are ``m + sigma N(0, C)``.

    After evaluation all candidates are broken towards the best one so far; then the
    distribution is updated, with a step size damped by the shift that this caused. With
    ``replace_mean`` (CMA-ES-SB) modified candidates enter the mean as the anchor. With
    ``own_partition`` the distribution is learnt from the candidates that needed no breaking, those
    in the anchor's partition, in generations where they hold enough of the weight.

    Args:
        dim: Number of parameters D.
        mean: Initial mean (D,), or one number for all; by default the centroid of the initial
            population, or zero.
        sigma: Initial step size.
        replace_mean: Apply Algorithm 3.
        own_partition: Leave modified candidates out of the mean where the others hold more than
            ``OWN_MEAN`` of the weight, and out of the covariance above ``OWN_COVARIANCE``.
        **settings: See ``Optimizer``.

    Attributes:
        mean: Mean m (D,) of the distribution.
        sigma: Step size.
        C: Covariance matrix (D, D).
    """

    default_population_size: ClassVar = 400
    counted: ClassVar = ("nonfinite", "repairs", "bounded")
    saved: ClassVar = {
        "replace_mean": bool,
        "own_partition": bool,
        "mean": "D",
        "sigma": float,
        "C": "D D",
        "_B": "D D",
        "_scales": "D",
        "_root": "D D",
        "_p_sigma": "D",
        "_p_c": "D",
        "_decomposed": int,
    }
    _less_memory = "use DE, whose memory grows with D alone, or a smaller network"

    def __init__(
        self,
        dim: int,
        *,
        mean: ArrayLike | None = None,
        sigma: float = 0.5,
        replace_mean: bool = False,
        own_partition: bool = False,
        **settings: Any,
    ) -> None:
        super().__init__(dim, **settings)
        dim = self.dim
        if mean is None:
            mean = np.zeros(dim) if self._asked is None else self._asked.mean(axis=0)
        if isinstance(mean, int | float):
            mean = np.full(dim, mean)
        self.mean = check_theta(mean, dim, "mean").copy()
        check_magnitude("mean", self.mean)
        self.sigma = check_real("sigma", sigma, MIN_STEP, 1 / MIN_STEP)
        self.replace_mean = check_flag("replace_mean", replace_mean)
        self.own_partition = check_flag("own_partition", own_partition)
        self.C = np.eye(dim)
        # C = B diag(scales^2) B', and the root is C^1/2
        self._B, self._scales, self._root = _sphere(dim)
        self._p_sigma, self._p_c = np.zeros(dim), np.zeros(dim)
        self._decomposed = 0  # generation of the last decomposition
        self._constants = strategy_constants(dim, self.population_size)

    @property
    def _n_numbers(self) -> int:
        return super()._n_numbers + 8 * self.dim**2  # C, its axes and root, room to find them

    def _check_state(self) -> None:
        check_finite("the state's mean", self.mean)

    @property
    def step_size(self) -> float:
        """Standard deviation of the candidates along the widest axis, ``sigma sqrt(|C|)``.

        Sigma alone says little: with large populations it drifts against C.
        """
        return self.sigma * float(self._scales[-1])  # they ascend

    @property
    def finalists(self) -> Array:
        return self.mean[None].copy()

    def _propose(self) -> Array:
        z = self._rng.standard_normal((self.population_size, self.dim))  # ~ N(0, I)
        to_candidates(z, self.mean, self.sigma, self._root)  # ~ N(m, sigma^2 C)
        return z

    def _update(self, candidates: Array, errors: Array) -> None:
        order = np.argsort(errors)  # 8 us; a stable sort takes 20, and ties are rare
        if errors[order[0]] == np.inf:
            self.modified = np.zeros(self.population_size, dtype=np.bool_)
            return  # nothing to learn; the next draw is another one
        anchor = self.mean if self.noisy else self.best.theta  # theta-hat: paper-notes 4
        assert anchor is not None  # since an error is finite
        broken, self.modified = self.breaking(candidates, anchor, self._rng)

        k = self._constants
        self.mean, self.sigma = adapt(
            *(candidates, broken, order, self.modified, anchor),
            *(self.replace_mean, self.own_partition, k, self.mean, self.sigma),
            *(self.C, self._B, self._scales, self._p_sigma, self._p_c, self.generation + 1),
        )
        if errors[order[0]] == errors[order[self.population_size // 2]]:  # flat (paper-notes 13)
            self.sigma *= math.exp(0.2 + k.c_sigma / k.d_sigma)
        if self.generation + 1 >= self._decomposed + 1 / (10 * self.dim * k.c_cov):
            self._decompose()
        self._bound_step()

    def _bound_step(self) -> None:
        """Keep the step in bounds and sigma near 1, without changing the distribution."""
        step = self.step_size
        bounded = min(max(step, MIN_STEP), MAX_STEP)
        if bounded != step:
            self.sigma *= bounded / step
            self.counters["bounded"] += 1
        power = math.frexp(self.sigma)[1]
        if abs(power) > MAX_DRIFT:
            factor = 2.0**power  # exact, so nothing is rounded
            self.sigma /= factor
            self.C = self.C * factor * factor
            self._p_c = self._p_c * factor
            self._scales = self._scales * factor
            self._root = self._root * factor

    def _decompose(self) -> None:
        """Eigenvectors, axis lengths and root of C, repaired if it is not positive definite."""
        self._decomposed = self.generation + 1
        with one_blas_thread() if self.dim > UNTHREADED else nullcontext():
            try:
                self._B, self._scales, self._root, raised = axes_and_root(self.C, self._p_sigma)
            except ValueError:  # not finite, or LAPACK gave up: begin again from a sphere
                self._p_sigma, self._p_c = np.zeros(self.dim), np.zeros(self.dim)
                self._B, self._scales, self._root, raised = *_sphere(self.dim), True
            if raised:
                self.C = (self._B * self._scales**2) @ self._B.T  # B diag(scales^2) B'
                self.counters["repairs"] += 1


def _sphere(dim: int) -> tuple[Array, Array, Array]:
    """Eigenvectors, axis lengths and root of the identity."""
    return np.eye(dim), np.ones(dim), np.eye(dim)
