"""The nearest replica exactly: a chain over layers, of which only some need enumerating.

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

from symbreak._support.blas import single_threaded_blas
from symbreak._support.checks import MAX_MAGNITUDE, Array, IntArray, Mask
from symbreak._support.compile import compiled
from symbreak.symmetry._assignment import (
    MIN_GAIN,
    apply_choice,
    assign,
    assign_layer,
    scratch_for,
    sweep,
)
from symbreak.topology import Topology

#: Bytes of messages at a time; the population is worked on in parts of this size.
CHUNK = 2**25
#: Layers up to this width count as narrow.
NARROW = 10

_compiled = compiled()

Choices = tuple[IntArray, Array]  # orders and signs, each (n, N)


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


@single_threaded_blas
def move_to_nearest(
    population: Array,
    anchor: Array,
    topology: Topology,
    blocks: Sequence[IntArray],
    max_steps: int,
) -> Mask:
    """Sweep, then solve exactly what is not proven nearest, in place; returns what is proven.

    ``blocks`` are those of the topology; they may have more columns, for columns of the population
    beyond D that are moved along.
    """
    D, signed = topology.dim, topology.signed
    sweep(population, anchor, blocks, signed)
    largest = np.abs(population[:, :D]).max(axis=1) + np.abs(anchor[:D]).max()
    comparable = largest <= MAX_MAGNITUDE  # NaN is not
    if len(blocks) == 1 or not comparable.any():
        return comparable
    with np.errstate(over="ignore", invalid="ignore"):  # of what is not comparable
        distances = np.sqrt(np.sum((population[:, :D] - anchor[:D]) ** 2, axis=1))
    proven = distances <= safe_radius(topology.layers(anchor[:D])[: len(blocks)], signed)
    proven &= comparable
    chain, steps = plan(topology.hidden, signed)
    rest = comparable & ~proven
    if steps <= max_steps and rest.any():
        part = population[rest]
        _solve(part, anchor, topology, blocks, chain)
        population[rest] = part
        proven |= rest
    return proven


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


def _solve(
    population: Array,
    anchor: Array,
    topology: Topology,
    blocks: Sequence[IntArray],
    chain: Sequence[int],
) -> None:
    """Replace each candidate by its replica nearest to the anchor, in place."""
    D, signed = topology.dim, topology.signed
    most = max(n_choices(topology.hidden[h], signed) for h in chain[1:-1])
    size = max(1, CHUNK // (16 * most))
    for first in range(0, len(population), size):
        part = population[first : first + size]
        moved = part.copy()
        found = _best_choices(moved[:, :D], anchor[:D], topology, chain)
        for h, (orders, signs) in found.items():
            apply_choice(moved, blocks[h], orders, signs)
        pending = np.ones((len(moved), len(blocks)), dtype=np.bool_)
        for h in set(range(len(blocks))) - set(found):  # their neighbours are settled now
            assign_layer(moved, anchor, blocks[h], signed, pending, h)
        change = (moved - part)[:, :D]
        better = change @ anchor[:D] > MIN_GAIN * (np.abs(change) @ np.abs(anchor[:D]))
        part[better] = moved[better]  # a tie changes nothing


def _best_choices(
    population: Array, anchor: Array, topology: Topology, chain: Sequence[int]
) -> dict[int, Choices]:
    """The best choice for each enumerated hidden layer: orders and signs, each (C, N)."""
    C, signed = len(population), topology.signed
    candidates = [_with_biases(layer, topology) for layer in topology.layers(population)]
    centre = [_with_biases(layer, topology) for layer in topology.layers(anchor)]
    candidates.append(np.empty((C, 0, topology.hidden[-1] + 1)))  # if nothing reads the last layer
    centre.append(np.empty((0, topology.hidden[-1] + 1)))
    menu = {h: choices(topology.hidden[h], signed) for h in chain[1:-1]}
    menu[-1] = _unchanged(topology.n_inputs)
    menu[chain[-1]] = _unchanged(len(centre[chain[-1]]))
    links = list(itertools.pairwise(chain))
    message, pointers = np.zeros((C, 1)), []
    for e, f in links:
        ends = (*menu[e], *menu[f])
        if f - e == 1:
            message, pointer = _step(message, candidates[f], centre[f], *ends)
        else:
            between = (candidates[e + 1], centre[e + 1])
            message, pointer = _step_over(
                message, *between, candidates[f], centre[f], *ends, signed
            )
        pointers.append(pointer)
    found, which = {}, np.zeros(C, dtype=np.int64)
    for (e, _), pointer in zip(reversed(links), reversed(pointers), strict=True):
        which = pointer[np.arange(C), which]
        found[e] = (menu[e][0][which], menu[e][1][which])
    del found[-1]
    return found


def _with_biases(layer: Array, topology: Topology) -> Array:
    """A layer (..., N, M + 1), with zeros for biases that there are not."""
    if topology.biases:
        return np.ascontiguousarray(layer)
    return np.concatenate([layer, np.zeros((*layer.shape[:-1], 1))], axis=-1)


def _unchanged(n: int) -> Choices:
    return np.arange(n)[None], np.ones((1, n))


@_compiled
def _own_scores(W: Array, A: Array, order: IntArray, sign: Array, scores: Array) -> None:
    """Agreement of neurons i and anchor's neurons j by their own weights, with inputs chosen."""
    N, M = len(W), len(order)
    for i in range(N):
        for j in range(N):
            scores[i, j] = W[i, M] * A[j, M]
            for m in range(M):
                scores[i, j] += sign[m] * W[i, order[m]] * A[j, m]


