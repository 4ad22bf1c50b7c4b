"""Compiled linearisation: the Jacobian of variable projection and its normal equations.

With ``W`` the best output weights of ``A(theta)``, the residual is ``r = P y`` with ``P`` the
projection off the columns of ``A``. Kaufman's Jacobian is ``J = -P (dA) W``: what it leaves out
of the true one is orthogonal to ``r``, so that the gradient ``J' r`` is exact. A ridge adds rows
``sqrt(alpha) I`` under ``A``, sample weights scale rows; neither changes the formulas.

Samples are contiguous as in ``_kernels``, padded with zeros to whole blocks, so that no K x D
matrix is needed. Twin: ``tests/reference_polish.py``.
"""

from __future__ import annotations

import math

import numpy as np

from symbreak._kernels import (
    _LOGISTIC,
    _RELU,
    _SIN,
    _SOFTSIGN,
    _TANH,
    SAMPLE_BLOCK,
    _compiled,
    _compiled_sum,
    _dot,
    _subtract_and_dot,
    _tanh,
    held_squares,
    weighted_sum,
)
from symbreak._polish import _products as products
from symbreak._support.checks import Array, IntArray
from symbreak.network import MIN_OVER_ROUNDING, ROUNDING

#: What derivatives are made of: theta, sizes of layers, outputs of neurons, their slopes, roots of
#: sample weights. Numba keeps what is compiled by file: a change of ``_products`` needs one here.
Network = tuple[Array, IntArray, Array, Array, Array]


@_compiled
def _activate(code: int, x: Array, slope: Array) -> None:
    """Replace weighted sums ``x`` by the activation, and write its derivative."""
    if code == _TANH:
        for k in range(len(x)):
            a = _tanh(x[k])
            x[k], slope[k] = a, 1.0 - a * a
    elif code == _SIN:
        for k in range(len(x)):
            z = x[k]
            x[k], slope[k] = math.sin(z), math.cos(z)
    elif code == _SOFTSIGN:
        for k in range(len(x)):
            s = 1.0 / (1.0 + abs(x[k]))
            x[k], slope[k] = x[k] * s, s * s
    elif code == _LOGISTIC:
        for k in range(len(x)):
            a = 0.5 + 0.5 * _tanh(0.5 * x[k])
            x[k], slope[k] = a, a * (1.0 - a)
    elif code == _RELU:
        for k in range(len(x)):
            positive = x[k] > 0.0
            x[k], slope[k] = x[k] if positive else 0.0, 1.0 if positive else 0.0
    else:  # one that was forgotten here
        x[:] = slope[:] = np.nan


@_compiled
def forward(theta: Array, sizes: IntArray, code: int, x: Array, slope: Array) -> None:
    """Write outputs of all hidden neurons below the inputs in ``x``, and their slopes.

    x, slope (N_1 + hidden neurons, samples); the first N_1 rows of x hold the inputs.
    """
    samples = x.shape[1]
    for first in range(0, samples, SAMPLE_BLOCK):
        last = min(first + SAMPLE_BLOCK, samples)
        p, source = 0, 0
        for h in range(len(sizes) - 2):
            target = source + sizes[h]
            for n in range(sizes[h + 1]):
                z = x[target + n, first:last]
                weighted_sum(theta[p : p + sizes[h] + 1], x, source, first, z)
                _activate(code, z, slope[target + n, first:last])
                p += sizes[h] + 1
            source = target


@_compiled_sum
def _subtract(v: Array, d: float, a: Array) -> None:
    for k in range(len(v)):
        v[k] = v[k] - d * a[k]


@_compiled
def _scale(v: Array, factor: float) -> None:
    for k in range(len(v)):
        v[k] *= factor


