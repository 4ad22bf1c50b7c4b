"""Products of matrices by tiles in registers: the same bits with any BLAS, and any size of tile.

Each entry is one sum over samples, in their order, with one exception (``_in_four_parts``). With
products from OpenBLAS, for AVX2, the normal equations of digits took twice as long, 14.4 for
7.3 ms, and those of sinc2d 66 for 55 us (2026-11).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]  # numba's
from numba import types
from numba.core import cgutils
from numba.core.registry import cpu_target
from numba.extending import intrinsic, overload

from symbreak._kernels import _compiled
from symbreak._support.checks import Array

#: A tile has six rows of two registers each, so that its sums hide the latency of a multiply-add.
ROWS = 6
#: What the processor can do is what kept code is found by: parts of different widths never meet.
LANES = 16 if "+avx512f" in cpu_target.target_context.codegen().magic_tuple()[2] else 8
#: Rows of zeros that must stand behind a matrix, so that tiles may reach over its end.
SPARE = 16


def _tile(B: Array, i: int, panel: Array, T: Array) -> None:
    """``T[r] = sum_k B[i + r, k] panel[k]`` for T (ROWS, LANES) and panel (samples, LANES)."""
    T[:] = B[i : i + ROWS, : len(panel)] @ panel


@intrinsic
def _sum_tile(typing: Any, rows: Any, stride: Any, panel: Any, n: Any, T: Any) -> Any:
    """The same by addresses: of the first row, from row to row, of the panel and of T."""
    double, long = ir.DoubleType(), ir.IntType(64)
    vector, zeros = ir.VectorType(double, LANES), [0] * LANES
    nothing = ir.Constant(vector, ir.Undefined)
    to_all = ir.Constant(ir.VectorType(ir.IntType(32), LANES), zeros)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        first, stride, panel, n, T = arguments
        steps = [builder.add(first, builder.mul(stride, long(r))) for r in range(ROWS)]
        rows = [builder.inttoptr(step, double.as_pointer()) for step in steps]
        panel, T = (builder.inttoptr(a, vector.as_pointer()) for a in (panel, T))
        zero = ir.Constant(vector, [0.0] * LANES)
        sums = [cgutils.alloca_once_value(builder, zero) for _ in rows]
        with cgutils.for_range(builder, n) as loop:
            x = builder.load(builder.gep(panel, [loop.index]), align=8)
            for row, total in zip(rows, sums, strict=True):
                w = builder.load(builder.gep(row, [loop.index]))
                w = builder.insert_element(nothing, w, ir.IntType(32)(0))
                product = builder.fmul(
                    builder.shuffle_vector(w, nothing, to_all), x, flags=["contract"]
                )
                added = builder.fadd(builder.load(total), product, flags=["contract"])
                builder.store(added, total)
        for r, total in enumerate(sums):
            builder.store(builder.load(total), builder.gep(T, [long(r)]), align=8)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 5), generate


def _transpose(B: Array, i: int, k: int, to: Array, lane: int) -> None:
    """``to[k + s, lane + r] = B[i + r, k + s]`` for eight rows and samples."""
    to[k : k + 8, lane : lane + 8] = B[i : i + 8, k : k + 8].T


@intrinsic
def _transpose_eight(typing: Any, rows: Any, stride: Any, to: Any, to_stride: Any) -> Any:
    """The same by addresses: in three rounds neighbours, pairs and fours change places."""
    long, vector = ir.IntType(64), ir.VectorType(ir.DoubleType(), 8)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def at(first: Any, stride: Any, r: int) -> Any:
            return builder.inttoptr(
                builder.add(first, builder.mul(stride, long(r))), vector.as_pointer()
            )

        def choose(a: Any, b: Any, entries: list[int]) -> Any:
            kind = ir.VectorType(ir.IntType(32), 8)
            return builder.shuffle_vector(a, b, ir.Constant(kind, entries))

        rows, stride, to, to_stride = arguments
        v = [builder.load(at(rows, stride, r), align=8) for r in range(8)]
        for s in (1, 2, 4):
            for r in (r for r in range(8) if not r & s):
                a, b = v[r], v[r | s]
                v[r] = choose(a, b, [8 + (e ^ s) if e & s else e for e in range(8)])
                v[r | s] = choose(a, b, [8 + e if e & s else e | s for e in range(8)])
        for r in range(8):
            builder.store(v[r], at(to, to_stride, r), align=8)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 4), generate


@overload(_transpose)
def _compile_transpose(B: Any, i: Any, k: Any, to: Any, lane: Any) -> Any:
    def run(B: Any, i: Any, k: Any, to: Any, lane: Any) -> None:
        stride, to_stride = B.strides[0], to.strides[0]
        _transpose_eight(  # type: ignore[call-arg]
            B.ctypes.data + i * stride + 8 * k,
            stride,
            to.ctypes.data + k * to_stride + 8 * lane,
            to_stride,
        )

    return run


@overload(_tile)
def _compile_tile(B: Any, i: Any, panel: Any, T: Any) -> Any:
    def run(B: Any, i: Any, panel: Any, T: Any) -> None:
        stride = B.strides[0]
        _sum_tile(  # type: ignore[call-arg]  # as numba calls it
            B.ctypes.data + i * stride, stride, panel.ctypes.data, len(panel), T.ctypes.data
        )

    return run


@_compiled
def _add_tile(T: Array, n: int, to: Array, i: int, j: int) -> None:
    """Add the first n rows of T to those of a matrix from (i, j) on."""
    if n == ROWS:  # with ends that the compiler knows
        for r in range(ROWS):
            for lane in range(LANES):
                to[i + r, j + lane] += T[r, lane]
    else:
        for r in range(n):
            for lane in range(LANES):
                to[i + r, j + lane] += T[r, lane]


@_compiled
def _in_order(u: Array, v: Array) -> float:
    total = 0.0
    for k in range(len(u)):
        total = total + u[k] * v[k]
    return total


@_compiled
def _in_four_parts(u: Array, v: Array) -> float:
    """``u . v`` by four sums, of every fourth product.

    So OpenBLAS sums the last of an odd number of rows (but for up to three columns at its end), and
    results that were published with it keep their bits.
    """
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    whole = len(u) // 8 * 8
    for k in range(0, whole, 4):
        a = a + u[k] * v[k]
        b = b + u[k + 1] * v[k + 1]
        c = c + u[k + 2] * v[k + 2]
        d = d + u[k + 3] * v[k + 3]
    for k in range(whole, len(u)):
        a = a + u[k] * v[k]
    return (a + b) + (c + d)


@_compiled
def _add_last(last: Array, B: Array, n: int, to: Array) -> None:
    """``to[i] += last . B[i]`` for the first n rows, where ``last`` is that of an odd number."""
    for i in range(n):
        row = B[i, : len(last)]
        to[i] += _in_four_parts(last, row) if i < n // 4 * 4 else _in_order(last, row)


@_compiled
def transposed(H: Array) -> Array:
    """H (outputs, n, D) as (outputs, D, n), as ``combine`` wants it."""
    outputs, n, D = H.shape
    to = np.zeros((outputs, D + SPARE, n))
    for o in range(outputs):
        for j in range(n):
            for i in range(D):
                to[o, i, j] = H[o, j, i]
    return to


@_compiled
def row_panels(n: int, samples: int) -> Array:
    """Zeros for ``pack_rows`` of n rows: a lane for each, and four more for an odd one."""
    return np.zeros((-(-(n + n % 2 * 4) // LANES), samples, LANES))


@_compiled
def column_panels(n: int, samples: int) -> Array:
    """Zeros for ``pack_columns`` of n rows."""
    return np.zeros((-(-samples // LANES), n, LANES))


@_compiled
def pack_rows(V: Array, first: int, n: int, panels: Array) -> None:
    """The first n rows of V, a row to a lane; the last of an odd number also in four parts."""
    samples = panels.shape[1]
    for j in range(n):
        panel, lane = panels[j // LANES], j % LANES
        for k in range(samples):
            panel[k, lane] = V[j, first + k]
    for part in range(n % 2 * 4):
        panel, lane = panels[(n + part) // LANES], (n + part) % LANES
        for k in range(part, samples, 4):
            panel[k, lane] = V[n - 1, first + k]


@_compiled
def pack_columns(V: Array, first: int, samples: int, panels: Array) -> None:
    """Columns of V, a sample to a lane."""
    for k in range(samples):
        panel, lane = panels[k // LANES], k % LANES
        for j in range(panels.shape[1]):
            panel[j, lane] = V[j, first + k]


@_compiled
def add_gram(B: Array, D: int, n: int, G: Array) -> None:
    """``G += B B'`` in its lower triangle, of D rows, with SPARE ones behind, and n columns."""
    panel, T, even = np.empty((n, LANES)), np.empty((ROWS, LANES)), D - D % 2
    for j in range(0, even, LANES):
        for lane in range(0, LANES, 8):
            for k in range(0, n - 7, 8):
                _transpose(B, j + lane, k, panel, lane)
        for k in range(n // 8 * 8, n):
            for lane in range(LANES):
                panel[k, lane] = B[j + lane, k]
        for i in range(j, even, ROWS):
            _tile(B, i, panel, T)
            if i >= j + LANES - 1:
                _add_tile(T, min(ROWS, even - i), G, i, j)
            else:
                for r in range(min(ROWS, even - i)):
                    for lane in range(min(LANES, i + r + 1 - j)):
                        G[i + r, j + lane] += T[r, lane]
    if even < D:
        _add_last(B[D - 1, :n], B, D, G[D - 1])


@_compiled
def add_products(panels: Array, B: Array, D: int, H: Array) -> None:
    """``H += Q B'`` for H (n, D), from ``pack_rows`` of Q and D rows of B."""
    T, n, parts = np.empty((len(panels), ROWS, LANES)), len(H), np.empty(4)
    for i in range(0, D, ROWS):
        for p in range(len(panels)):
            _tile(B, i, panels[p], T[p])
        for r in range(min(ROWS, D - i)):
            in_parts = n % 2 == 1 and i + r < D // 4 * 4
            for j in range(n - 1 if in_parts else n):
                H[j, i + r] += T[j // LANES, r, j % LANES]
            if in_parts:
                for c in range(4):
                    parts[c] = T[(n + c) // LANES, r, (n + c) % LANES]
                H[n - 1, i + r] += (parts[0] + parts[1]) + (parts[2] + parts[3])


@_compiled
def combine(H: Array, i: int, panels: Array, out: Array) -> None:
    """``out[r, k] = sum_j H[i + r, j] Q[j, k]`` for ROWS rows of H, from ``pack_columns`` of Q."""
    T = np.empty((ROWS, LANES))
    for p in range(len(panels)):
        _tile(H, i, panels[p], T)
        for r in range(ROWS):
            for lane in range(LANES):
                out[r, p * LANES + lane] = T[r, lane]


@_compiled
def combine_last(h: Array, V: Array, first: int, out: Array) -> None:
    """``out[k] = sum_j h[j] Q[j, k]``, where h is the last of an odd number of rows."""
    n, m = len(h), len(out)
    parts, four, whole = np.zeros((4, m)), m // 4 * 4, n // 8 * 8
    for j in range(n):
        part, q = parts[j % 4 if j < whole else 0], V[j, first : first + m]
        for k in range(four):
            part[k] = part[k] + h[j] * q[k]
        for k in range(four, m):
            parts[0, k] = parts[0, k] + h[j] * q[k]
    for k in range(m):
        out[k] = (parts[0, k] + parts[1, k]) + (parts[2, k] + parts[3, k])
