"""Hypothesis strategies: random small topologies of every activation, and seeds."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import strategies as st

from symbreak import Topology
from symbreak._activations import ACTIVATIONS

#: Output weights solved for, searched too, and no biases.
KINDS = {
    "solved": {},
    "complete": {"outputs": "searched"},
    "unbiased": {"outputs": "searched", "biases": False},
}


def seeds() -> st.SearchStrategy[int]:
    return st.integers(0, 2**32 - 1)


def topologies(
    max_layers: int = 3,
    max_width: int = 4,
    max_replicas: int = 10**9,
    activations: Iterable[str] = ACTIVATIONS,
    kinds: Iterable[str] = ("solved",),
) -> st.SearchStrategy[Topology]:
    """One to ``max_layers`` hidden layers of up to ``max_width`` neurons, of some of ``KINDS``."""
    hidden = st.lists(st.integers(1, max_width), min_size=1, max_size=max_layers)
    return st.builds(
        lambda d, h, q, activation, kind: Topology((d, *h, q), activation, **KINDS[kind]),
        st.integers(1, 3),
        hidden,
        st.integers(1, 3),
        st.sampled_from(list(activations)),
        st.sampled_from(list(kinds)),
    ).filter(lambda topology: topology.n_replicas <= max_replicas)