@_compiled
def orthogonalise(V: Array, n: int, R: Array, norms: Array) -> None:
    """Make the first ``n`` rows of V orthonormal and the others residuals, by Gram-Schmidt.

    The rule of dependent columns is ``_kernels._project_out``'s; they become zero and have norm
    0. ``R`` (n, rows) gets the coefficients: row c was ``sum_j R[j, c] v_j`` for ``v_j`` before
    it was normalised. norms (n,) are the squares of the lengths of the ``v_j``.
    """
    noise = np.empty(len(V))
    for c in range(len(V)):
        noise[c] = ROUNDING**2 * _dot(V[c], V[c])
    for j in range(n):
        R[j] = 0.0
        s = _dot(V[j], V[j])
        if s <= MIN_OVER_ROUNDING**2 * noise[j]:
            norms[j] = 0.0
            V[j] = 0.0
            continue
        norms[j] = s
        R[j, j] = 1.0
        for c in range(j + 1, len(V)):
            d = _dot(V[j], V[c]) / s
            R[j, c] = d
            noise[c] += d * d * (noise[j] + ROUNDING**2 * s)
            _subtract(V[c], d, V[j])
        _scale(V[j], 1.0 / math.sqrt(s))
    for j in range(1, n):  # once more: what rounding left of nearly dependent ones
        if norms[j] > 0.0:
            for i in range(j):
                _subtract(V[j], _dot(V[i], V[j]), V[i])
            _scale(V[j], 1.0 / math.sqrt(_dot(V[j], V[j])))


@_compiled
def solve_output_weights(R: Array, norms: Array, W: Array) -> None:
    """Output weights W (n, q) from what ``orthogonalise`` found; dependent columns get none."""
    n, q = W.shape
    for j in range(n - 1, -1, -1):
        for o in range(q):
            total = 0.0
            if norms[j] > 0.0:
                total = R[j, n + o]
                for c in range(j + 1, n):
                    total -= R[j, c] * W[c, o]
            W[j, o] = total


@_compiled
def fit(
    theta: Array,
    alpha: float,
    sizes: IntArray,
    x: Array,
    slope: Array,
    root_weights: Array,
    V: Array,
    W: Array,
    code: int,
    output_shift: bool,
    YT: Array,
    R: Array,
    norms: Array,
) -> float:
    """Best output weights W, an orthonormal basis and residuals in V; the sum to minimise.

    root_weights (samples,) are square roots of sample weights, 0 in the padding; YT (q, samples)
    targets; V (n + q, samples and then n for the ridge), n counting the output bias.
    The sum is that of squares of residuals, plus ``alpha`` times those of theta, as
    ``held_squares`` counts them, and of W.
    """
    samples, (n, q) = x.shape[1], W.shape
    n_last, top = sizes[-2], len(x) - sizes[-2]
    forward(theta, sizes, code, x, slope)
    for j in range(n + q):
        V[j, samples:] = 0.0
        for k in range(samples):
            v = x[top + j, k] if j < n_last else (1.0 if j < n else YT[j - n, k])
            V[j, k] = root_weights[k] * v
    if alpha > 0.0:
        for j in range(n_last):
            V[j, samples + j] = math.sqrt(alpha)
    orthogonalise(V, n, R, norms)
    solve_output_weights(R, norms, W)
    total = alpha * held_squares(theta, sizes) if alpha > 0.0 else 0.0
    for o in range(q):
        total += _dot(V[n + o], V[n + o])
    return total


