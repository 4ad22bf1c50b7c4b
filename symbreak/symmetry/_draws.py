"""Many networks under one convention: draws of Bayesian networks, folds, refits, starts.

Weights of draws cannot be averaged, nor their chains compared, while each chain has its neurons in
an order of its own. Here every draw is replaced by the replica that is nearest to the centroid of
its mode.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from symbreak._support.checks import Array, IntArray
from symbreak.symmetry._alignment import (
    affordable_method,
    align_marked,
    canonical,
    centroid_from,
    moves_of,
)
from symbreak.symmetry.networks import checked_array, like, places_of
from symbreak.topology import Topology, check_topology

if TYPE_CHECKING:
    import pandas as pd

#: So many draws of a chain, and of a mode, are looked at to find where it is.
PER_CHAIN, PER_MODE = 200, 4_000
#: So many chains are tried as the medoid.
MEDOIDS = 50
#: Two clouds whose means are farther apart than this, in units of their widths, are two modes: the
#: criterion of Ashman, Bird & Zepf (1994). On seven posteriors whose chains mix, those of one mode
#: were at most 1.5 apart, others at least 2.7 (2026-11).
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
        places: Where each array of a mapping lives in ``theta``; empty if one array came.
        modes: Which mode each chain is in, (chain,): 0 is the largest. Chains are in one mode if
            their draws overlap after alignment, so that modes are networks that compute other
            things.
        centroids: The mean of each mode modulo symmetries, (modes, D), the convention.
        orders: For each hidden layer (chain, draw, N): which neuron of the draw that came is now
            neuron j.
        signs: For each hidden layer (chain, draw, N): -1 where it was flipped.
        summary: For all chains, and for each of several modes that has two chains or more: the
            number of chains, and over all weights the largest R-hat and the least effective sample
            size, before and after.
    """

    draws: Any
    theta: Array
    topology: Topology
    places: Mapping[str, IntArray]
    modes: IntArray
    centroids: Array
    orders: list[IntArray]
    signs: list[Array]
    summary: pd.DataFrame

    def __repr__(self) -> str:
        chains, draws = self.theta.shape[:2]
        modes = "one mode" if len(self.centroids) == 1 else f"{len(self.centroids)} modes"
        return (
            f"AlignedDraws({chains} chains of {draws} draws, {self.topology} networks, {modes})\n"
            f"{self.summary}"
        )

    def align(self, draws: Any) -> tuple[Any, IntArray]:
        """Further draws under the same convention, and the nearest mode of each."""
        theta = _joined(draws, self.places, self.topology)
        flat = theta.reshape(-1, self.topology.dim)
        method = affordable_method(self.topology, PER_CHAIN)
        parts = [align_marked(flat, c, self.topology, method)[0] for c in self.centroids]
        far = [np.linalg.norm(p - c, axis=1) for p, c in zip(parts, self.centroids, strict=True)]
        modes = np.argmin(far, axis=0)
        moved = np.stack(parts)[modes, np.arange(len(modes))].reshape(theta.shape)
        return _parted(moved, draws, self.places), modes.reshape(theta.shape[:-1])


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
    places: dict[str, IntArray] = {}
    if isinstance(draws, Mapping):
        topology, places = _places(draws, activation, layout)
    topology = check_topology(topology)
    theta = _joined(draws, places, topology)
    chains = theta if theta.ndim == 3 else theta[None]
    modes, centroids = _find_modes(chains, topology)
    method, aligned = affordable_method(topology, PER_CHAIN), np.empty_like(chains)
    marks = np.empty_like(chains)
    for i, mode in enumerate(modes):
        aligned[i], marks[i] = align_marked(chains[i], centroids[mode], topology, method)
    orders, signs = moves_of(marks, topology)
    result = _parted(aligned.reshape(theta.shape), draws, places)
    found = (topology, places, modes, centroids, orders, signs)
    return AlignedDraws(result, aligned, *found, _summary(chains, aligned, modes))


