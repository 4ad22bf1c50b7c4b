"""Compiled evaluation of a population; the same contract as the NumPy twin ``network.py``.

Samples are contiguous: row ``i`` of ``XT`` holds input ``i`` of every sample, and the rows of
the work array ``W`` are the columns of ``[A | Y]``, where ``A`` are the outputs of the last
hidden layer. Every inner loop then runs over samples and becomes a vector loop. Nothing here
validates: ``LeastSquares`` does, once. Arrays are copied in loops, since numba takes 3 s to compile
an assignment of one array to another.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import intrinsic, overload

from symbreak._activations import ACTIVATIONS
from symbreak._support.checks import Array, IntArray
from symbreak._support.compile import compiled
from symbreak.network import BIAS_SHARE, CLASS_SCALE, MIN_OVER_ROUNDING, ROUNDING

#: Samples that pass through all hidden layers together, so that they stay in the L1 cache.
SAMPLE_BLOCK = 512
#: Rows are padded with zeros to full cache lines.
PADDING = 16

# "contract" allows fused multiply-adds and nothing else: sign symmetry and accuracy survive it.
_compiled = compiled(fastmath={"contract"}, error_model="numpy")
# "reassoc" lets a sum over samples run in vector lanes; a test compares it with 60 digits.
_compiled_sum = compiled(fastmath={"contract", "reassoc"}, error_model="numpy")

RESCALES = {"unit": 0, "radius": 1, "none": 2}  # for compiled code
_RADIUS, _NONE = RESCALES["radius"], RESCALES["none"]
#: Price of leaving the feasible ball, per unit of length (Section 6).
PENALTY = 50.0
#: The activations that ``activate`` knows.
COMPILED = tuple(ACTIVATIONS.values())
_TANH, _SIN, _SOFTSIGN, _LOGISTIC, _RELU = (row.code for row in COMPILED)


class Objective(NamedTuple):
    """What is minimised, in numbers that compiled code understands."""

    n_samples: int  # K; what stands behind it in rows is padding, or the ridge
    total_weight: float  # of all samples; K where they have none
    activation: int  # code of the hidden neurons' function
    rescale: int  # code of what becomes of vectors outside the ball, from ``RESCALES``
    output_shift: bool  # whether the outputs have a shift
    output_tanh: bool  # whether the error is that of ``tanh`` of the fit
    weighted: bool  # whether samples have weights
    alpha: float  # price of squared weights


_ROUND = 1.5 * 2.0**52  # adding it rounds to an integer, which then sits in the low bits
_HALF_LN2 = math.log(2.0) / 2.0
# tanh h = h (1 + p1 g + p2 g^2) / (1 + q1 g + q2 g^2) with g = h^2, to 6e-18 for |h| <= ln 2 / 4:
# the best coefficients by Remez' exchange.
_P1, _P2 = 0.11109938058012409, 0.0010574195858742298
_Q1, _Q2 = 0.4444327139134517, 0.01586832422555565


def _power_of_two(rounded: float) -> float:
    """``2^n`` for ``rounded = n + _ROUND``; compiled code shifts the bits instead."""
    return 2.0 ** (rounded - _ROUND)


@intrinsic
def _shift_into_exponent(typing_context: Any, rounded: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        integer = context.get_value_type(types.int64)
        bits = builder.bitcast(arguments[0], integer)
        exponent = builder.add(builder.shl(bits, integer(52)), integer(0x3FF << 52))
        return builder.bitcast(exponent, context.get_value_type(types.float64))

    return types.float64(types.float64), generate


@overload(_power_of_two)
def _compile_power_of_two(rounded: Any) -> Any:
    def shifted(rounded: Any) -> Any:
        return _shift_into_exponent(rounded)  # type: ignore[call-arg]  # as numba calls it

    return shifted


@_compiled
def _tanh(x: float) -> float:
    """``tanh`` without calls or branches, exactly odd, to 3 ulp, or 5 without fused multiply-add.

    With ``n = round(|x| / (ln 2 / 2))`` and ``h`` the rest, ``tanh(n ln 2 / 2)`` is
    ``(S - 1) / (S + 1)`` for ``S = 2^n``, ``tanh h`` is a fraction ``h P / Q``, and the
    addition theorem joins the two in one division. ``math.tanh`` would be a call per sample.
    """
    a = abs(x)
    a = 20.0 if a > 20.0 else a  # tanh(20) rounds to 1; NaN stays NaN
    rounded = a * (1.0 / _HALF_LN2) + _ROUND
    h = a - (rounded - _ROUND) * _HALF_LN2  # the error of n ln 2 / 2 shrinks with tanh'
    S = _power_of_two(rounded)
    g = h * h
    hP = h + (h * g) * (_P1 + g * _P2)
    Q = 1.0 + g * (_Q1 + g * _Q2)
    t = ((S - 1.0) * Q + (S + 1.0) * hP) / ((S + 1.0) * Q + (S - 1.0) * hP)
    return math.copysign(t, x)


# pi in three parts; the first two have 33 bits, so that 2^20 times them is exact
_PI1, _PI2, _PI3 = 3.1415926534682512, 1.2154201012607932e-10, 4.044532497591901e-21
_MAX_SIN = 3e6  # beyond this ``_sin`` loses its precision
# sin r / r as powers of r^2, Taylor's: what is left out is below 2e-18 for |r| <= pi / 2
_S3, _S5, _S7, _S9, _S11, _S13, _S15, _S17, _S19, _S21 = (
    (-1) ** (n // 2) / math.factorial(n) for n in range(3, 22, 2)
)


@_compiled
def _sin(x: float) -> float:
    """``sin`` without calls or branches, exactly odd, to 2 ulp for ``|x| <= _MAX_SIN``."""
    n = (x * (1.0 / math.pi) + _ROUND) - _ROUND
    r = ((x - n * _PI1) - n * _PI2) - n * _PI3
    odd = n - 2.0 * ((0.5 * n + _ROUND) - _ROUND)  # -1, 0 or 1
    g = r * r
    upper = _S13 + g * (_S15 + g * (_S17 + g * (_S19 + g * _S21)))
    series = _S3 + g * (_S5 + g * (_S7 + g * (_S9 + g * (_S11 + g * upper))))
    return (1.0 - 2.0 * odd * odd) * (r + (r * g) * series)


@_compiled
def _sines(z: Array) -> None:
    n_large = 0
    for k in range(len(z)):
        n_large += 1 if abs(z[k]) > _MAX_SIN else 0
    if n_large > 0:
        for k in range(len(z)):
            z[k] = np.sin(z[k])
    else:
        for k in range(len(z)):
            z[k] = _sin(z[k])


@_compiled
def activate(z: Array, activation: int) -> None:
    """Apply an activation in place; the branch is taken once for all samples."""
    if activation == _TANH:
        for k in range(len(z)):
            z[k] = _tanh(z[k])
    elif activation == _SIN:
        _sines(z)
    elif activation == _SOFTSIGN:
        for k in range(len(z)):
            z[k] = z[k] / (1.0 + abs(z[k]))
    elif activation == _LOGISTIC:
        for k in range(len(z)):
            z[k] = 0.5 + 0.5 * _tanh(0.5 * z[k])
    elif activation == _RELU:
        for k in range(len(z)):
            z[k] = 0.0 if z[k] < 0.0 else z[k]  # NaN stays NaN


@_compiled
def weighted_sum(w: Array, source: Array, first: int, a: int, z: Array) -> None:
    """``z[k] = w . source[first :, a + k] + tau``, ``w`` ending in ``tau`` (Eq. 2)."""
    fan_in, m = len(w) - 1, len(z)
    z[:] = w[fan_in]
    i = 0
    while i + 4 <= fan_in:  # four inputs a pass: a quarter of the traffic on z
        w0, w1, w2, w3, j = w[i], w[i + 1], w[i + 2], w[i + 3], first + i
        x0, x1 = source[j, a : a + m], source[j + 1, a : a + m]
        x2, x3 = source[j + 2, a : a + m], source[j + 3, a : a + m]
        for k in range(m):
            z[k] = z[k] + w0 * x0[k] + w1 * x1[k] + w2 * x2[k] + w3 * x3[k]
        i += 4
    while i < fan_in:
        w0, x0 = w[i], source[first + i, a : a + m]
        for k in range(m):
            z[k] = z[k] + w0 * x0[k]
        i += 1


@_compiled
def _hidden_outputs(
    theta: Array,
    sizes: IntArray,
    activation: int,
    XT: Array,
    K: int,
    ping: Array,
    pong: Array,
    AT: Array,
) -> None:
    """Write the last hidden layer of one network into the rows of ``AT`` (Eq. 2).

    theta (D,), hidden layers in order, each row ``(w_n, tau_n)``; sizes (L,); XT (N_1, >= K);
    ping, pong (widest, SAMPLE_BLOCK), scratch; AT (>= N_{L-1}, >= K), overwritten.
    Twin: ``network.hidden_outputs``.
    """
    n_hidden = len(sizes) - 2
    for first in range(0, K, SAMPLE_BLOCK):
        m = min(SAMPLE_BLOCK, K - first)
        source, a = XT, first
        p = 0  # position in theta
        for h in range(n_hidden):
            last = h == n_hidden - 1
            target = AT if last else (ping if h % 2 == 0 else pong)
            b = first if last else 0
            for n in range(sizes[h + 1]):
                z = target[n, b : b + m]
                weighted_sum(theta[p : p + sizes[h] + 1], source, 0, a, z)
                activate(z, activation)
                p += sizes[h] + 1
            source, a = target, 0


@_compiled_sum
def _dot(u: Array, v: Array) -> float:
    total = 0.0
    for k in range(len(u)):
        total += u[k] * v[k]
    return total


@_compiled_sum
def _norm_and_dot(v: Array, b: Array) -> tuple[float, float]:
    """``v . v`` and ``v . b`` in one pass."""
    norm, product = 0.0, 0.0
    for k in range(len(v)):
        norm += v[k] * v[k]
        product += v[k] * b[k]
    return norm, product


@_compiled_sum
def _subtract_and_norm(v: Array, d: float, a: Array) -> float:
    """``v -= d a``, and then ``v . v``, in one pass."""
    total = 0.0
    for k in range(len(v)):
        x = v[k] - d * a[k]
        v[k] = x
        total += x * x
    return total


@_compiled_sum
def _subtract_and_dot(v: Array, d: float, a: Array, b: Array) -> float:
    """``v -= d a``, and then ``v . b``, in one pass."""
    total = 0.0
    for k in range(len(v)):
        x = v[k] - d * a[k]
        v[k] = x
        total += x * b[k]
    return total


@_compiled
def _project_out(W: Array, n: int, rounding: Array, d: Array) -> None:
    """Take the span of the first ``n`` rows of ``W`` out of the others, which become residuals.

    Modified Gram-Schmidt on ``[A | Y]``: as accurate as Householder for the residual, while
    normal equations misjudge candidates by up to 94 % at cond(A) = 1e12. A row is read once for
    each column of A: the pass that subtracts one column finds the product with the next.
    Columns that keep little but their rounding errors are left out, as in the twin
    ``network.independent_columns``. ``rounding`` and ``d`` (rows of W,) are scratch.
    """
    s = _dot(W[0], W[0])
    rounding[0] = ROUNDING**2 * s
    for c in range(1, len(W)):
        norm, d[c] = _norm_and_dot(W[c], W[0])
        rounding[c] = ROUNDING**2 * norm
    for j in range(n):
        # zero columns are dependent too; NaN is not, so that it spreads into the residuals
        dependent = s <= MIN_OVER_ROUNDING**2 * rounding[j]
        for c in range(j + 1, len(W)):
            d[c] = 0.0 if dependent else d[c] / s
            rounding[c] += d[c] * d[c] * (rounding[j] + ROUNDING**2 * s)
        a, following = W[j], W[j + 1]
        s = _subtract_and_norm(following, d[j + 1], a)
        for c in range(j + 2, len(W)):
            d[c] = _subtract_and_dot(W[c], d[c], a, following)


@_compiled
def _sum_of_squares(residuals: Array, YT: Array, roots: Array, tanh: bool) -> float:
    """Of residuals; or of ``tanh`` of a fit to ``CLASS_SCALE * Y`` against Y (paper-notes 15).

    ``roots`` (K,) of sample weights scale residuals; behind K are those of the ridge, or zeros.
    """
    total = 0.0
    for j in range(len(residuals)):
        if not tanh:
            total += _dot(residuals[j], residuals[j])
            continue
        for k in range(len(roots)):
            fitted = _tanh(CLASS_SCALE * (YT[j, k] - residuals[j, k] / roots[k]))
            total += (roots[k] * (fitted - YT[j, k])) ** 2
        for k in range(len(roots), residuals.shape[1]):
            total += residuals[j, k] ** 2
    return total


@_compiled
def feasible(theta: Array, rescale: int, out: Array) -> float:
    """Write the vector to evaluate into ``out`` and return the penalty (paper-notes 1).

    Without a ball only a vector whose length overflows has a penalty, an infinite one.
    """
    total = 0.0
    for i in range(len(theta)):
        total += theta[i] * theta[i]
    norm, radius = math.sqrt(total), math.sqrt(len(theta))
    inside = norm <= radius or rescale == _NONE  # false for NaN, which then spreads
    length = radius if rescale == _RADIUS else 1.0
    for i in range(len(theta)):
        out[i] = theta[i] if inside else length * (theta[i] / norm)
    if inside:
        return 0.0 if norm < np.inf else np.inf
    return PENALTY * (norm - radius)


@_compiled
def held_squares(theta: Array, sizes: IntArray) -> float:
    """Squares as the ridge counts them, those of biases to a share.

    Twin: ``network.ridge_shares``.
    """
    total, first = 0.0, 0
    for layer in range(1, len(sizes) - 1):
        n_inputs = sizes[layer - 1]
        for _ in range(sizes[layer]):
            weights, shift = theta[first : first + n_inputs], theta[first + n_inputs]
            total += _dot(weights, weights) + BIAS_SHARE * shift * shift
            first += n_inputs + 1
    return total


@_compiled
def _write_rows(W: Array, n: int, YT: Array, roots: Array, objective: Objective) -> None:
    """Complete ``W``, whose first ``n`` rows hold the hidden outputs, to ``[A | Y]``.

    Sample weights scale columns, and a ridge stands behind the samples: as in the twin
    ``network.weighted_rows``, which says why.
    """
    K = objective.n_samples
    n_columns = n + 1 if objective.output_shift else n
    if objective.output_shift:
        W[n, :K] = 1.0
    W[:n_columns, K:] = 0.0
    if objective.alpha > 0:
        for j in range(n):
            W[j, K + j] = math.sqrt(objective.alpha)
    for j in range(len(YT)):
        for k in range(W.shape[1]):
            W[n_columns + j, k] = YT[j, k]
    if objective.weighted:
        for j in range(len(W)):
            for k in range(K):
                W[j, k] *= roots[k]


@_compiled
def errors_into(
    errors: Array,
    population: Array,
    sizes: IntArray,
    XT: Array,
    YT: Array,
    roots: Array,
    objective: Objective,
    ping: Array,
    pong: Array,
    W: Array,
) -> None:
    """Errors of a population (n, D), written into ``errors`` (n,); what is not finite is inf.

    XT (N_1, K padded) and YT (q, K padded) with zeros behind K, where there is room for a ridge of
    ``sizes[-2]`` entries if there is one; roots (K,) of sample weights; ping, pong and W (columns
    of A, the output bias's if wanted, q; K padded) are scratch. Twin: ``tests/reference.py``.
    """
    theta, rounding, products = np.empty(population.shape[1]), np.empty(len(W)), np.empty(len(W))
    n, q, K = sizes[-2], sizes[-1], objective.n_samples
    n_columns = n + 1 if objective.output_shift else n
    for i in range(len(population)):
        penalty = feasible(population[i], objective.rescale, theta)
        _hidden_outputs(theta, sizes, objective.activation, XT, K, ping, pong, W)
        _write_rows(W, n, YT, roots, objective)
        _project_out(W, n_columns, rounding, products)
        total = _sum_of_squares(W[n_columns : n_columns + q], YT, roots, objective.output_tanh)
        if objective.alpha > 0:
            total += objective.alpha * held_squares(theta, sizes)
        error = penalty + total / (objective.total_weight * q)
        errors[i] = error if error < np.inf else np.inf
