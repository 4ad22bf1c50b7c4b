"""The classification problems of Section 6.4, divided into training, validation and test sets."""

from __future__ import annotations

from importlib import resources
from typing import Any

import numpy as np
from numpy.random import Generator

from symbreak._checks import Array, IntArray
from symbreak.problems._problem import Problem, paper_problem, problem


def _divided(name: str, net: str, X: Array, labels: IntArray, sizes: Any, **rest: Any) -> Problem:
    """The first samples are for training, the next for validation, the next for the test."""
    ends = np.cumsum(sizes)
    train, validation, test = (
        (X[end - n : end], labels[end - n : end]) for n, end in zip(sizes, ends, strict=True)
    )
    return paper_problem(
        name, net, *train, task="classification", validation=validation, test=test, **rest
    )


@problem("two-circles")
def two_circles(rng: Generator) -> Problem:
    """Inside or outside of two circles in a square."""
    x = rng.uniform(-1, 1, size=(1200, 2))
    radius = 0.39894
    inside = (np.linalg.norm(x - 0.5, axis=1) <= radius) | (
        np.linalg.norm(x + 0.5, axis=1) <= radius
    )
    return _divided(
        "two-circles",
        "2-4-2-4-2",
        x,
        inside.astype(np.int64),
        (400, 400, 400),
        DE=80,
        CMAES=400,
        budget=200_000,
        text="inside two circles of radius 0.39894 in [-1, 1]^2, or not",
    )


@problem("two-spirals")
def two_spirals(rng: Generator) -> Problem:
    """The two spirals of Lang & Witbrock (paper-notes 19), shuffled."""
    i = np.arange(97)
    angle, radius = i * np.pi / 16, 6.5 * (104 - i) / 104
    spiral = np.column_stack([radius * np.sin(angle), radius * np.cos(angle)])
    x = np.concatenate([spiral, -spiral])
    order = rng.permutation(len(x))
    return _divided(
        "two-spirals",
        "2-8-3-1-3-8-2",
        x[order],
        np.repeat([0, 1], 97)[order],
        (114, 40, 40),
        DE=120,
        CMAES=1000,
        budget=2_000_000,
        text="which of two intertwined spirals a point is on",
    )


@problem("digits")
def digits(rng: Generator) -> Problem:
    """Handwritten digits: 3,000 random samples of the UCI pen-based set (paper-notes 20)."""
    X, labels = load_digits()
    chosen = rng.permutation(len(X))[:3000]
    return _divided(
        "digits",
        "16-8-3-10-10",
        X[chosen],
        labels[chosen],
        (1000, 1000, 1000),
        DE=100,
        CMAES=1000,
        budget=300_000,
        text="handwritten digits from eight pen positions",
    )


def load_digits() -> tuple[Array, IntArray]:
    """All 10,992 samples: features (K, 16) from 0 to 100, and digits (K,)."""
    with resources.files("symbreak.problems").joinpath("digits.npz").open("rb") as file:
        arrays = np.load(file, allow_pickle=False)
        return arrays["X"].astype(np.float64), arrays["y"].astype(np.int64)
