"""Slow, obvious twins of Differential Evolution and of L-SHADE (Tanabe & Fukunaga 2014).

Conventions of ``reference.py``. Entries of L-SHADE's memory that are None stand for the paper's
terminal value.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tests.reference import Array


def distinct_donors(i: int, n: int, u1: float, u2: float, u3: float) -> tuple[int, int, int]:
    """Choose three donors for candidate i of n, all four distinct (DE/rand/1; paper-notes 12)."""
    remaining = [index for index in range(n) if index != i]
    r1 = remaining.pop(math.floor(u1 * (n - 1)))
    r2 = remaining.pop(math.floor(u2 * (n - 2)))
    r3 = remaining.pop(math.floor(u3 * (n - 3)))
    return r1, r2, r3


def de_trials(
    population: Array, uniforms: Array, F: Array | float = 0.5, CR: Array | float = 0.9
) -> Array:
    """Make one trial per candidate by DE/rand/1/bin (Sec. 6 settings; paper-notes 12).

    Uniforms (N_p, 4 + D) choose three donors, the coordinate that always crosses over, and whether
    each coordinate does.
    """
    population, uniforms = np.asarray(population, dtype=float), np.asarray(uniforms, dtype=float)
    count, dim = population.shape
    F, CR = np.broadcast_to(F, count), np.broadcast_to(CR, count)
    trials = population.copy()
    for i in range(count):
        u1, u2, u3, u_always = (float(u) for u in uniforms[i, :4])
        r1, r2, r3 = distinct_donors(i, count, u1, u2, u3)
        always = math.floor(u_always * dim)
        for d in range(dim):
            if d == always or uniforms[i, 4 + d] < CR[i]:
                difference = population[r2, d] - population[r3, d]
                trials[i, d] = population[r1, d] + F[i] * difference
    return trials


def de_select(
    population: Array,
    errors: Array,
    to_beat: Array,
    trials: Array,
    trial_errors: Array,
) -> tuple[Array, Array, Array]:
    """Let each trial replace its candidate unless it is worse (DE; paper-notes 2 and 12).

    A trial wins ties. A trial whose error is not finite never wins, not even against infinity.
    """
    population, errors = np.array(population, dtype=float), np.array(errors, dtype=float)
    to_beat = np.array(to_beat, dtype=float)
    trials, trial_errors = np.asarray(trials), np.asarray(trial_errors)
    for i in range(len(population)):
        if math.isfinite(trial_errors[i]) and trial_errors[i] <= to_beat[i]:
            population[i] = trials[i]
            errors[i] = trial_errors[i]
            to_beat[i] = trial_errors[i]
    return population, errors, to_beat


def inflate(to_beat: Array, modified: NDArray[np.bool_], cap: float = 1e300) -> Array:
    """Multiply by 100 the errors to beat of modified candidates (Algorithm 2; paper-notes 2, 3)."""
    to_beat, modified = np.array(to_beat, dtype=float), np.asarray(modified)
    for j in range(len(to_beat) // 2):
        if modified[j]:
            to_beat[j] = min(100.0 * float(to_beat[j]), cap)
    return to_beat


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
