"""The symmetries of a network: sign flips, swaps, and the group they generate (Section 3).

Neurons can be flipped where their activation is odd, as the paper's tanh; else only swapped.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from symbreak._support.checks import (
    Array,
    IntArray,
    check_finite,
    check_kind,
    check_memory,
    check_theta,
    check_vectors,
    shown,
)
from symbreak.symmetry._nearest import choices
from symbreak.topology import Entry, Topology, check_topology

#: More replicas than this are not enumerated: memory and time grow with them.
MAX_REPLICAS = 1_000_000


def flip(theta: Array, topology: Topology, layer: int, neuron: int) -> Array:
    """Point symmetry ``O_n^l``: negate a neuron and every weight that reads it (Eq. 13).

    ``theta`` is (..., D); so is the result.

    Raises:
        ValueError: if the activation is not odd, as flips would change what the network computes.
    """
    block = _block(topology, layer, neuron)
    if not topology.signed:
        raise ValueError(
            f"neurons of a {topology} network cannot be flipped, since {topology.activation} is "
            "not odd; they can be swapped."
        )
    out = _checked(theta, topology.dim).copy()
    out[..., block[neuron]] *= -1
    return out


def swap(theta: Array, topology: Topology, layer: int, j: int, k: int) -> Array:
    """Permutation symmetry ``P_jk^l``: exchange two neurons of a layer (Eq. 14)."""
    block, theta = _block(topology, layer, j, k), _checked(theta, topology.dim)
    out = theta.copy()
    out[..., block[[j, k]]] = theta[..., block[[k, j]]]
    return out


@dataclass(frozen=True, eq=False)
class SignedPermutation:
    """A symmetry ``Phi`` as data: ``Phi(theta) = sign * theta[source]``."""

    source: IntArray  # (D,)
    sign: Array  # (D,), each +1 or -1

    def __post_init__(self) -> None:
        source, sign = np.asarray(self.source), np.asarray(self.sign)
        kinds = source.dtype.kind in "iu", sign.dtype.kind in "if"
        if (
            not all(kinds)
            or source.ndim != 1
            or sign.shape != source.shape
            or (abs(sign) != 1).any()
        ):
            raise ValueError(
                "a symmetry is a permutation of 0 to D - 1 and D signs, arrays of shape (D,), got "
                f"{shown(self.source)} and {shown(self.sign)}."
            )

    def __call__(self, theta: Array) -> Array:
        """Apply to ``theta`` (..., D)."""
        return self.sign * _checked(theta, len(self.source))[..., self.source]

    def __matmul__(self, other: SignedPermutation) -> SignedPermutation:
        """``(self @ other)(theta) == self(other(theta))``."""
        check_kind("a symmetry to join", other, SignedPermutation, "as align gives")
        if len(other.source) != len(self.source):
            raise ValueError(
                f"symmetries to join must be of vectors of one size, got {len(self.source)} and "
                f"{len(other.source)}."
            )
        return SignedPermutation(other.source[self.source], self.sign * other.sign[self.source])

    @property
    def inverse(self) -> SignedPermutation:
        """The transpose, since symmetries are orthogonal (Eq. 18)."""
        source = np.argsort(self.source)
        return SignedPermutation(source, self.sign[source])

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, SignedPermutation)
            and np.array_equal(self.source, other.source)
            and np.array_equal(self.sign, other.sign)
        )

    def __hash__(self) -> int:
        return hash((self.source.tobytes(), self.sign.tobytes()))


def symmetries(topology: Topology) -> Iterator[SignedPermutation]:
    """Every symmetry of a network once, the identity first."""
    sources, signs = symmetry_table(check_topology(topology))
    return (
        SignedPermutation(source.astype(np.int64), sign.astype(np.float64))
        for source, sign in zip(sources, signs, strict=True)
    )


def replicas(theta: ArrayLike, topology: Topology) -> Array:
    """All replicas ``R_theta`` (n_replicas, D) of a network, itself first (Eq. 37)."""
    theta = check_theta(theta, check_topology(topology).dim)
    check_finite("theta", theta)
    sources, signs = symmetry_table(topology)
    return signs * theta[sources]


@lru_cache(maxsize=4)
def symmetry_table(topology: Topology) -> tuple[NDArray[np.int32], NDArray[np.int8]]:
    """Sources and signs of all symmetries, each (n_replicas, D), the identity first.

    Raises:
        ValueError: if there are more than ``MAX_REPLICAS``.
    """
    few = topology.log_replicas < math.log(MAX_REPLICAS) + 1  # or their number would take long
    if not few or topology.n_replicas > MAX_REPLICAS:
        raise ValueError(
            f"a {topology} network has {topology.replicas_in_words} replicas, more than the "
            f"{MAX_REPLICAS:,} that can be enumerated; use a method without brute force, "
            "such as DE-SB or CMA-ES-SB."
        )
    check_memory(
        f"a table of {topology.n_replicas:,} replicas of a {topology} network",
        20 * topology.n_replicas * topology.dim,
        "use a method without brute force, such as DE-SB or CMA-ES-SB",
    )
    sources = np.arange(topology.dim, dtype=np.int32)[None]
    signs = np.ones((1, topology.dim), dtype=np.int8)
    for block in topology.blocks:  # symmetries of different layers commute
        orders, flips = choices(len(block), topology.signed)
        flipped = np.ones((len(orders), topology.dim), dtype=np.int8)
        flipped[:, block] = flips[:, :, None]
        sources = _in_orders(sources, block, orders)
        signs = _in_orders(signs, block, orders) * np.repeat(flipped, len(signs), axis=0)
    return sources, signs


def _in_orders(table: NDArray[Entry], block: IntArray, orders: IntArray) -> NDArray[Entry]:
    """Rows (n, D) with one layer's neurons in each order (o, N): (o n, D), order by order."""
    tables = np.tile(table, (len(orders), 1, 1))
    tables[:, :, block] = table[:, block[orders]].swapaxes(0, 1)
    return tables.reshape(-1, table.shape[1])


def _checked(theta: ArrayLike, dim: int) -> Array:
    array = check_vectors(theta, f"(..., {dim})", "theta")
    if array.shape[-1:] != (dim,):
        raise ValueError(f"theta must have shape (..., D) = (..., {dim}), got {array.shape}.")
    check_finite("theta", array)
    return array


def _block(topology: Topology, layer: int, *neurons: int) -> IntArray:
    """Where the neurons of a layer live, if it has these."""
    _check_index("layer", layer, len(check_topology(topology).hidden), f"of {topology}")
    for n in neurons:
        _check_index("neuron", n, topology.hidden[layer], f"of layer {layer} of {topology}")
    return topology.blocks[layer]


def _check_index(name: str, value: int, n: int, where: str) -> None:
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or not 0 <= value < n:
        raise ValueError(f"{name} must be 0 to {n - 1} ({where}), got {shown(value)}.")