@_compiled
def _derivatives(net: Network, weights: Array, first: int, B: Array, delta: Array) -> None:
    """Derivatives of one output by theta, for samples from ``first`` on, into B (D, samples).

    By back-propagation; weights (>= N_{L-1},) are those of the output, held fixed. The bias's
    row of a neuron is the derivative by its weighted sum. delta (widest, samples) is scratch.
    """
    theta, sizes, x, slope, root_weights = net
    m = B.shape[1]
    target, p = len(x) - sizes[-2], len(B)
    for n in range(sizes[-2]):
        for k in range(m):
            s = root_weights[first + k] * slope[target + n, first + k]
            delta[n, k] = weights[n] * s
    for h in range(len(sizes) - 3, -1, -1):
        fan_in, row = sizes[h], sizes[h] + 1
        source = target - fan_in
        p -= sizes[h + 1] * row
        for n in range(sizes[h + 1]):
            d, shift = delta[n], B[p + n * row + fan_in]
            for i in range(fan_in):
                b, xi = B[p + n * row + i], x[source + i, first : first + m]
                for k in range(m):
                    b[k] = d[k] * xi[k]
            for k in range(m):
                shift[k] = d[k]
        if h > 0:
            for i in range(fan_in):
                d, s = delta[i], slope[source + i, first : first + m]
                d[:] = 0.0
                for n in range(sizes[h + 1]):
                    w, reader = theta[p + n * row + i], B[p + n * row + fan_in]
                    for k in range(m):
                        d[k] = d[k] + w * reader[k]
                for k in range(m):
                    d[k] = d[k] * s[k]
        target = source


@_compiled
def _rotate_outputs(W: Array, residuals: Array, weights: Array, rotated: Array) -> int:
    """Replace the q outputs by as few as the rows of W (n, q) span; returns how many.

    Turning the outputs turns residuals and derivatives alike, and where all weights are zero
    there are no derivatives: more outputs than hidden neurons, or classes whose targets add up
    to one, need fewer products. weights (rank, n) and rotated (rank, samples) are overwritten.
    """
    n, rank, largest = len(W), 0, 0.0
    basis = np.empty((len(weights), W.shape[1]))
    for i in range(n):
        largest = max(largest, _dot(W[i], W[i]))
    for i in range(n):
        if rank == len(weights):
            break
        v = W[i].copy()
        for _ in range(2):
            for j in range(rank):
                _subtract(v, _dot(basis[j], v), basis[j])
        s = _dot(v, v)
        if s > 1e-26 * largest:
            for o in range(len(v)):
                basis[rank, o] = v[o] / math.sqrt(s)
            rank += 1
    for r in range(rank):
        for i in range(n):
            weights[r, i] = _dot(basis[r], W[i])
        rotated[r] = 0.0
        for o in range(len(residuals)):
            _subtract(rotated[r], -basis[r, o], residuals[o])
    return rank


@_compiled
def normal_equations(
    theta: Array,
    alpha: float,
    sizes: IntArray,
    x: Array,
    slope: Array,
    root_weights: Array,
    V: Array,
    W: Array,
    B: Array,
    delta: Array,
    H: Array,
    G: Array,
    g: Array,
    J: Array,
) -> None:
    """``G = J'J`` (lower triangle) and ``g = J'r`` of Kaufman's Jacobian, after ``fit``.

    The Jacobian itself is written instead of G if there is room for it in J.

    With one hidden layer the derivative of an output by parameter i of neuron n is that for a
    weight of 1, times the weight, and all outputs share one product of matrices: that of
    derivatives for weights of 1, to which ``_give_weights`` gives the outputs' at the end.

    Products with the basis, H (min(n, q), n, D), come first, and the basis is then taken out of
    the derivatives themselves. ``B'B - H'H`` would cancel where a derivative lies almost in the
    span of the hidden outputs, as those of a nearly linear neuron do, and ``B'r`` had not one
    correct digit where output weights were 1e8, since r is orthogonal to that span up to rounding
    only. B (D, block) is scratch; it is computed twice if one of it does not hold all.
    """
    samples, block, n, D = x.shape[1], B.shape[1], len(W), len(theta)
    weights, residuals = np.zeros((len(H), sizes[-2])), np.zeros((len(H), V.shape[1]))
    rank = _rotate_outputs(W[: sizes[-2]], V[n:], weights, residuals)
    factors, per_residual, share = weights, D, len(sizes) == 3 and len(H) > 1
    if share:
        factors, rank, per_residual = np.ones((1, sizes[-2])), 1, sizes[0] + 1
        residuals = _of_neurons(weights, residuals)
    H[:], G[:], g[:], J[:] = 0.0, 0.0, 0.0, 0.0
    panels, net = products.row_panels(n, block), (theta, sizes, x, slope, root_weights)
    for first in range(0, samples, block):
        products.pack_rows(V, first, n, panels)
        for o in range(rank):
            _derivatives(net, factors[o], first, B[:D], delta)
            products.add_products(panels, B, D, H[o])
    transposed = products.transposed(H[:rank])
    columns, within = products.column_panels(n, block), np.empty((products.ROWS, block))
    for first in range(0, samples, block):
        products.pack_columns(V, first, block, columns)
        for o in range(rank):
            if samples > block or rank > 1:
                _derivatives(net, factors[o], first, B[:D], delta)
            basis = transposed[o], V, columns, within
            row = o * (samples + n) + first
            _take_in(B, D, basis, residuals[o:], per_residual, first, g, G, J, row)
    if alpha > 0.0:  # the rows of the ridge, where derivatives are zero before they are projected
        columns = products.column_panels(n, n)
        within = np.empty((products.ROWS, len(columns) * products.LANES))
        products.pack_columns(V, samples, n, columns)
        for o in range(rank):
            rows, basis = np.zeros((D + products.SPARE, n)), (transposed[o], V, columns, within)
            row = o * (samples + n) + samples
            _take_in(rows, D, basis, residuals[o:], per_residual, samples, g, G, J, row)
    if share:
        _give_weights(weights, per_residual, H, G, J)


