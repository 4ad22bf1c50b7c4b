"""The regression problems of Section 6.2; noise is added before normalisation (paper-notes 18)."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from symbreak._checks import Array
from symbreak.problems._problem import Problem, paper_problem, problem

NOISE = 5e-3  # standard deviation


def noisy(rng: Generator, values: Array) -> Array:
    """Add the normal noise of self-generated data sets (Eq. 48)."""
    return values + rng.normal(0.0, NOISE, size=values.shape)


def sin_ratio(t: Array) -> Array:
    """``sin(t) / t``, 1 at 0."""
    return np.sinc(t / np.pi)  # np.sinc(u) is sin(pi u) / (pi u)


@problem("syn5")
def syn5(rng: Generator) -> Problem:
    """A polynomial of degree four."""
    x = rng.uniform(-1, 1, size=(200, 1))
    y = noisy(rng, (x - 0.5) ** 2 * (0.1 + (x + 0.65) ** 2))
    text = "(x - 0.5)^2 (0.1 + (x + 0.65)^2) on (-1, 1)"
    return paper_problem("syn5", "1-3-1", x, y, DE=80, CMAES=48, budget=40_000, text=text)


@problem("sinc")
def sinc(rng: Generator) -> Problem:
    """The sinc function."""
    x = rng.uniform(-1, 1, size=(200, 1))
    y = noisy(rng, sin_ratio(10 * x))
    text = "sin(10 x) / 10 x on (-1, 1)"
    return paper_problem("sinc", "1-5-1", x, y, DE=120, CMAES=400, budget=200_000, text=text)


@problem("inc-sinc")
def inc_sinc(rng: Generator) -> Problem:
    """The sinc function on a slope."""
    x = rng.uniform(-1, 1, size=(200, 1))
    y = noisy(rng, x / 2 + sin_ratio(10 * x))
    text = "x / 2 + sin(10 x) / 10 x on (-1, 1)"
    return paper_problem("inc-sinc", "1-5-1", x, y, DE=144, CMAES=400, budget=200_000, text=text)


@problem("sinc2d")
def sinc2d(rng: Generator) -> Problem:
    """A radial sinc in the plane, through a bottleneck of one neuron."""
    x, y = _radial_sinc(rng, 2)
    text = "sin(5 |x|) / 15 |x| on (-1, 1)^2"
    return paper_problem("sinc2d", "2-3-1-3-1", x, y, DE=96, CMAES=1000, budget=200_000, text=text)


@problem("sinc3d")
def sinc3d(rng: Generator) -> Problem:
    """A radial sinc in space, through a bottleneck of one neuron."""
    x, y = _radial_sinc(rng, 3)
    text = "sin(5 |x|) / 15 |x| on (-1, 1)^3"
    return paper_problem("sinc3d", "3-4-1-4-1", x, y, DE=120, CMAES=1000, budget=300_000, text=text)


def _radial_sinc(rng: Generator, dimensions: int) -> tuple[Array, Array]:
    x = rng.uniform(-1, 1, size=(1000, dimensions))
    r = np.linalg.norm(x, axis=1, keepdims=True)
    return x, noisy(rng, sin_ratio(5 * r) / 3)
