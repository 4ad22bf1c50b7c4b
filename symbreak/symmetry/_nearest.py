"""The nearest replica: layer by layer by assignment, or exactly by a chain over layers.

With its neighbours held still, a layer is nearest to the anchor's where the sum of
``|<beta_i, beta-hat_j>|`` over matched neurons i and j is greatest: a linear assignment, in which
the sign of a match is that of its inner product.

``<Phi theta, anchor>`` is a sum over layers of terms that each know two neighbouring layers'
symmetries only. So the best choice for a layer is a function of its two neighbours' choices, and
the best choice of all is found by dynamic programming along the chain. The choices of some layers
are enumerated; a layer between two enumerated ones is solved by linear assignment instead. For the
eleven networks of the paper this takes 1 to 70,000 steps, where brute force takes up to 1e22.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from symbreak._support.blas import one_blas_thread
from symbreak._support.checks import Array, IntArray, Mask
from symbreak._support.compile import compiled
from symbreak.topology import Topology

#: Bytes of messages at a time; the population is worked on in parts of this size.
CHUNK = 2**25
#: Layers up to this width count as narrow.
NARROW = 10
#: A change must bring more than this part of what it changes; less is rounding, and could go in
#: circles.
MIN_GAIN = 1e-12

_compiled = compiled()

Choices = tuple[IntArray, Array]  # orders and signs, each (n, N)
Scratch = tuple[Array, Array, Array, IntArray, IntArray, Mask]


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


def plan(widths: Sequence[int], signed: bool) -> tuple[tuple[int, ...], int]:
    """Which layers to enumerate, and the number of steps that takes per candidate.

    The inputs count as layer -1 and what follows the last layer as layer ``len(widths)``; both
    have one choice. Between two enumerated layers lies at most one that is not; solving that takes
    one step if it is narrow, and more as the cube of its width.
    """
    sizes = {h: n_choices(n, signed) for h, n in enumerate(widths)} | {-1: 1, len(widths): 1}
    best: dict[int, tuple[int, tuple[int, ...]]] = {-1: (0, (-1,))}
    for h in range(len(widths) + 1):
        best[h] = min(
            (best[e][0] + sizes[e] * sizes[h] * weight, (*best[e][1], h))
            for e, weight in ((h - 1, 1), (h - 2, max(1, (widths[h - 1] // NARROW) ** 3)))
            if e in best
        )
    steps, chain = best[len(widths)]
    return chain, steps


def n_choices(n: int, signed: bool) -> int:
    """How many symmetries a layer of n neurons has."""
    return math.factorial(n) * (2**n if signed else 1)


@lru_cache(maxsize=32)
def choices(n: int, signed: bool) -> Choices:
    """Every symmetry of a layer of n neurons, the identity first."""
    orders = np.array(list(itertools.permutations(range(n))), dtype=np.int64)
    signs = np.array(list(itertools.product((1.0, -1.0), repeat=n))) if signed else np.ones((1, n))
    return np.repeat(orders, len(signs), axis=0), np.tile(signs, (len(orders), 1))


@one_blas_thread()
def move_to_nearest(
    population: Array, anchor: Array, topology: Topology, blocks: Sequence[IntArray]
) -> None:
    """Sweep, then solve exactly what is not proven nearest, in place.

    ``blocks`` are those of the topology; they may have more columns, for columns of the population
    beyond D that are moved along.
    """
    D, signed = topology.dim, topology.signed
    sweep(population, anchor, blocks, signed)
    if len(blocks) > 1:
        distances = np.linalg.norm(population[:, :D] - anchor[:D], axis=1)
        rest = distances > safe_radius(topology.layers(anchor[:D])[: len(blocks)], signed)
        population[rest] = _solved(population[rest], anchor, topology, blocks)


def safe_radius(layers: Sequence[Array], signed: bool) -> float:
    """Half the distance from a network to its nearest own replica, or less.

    Whatever lies within it has no nearer replica: that would have to be as near to another replica
    of the network. In the first layer that a symmetry changes, a neuron is flipped or at least two
    change places, while their inputs are still the same.
    """
    radius = np.inf
    for rows in layers:
        lengths = np.sum(rows**2, axis=1)
        if signed:
            radius = min(radius, float(np.sqrt(lengths.min())))
        if len(rows) > 1:
            products = rows @ rows.T
            products = np.abs(products) if signed else products
            apart = lengths[:, None] + lengths - 2 * products
            apart -= 1e-14 * rows.shape[1] * (lengths[:, None] + lengths)  # cancellation
            least = float(apart[~np.eye(len(rows), dtype=np.bool_)].min())
            radius = min(radius, np.sqrt(max(least, 0.0) / 2))
    return float(radius) * (1 - 1e-9)  # rounding


def _solved(
    population: Array, anchor: Array, topology: Topology, blocks: Sequence[IntArray]
) -> Array:
    """For each candidate its replica nearest to the anchor; in a tie itself."""
    D, signed, solved = topology.dim, topology.signed, population.copy()
    chain, _ = plan(topology.hidden, signed)
    most = max(n_choices(topology.hidden[h], signed) for h in chain[1:-1])
    size = max(1, CHUNK // (8 * most * max(topology.hidden) ** 2))
    for first in range(0, len(population), size):
        part = solved[first : first + size]
        moved = part.copy()
        found = _best_choices(moved[:, :D], anchor[:D], topology, chain)
        for h, (orders, signs) in found.items():
            neurons = np.take_along_axis(moved[:, blocks[h]], orders[:, :, None], axis=1)
            moved[:, blocks[h]] = signs[:, :, None] * neurons
        pending = np.ones((len(moved), len(blocks)), dtype=np.bool_)
        for h in set(range(len(blocks))) - set(found):  # their neighbours are settled now
            assign_layer(moved, anchor, blocks[h], signed, pending, h)
        change = (moved - part)[:, :D]
        better = change @ anchor[:D] > MIN_GAIN * (np.abs(change) @ np.abs(anchor[:D]))
        part[better] = moved[better]
    return solved


def _best_choices(
    population: Array, anchor: Array, topology: Topology, chain: Sequence[int]
) -> dict[int, Choices]:
    """The best choice for each enumerated hidden layer: orders and signs, each (C, N)."""
    C, hidden, signed = len(population), topology.hidden, topology.signed
    W, A = (list(topology.layers(theta)) for theta in (population, anchor))
    if topology.outputs == "solved":  # nothing reads the last hidden layer
        W.append(np.empty((C, 0, hidden[-1])))
        A.append(np.empty((0, hidden[-1])))
    menu = {h: choices(hidden[h], signed) for h in chain[1:-1]}
    ends = {-1: np.eye(topology.n_inputs)[None], chain[-1]: np.eye(len(A[chain[-1]]))[None]}
    matrices = {h: _matrices(*menu[h]) for h in menu} | ends
    links = list(itertools.pairwise(chain))
    message, pointers = np.zeros((C, 1)), []  # the best agreement so far for each choice
    for e, f in links:
        # agreement of neurons i and places j by their own weights, (C, i, choice of inputs, j)
        w, a, M = W[e + 1], A[e + 1], matrices[e].shape[1]
        own = np.tensordot(w[:, :, :M], matrices[e] @ a[:, :M].T, axes=(2, 1))
        own += np.tensordot(w[:, :, M:], a[:, M:], axes=(2, 1))[:, :, None]
        if f - e == 1:
            totals = message[:, :, None] + np.tensordot(own, matrices[f], axes=((1, 3), (1, 2)))
            message, pointer = totals.max(axis=1), totals.argmax(axis=1)
        else:
            # the same by the weights that read them, (C, i, choice of readers, j), and their biases
            w, moved, n = W[f], matrices[f] @ A[f], hidden[e + 1]
            readers = np.tensordot(w[:, :, :n], moved[:, :, :n], axes=(1, 1))
            message, pointer = _step_over(message, own, readers, signed)
            message += np.tensordot(w[:, :, n:], moved[:, :, n:], axes=((1, 2), (1, 2)))
        pointers.append(pointer)
    found, which = {}, np.zeros(C, dtype=np.int64)
    for (_, h), pointer in zip(links[-2::-1], pointers[:0:-1], strict=True):
        which = pointer[np.arange(C), which]
        found[h] = (menu[h][0][which], menu[h][1][which])
    return found


def _matrices(orders: IntArray, signs: Array) -> Array:
    """Choices as matrices (n, N, N): neuron ``orders[c, j]`` goes to column j, with its sign."""
    matrices = np.zeros((*orders.shape, orders.shape[1]))
    np.put_along_axis(matrices, orders[:, None], signs[:, None], axis=1)
    return matrices


@_compiled
def _step_over(message: Array, own: Array, readers: Array, signed: bool) -> tuple[Array, IntArray]:
    """From one enumerated layer to the next but one; the layer between is assigned.

    Best agreement so far for each choice, and the choice of the one before that is behind it.
    """
    C, N, n_from, _ = own.shape
    best = np.full((C, readers.shape[2]), -np.inf)
    pointer = np.zeros(best.shape, dtype=np.int64)
    values, partner, scratch = np.empty((N, N)), np.empty(N, dtype=np.int64), scratch_for(N)
    for c in range(C):
        for f in range(readers.shape[2]):
            for e in range(n_from):
                bound = message[c, e]
                for i in range(N):
                    greatest = -np.inf
                    for j in range(N):
                        score = own[c, i, e, j] + readers[c, i, f, j]
                        values[i, j] = abs(score) if signed else score
                        greatest = max(greatest, values[i, j])
                    bound += greatest
                if bound <= best[c, f]:
                    continue  # even each neuron's favourite place would not do
                total = message[c, e] + assign(values, partner, scratch)
                if total > best[c, f]:
                    best[c, f], pointer[c, f] = total, e
    return best, pointer