@_compiled
def _reader_scores(W: Array, A: Array, order: IntArray, sign: Array, scores: Array) -> float:
    """Agreement by the weights of the next layer, whose choice is given; and of its biases."""
    N, shifts = len(scores), 0.0
    scores[:] = 0.0
    for n in range(len(order)):
        row = order[n]
        shifts += sign[n] * W[row, N] * A[n, N]
        for i in range(N):
            for j in range(N):
                scores[i, j] += sign[n] * W[row, i] * A[n, j]
    return shifts


@_compiled
def _step(
    message: Array,
    W: Array,
    A: Array,
    orders: IntArray,
    signs: Array,
    next_orders: IntArray,
    next_signs: Array,
) -> tuple[Array, IntArray]:
    """From one enumerated layer to the next: best agreement so far, and the choice behind it."""
    C, N = len(message), len(A)
    best = np.full((C, len(next_orders)), -np.inf)
    pointer = np.zeros(best.shape, dtype=np.int64)
    scores = np.empty((N, N))
    for c in range(C):
        for e in range(len(orders)):
            _own_scores(W[c], A, orders[e], signs[e], scores)
            for f in range(len(next_orders)):
                total = message[c, e]
                for n in range(N):
                    total += next_signs[f, n] * scores[next_orders[f, n], n]
                if total > best[c, f]:
                    best[c, f], pointer[c, f] = total, e
    return best, pointer


@_compiled
def _step_over(
    message: Array,
    W: Array,
    A: Array,
    next_W: Array,
    next_A: Array,
    orders: IntArray,
    signs: Array,
    next_orders: IntArray,
    next_signs: Array,
    signed: bool,
) -> tuple[Array, IntArray]:
    """From one enumerated layer to the next but one; the layer between is assigned."""
    C, N, n_from = len(message), len(A), len(orders)
    best = np.full((C, len(next_orders)), -np.inf)
    pointer = np.zeros(best.shape, dtype=np.int64)
    own, readers = np.empty((n_from, N, N)), np.empty((N, N))
    values, partner, scratch = np.empty((N, N)), np.empty(N, dtype=np.int64), scratch_for(N)
    for c in range(C):
        for e in range(n_from):
            _own_scores(W[c], A, orders[e], signs[e], own[e])
        for f in range(len(next_orders)):
            shifts = _reader_scores(next_W[c], next_A, next_orders[f], next_signs[f], readers)
            for e in range(n_from):
                bound = message[c, e] + shifts
                for i in range(N):
                    greatest = -np.inf
                    for j in range(N):
                        score = own[e, i, j] + readers[i, j]
                        values[i, j] = abs(score) if signed else score
                        greatest = max(greatest, values[i, j])
                    bound += greatest
                if bound <= best[c, f]:
                    continue  # even each neuron's favourite place would not do
                total = message[c, e] + shifts + assign(values, partner, scratch)
                if total > best[c, f]:
                    best[c, f], pointer[c, f] = total, e
    return best, pointer
