"""Slow, obvious twins of Differential Evolution; conventions of ``reference.py``."""

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
