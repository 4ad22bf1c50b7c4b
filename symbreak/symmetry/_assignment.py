"""Signed linear assignment, compiled: the best flips and order of one layer's neurons.

With its neighbours held still, a layer is nearest to the anchor's where the sum of
``|<beta_i, beta-hat_j>|`` over matched neurons i and j is greatest: a linear assignment, in which
the sign of a match is that of its inner product.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from symbreak._support.checks import Array, IntArray, Mask
from symbreak._support.compile import compiled

Scratch = tuple[Array, Array, Array, IntArray, IntArray, Mask]

#: A change must bring more than this part of what it changes; less is rounding, and could go in
#: circles.
MIN_GAIN = 1e-12

_compiled = compiled()


def sweep(population: Array, anchor: Array, blocks: Sequence[IntArray], signed: bool) -> None:
    """Assign layer by layer until no layer of any candidate changes, in place.

    Each change brings a candidate nearer to the anchor, so this ends. A single layer is exact at
    once; more are at a fixed point that need not be the nearest replica.
    """
    pending = np.ones((len(population), len(blocks)), dtype=np.bool_)
    while pending.any():
        for layer, block in enumerate(blocks):
            assign_layer(population, anchor, block, signed, pending, layer)


@_compiled
def assign_layer(
    population: Array, anchor: Array, block: IntArray, signed: bool, pending: Mask, layer: int
) -> None:
    """Match one layer's neurons to the anchor's, in place.

    ``pending`` (N_p, layers) says which layers of which candidates are to be looked at: after a
    change these are the neighbours, since only they depend on it.
    """
    N, width = block.shape
    target = np.empty((width, N))  # the anchor's neurons, a column each
    for j in range(N):
        for p in range(width):
            target[p, j] = anchor[block[j, p]]
    scores, values, neurons = np.empty((N, N)), np.empty((N, N)), np.empty((N, width))
    partner, scratch = np.empty(N, dtype=np.int64), scratch_for(N)
    for c in range(len(population)):
        if not pending[c, layer]:
            continue
        pending[c, layer] = False
        theta = population[c]
        for i in range(N):
            for j in range(N):
                scores[i, j] = 0.0
            for p in range(width):
                x = theta[block[i, p]]
                neurons[i, p] = x
                for j in range(N):
                    scores[i, j] += x * target[p, j]
        if best_match(scores, values, signed, partner, scratch):
            for j in range(N):
                i = partner[j]
                sign = -1.0 if signed and scores[i, j] < 0 else 1.0
                for p in range(width):
                    theta[block[j, p]] = sign * neurons[i, p]
            if layer > 0:
                pending[c, layer - 1] = True
            if layer + 1 < pending.shape[1]:
                pending[c, layer + 1] = True


@_compiled
def best_match(
    scores: Array, values: Array, signed: bool, partner: IntArray, scratch: Scratch
) -> bool:
    """Whether some match of neurons is better than leaving all as they are, and which is best.

    ``partner[j]`` becomes the neuron for place j; ``values`` what each match is worth.
    """
    N = len(scores)
    for i in range(N):
        for j in range(N):
            values[i, j] = abs(scores[i, j]) if signed else scores[i, j]
    if not assign(values, partner, scratch) < np.inf:
        return False  # numbers too large to compare
    gain, changed = 0.0, 0.0
    for j in range(N):
        value = values[partner[j], j]
        if partner[j] != j or value != scores[j, j]:
            gain += value - scores[j, j]
            changed += abs(value) + abs(scores[j, j])
    return gain > MIN_GAIN * changed


@_compiled
def scratch_for(N: int) -> Scratch:
    """Memory for ``assign``.

    Dual variables of rows and columns, slack of columns, the row matched to each column, its
    predecessor on the path, and whether the path has been there.
    """
    u, v, slack = np.empty(N + 1), np.empty(N + 1), np.empty(N + 1)
    row, before = np.empty(N + 1, dtype=np.int64), np.empty(N + 1, dtype=np.int64)
    return u, v, slack, row, before, np.empty(N + 1, dtype=np.bool_)


@_compiled
def assign(values: Array, partner: IntArray, scratch: Scratch) -> float:
    """Linear assignment of greatest total value, by shortest augmenting paths; that total.

    It is NaN where a value is not finite and nothing can be said.

    ``u`` and ``v`` are the dual variables, with ``u[i] + v[j] <= -values[i, j]`` everywhere and
    equality on matches. First each row takes its favourite column, if that is free. The other rows
    then enter one by one, in O(N^2) each.
    """
    N = len(values)
    u, v, _, row, _, _ = scratch
    for k in range(N + 1):
        v[k], row[k] = 0.0, -1
    for i in range(N):
        favourite = i  # keeps its place in a tie
        for j in range(N):
            if values[i, j] > values[i, favourite]:
                favourite = j
        u[i] = -values[i, favourite]
        partner[i] = row[favourite]  # for now: who was there before, or nobody
        if row[favourite] < 0:
            row[favourite] = i
    for i in range(N):
        if partner[i] >= 0 and not enter(i, values, scratch):
            return np.nan
    total = 0.0
    for j in range(N):
        partner[j] = row[j]
        total += values[row[j], j]
    return total


@_compiled
def enter(new: int, values: Array, scratch: Scratch) -> bool:
    """Match one more row, along a shortest path to a free column; whether there is one.

    Index N is a column that stands for "not matched yet": the path begins there.
    """
    N = len(values)
    u, v, slack, row, before, visited = scratch
    for k in range(N + 1):
        slack[k], visited[k] = np.inf, False
    j = N
    row[N] = new
    while row[j] >= 0:
        visited[j] = True
        i, least, following = row[j], np.inf, N
        for k in range(N):
            if visited[k]:
                continue
            reduced = -values[i, k] - u[i] - v[k]
            if reduced < slack[k]:
                slack[k], before[k] = reduced, j
            if slack[k] < least:
                least, following = slack[k], k
        if following == N:
            return False  # a value is not finite
        for k in range(N + 1):
            if visited[k]:
                u[row[k]] += least
                v[k] -= least
            else:
                slack[k] -= least
        j = following
    while j != N:  # shift the matches along the path
        row[j] = row[before[j]]
        j = before[j]
    return True
