"""The autoencoding problems of Section 6.3: through a bottleneck and back, with noisy targets."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from symbreak.problems._problem import PAPER
from symbreak.problems._registry import Pair, register_problem
from symbreak.problems._regression import noisy


@register_problem(
    "autoenc-circle",
    "2-5-3-2-1-2-3-5-2",
    population_size={"DE": 64, "CMA-ES": 4000},
    max_evaluations=400_000,
    description="the unit circle through one number",
    task="autoencoding",
    **PAPER,
)
def autoenc_circle(rng: Generator) -> Pair:
    """A circle, encoded by its angle."""
    angle = rng.uniform(0, 2 * np.pi, size=200)
    x = np.column_stack([np.cos(angle), np.sin(angle)])
    return x, noisy(rng, x)


@register_problem(
    "autoenc-spiral",
    "3-1-3-4-7-3",
    population_size={"DE": 80, "CMA-ES": 400},
    max_evaluations=400_000,
    description="(cos t, sin t, t), t in [0, 6 pi], through one number",
    task="autoencoding",
    **PAPER,
)
def autoenc_spiral(rng: Generator) -> Pair:
    """A spiral of three turns, encoded by its angle."""
    angle = rng.uniform(0, 6 * np.pi, size=1000)
    x = np.column_stack([np.cos(angle), np.sin(angle), angle])
    return x, noisy(rng, x)


@register_problem(
    "autoenc-sphere",
    "3-8-5-2-5-8-3",
    population_size={"DE": 96, "CMA-ES": 1000},
    max_evaluations=600_000,
    description="the unit sphere through two numbers",
    task="autoencoding",
    **PAPER,
)
def autoenc_sphere(rng: Generator) -> Pair:
    """The unit sphere, encoded by two numbers."""
    x = rng.normal(size=(1000, 3))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    return x, noisy(rng, x)
