"""The autoencoding problems of Section 6.3: through a bottleneck and back, with noisy targets."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from symbreak.problems._problem import Problem, paper_problem, problem
from symbreak.problems._regression import noisy


@problem("autoenc-circle")
def autoenc_circle(rng: Generator) -> Problem:
    """A circle, encoded by its angle."""
    angle = rng.uniform(0, 2 * np.pi, size=200)
    x = np.column_stack([np.cos(angle), np.sin(angle)])
    return paper_problem(
        "autoenc-circle",
        "2-5-3-2-1-2-3-5-2",
        x,
        noisy(rng, x),
        DE=64,
        CMAES=4000,
        budget=400_000,
        text="the unit circle through one number",
        task="autoencoding",
    )


@problem("autoenc-spiral")
def autoenc_spiral(rng: Generator) -> Problem:
    """A spiral of three turns, encoded by its angle."""
    angle = rng.uniform(0, 6 * np.pi, size=1000)
    x = np.column_stack([np.cos(angle), np.sin(angle), angle])
    return paper_problem(
        "autoenc-spiral",
        "3-1-3-4-7-3",
        x,
        noisy(rng, x),
        DE=80,
        CMAES=400,
        budget=400_000,
        text="(cos t, sin t, t), t in [0, 6 pi], through one number",
        task="autoencoding",
    )


@problem("autoenc-sphere")
def autoenc_sphere(rng: Generator) -> Problem:
    """The unit sphere, encoded by two numbers."""
    x = rng.normal(size=(1000, 3))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    return paper_problem(
        "autoenc-sphere",
        "3-8-5-2-5-8-3",
        x,
        noisy(rng, x),
        DE=96,
        CMAES=1000,
        budget=600_000,
        text="the unit sphere through two numbers",
        task="autoencoding",
    )
