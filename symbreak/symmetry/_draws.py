"""Many networks under one convention: draws of Bayesian networks, folds, refits, starts.

Weights of draws cannot be averaged, nor their chains compared, while each chain has its neurons in
an order of its own. Here every draw is replaced by the replica that is nearest to the centroid of
its mode.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from symbreak._support.checks import Array, IntArray
from symbreak.symmetry._alignment import (
    CHUNK,
    Moves,
    affordable_method,
    align_marked,
    canonical,
    centroid_from,
    moves_of,
)
from symbreak.symmetry.networks import checked_array, like, places_of
from symbreak.topology import Topology, check_topology

#: So many draws of a chain, and of a mode, are looked at to find where it is.
PER_CHAIN, PER_MODE = 200, 4_000
#: So many chains are tried as the medoid.
MEDOIDS = 50
#: Two clouds whose means are farther apart than this, in units of their widths, are two modes: the
#: criterion of Ashman, Bird & Zepf (1994). On nine posteriors, chains of one mode were at most 1
#: apart, others at least 8 (2026-11).
SEPARATION = 2.0
#: Single networks are the same where they differ by less than this part of their length.
SAME = 1e-3


@dataclass(frozen=True, eq=False)
class AlignedDraws:
    """Draws under one convention.

    Attributes:
        draws: As they came, an array or a mapping of arrays, aligned.
        theta: The same as one array (chain, draw, D).
        topology: The order of its last axis.
        modes: Which mode each chain is in, (chain,): 0 is the largest. Chains are in one mode if
            their draws overlap after alignment, so that modes are networks that compute other
            things.
        centroids: The mean of each mode modulo symmetries, (modes, D), the convention.
        orders: For each hidden layer (chain, draw, N): which neuron of the draw that came is now
            neuron j.
        signs: For each hidden layer (chain, draw, N): -1 where it was flipped.
        summary: For all chains and for each mode of several: the number of chains, and over all
            weights the largest R-hat and the least effective sample size, before and after.
    """

    draws: Any
    theta: Array
    topology: Topology
    modes: IntArray
    centroids: Array
    orders: list[IntArray]
    signs: list[Array]
    summary: pd.DataFrame

    def align(self, theta: Array) -> tuple[Array, IntArray]:
        """Further draws (n, D) under the same convention, and the nearest mode of each (n,)."""
        parts = [_align_all(theta, centroid, self.topology)[0] for centroid in self.centroids]
        far = [np.linalg.norm(p - c, axis=1) for p, c in zip(parts, self.centroids, strict=True)]
        modes = np.argmin(far, axis=0)
        return np.stack(parts)[modes, np.arange(len(modes))], modes


def align_draws(
    draws: Any,
    topology: Topology | None = None,
    *,
    activation: str | None = None,
    layout: str = "auto",
) -> AlignedDraws:
    """Bring draws of networks under one convention, which is found, not given.

    The chain that is nearest to all others is the first mode; chains that overlap it, modulo swaps
    and flips, belong to it, the next one begins another mode. The mean of a mode is aligned to and
    taken again until nothing moves, then every draw is aligned to the mean of its mode. Draws that
    come in other replicas give the same result.

    Args:
        draws: An array (chain, draw, D), with the order of ``topology`` in its last axis; or a
            mapping of arrays by name, such as ``{"w1": (chain, draw, d, n), "b1": (chain, draw,
            n), ...}``, a matrix per layer and biases per layer or none. Arrays of no network, such
            as ``noise`` (chain, draw), are left as they are. Without the axis of chains they are
            one chain. Networks that were fitted apart are chains of one draw each.
        topology: What the networks are, for an array.
        activation: Of the hidden layers, for a mapping.
        layout: How matrices lie, for a mapping; needed only where both readings fit.
    """
    if isinstance(draws, Mapping):
        topology, places = _places(draws, activation, layout)
        first = next(iter(places))
        lead = np.shape(draws[first])[: -places[first].ndim]
        theta = np.empty((*lead, topology.dim))
        for name, place in places.items():
            theta[..., place] = checked_array(name, draws[name])
    else:
        topology, theta = check_topology(topology), checked_array("draws", draws)
        if theta.ndim not in (2, 3) or theta.shape[-1] != topology.dim or theta.size == 0:
            raise ValueError(
                f"draws must have shape (chain, draw, D) with D = {topology.dim} for a {topology} "
                f"network, got {theta.shape}."
            )
    chains = theta if theta.ndim == 3 else theta[None]
    modes, centroids = _find_modes(chains, topology)
    aligned, orders, signs = _align_chains(chains, modes, centroids, topology)
    result: Any = aligned.reshape(theta.shape)
    if isinstance(draws, Mapping):
        result = {
            name: like(old, result[..., places[name]]) if name in places else old
            for name, old in draws.items()
        }
    summary = _summary(chains, aligned, modes)
    return AlignedDraws(result, aligned, topology, modes, centroids, orders, signs, summary)


def _places(
    draws: Mapping[str, Any], activation: str | None, layout: str
) -> tuple[Topology, dict[str, IntArray]]:
    """Where the arrays that belong to the network live in ``theta``."""
    shapes = {name: np.shape(values) for name, values in draws.items()}
    lead = max(map(len, shapes.values()), default=0) - 2
    if lead not in (1, 2):
        raise ValueError(
            "draws must be arrays (chain, draw, ...) or (draw, ...) by name, a matrix and biases "
            f"per layer, got arrays of shapes {shapes}."
        )
    of_network = {name: shape[lead:] for name, shape in shapes.items() if len(shape) > lead}
    if len({shape[:lead] for shape in shapes.values()}) > 1:
        raise ValueError(f"draws must have as many chains and draws each, got shapes {shapes}.")
    topology, places = places_of(list(of_network.values()), activation, layout)
    return topology, dict(zip(of_network, places, strict=True))


def _find_modes(chains: Array, topology: Topology) -> tuple[IntArray, Array]:
    """The mode of each chain, the largest first, and their centroids under one convention."""
    method = affordable_method(topology, PER_CHAIN)
    parts = chains[:, :: -(-chains.shape[1] // PER_CHAIN)]
    centres = np.stack([centroid_from(part[0], part, topology, method) for part in parts])
    clouds = [
        align_marked(p, c, topology, method, 0)[0] for p, c in zip(parts, centres, strict=True)
    ]
    modes, leaders = np.empty(len(chains), dtype=np.int64), list[int]()
    for chain in _from_the_medoid(centres, topology, method):
        for mode, leader in enumerate(leaders):
            cloud, _ = align_marked(parts[chain], centres[leader], topology, method, 0)
            if _overlap(cloud, clouds[leader]):
                modes[chain] = mode
                break
        else:
            modes[chain] = len(leaders)
            leaders.append(chain)
    by_size = np.argsort(-np.bincount(modes), kind="stable")
    modes = np.argsort(by_size)[modes]
    centroids = []
    for mode, leader in enumerate(np.array(leaders)[by_size]):
        members = chains[modes == mode].reshape(-1, topology.dim)
        sample = members[:: -(-len(members) // PER_MODE)]
        centroids.append(centroid_from(centres[leader], sample, topology, method))
    first = canonical(centroids[0], topology)
    return modes, align_marked(np.stack(centroids), first, topology, method, 0)[0]


def _from_the_medoid(centres: Array, topology: Topology, method: str) -> IntArray:
    """Chains in the order of their distance from the one that is nearest to all."""
    far = []
    for candidate in centres[:: -(-len(centres) // MEDOIDS)]:
        aligned, _ = align_marked(centres, candidate, topology, method, 0)
        far.append(np.linalg.norm(aligned - candidate, axis=1))
    nearest = far[int(np.argmin([np.median(f) for f in far]))]
    return np.argsort(nearest, kind="stable")


def _overlap(a: Array, b: Array) -> bool:
    """Whether two clouds (n, D) are one, seen along the line between their means."""
    line = a.mean(axis=0) - b.mean(axis=0)
    length = float(np.linalg.norm(line))
    if length <= SAME * np.linalg.norm(b.mean(axis=0)):
        return True
    widths = [float(np.var(cloud @ (line / length))) for cloud in (a, b)]
    return bool(length <= SEPARATION * np.sqrt(np.mean(widths)))


def _align_all(theta: Array, anchor: Array, topology: Topology) -> tuple[Array, Moves]:
    """Draws (n, D) aligned to one network, in bounded memory; and how they were moved."""
    method = affordable_method(topology, PER_CHAIN)
    size, aligned, moves = max(1, CHUNK // topology.dim), np.empty_like(theta), []
    for first in range(0, len(theta), size):
        part = slice(first, first + size)
        aligned[part], marks = align_marked(theta[part], anchor, topology, method, 0)
        moves.append(moves_of(marks, topology))
    orders, signs = (
        [np.concatenate(layer) for layer in zip(*which, strict=True)]
        for which in zip(*moves, strict=True)
    )
    return aligned, (orders, signs)


def _align_chains(
    chains: Array, modes: IntArray, centroids: Array, topology: Topology
) -> tuple[Array, list[IntArray], list[Array]]:
    aligned = np.empty_like(chains)
    orders: list[IntArray] = [np.empty((*chains.shape[:2], n), np.int64) for n in topology.hidden]
    signs: list[NDArray[Any]] = [np.empty(order.shape) for order in orders]
    for chain, mode in enumerate(modes):
        aligned[chain], moves = _align_all(chains[chain], centroids[mode], topology)
        for h in range(len(orders)):
            orders[h][chain], signs[h][chain] = moves[0][h], moves[1][h]
    return aligned, orders, signs


def _summary(before: Array, after: Array, modes: IntArray) -> pd.DataFrame:
    groups = {"all": np.ones(len(modes), dtype=np.bool_)}
    if modes.max() > 0:
        groups |= {str(mode): modes == mode for mode in range(modes.max() + 1)}
    rows = {}
    for name, members in groups.items():
        was, now = (diagnostics(draws[members]) for draws in (before, after))
        rows[name] = {
            "chains": int(members.sum()),
            "R-hat before": was[0].max(),
            "R-hat": now[0].max(),
            "ESS before": was[1].min(),
            "ESS": now[1].min(),
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("mode")


def diagnostics(draws: Array) -> tuple[Array, Array]:
    """R-hat and effective sample size of each weight (D,), of draws (chain, draw, D).

    Both of chains split in halves (Gelman et al., Bayesian Data Analysis, 3rd edition, 11.4 and
    11.5); NaN with fewer than eight draws a chain, or where a weight never moves.
    """
    n = draws.shape[1] // 2
    if n < 4:
        return np.full(draws.shape[2], np.nan), np.full(draws.shape[2], np.nan)
    halves = np.concatenate([draws[:, :n], draws[:, -n:]])
    means, within = halves.mean(axis=1), halves.var(axis=1, ddof=1).mean(axis=0)
    total = (n - 1) / n * within + means.var(axis=0, ddof=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        correlations = 1 - (within - _autocovariances(halves, means)) / total
        pairs = correlations[0 : n - n % 2 : 2] + correlations[1:n:2]  # positive, then noise
        pairs = np.minimum.accumulate(pairs, axis=0)  # Geyer's initial monotone sequence
        time = -1 + 2 * np.sum(np.where(pairs > 0, pairs, 0.0), axis=0)
        return np.sqrt(total / within), len(halves) * n / np.maximum(
            time, 1 / np.log10(halves.size)
        )


def _autocovariances(draws: Array, means: Array) -> Array:
    """Autocovariance of each weight at each lag, mean over chains, (draw, D)."""
    n = draws.shape[1]
    out = np.empty(draws.shape[1:])
    for d in range(draws.shape[2]):
        spectrum = np.fft.rfft(draws[:, :, d] - means[:, None, d], 2 * n, axis=1)
        out[:, d] = np.fft.irfft(np.abs(spectrum) ** 2, axis=1)[:, :n].mean(axis=0) / n
    return out
