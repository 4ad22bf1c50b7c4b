"""Hypothesis strategies: random small topologies of every activation, and seeds."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import strategies as st

from symbreak import Topology
from symbreak.activations import ACTIVATIONS


def seeds() -> st.SearchStrategy[int]:
    return st.integers(0, 2**32 - 1)


def topologies(
    max_layers: int = 3,
    max_width: int = 4,
    max_replicas: int = 10**9,
    activations: Iterable[str] = ACTIVATIONS,
) -> st.SearchStrategy[Topology]:
    """One to ``max_layers`` hidden layers of up to ``max_width`` neurons."""
    hidden = st.lists(st.integers(1, max_width), min_size=1, max_size=max_layers)
    return st.builds(
        lambda d, h, q, activation: Topology((d, *h, q), activation),
        st.integers(1, 3),
        hidden,
        st.integers(1, 3),
        st.sampled_from(list(activations)),
    ).filter(lambda topology: topology.n_replicas <= max_replicas)
