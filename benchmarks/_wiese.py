"""The procedure of Wiese et al. (ECML 2023) that removes symmetries from draws of tanh networks.

An own implementation for one hidden layer, from what the paper and its public code say. Signs: of
two hyperplanes through the origin, found by stochastic gradients from random starts, the one with
the smaller hinge loss says which neurons are flipped. Order: all neurons of all draws are joined to
their k nearest ones; sweep by sweep, the neurons of a draw take, greedily, the labels that weigh
most among their neighbours, for half of the draws, chosen at random.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from scipy.sparse import csr_matrix
from scipy.spatial import cKDTree

from symbreak import Topology

N_PLANES, EPOCHS, BATCH, RATE, DECAY = 2, 32, 16, 0.1, 0.8
K, SWEEPS, QUIET = 1_024, 256, 8  # it ends after so many sweeps without a change

Array = np.ndarray


def align(theta: Array, topology: Topology, seed: int = 0) -> Array:
    """Draws (n, D) of complete networks with one hidden layer, under one convention."""
    rng, moved = np.random.default_rng(seed), theta.copy()
    block = topology.blocks[0]
    normal = _hyperplane(_standardised(moved[:, block]), rng)
    behind = moved[:, block] @ normal < 0
    moved[:, block] *= np.where(behind, -1.0, 1.0)[:, :, None]
    neurons = moved[:, block]
    labels = _labels(_standardised(neurons), rng)
    order = np.argsort(labels, axis=1)
    moved[:, block] = np.take_along_axis(neurons, order[:, :, None], axis=1)
    return moved


def _standardised(neurons: Array) -> Array:
    return (neurons - neurons.mean(axis=0)) / neurons.std(axis=0)


def _hyperplane(neurons: Array, rng: Generator) -> Array:
    """The normal of the plane through the origin that most neurons are far from."""
    points, found = neurons.reshape(-1, neurons.shape[-1]), []
    for _ in range(N_PLANES):
        normal, rate = rng.normal(size=points.shape[1]), RATE
        normal /= np.linalg.norm(normal)
        for _ in range(EPOCHS):
            order = rng.permutation(len(points))
            for first in range(0, len(points) - BATCH + 1, BATCH):
                part = points[order[first : first + BATCH]]
                sums = part @ normal
                inside = np.abs(sums) < 1
                gradient = normal / np.linalg.norm(normal)
                gradient = gradient - (np.sign(sums) * inside) @ part
                normal = normal - rate * gradient
            rate *= DECAY
        hinge = np.maximum(0, 1 - np.abs(points @ normal)).sum()
        found.append((np.linalg.norm(normal) + hinge, tuple(normal)))
    return np.array(min(found)[1])


def _labels(neurons: Array, rng: Generator) -> Array:
    """Which place each neuron of each draw takes, (n, N)."""
    n, N, width = neurons.shape
    similar = _neighbours(neurons.reshape(-1, width))
    labels, quiet = np.tile(np.arange(N), (n, 1)), 0
    for _ in range(SWEEPS):
        weights = similar @ np.eye(N)[labels.ravel()]
        weights /= np.maximum(weights.sum(axis=1, keepdims=True), 1e-300)
        new = _greedy(weights.reshape(n, N, N))
        quiet = quiet + 1 if np.array_equal(new, labels) else 0
        if quiet >= QUIET:
            break
        half = rng.permutation(n)[: n // 2]
        labels[half] = new[half]
    return labels


def _neighbours(points: Array) -> csr_matrix:
    """Similarities exp(-distance / 2) of each point and its K nearest, symmetric."""
    k = min(K, len(points) - 1)
    distances, nearest = cKDTree(points).query(points, k + 1)
    rows = np.repeat(np.arange(len(points)), k)
    values = np.exp(-distances[:, 1:] / 2).ravel()
    graph = csr_matrix((values, (rows, nearest[:, 1:].ravel())), shape=(len(points),) * 2)
    return graph.maximum(graph.T)


def _greedy(weights: Array) -> Array:
    """The neuron with the greatest weight of all takes its label, then the next one."""
    n, N, _ = weights.shape
    left, labels, draws = weights.copy(), np.zeros((n, N), dtype=np.int64), np.arange(n)
    for _ in range(N):
        neuron, label = np.divmod(left.reshape(n, -1).argmax(axis=1), N)
        labels[draws, neuron] = label
        left[draws, neuron, :] = -1.0
        left[draws, :, label] = -1.0
    return labels
