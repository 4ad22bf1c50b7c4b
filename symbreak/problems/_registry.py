"""Problems by name: any that are registered, and the eleven of the paper's Section 6."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import resources
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from symbreak._support.checks import Array, IntArray, check_text, unknown
from symbreak._support.random import stream
from symbreak.problems._problem import PAPER, Problem, Task
from symbreak.topology import Topology

Pair = tuple[ArrayLike, ArrayLike]
Division = tuple[Pair, Pair, Pair]
#: Draws inputs and targets; or those for training, validation and test.
Draw = Callable[[Generator], Pair | Division]

_MAKERS: dict[str, Callable[[Generator], Problem]] = {}


def register_problem(
    name: str,
    net: str,
    *,
    population_size: Mapping[str, int],
    max_evaluations: int,
    description: str,
    **settings: Any,
) -> Callable[[Draw], Draw]:
    """Decorate a function that draws data: ``load_problem(name)`` then makes the problem.

    Args:
        name: What to call it.
        net: The network, as in ``"2-3-1-3-1"``.
        population_size: Candidates by family of methods, where not the optimizers' own.
        max_evaluations: The usual budget.
        description: A line for tables and reports.
        **settings: Other arguments of ``Problem.from_arrays``.
    """
    topology = Topology.parse(net)
    check_text("name", name)

    def register(draw: Draw) -> Draw:
        def make(rng: Generator) -> Problem:
            data = draw(rng)
            train, validation, test = data if len(data) == 3 else (data, None, None)
            return Problem.from_arrays(
                *train,
                validation=validation,
                test=test,
                hidden=topology.hidden,
                activation=topology.activation,
                name=name,
                population_size=population_size,
                max_evaluations=max_evaluations,
                description=description,
                **settings,
            )

        _MAKERS[name] = make
        return draw

    return register


def is_built_in_problem(name: str) -> bool:
    """Whether a problem is as symbreak brings it, neither added nor replaced since."""
    return name in _BUILT_IN and _MAKERS.get(name) is _BUILT_IN[name]


def problem_names() -> list[str]:
    """Names of all problems, the paper's first and in its order."""
    return list(_MAKERS)


def load_problem(name: str, seed: int = 0) -> Problem:
    """Draw the data of a problem from the stream of ``seed``."""
    if not isinstance(name, str) or name not in _MAKERS:
        raise unknown("problem", name, _MAKERS)
    return _MAKERS[name](stream(seed, "data", name))


#: Standard deviation; it is added before normalisation (paper-notes 18).
NOISE = 5e-3


def noisy(rng: Generator, values: Array) -> Array:
    """Add the normal noise of self-generated data sets (Eq. 48)."""
    return values + rng.normal(0.0, NOISE, size=values.shape)


def sin_ratio(t: Array) -> Array:
    """``sin(t) / t``, 1 at 0."""
    return np.sinc(t / np.pi)  # np.sinc(u) is sin(pi u) / (pi u)


def _of_paper(
    task: Task, net: str, candidates: tuple[int, int], max_evaluations: int, text: str
) -> Callable[[Draw], Draw]:
    """Register a problem of the paper, called as the function is that draws it.

    ``candidates`` are those of DE and of CMA-ES.
    """

    def register(draw: Draw) -> Draw:
        sizes = dict(zip(("DE", "CMA-ES"), candidates, strict=True))
        settings: dict[str, Any] = {"task": task, "description": text, **PAPER}
        settings |= {"population_size": sizes, "max_evaluations": max_evaluations}
        return register_problem(draw.__name__.replace("_", "-"), net, **settings)(draw)

    return register


# Section 6.2: noisy values of a function on (-1, 1)^d.


def _on_cube(rng: Generator, n: int, d: int, function: Callable[[Array], Array]) -> Pair:
    x = rng.uniform(-1, 1, size=(n, d))
    return x, noisy(rng, function(x))


def _radial_sinc(x: Array) -> Array:
    return sin_ratio(5 * np.linalg.norm(x, axis=1, keepdims=True)) / 3


@_of_paper("regression", "1-3-1", (80, 48), 40_000, "(x - 0.5)^2 (0.1 + (x + 0.65)^2) on (-1, 1)")
def syn5(rng: Generator) -> Pair:
    return _on_cube(rng, 200, 1, lambda x: (x - 0.5) ** 2 * (0.1 + (x + 0.65) ** 2))


