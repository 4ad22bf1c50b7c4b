"""Levenberg-Marquardt steps, inside a ball where there is one.

Of few weights in compiled code. Of many by LAPACK: by ``J'J`` where there are more samples than
weights; else by the dual equations, which are as many as the samples: ``(E + J'J)^-1`` is
``E^-1 - E^-1 J' (1 + J E^-1 J')^-1 J E^-1``, E diagonal.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.blas import dsymv, dsyrk
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtri

from symbreak._kernels import _compiled, _dot
from symbreak._polish._kernels import _scale, _subtract
from symbreak._support.blas import one_blas_thread
from symbreak._support.checks import Array
from symbreak.network import ROUNDING

#: The damping S of a parameter is the geometric mean of its own entry of ``J'J`` (Marquardt) and
#: the largest (Levenberg). After short searches and 200 iterations the mean error (geometric) was,
#: by Levenberg's, Marquardt's and this: sinc2d .0052 .0040 .0045, autoenc-circle .00005 .00024
#: .00007, autoenc-spiral .0054 .0011 .0011, autoenc-sphere .00047 .00040 .00028 (2026-11).
#: Entries count as at least this share of the largest.
SMALLEST = 1e-12
#: Equations of more weights are solved by LAPACK. It is faster from 250 weights on;
#: smaller networks keep the bits of results that were published.
LARGE = 400
#: Columns of a Jacobian that are scaled at once.
COLUMNS = 4096

Solve = Callable[[Array], Array]


@_compiled
def is_stationary(
    theta: Array, diagonal: Array, g: Array, ridge: Array, radius: float, tolerance: float
) -> bool:
    """Whether the gradient is zero, but for what pushes against the sphere.

    Entry by entry against the length of a column of the Jacobian, on the diagonal of ``J'J``: with
    ``tolerance`` the sum of squares times a small cosine squared, it asks for right angles. ridge
    (D,) is that of each entry.
    """
    outwards, length = 0.0, _dot(theta, theta)
    for i in range(len(theta)):
        outwards -= theta[i] * (g[i] + ridge[i] * theta[i])
    multiplier = 0.0
    if length >= radius * radius * (1.0 - 1e-9) and outwards > 0.0:
        multiplier = outwards / length
    for i in range(len(theta)):
        slope = g[i] + (ridge[i] + multiplier) * theta[i]
        if slope * slope > tolerance * (diagonal[i] + ridge[i]):
            return False
    return True


@_compiled
def cholesky(M: Array, L: Array) -> bool:
    """``L L' = M`` from the lower triangle of M; False if M is not positive definite."""
    for j in range(len(M)):  # column by column: the entries of one do not wait for each other
        pivot = M[j, j] - _dot(L[j, :j], L[j, :j])
        if not pivot > ROUNDING * M[j, j]:
            return False
        L[j, j] = math.sqrt(pivot)
        for i in range(j + 1, len(M)):
            L[i, j] = (M[i, j] - _dot(L[i, :j], L[j, :j])) / L[j, j]
    return True


@_compiled
def _solve(L: Array, b: Array) -> None:
    """Solve ``L L' x = b`` in place."""
    D = len(b)
    for i in range(D):
        b[i] = (b[i] - _dot(L[i, :i], b[:i])) / L[i, i]
    for i in range(D - 1, -1, -1):
        b[i] /= L[i, i]
        _subtract(b[:i], b[i], L[i, :i])


@_compiled
def damped_step(
    theta: Array,
    G: Array,
    g: Array,
    ridge: Array,
    damping: float,
    radius: float,
    out: Array,
    scratch: Array,
) -> float:
    """Write the minimum of the damped model within the ball into ``out``; scratch is (2, D, D).

    The model is ``g'd + d'(G + damping S) d / 2`` plus half of the ridge's sum of ``ridge_i (theta
    + d)_i^2``. Where its minimum lies outside, a multiplier ``m`` of ``|theta + d|^2`` brings it to
    the sphere: Newton's iteration on ``1 / |theta + d|`` (More and Sorensen). Returns by how much
    the undamped model falls; negative if the equations could not be solved.
    """
    D, multiplier, largest = len(theta), 0.0, 0.0
    v, M, L = np.empty(D), scratch[0], scratch[1]
    for i in range(D):
        largest = max(largest, G[i, i] + ridge[i])
    for _ in range(20):
        for i in range(D):
            for j in range(i):
                M[i, j] = G[i, j]
            S = math.sqrt(largest * max(G[i, i] + ridge[i], SMALLEST * largest))
            M[i, i] = G[i, i] + damping * S + (ridge[i] + multiplier)
            out[i] = -(g[i] + (ridge[i] + multiplier) * theta[i])
        if not cholesky(M, L):
            return -1.0
        _solve(L, out)
        for i in range(D):
            v[i] = theta[i] + out[i]
        length = math.sqrt(_dot(v, v))
        if not length > radius * (1.0 + 1e-6):
            break
        for i in range(D):
            out[i] = v[i]
        _solve(L, out)
        multiplier += (length / radius - 1.0) * length * length / _dot(v, out)
    if length > radius * (1.0 - 1e-12):  # as seen by any way to compute the norm
        _scale(v, radius * (1.0 - 1e-12) / length)
    fall = 0.0
    for i in range(D):
        d = v[i] - theta[i]
        product = 0.5 * (G[i, i] + ridge[i]) * d
        for j in range(i):
            product += G[i, j] * (v[j] - theta[j])
        fall -= d * (product + g[i] + ridge[i] * theta[i])
        out[i] = v[i]
    return fall


@_compiled
def symmetric_product(A: Array, v: Array, out: Array) -> None:
    """Write ``A v`` into ``out``, from the lower triangle of A."""
    for i in range(len(v)):
        out[i] = _dot(A[i, : i + 1], v[: i + 1])
        _subtract(out[:i], -v[i], A[i, :i])


@_compiled
def quadratic_form(A: Array, v: Array) -> float:
    """``v' A v``, from the lower triangle of A."""
    product = np.empty(len(v))
    symmetric_product(A, v, product)
    return float(_dot(v, product))


@_compiled
def learn_curvature(S: Array, step: Array, change: Array, G: Array) -> None:
    """Let ``G + S`` explain the change of the gradient in a step (Dennis, Gay and Welsch).

    Of all matrices that do, the nearest to S, which is made smaller before if it is too large for
    what G leaves unexplained. Nothing is learnt from a step along which the slope falls.
    """
    D, along = len(step), _dot(step, change)
    if not along > ROUNDING * math.sqrt(_dot(step, step) * _dot(change, change)):
        return
    rest, known = np.empty(D), np.empty(D)
    symmetric_product(G, step, rest)
    symmetric_product(S, step, known)
    for i in range(D):
        rest[i] = change[i] - rest[i]
    wanted, held = abs(_dot(step, rest)), abs(_dot(step, known))
    size = wanted / held if wanted < held else 1.0
    for i in range(D):
        rest[i] -= size * known[i]
    share = _dot(rest, step) / along
    for i in range(D):
        for j in range(i + 1):
            pair = rest[i] * change[j] + change[i] * rest[j] - share * change[i] * change[j]
            S[i, j] = size * S[i, j] + pair / along


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
def large_step(
    theta: Array, here: Dense | Dual, g: Array, ridge: Array, damping: float, radius: float
) -> tuple[Array, float]:
    """``damped_step``, which says what it is, of many weights."""
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
