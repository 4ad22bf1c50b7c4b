"""The regression problems of Section 6.2; noise is added before normalisation (paper-notes 18)."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from symbreak._checks import Array
from symbreak.problems._problem import Problem, problem
from symbreak.topology import Topology

NOISE = 5e-3  # standard deviation


def noisy(rng: Generator, values: Array) -> Array:
    """Add the normal noise of self-generated data sets (Eq. 48)."""
    return values + rng.normal(0.0, NOISE, size=values.shape)


def sin_ratio(t: Array) -> Array:
    """``sin(t) / t``, 1 at 0."""
    return np.sinc(t / np.pi)  # np.sinc(u) is sin(pi u) / (pi u)


def _regression(
    name: str, net: str, x: Array, y: Array, *, DE: int, CMAES: int, budget: int, text: str
) -> Problem:
    return Problem.from_arrays(
        x,
        y,
        hidden=Topology.parse(net).hidden,
        name=name,
        population_size={"DE": DE, "CMA-ES": CMAES},
        max_evaluations=budget,
        description=text,
    )


@problem("syn5")
def syn5(rng: Generator) -> Problem:
    """A polynomial of degree four."""
    x = rng.uniform(-1, 1, size=(200, 1))
    y = noisy(rng, (x - 0.5) ** 2 * (0.1 + (x + 0.65) ** 2))
    text = "(x - 0.5)^2 (0.1 + (x + 0.65)^2) on (-1, 1)"
    return _regression("syn5", "1-3-1", x, y, DE=80, CMAES=48, budget=40_000, text=text)


@problem("sinc")
def sinc(rng: Generator) -> Problem:
    """The sinc function."""
    x = rng.uniform(-1, 1, size=(200, 1))
    y = noisy(rng, sin_ratio(10 * x))
    text = "sin(10 x) / 10 x on (-1, 1)"
    return _regression("sinc", "1-5-1", x, y, DE=120, CMAES=400, budget=200_000, text=text)


@problem("sinc2d")
def sinc2d(rng: Generator) -> Problem:
    """A radial sinc in the plane, through a bottleneck of one neuron."""
    x = rng.uniform(-1, 1, size=(1000, 2))
    r = np.linalg.norm(x, axis=1, keepdims=True)
    y = noisy(rng, sin_ratio(5 * r) / 3)
    text = "sin(5 |x|) / 15 |x| on (-1, 1)^2"
    return _regression("sinc2d", "2-3-1-3-1", x, y, DE=96, CMAES=1000, budget=200_000, text=text)
