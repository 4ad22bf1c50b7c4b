"""The regression problems of Section 6.2; noise is added before normalisation (paper-notes 18)."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from symbreak._support.checks import Array
from symbreak.problems._problem import PAPER
from symbreak.problems._registry import Pair, register_problem

NOISE = 5e-3  # standard deviation


def noisy(rng: Generator, values: Array) -> Array:
    """Add the normal noise of self-generated data sets (Eq. 48)."""
    return values + rng.normal(0.0, NOISE, size=values.shape)


def sin_ratio(t: Array) -> Array:
    """``sin(t) / t``, 1 at 0."""
    return np.sinc(t / np.pi)  # np.sinc(u) is sin(pi u) / (pi u)


@register_problem(
    "syn5",
    "1-3-1",
    population_size={"DE": 80, "CMA-ES": 48},
    max_evaluations=40_000,
    description="(x - 0.5)^2 (0.1 + (x + 0.65)^2) on (-1, 1)",
    **PAPER,
)
def syn5(rng: Generator) -> Pair:
    """A polynomial of degree four."""
    x = rng.uniform(-1, 1, size=(200, 1))
    return x, noisy(rng, (x - 0.5) ** 2 * (0.1 + (x + 0.65) ** 2))


@register_problem(
    "sinc",
    "1-5-1",
    population_size={"DE": 120, "CMA-ES": 400},
    max_evaluations=200_000,
    description="sin(10 x) / 10 x on (-1, 1)",
    **PAPER,
)
def sinc(rng: Generator) -> Pair:
    """The sinc function."""
    x = rng.uniform(-1, 1, size=(200, 1))
    return x, noisy(rng, sin_ratio(10 * x))


@register_problem(
    "inc-sinc",
    "1-5-1",
    population_size={"DE": 144, "CMA-ES": 400},
    max_evaluations=200_000,
    description="x / 2 + sin(10 x) / 10 x on (-1, 1)",
    **PAPER,
)
def inc_sinc(rng: Generator) -> Pair:
    """The sinc function on a slope."""
    x = rng.uniform(-1, 1, size=(200, 1))
    return x, noisy(rng, x / 2 + sin_ratio(10 * x))


@register_problem(
    "sinc2d",
    "2-3-1-3-1",
    population_size={"DE": 96, "CMA-ES": 1000},
    max_evaluations=200_000,
    description="sin(5 |x|) / 15 |x| on (-1, 1)^2",
    **PAPER,
)
def sinc2d(rng: Generator) -> Pair:
    """A radial sinc in the plane, through a bottleneck of one neuron."""
    return _radial_sinc(rng, 2)


@register_problem(
    "sinc3d",
    "3-4-1-4-1",
    population_size={"DE": 120, "CMA-ES": 1000},
    max_evaluations=300_000,
    description="sin(5 |x|) / 15 |x| on (-1, 1)^3",
    **PAPER,
)
def sinc3d(rng: Generator) -> Pair:
    """A radial sinc in space, through a bottleneck of one neuron."""
    return _radial_sinc(rng, 3)


def _radial_sinc(rng: Generator, dimensions: int) -> Pair:
    x = rng.uniform(-1, 1, size=(1000, dimensions))
    r = np.linalg.norm(x, axis=1, keepdims=True)
    return x, noisy(rng, sin_ratio(5 * r) / 3)
