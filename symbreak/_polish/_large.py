"""Steps and evidence of networks with many weights, by LAPACK.

By ``J'J`` where there are more samples than weights; else by the dual equations, which are as many
as the samples: ``(E + J'J)^-1`` is ``E^-1 - E^-1 J' (1 + J E^-1 J')^-1 J E^-1``, E diagonal.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.blas import dsymv, dsyrk
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtri

from symbreak._polish._step_kernels import SMALLEST
from symbreak._support.blas import one_blas_thread
from symbreak._support.checks import Array
from symbreak.network import ROUNDING

#: Columns of a Jacobian that are scaled at once.
COLUMNS = 4096

Solve = Callable[[Array], Array]


class Dense(NamedTuple):
    """``J'J``, or whatever else is known, in the lower triangle of G."""

    G: Array

    @property
    def diagonal(self) -> Array:
        """That of ``J'J``."""
        return self.G.diagonal()

    def half_square(self, d: Array) -> float:
        """``|J d|^2 / 2``."""
        return 0.5 * float(d @ dsymv(1.0, self.G.T, d))

    def solver(self, E: Array) -> Solve | None:
        """What solves for ``E + J'J`` with a diagonal E (D,); None if that is not positive."""
        C = self._triangle(E)
        return None if C is None else lambda b: dpotrs(C, b)[0]

    def inverse(self, alpha: float, shares: Array, responses: Array) -> tuple[float, float]:
        """Of the inverse A of ``alpha shares + J'J``: a trace, and its logarithmic determinant.

        The trace is that of A with shares, and of ``responses A responses'`` for responses (n, D).
        """
        rounding = len(shares) * ROUNDING * float(self.diagonal.max())
        C = self._triangle(alpha * shares + rounding)
        assert C is not None
        root = dtrtri(C)[0]  # of A; a third of the work of solving for the columns of 1
        trace = float(shares @ np.sum(root**2, axis=1)) + float(np.sum((responses @ root) ** 2))
        return trace, 2 * float(np.sum(np.log(C.diagonal())))

    def _triangle(self, E: Array) -> Array | None:
        M = self.G.copy()
        M.flat[:: len(M) + 1] += E
        diagonal = M.diagonal().copy()
        C, info = dpotrf(M.T, overwrite_a=1)
        sound = info == 0 and (C.diagonal() ** 2 > ROUNDING * diagonal).all()
        return C if sound else None


class Dual(NamedTuple):
    """The Jacobian itself, J (rows, D), of fewer rows than columns; it answers the same."""

    J: Array

    @property
    def diagonal(self) -> Array:
        return np.einsum("kp,kp->p", self.J, self.J)

    def half_square(self, d: Array) -> float:
        rows = self.J @ d
        return 0.5 * float(rows @ rows)

    def solver(self, E: Array) -> Solve | None:
        C = self._triangle(E) if (E > 0).all() else None
        if C is None:
            return None
        return lambda b: (b - dpotrs(C, self.J @ (b / E))[0] @ self.J) / E

    def inverse(self, alpha: float, shares: Array, responses: Array) -> tuple[float, float]:
        (m, D), E = self.J.shape, alpha * shares
        C = self._triangle(E)
        assert C is not None
        scaled = responses / E
        seen = solve_triangular(C, self.J @ scaled.T, trans=1)
        trace = (D - m + float(np.sum(dtrtri(C)[0] ** 2))) / alpha
        trace += float(np.sum(responses * scaled)) - float(np.sum(seen**2))
        return trace, float(np.sum(np.log(E))) + 2 * float(np.sum(np.log(C.diagonal())))

    def _triangle(self, E: Array) -> Array | None:
        K = np.asfortranarray(np.eye(len(self.J)))
        for first in range(0, len(E), COLUMNS):
            part = slice(first, first + COLUMNS)
            scaled = self.J[:, part] / np.sqrt(E[part])
            K = dsyrk(1.0, scaled.T, trans=1, beta=1.0, c=K, overwrite_c=1)
        C, info = dpotrf(K, overwrite_a=1)
        return C if info == 0 else None


@one_blas_thread()
def damped_step(
    theta: Array, here: Dense | Dual, g: Array, ridge: Array, damping: float, radius: float
) -> tuple[Array, float]:
    """``_step_kernels.damped_step``, which says what it is, of many weights."""
    diagonal, multiplier = here.diagonal + ridge, 0.0
    largest = float(diagonal.max())
    S = np.sqrt(largest * np.maximum(diagonal, SMALLEST * largest))
    for _ in range(20):
        pull = ridge + multiplier
        solve = here.solver(damping * S + pull)
        if solve is None:
            return theta, -1.0
        v = theta - solve(g + pull * theta)
        length = math.sqrt(v @ v)
        if not length > radius * (1 + 1e-6):
            break
        multiplier += (length / radius - 1) * length * length / float(v @ solve(v))
    if length > radius * (1 - 1e-12):
        v *= radius * (1 - 1e-12) / length
    d = v - theta
    return v, -here.half_square(d) - float(d @ (g + ridge * (theta + 0.5 * d)))
