"""Ways to break the symmetries of a population (Sections 4 and 5).

A breaking is called as ``breaking(population, anchor, rng)`` with a population (N_p, D) and the
estimate ``anchor`` (D,) of the optimum. It returns a population in which each candidate is
replaced by one of its replicas, and which candidates it modified (N_p,); what it was given stays
as it was. It never changes the function that a candidate computes, nor its error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from symbreak._support.blas import one_blas_thread
from symbreak._support.checks import (
    Array,
    IntArray,
    Mask,
    check_kind,
    check_population,
    check_theta,
)
from symbreak._support.compile import compiled, inlined
from symbreak.symmetry._nearest import sweep
from symbreak.symmetry._operators import symmetry_table
from symbreak.topology import Topology, check_topology

Broken = tuple[Array, Mask]

_compiled = compiled()


class Breaking(Protocol):
    """What the optimizers need of a breaking; ``name`` stands for it in saved states."""

    @property
    def name(self) -> str: ...

    @property
    def topology(self) -> Topology | None:
        """The networks it is for; None for any vector."""

    def __call__(self, population: Array, anchor: Array, rng: Generator) -> Broken: ...


@dataclass(frozen=True)
class NoBreaking:
    """Leave the population as it is."""

    topology: Topology | None = None
    name: ClassVar[str] = "none"

    def __post_init__(self) -> None:
        if self.topology is not None:
            check_topology(self.topology)

    def __call__(self, population: Array, anchor: Array, rng: Generator) -> Broken:
        return population, np.zeros(len(population), dtype=np.bool_)


@dataclass(frozen=True)
class _OfNetworks:
    topology: Topology

    def __post_init__(self) -> None:
        check_topology(self.topology)

    def _checked(self, population: ArrayLike, anchor: ArrayLike) -> tuple[Array, Array]:
        """A copy of the population to move, and the anchor, as the compiled loops need them."""
        dim = self.topology.dim
        return check_population(population, dim).copy(), check_theta(anchor, dim, "anchor")


@dataclass(frozen=True)
class InvariantBreaking(_OfNetworks):
    """Positive biases (rule-1), then neurons sorted by bias (rule-2), whatever the anchor.

    Without flips, for an activation that is not odd, there is rule-2 only.
    """

    name: ClassVar[str] = "invariant"

    def __call__(self, population: Array, anchor: Array, rng: Generator) -> Broken:
        moved, _ = self._checked(population, anchor)
        return moved, apply_rules(moved, self.topology)


@dataclass(frozen=True)
class ProximityBreaking(_OfNetworks):
    """Move candidates towards the anchor by local symmetry moves (Algorithm 1).

    Every neuron may flip, if its activation is odd; one random pair per layer and candidate may
    swap.
    """

    name: ClassVar[str] = "proximity"

    def __call__(self, population: Array, anchor: Array, rng: Generator) -> Broken:
        net, (moved, anchor) = self.topology, self._checked(population, anchor)
        check_kind("rng", rng, Generator, "as numpy.random.default_rng makes")
        modified = np.zeros(len(moved), dtype=np.bool_)
        for block in net.blocks if net.signed else ():  # in order: adjacent layers' blocks overlap
            _flip_towards(moved, anchor, block, modified)
        for block in net.blocks:
            if len(block) > 1:
                pairs = rng.random((len(moved), 2))
                _swap_towards(moved, anchor, block, pairs, modified)
        return moved, modified


@dataclass(frozen=True)
class ExhaustiveBreaking(_OfNetworks):
    """Replace each candidate by its replica nearest to the anchor, by brute force (Eq. 38).

    Raises:
        ValueError: if the network has too many replicas to enumerate.
    """

    name: ClassVar[str] = "exhaustive"

    def __post_init__(self) -> None:
        symmetry_table(check_topology(self.topology))  # refuse now, not in the middle of a run

    @one_blas_thread()
    def __call__(self, population: Array, anchor: Array, rng: Generator) -> Broken:
        population, anchor = self._checked(population, anchor)
        sources, signs = symmetry_table(self.topology)
        best = np.full(len(population), -np.inf)
        which = np.zeros(len(population), dtype=np.int64)
        step = max(1, 2**22 // len(population))  # at most 32 MiB of scores at a time
        for first in range(0, len(sources), step):
            part = slice(first, first + step)
            # ||Phi t - a|| is least where <Phi t, a> = <t, Phi' a> is greatest, and the
            # transposes Phi' run through the same group: one matrix product scores them all.
            scores = population @ (signs[part] * anchor[sources[part]]).T
            winner = scores.argmax(axis=1)
            score = scores[np.arange(len(population)), winner]
            better = score > best
            best[better], which[better] = score[better], winner[better] + first
        broken = np.empty_like(population)
        rows = np.arange(len(population))[:, None]
        broken[rows, sources[which]] = signs[which] * population  # the transpose of row `which`
        return broken, np.any(broken != population, axis=1)


@dataclass(frozen=True)
class AssignmentBreaking(_OfNetworks):
    """Replace each candidate by a replica nearer to the anchor, by linear assignment.

    Layer by layer, until nothing gets nearer: with one hidden layer it is the nearest replica, with
    more it need not be, which ``align`` finds.
    """

    name: ClassVar[str] = "sweeps"

    def __call__(self, population: Array, anchor: Array, rng: Generator) -> Broken:
        moved, anchor = self._checked(population, anchor)
        sweep(moved, anchor, self.topology.blocks, self.topology.signed)
        return moved, np.any(moved != population, axis=1)


BREAKINGS: dict[str, Callable[..., Breaking]] = {
    kind.name: kind
    for kind in (
        NoBreaking,
        InvariantBreaking,
        ProximityBreaking,
        ExhaustiveBreaking,
        AssignmentBreaking,
    )
}


def apply_rules(population: Array, topology: Topology) -> Mask:
    """Rule-1, where neurons can be flipped, and rule-2, in place; which candidates changed."""
    modified = np.zeros(len(population), dtype=np.bool_)
    for block, keys in zip(topology.blocks, topology.key_index, strict=True):
        # in order: a layer's keys may follow its inputs
        _put_in_order(population, block, population[:, keys], topology.signed, modified)
    return modified


@inlined
def _flip(theta: Array, block: IntArray, n: int) -> None:
    for p in range(block.shape[1]):
        theta[block[n, p]] = -theta[block[n, p]]


@inlined
def _swap(theta: Array, block: IntArray, m: int, n: int) -> None:
    for p in range(block.shape[1]):
        a, b = block[m, p], block[n, p]
        theta[a], theta[b] = theta[b], theta[a]


@_compiled
def _put_in_order(
    population: Array, block: IntArray, keys: Array, signed: bool, modified: Mask
) -> None:
    """Keys positive (rule-1, Lemma 5.1), then ascending by insertion (rule-2, Lemma 5.3)."""
    for i in range(len(population)):
        theta, key = population[i], keys[i]
        for n in range(len(block)):
            if signed and key[n] < 0:
                _flip(theta, block, n)
                key[n], modified[i] = -key[n], True
        for first in range(1, len(block)):
            n = first
            while n > 0 and key[n] < key[n - 1]:
                _swap(theta, block, n, n - 1)
                key[n], key[n - 1] = key[n - 1], key[n]
                modified[i] = True
                n -= 1


@_compiled
def _flip_towards(population: Array, anchor: Array, block: IntArray, modified: Mask) -> None:
    """Algorithm 1, first half: flip each neuron that is then nearer to the anchor's."""
    for i in range(len(population)):
        theta = population[i]
        for n in range(len(block)):
            agreement = 0.0  # ||-b - c||^2 < ||b - c||^2 is b.c < 0: no distance needs computing
            for p in range(block.shape[1]):
                agreement += theta[block[n, p]] * anchor[block[n, p]]
            if agreement < 0:
                _flip(theta, block, n)
                modified[i] = True


@_compiled
def _swap_towards(
    population: Array, anchor: Array, block: IntArray, pairs: Array, modified: Mask
) -> None:
    """Algorithm 1, second half: swap one random pair of neurons if that is nearer.

    ``pairs`` (N_p, 2), uniform in [0, 1), choose the two neurons of each candidate.
    """
    N = len(block)
    for i in range(len(population)):
        theta = population[i]
        m = int(pairs[i, 0] * N)
        n = int(pairs[i, 1] * (N - 1))
        if n >= m:
            n += 1
        gain = 0.0  # half of D_1 - D_2, the squared distances before and after
        for p in range(block.shape[1]):
            a, b = block[m, p], block[n, p]
            gain += (theta[b] - theta[a]) * (anchor[a] - anchor[b])
        if gain > 0:
            _swap(theta, block, m, n)
            modified[i] = True