def _joined(draws: Any, places: Mapping[str, IntArray], topology: Topology) -> Array:
    """Draws as one array (..., D)."""
    if places:
        first, place = next(iter(places.items()))
        theta = np.empty((*np.shape(draws[first])[: -place.ndim], topology.dim))
        for name, place in places.items():
            theta[..., place] = checked_array(name, draws[name])
    else:
        theta = checked_array("draws", draws)
    if theta.ndim not in (2, 3) or theta.shape[-1] != topology.dim or theta.size == 0:
        raise ValueError(
            f"draws must have shape (chain, draw, D) with D = {topology.dim} for a {topology} "
            f"network, got {theta.shape}."
        )
    return theta


def _parted(theta: Array, draws: Any, places: Mapping[str, IntArray]) -> Any:
    """The inverse: what ``draws`` was, with new numbers."""
    if not places:
        return theta
    return {
        name: like(old, theta[..., places[name]]) if name in places else old
        for name, old in draws.items()
    }


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
    clouds = [align_marked(p, c, topology, method)[0] for p, c in zip(parts, centres, strict=True)]
    modes, leaders = np.empty(len(chains), dtype=np.int64), list[int]()
    far = [  # in the order of their distance from the medoid, that is nearest to all
        np.linalg.norm(align_marked(centres, one, topology, method)[0] - one, axis=1)
        for one in centres[:: -(-len(centres) // MEDOIDS)]
    ]
    nearest = far[int(np.argmin(np.median(far, axis=1)))]
    for chain in np.argsort(nearest, kind="stable"):
        for mode, leader in enumerate(leaders):
            cloud, _ = align_marked(parts[chain], centres[leader], topology, method)
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
    return modes, align_marked(np.stack(centroids), first, topology, method)[0]


def _overlap(a: Array, b: Array) -> bool:
    """Whether two clouds (n, D) are one, seen along the line between their means."""
    line = a.mean(axis=0) - b.mean(axis=0)
    length = float(np.linalg.norm(line))
    if length <= SAME * np.linalg.norm(b.mean(axis=0)):
        return True
    widths = [float(np.var(cloud @ (line / length))) for cloud in (a, b)]
    return bool(length <= SEPARATION * np.sqrt(np.mean(widths)))


def _summary(before: Array, after: Array, modes: IntArray) -> pd.DataFrame:
    import pandas as pd  # takes long to load

    counts = np.bincount(modes)
    groups = {"all": np.ones(len(modes), dtype=np.bool_)}
    if len(counts) > 1:
        groups |= {str(mode): modes == mode for mode in np.flatnonzero(counts > 1)}
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


def diagnostics(draws: Array) -> Array:
    """R-hat and effective sample size of each weight (2, D), of draws (chain, draw, D).

    Both of chains split in halves (Gelman et al., Bayesian Data Analysis, 3rd edition, 11.4 and
    11.5); NaN with fewer than eight draws a chain, or where a weight never moves.
    """
    if draws.shape[1] < 8:
        return np.full((2, draws.shape[2]), np.nan)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.transpose([_diagnosed(draws[:, :, d]) for d in range(draws.shape[2])])


def _diagnosed(draws: Array) -> tuple[float, float]:
    """R-hat and effective sample size of one weight (chain, draw)."""
    n = draws.shape[1] // 2
    halves = np.concatenate([draws[:, :n], draws[:, -n:]])
    means, within = halves.mean(axis=1), halves.var(axis=1, ddof=1).mean()
    total = (n - 1) / n * within + means.var(ddof=1)
    spectrum = np.fft.rfft(halves - means[:, None], 2 * n, axis=1)
    covariances = np.fft.irfft(np.abs(spectrum) ** 2, axis=1)[:, :n].mean(axis=0) / n
    correlations = 1 - (within - covariances) / total
    pairs = correlations[: n - n % 2].reshape(-1, 2).sum(axis=1)  # positive, then noise
    pairs = np.minimum.accumulate(pairs)  # Geyer's initial monotone sequence
    time = max(2 * float(pairs[pairs > 0].sum()) - 1, 1 / np.log10(halves.size))
    return float(np.sqrt(total / within)), halves.size / time
