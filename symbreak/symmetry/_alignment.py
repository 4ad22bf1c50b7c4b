"""Networks compared modulo their symmetries: aligned, measured, averaged, made canonical."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from symbreak._support.checks import (
    Array,
    IntArray,
    check_choice,
    check_magnitude,
    check_population,
    check_theta,
    check_vectors,
)
from symbreak.symmetry._breaking import apply_rules
from symbreak.symmetry._nearest import move_to_nearest, plan, sweep
from symbreak.symmetry._operators import SignedPermutation
from symbreak.topology import Topology, check_topology

#: Exact alignment takes no more steps than this for one network; ``align`` refuses more.
MAX_EXACT_STEPS = 100_000
#: Nor more than this for all candidates of a ``centroid`` in a round, some seconds; more are swept.
MAX_CENTROID_STEPS = 10_000_000
#: Numbers that are aligned at a time.
CHUNK = 2**20

ALIGNMENTS = ("exact", "assignment")

Operators = SignedPermutation | list[SignedPermutation]


def align(
    theta: ArrayLike, anchor: ArrayLike, topology: Topology, method: str = "exact"
) -> tuple[Array, Operators]:
    """Replace networks by the replicas that are nearest to an anchor, or nearer.

    Args:
        theta: One network (D,) or a population (N_p, D).
        anchor: The network (D,) to align to.
        topology: What they are.
        method: ``"exact"``, the nearest replica; ``"assignment"``, layer by layer until nothing
            gets nearer, which is the nearest for one hidden layer and affordable at any size.

    Returns:
        The aligned array, of the shape of ``theta``, and the symmetry that was applied to each
        network: ``operator(theta)`` is the aligned one. A list of them for a population.

    Raises:
        ValueError: if ``"exact"`` would take more than ``MAX_EXACT_STEPS`` for a network.
    """
    population, single = _one_or_many(theta, topology)
    aligned, marks = align_marked(population, _anchor(anchor, topology), topology, method)
    sources, signs = np.abs(marks).astype(np.int64) - 1, np.sign(marks)
    operators = [SignedPermutation(*both) for both in zip(sources, signs, strict=True)]
    return (aligned[0], operators[0]) if single else (aligned, operators)


def align_marked(
    population: Array, anchor: Array, topology: Topology, method: str
) -> tuple[Array, Array]:
    """The aligned population, and ``(1, 2, ..., D)`` moved in the same way for each candidate."""
    check_choice("method", method, ALIGNMENTS)
    if method == "exact" and _steps(topology) > MAX_EXACT_STEPS:
        raise ValueError(
            f"exact alignment of a {topology} network takes more than {MAX_EXACT_STEPS:,} steps; "
            'use method="assignment".'
        )
    D, size = topology.dim, max(1, CHUNK // topology.dim)
    aligned, marks = np.empty_like(population), np.empty_like(population)
    blocks = _blocks_with_marks(topology)
    centre = np.append(anchor, np.zeros(D))  # marks of zero, so that no inner product knows them
    for first in range(0, len(population), size):
        part = slice(first, first + size)
        unmoved = np.broadcast_to(np.arange(1.0, D + 1), population[part].shape)
        both = np.hstack([population[part], unmoved])
        if method == "assignment":
            sweep(both, centre, blocks, topology.signed)
        else:
            move_to_nearest(both, centre, topology, blocks)
        aligned[part], marks[part] = both[:, :D], both[:, D:]
    return aligned, marks


@lru_cache(maxsize=16)  # they take longer to make than a small population to align
def _blocks_with_marks(topology: Topology) -> tuple[IntArray, ...]:
    """Blocks of candidates that have D marks behind their D numbers, which move along."""
    return tuple(np.hstack([block, block + topology.dim]) for block in topology.blocks)


def moves_of(marks: Array, topology: Topology) -> tuple[list[IntArray], list[Array]]:
    """Which neurons stand where, from marks (..., D) that were moved, layer by layer.

    Neuron j of layer h was neuron ``orders[h][..., j]``, times ``signs[h][..., j]``.
    """
    orders, signs, first = [], [], 0
    before = np.ones((*marks.shape[:-1], 1))  # the sign of each neuron's first input
    for layer in topology.layers(marks)[: len(topology.hidden)]:
        n, columns = layer.shape[-2:]
        orders.append((np.abs(layer[..., 0]).astype(np.int64) - 1 - first) // columns)
        signs.append(np.sign(layer[..., 0]) * before)
        before, first = signs[-1][..., :1], first + n * columns
    return orders, signs


def _one_or_many(theta: ArrayLike, topology: Topology) -> tuple[Array, bool]:
    """One network (D,) or a population as a population, and whether it was one."""
    D = check_topology(topology).dim
    array = check_vectors(theta, f"({D},) or (N_p, {D})", "theta")
    return _population(np.atleast_2d(array), topology, "theta"), array.ndim == 1


def _population(values: ArrayLike, topology: Topology, name: str = "population") -> Array:
    array = check_population(values, check_topology(topology).dim, name)
    check_magnitude(name, array)
    return array


def _anchor(values: ArrayLike, topology: Topology) -> Array:
    array = check_theta(values, topology.dim, "anchor")
    check_magnitude("anchor", array)
    return array


def affordable_method(topology: Topology, n: int) -> str:
    """Exact alignment if a round of n candidates takes seconds; else sweeps.

    For one hidden layer, sweeps are exact as well, and quicker.
    """
    steps = _steps(topology)
    affordable = steps <= MAX_EXACT_STEPS and steps * n <= MAX_CENTROID_STEPS
    return "exact" if affordable and len(topology.hidden) > 1 else "assignment"


def _steps(topology: Topology) -> int:
    """What exact alignment takes for one network."""
    return plan(topology.hidden, topology.signed)[1] if len(topology.hidden) > 1 else 1


def distance(
    a: ArrayLike, b: ArrayLike, topology: Topology, method: str = "exact"
) -> float | Array:
    """Euclidean distance modulo symmetries, from the nearest replica of ``a`` to ``b`` (D,).

    ``a`` is one network (D,) or a population (N_p, D). It is zero for two replicas of a network.
    Another ``method`` of ``align`` gives an upper bound.
    """
    aligned, _ = align(a, b, topology, method)
    lengths = np.linalg.norm(aligned - np.asarray(b, dtype=np.float64), axis=-1)
    return float(lengths) if lengths.ndim == 0 else lengths


def centroid(population: ArrayLike, topology: Topology) -> Array:
    """The mean (D,) modulo symmetries: align to the mean, average, repeat to a fixed point.

    The plain mean of a population (N_p, D) that is spread over replicas collapses towards zero.
    Begins at the first candidate; each round brings the candidates nearer to their mean.

    Alignment is exact if a round takes up to ``MAX_CENTROID_STEPS`` steps, and ``MAX_EXACT_STEPS``
    per candidate: then the centroid of replicas of one network is a replica of it. Where that takes
    longer candidates are swept, which may leave replicas apart in networks with two hidden layers
    or more, and their mean is then no network like them.
    """
    aligned = _population(population, topology)
    method = affordable_method(topology, len(aligned))
    return centroid_from(aligned[0], aligned, topology, method)


def centroid_from(mean: Array, population: Array, topology: Topology, method: str) -> Array:
    """The same from another beginning, with nothing checked."""
    aligned = population
    while True:
        previous = mean
        aligned, _ = align_marked(aligned, mean, topology, method)
        mean = aligned.mean(axis=0)
        if np.allclose(mean, previous, rtol=1e-12, atol=0):
            return mean


def canonical(theta: ArrayLike, topology: Topology) -> Array:
    """The one replica of a network whose biases are positive and ascending in each layer.

    ``theta`` is one network (D,) or a population (N_p, D). These are Thierens' rules (rule-1 and
    rule-2 of the paper); without biases they go by the last weights. Where neurons cannot be
    flipped, keys are ascending only. All replicas have the same canonical form, but for ties.
    """
    population, single = _one_or_many(theta, topology)
    out = population.copy()
    apply_rules(out, topology)
    return out[0] if single else out


class Spread(NamedTuple):
    """How a population is spread over the partitions around an anchor.

    Attributes:
        share: Share of candidates in the anchor's partition, as far as sweeps can tell: those
            that it leaves as they are.
        conventions: Effective number of distinct conventions: two candidates drawn at random have
            the same one with probability ``1 / conventions``. 1 means that all agree.
    """

    share: float
    conventions: float


def spread(population: ArrayLike, anchor: ArrayLike, topology: Topology) -> Spread:
    """Whether symmetries divide a population: in which partition each candidate lies.

    A candidate's convention is the symmetry that brings it near to the anchor by sweeps, which are
    cheap enough to follow a search; with two hidden layers or more they stop early for some.
    """
    candidates = _population(population, topology)
    _, marks = align_marked(candidates, _anchor(anchor, topology), topology, "assignment")
    counts = Counter(row.tobytes() for row in marks)
    n, own = len(candidates), counts[np.arange(1.0, topology.dim + 1).tobytes()]
    return Spread(own / n, n * n / sum(count * count for count in counts.values()))
