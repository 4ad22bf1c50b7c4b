"""A slow, obvious twin of L-SHADE (Tanabe & Fukunaga 2014); conventions of ``reference.py``.

Entries of the memory that are None stand for the paper's terminal value.
"""

from __future__ import annotations

import math

import numpy as np

from tests.reference import Array


def lshade_trials(
    population: list[Array],
    archive: list[Array],
    errors: list[float],
    F: Array,
    CR: Array,
    uniforms: Array,
    p: float = 0.11,
) -> list[Array]:
    """Equations 3 and 4: current-to-pbest/1/bin, donors taken out of lists of those that remain."""
    n, made = len(population), []
    ranked = sorted(range(n), key=lambda i: errors[i])[: max(2, round(p * n))]
    union = [*population, *archive]
    for i, x in enumerate(population):
        u_best, u1, u2, u_always = uniforms[i, :4]
        pbest = population[ranked[math.floor(u_best * len(ranked))]]
        others = [k for k in range(n) if k != i]
        r1 = others[math.floor(u1 * len(others))]
        others = [k for k in range(len(union)) if k not in (i, r1)]
        r2 = others[math.floor(u2 * len(others))]
        always = math.floor(u_always * len(x))
        trial = x.copy()
        for d in range(len(x)):
            if d == always or uniforms[i, 4 + d] < CR[i]:
                difference = population[r1][d] - union[r2][d]
                trial[d] = x[d] + F[i] * (pbest[d] - x[d]) + F[i] * difference
        made.append(trial)
    return made


class Memory:
    """Algorithm 1: the means of what succeeded, in a ring of H entries."""

    def __init__(self) -> None:
        self.F: list[float] = [0.5] * 6
        self.CR: list[float | None] = [0.5] * 6
        self.k = 0

    def update(self, successes: list[tuple[float, float, float]]) -> None:
        """Successes are (F, CR, gain)."""
        if not successes:
            return
        total = sum(gain for _, _, gain in successes)

        def lehmer(which: int) -> float:
            above = sum(s[2] / total * s[which] ** 2 for s in successes)
            return above / sum(s[2] / total * s[which] for s in successes)

        self.F[self.k] = lehmer(0)
        if self.CR[self.k] is None or max(s[1] for s in successes) == 0:
            self.CR[self.k] = None
        else:
            self.CR[self.k] = lehmer(1)
        self.k = (self.k + 1) % 6


def planned_size(first: int, spent: int, budget: int) -> int:
    """Equation 10."""
    return round((4 - first) / budget * spent + first)


def selected(
    population: list[Array], errors: list[float], made: Array, told: list[float]
) -> tuple[list[Array], list[float], list[int]]:
    """Trials that are no worse are kept; which ones were better."""
    population, errors, better = list(population), list(errors), []
    for i, error in enumerate(told):
        if error < errors[i]:
            better.append(i)
        if error <= errors[i]:
            population[i], errors[i] = np.array(made[i]), error
    return population, errors, better
