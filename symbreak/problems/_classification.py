"""The classification problems of Section 6.4, divided into training, validation and test sets."""

from __future__ import annotations

from importlib import resources

import numpy as np
from numpy.random import Generator

from symbreak._support.checks import Array, IntArray
from symbreak.problems._problem import PAPER
from symbreak.problems._registry import Pair, register_problem

Division = tuple[Pair, Pair, Pair]


def _divided(X: Array, labels: IntArray, sizes: tuple[int, int, int]) -> Division:
    """The first samples are for training, the next for validation, the next for the test."""
    a, b, c = np.cumsum(sizes)
    return (X[:a], labels[:a]), (X[a:b], labels[a:b]), (X[b:c], labels[b:c])


@register_problem(
    "two-circles",
    "2-4-2-4-2",
    population_size={"DE": 80, "CMA-ES": 400},
    max_evaluations=200_000,
    description="inside two circles of radius 0.39894 in [-1, 1]^2, or not",
    task="classification",
    **PAPER,
)
def two_circles(rng: Generator) -> Division:
    """Inside or outside of two circles in a square."""
    x = rng.uniform(-1, 1, size=(1200, 2))
    radius = 0.39894
    inside = (np.linalg.norm(x - 0.5, axis=1) <= radius) | (
        np.linalg.norm(x + 0.5, axis=1) <= radius
    )
    return _divided(x, inside.astype(np.int64), (400, 400, 400))


@register_problem(
    "two-spirals",
    "2-8-3-1-3-8-2",
    population_size={"DE": 120, "CMA-ES": 1000},
    max_evaluations=2_000_000,
    description="which of two intertwined spirals a point is on",
    task="classification",
    **PAPER,
)
def two_spirals(rng: Generator) -> Division:
    """The two spirals of Lang & Witbrock (paper-notes 19), shuffled."""
    i = np.arange(97)
    angle, radius = i * np.pi / 16, 6.5 * (104 - i) / 104
    spiral = np.column_stack([radius * np.sin(angle), radius * np.cos(angle)])
    x = np.concatenate([spiral, -spiral])
    order = rng.permutation(len(x))
    return _divided(x[order], np.repeat([0, 1], 97)[order], (114, 40, 40))


@register_problem(
    "digits",
    "16-8-3-10-10",
    population_size={"DE": 100, "CMA-ES": 1000},
    max_evaluations=300_000,
    description="handwritten digits from eight pen positions",
    task="classification",
    **PAPER,
)
def digits(rng: Generator) -> Division:
    """Handwritten digits: 3,000 random samples of the UCI pen-based set (paper-notes 20)."""
    X, labels = load_digits()
    chosen = rng.permutation(len(X))[:3000]
    return _divided(X[chosen], labels[chosen], (1000, 1000, 1000))


def load_digits() -> tuple[Array, IntArray]:
    """All 10,992 samples: features (K, 16) from 0 to 100, and digits (K,)."""
    with resources.files("symbreak.problems").joinpath("digits.npz").open("rb") as file:
        arrays = np.load(file, allow_pickle=False)
        return arrays["X"].astype(np.float64), arrays["y"].astype(np.int64)