@_of_paper("regression", "1-5-1", (120, 400), 200_000, "sin(10 x) / 10 x on (-1, 1)")
def sinc(rng: Generator) -> Pair:
    return _on_cube(rng, 200, 1, lambda x: sin_ratio(10 * x))


@_of_paper("regression", "1-5-1", (144, 400), 200_000, "x / 2 + sin(10 x) / 10 x on (-1, 1)")
def inc_sinc(rng: Generator) -> Pair:
    return _on_cube(rng, 200, 1, lambda x: x / 2 + sin_ratio(10 * x))


@_of_paper("regression", "2-3-1-3-1", (96, 1000), 200_000, "sin(5 |x|) / 15 |x| on (-1, 1)^2")
def sinc2d(rng: Generator) -> Pair:
    return _on_cube(rng, 1000, 2, _radial_sinc)


@_of_paper("regression", "3-4-1-4-1", (120, 1000), 300_000, "sin(5 |x|) / 15 |x| on (-1, 1)^3")
def sinc3d(rng: Generator) -> Pair:
    return _on_cube(rng, 1000, 3, _radial_sinc)


# Section 6.3: through a bottleneck and back, with noisy targets.
@_of_paper(
    *("autoencoding", "2-5-3-2-1-2-3-5-2", (64, 4000), 400_000),
    "the unit circle through one number",
)
def autoenc_circle(rng: Generator) -> Pair:
    """A circle, encoded by its angle."""
    angle = rng.uniform(0, 2 * np.pi, size=200)
    x = np.column_stack([np.cos(angle), np.sin(angle)])
    return x, noisy(rng, x)


@_of_paper(
    *("autoencoding", "3-1-3-4-7-3", (80, 400), 400_000),
    "(cos t, sin t, t), t in [0, 6 pi], through one number",
)
def autoenc_spiral(rng: Generator) -> Pair:
    """A spiral of three turns, encoded by its angle."""
    angle = rng.uniform(0, 6 * np.pi, size=1000)
    x = np.column_stack([np.cos(angle), np.sin(angle), angle])
    return x, noisy(rng, x)


@_of_paper(
    *("autoencoding", "3-8-5-2-5-8-3", (96, 1000), 600_000),
    "the unit sphere through two numbers",
)
def autoenc_sphere(rng: Generator) -> Pair:
    """The unit sphere, encoded by two numbers."""
    x = rng.normal(size=(1000, 3))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    return x, noisy(rng, x)


# Section 6.4: divided into training, validation and test sets.
def _divided(X: Array, labels: IntArray, sizes: tuple[int, int, int]) -> Division:
    """The first samples are for training, the next for validation, the next for the test."""
    a, b, c = np.cumsum(sizes)
    return (X[:a], labels[:a]), (X[a:b], labels[a:b]), (X[b:c], labels[b:c])


@_of_paper(
    *("classification", "2-4-2-4-2", (80, 400), 200_000),
    "inside two circles of radius 0.39894 in [-1, 1]^2, or not",
)
def two_circles(rng: Generator) -> Division:
    """Inside or outside of two circles in a square."""
    x = rng.uniform(-1, 1, size=(1200, 2))
    distances = [np.linalg.norm(x - centre, axis=1) for centre in (0.5, -0.5)]
    inside = np.minimum(*distances) <= 0.39894
    return _divided(x, inside.astype(np.int64), (400, 400, 400))


@_of_paper(
    *("classification", "2-8-3-1-3-8-2", (120, 1000), 2_000_000),
    "which of two intertwined spirals a point is on",
)
def two_spirals(rng: Generator) -> Division:
    """The two spirals of Lang & Witbrock (paper-notes 19), shuffled."""
    i = np.arange(97)
    angle, radius = i * np.pi / 16, 6.5 * (104 - i) / 104
    spiral = np.column_stack([radius * np.sin(angle), radius * np.cos(angle)])
    x = np.concatenate([spiral, -spiral])
    order = rng.permutation(len(x))
    return _divided(x[order], np.repeat([0, 1], 97)[order], (114, 40, 40))


@_of_paper(
    *("classification", "16-8-3-10-10", (100, 1000), 300_000),
    "handwritten digits from eight pen positions",
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


#: What a fresh process knows, whatever is registered since.
_BUILT_IN = dict(_MAKERS)
