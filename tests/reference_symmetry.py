"""Slow, obvious twins of the symmetries and of breaking them; conventions of ``reference.py``.

``anchor`` is the estimate of the global optimum, theta-hat; without ``signed`` neurons cannot be
flipped.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import scipy.optimize

from tests.reference import Array, Sizes, dimension, neuron_indices


def blocks(sizes: Sizes) -> list[list[list[int]]]:
    """List where every symmetry relevant parameter block beta_n^l stands in theta (Eqs. 43, 44)."""
    hidden = len(sizes) - 2
    result = []
    for layer in range(hidden):
        of_layer = []
        for neuron in range(sizes[layer + 1]):
            indices = neuron_indices(sizes, layer, neuron)
            if layer + 1 < hidden:
                for reader in range(sizes[layer + 2]):
                    indices.append(neuron_indices(sizes, layer + 1, reader)[neuron])
            of_layer.append(indices)
        result.append(of_layer)
    return result


def flip_matrix(sizes: Sizes, layer: int, neuron: int) -> Array:
    """Build the point symmetry operator O of one neuron as a (D, D) matrix (Eq. 13)."""
    matrix = np.eye(dimension(sizes))
    for index in blocks(sizes)[layer][neuron]:
        matrix[index, index] = -1.0
    return matrix


def swap_matrix(sizes: Sizes, layer: int, j: int, k: int) -> Array:
    """Build the permutation operator P of two neurons of a layer as a (D, D) matrix (Eq. 14)."""
    matrix = np.eye(dimension(sizes))
    if j == k:
        return matrix
    of_layer = blocks(sizes)[layer]
    for a, b in zip(of_layer[j], of_layer[k], strict=True):
        matrix[a, a] = matrix[b, b] = 0.0
        matrix[a, b] = matrix[b, a] = 1.0
    return matrix


def symmetry_matrices(sizes: Sizes, signed: bool = True) -> list[Array]:
    """Build all symmetry operators, the set P of Sec. 5.3 that makes the replicas (Eq. 37).

    Multiplies flips and swaps with what was found before until nothing new appears; for small
    networks only.
    """
    generators = []
    for layer in range(len(sizes) - 2):
        count = sizes[layer + 1]
        generators += [flip_matrix(sizes, layer, n) for n in range(count) if signed]
        generators += [swap_matrix(sizes, layer, j, k) for k in range(count) for j in range(k)]
    found = [np.eye(dimension(sizes))]
    seen = {found[0].tobytes()}
    for matrix in found:  # the list grows while it is read
        for generator in generators:
            product = generator @ matrix + 0.0  # + 0.0 turns a -0.0 into 0.0
            if product.tobytes() not in seen:
                seen.add(product.tobytes())
                found.append(product)
    return found


def rule_1(theta: Array, sizes: Sizes) -> Array:
    """Flip every neuron whose bias is negative (rule-1 of Sec. 4; Lemma 5.1, Eqs. 23 and 27)."""
    theta = np.array(theta, dtype=float)
    for layer in range(len(sizes) - 2):
        for neuron in range(sizes[layer + 1]):
            bias = neuron_indices(sizes, layer, neuron)[-1]
            if theta[bias] < 0.0:
                theta = flip_matrix(sizes, layer, neuron) @ theta
    return theta


def rule_2(theta: Array, sizes: Sizes) -> Array:
    """Sort the neurons of every hidden layer by ascending bias (rule-2 of Sec. 4; paper-notes 10).

    Eq. 32 of Lemma 5.3, applied to neighbours until none is out of order. Neurons with equal
    biases keep their order.
    """
    theta = np.array(theta, dtype=float)
    for layer in range(len(sizes) - 2):
        count = sizes[layer + 1]
        for _ in range(count):
            for n in range(count - 1):
                left = neuron_indices(sizes, layer, n)[-1]
                right = neuron_indices(sizes, layer, n + 1)[-1]
                if theta[left] > theta[right]:
                    theta = swap_matrix(sizes, layer, n, n + 1) @ theta
    return theta


def squared_distance(a: Array, b: Array) -> float:
    """Sum the squared differences of two vectors."""
    total = 0.0
    for x, y in zip(a, b, strict=True):
        total += (float(x) - float(y)) ** 2
    return total


def distinct_pair(n: int, u1: float, u2: float) -> tuple[int, int]:
    """Choose two distinct neurons of n (the pair of Algorithm 1; paper-notes 6)."""
    remaining = list(range(n))
    m = remaining.pop(math.floor(u1 * n))
    k = remaining.pop(math.floor(u2 * (n - 1)))
    return m, k


def algorithm_1(
    theta: Array,
    anchor: Array,
    sizes: Sizes,
    pairs: Sequence[tuple[int, int] | None],
    signed: bool = True,
) -> tuple[Array, bool]:
    """Break symmetry by Algorithm 1: the flips of all layers, then one swap per layer.

    Follows paper-notes 6: layers in order, each looking at what the one before it left. ``pairs``
    are per hidden layer the two neurons (m, n) that may swap; None where there is one.
    """
    theta, anchor = np.array(theta, dtype=float), np.asarray(anchor, dtype=float)
    beta = blocks(sizes)
    modified = False
    for layer in range(len(sizes) - 2):
        for neuron in range(sizes[layer + 1]):
            b = beta[layer][neuron]
            D_1 = squared_distance(theta[b], anchor[b])
            D_2 = squared_distance(-theta[b], anchor[b])
            if signed and D_1 > D_2:
                theta[b] = -theta[b]
                modified = True
    for layer in range(len(sizes) - 2):
        pair = pairs[layer]
        if pair is None:
            continue
        m, n = beta[layer][pair[0]], beta[layer][pair[1]]
        D_1 = squared_distance(theta[n], anchor[n]) + squared_distance(theta[m], anchor[m])
        D_2 = squared_distance(theta[n], anchor[m]) + squared_distance(theta[m], anchor[n])
        if D_1 > D_2:
            theta[m], theta[n] = theta[n].copy(), theta[m].copy()
            modified = True
    return theta, modified


def nearest_replica(theta: Array, anchor: Array, sizes: Sizes, signed: bool = True) -> Array:
    """Find the replica of theta nearest to the anchor by trying all (Eq. 38)."""
    theta, anchor = np.array(theta, dtype=float), np.asarray(anchor, dtype=float)
    best, best_distance = theta, squared_distance(theta, anchor)
    for matrix in symmetry_matrices(sizes, signed):
        replica = matrix @ theta
        distance = squared_distance(replica, anchor)
        if distance < best_distance:
            best, best_distance = replica, distance
    return best


def assignment_sweeps(theta: Array, anchor: Array, sizes: Sizes) -> Array:
    """Match the neurons of one layer after the other to the anchor's, until none changes."""
    theta, anchor = np.array(theta, dtype=float), np.asarray(anchor, dtype=float)
    changed = True
    while changed:
        changed = False
        for layer in blocks(sizes):
            neurons = [theta[b].copy() for b in layer]
            distances = np.array(
                [
                    [min(squared_distance(s * x, anchor[b]) for s in (1, -1)) for b in layer]
                    for x in neurons
                ]
            )
            rows, places = scipy.optimize.linear_sum_assignment(distances)
            moved = theta.copy()
            for row, place in zip(rows, places, strict=True):
                b, x = layer[place], neurons[row]
                nearer = squared_distance(-x, anchor[b]) < squared_distance(x, anchor[b])
                moved[b] = -x if nearer else x
            if squared_distance(moved, anchor) < squared_distance(theta, anchor) - 1e-12:
                theta, changed = moved, True
    return theta