@_compiled
def _of_neurons(weights: Array, residuals: Array) -> Array:
    """Rows of the outputs (rank, n), such as residuals, summed for each neuron by its weights."""
    sums = np.zeros((weights.shape[1], residuals.shape[1]))
    for i in range(len(sums)):
        for o in range(len(weights)):
            _subtract(sums[i], -weights[o, i], residuals[o])
    return sums


@_compiled
def _give_weights(weights: Array, n_inputs: int, H: Array, G: Array, J: Array) -> None:
    """From what is known of derivatives for weights of 1, that of the outputs' (rank, n_last)."""
    D, pairs = H.shape[2], _of_neurons(weights, weights)
    for i in range(len(G)):
        for j in range(i + 1):
            G[i, j] *= pairs[i // n_inputs, j // n_inputs]
    rows = len(J) // len(weights)
    for o in range(len(weights) - 1, -1, -1):  # the first last, since all are made of it
        for i in range(D):
            w = weights[o, i // n_inputs]
            for j in range(H.shape[1]):
                H[o, j, i] = w * H[0, j, i]
            for k in range(rows):
                J[o * rows + k, i] = w * J[k, i]


@_compiled
def _take_in(
    B: Array,
    D: int,
    basis: tuple[Array, Array, Array, Array],
    residuals: Array,
    per_residual: int,
    first: int,
    g: Array,
    G: Array,
    J: Array,
    row: int,
) -> None:
    """Take the span of a basis out of D rows of B; then subtract ``B r`` from g, add ``B B'`` to G.

    The basis: transposed (>= D, n) products with it, the rows of V that hold it, its samples for
    ``combine``, and (ROWS, samples) scratch. A residual, from the first sample on, is for so many
    rows. Columns of B are written as rows of J from one on instead, if there are any.
    """
    transposed, V, columns, within = basis
    samples = B.shape[1]
    for i in range(0, D, products.ROWS):
        products.combine(transposed, i, columns, within)
        if i + products.ROWS >= D and D % 2 == 1:
            last = within[D - 1 - i, :samples]
            products.combine_last(transposed[D - 1], V, first, last)
        for r in range(min(products.ROWS, D - i)):
            residual = residuals[(i + r) // per_residual, first : first + samples]
            g[i + r] -= _subtract_and_dot(B[i + r], 1.0, within[r], residual)
    if len(J) == 0:
        products.add_gram(B, D, samples, G)
    for k in range(samples if len(J) > 0 else 0):
        for i in range(D):
            J[row + k, i] = B[i, k]
