"""Slow, obvious twins of the problems of control; conventions of ``reference.py``."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tests.reference import Array

Derivative = Callable[[Array, float], Array]


def cart_and_poles(*half_lengths: float) -> Derivative:
    """Equations of motion of Gomez, Schmidhuber & Miikkulainen (2008), Appendix A.

    Masses of poles are a fifth of their half lengths.
    """

    def derivative(s: Array, u: float) -> Array:
        g, mu_c, mu_p = -9.8, 0.0005, 0.000002
        forces, masses = [], []
        for i, length in enumerate(half_lengths):
            m, theta, omega = length / 5, s[2 + 2 * i], s[3 + 2 * i]
            friction = mu_p * omega / (m * length)
            forces.append(
                m * length * omega**2 * math.sin(theta)
                + 3 / 4 * m * math.cos(theta) * (friction + g * math.sin(theta))
            )
            masses.append(m * (1 - 3 / 4 * math.cos(theta) ** 2))
        x2 = (10 * u - mu_c * np.sign(s[1]) + sum(forces)) / (1.0 + sum(masses))
        changes = [s[1], x2]
        for i, length in enumerate(half_lengths):
            m, theta, omega = length / 5, s[2 + 2 * i], s[3 + 2 * i]
            pull = x2 * math.cos(theta) + g * math.sin(theta) + mu_p * omega / (m * length)
            changes += [omega, -3 / (4 * length) * pull]
        return np.array(changes)

    return derivative


def acrobot(s: Array, u: float) -> Array:
    """Equations of motion of Sutton (1996), letter by letter."""
    m1 = m2 = l1 = i1 = i2 = 1.0
    lc1 = lc2 = 0.5
    g = 9.8
    a1, a2, v1, v2 = s
    d1 = m1 * lc1**2 + m2 * (l1**2 + lc2**2 + 2 * l1 * lc2 * math.cos(a2)) + i1 + i2
    d2 = m2 * (lc2**2 + l1 * lc2 * math.cos(a2)) + i2
    phi2 = m2 * lc2 * g * math.cos(a1 + a2 - math.pi / 2)
    phi1 = (
        -m2 * l1 * lc2 * v2**2 * math.sin(a2)
        - 2 * m2 * l1 * lc2 * v2 * v1 * math.sin(a2)
        + (m1 * lc1 + m2 * l1) * g * math.cos(a1 - math.pi / 2)
        + phi2
    )
    w2 = (u + d2 / d1 * phi1 - m2 * l1 * lc2 * v1**2 * math.sin(a2) - phi2) / (
        m2 * lc2**2 + i2 - d2**2 / d1
    )
    return np.array([v1, v2, -(d2 * w2 + phi1) / d1, w2])


def runge_kutta(f: Derivative, s: Array, u: float, h: float) -> Array:
    """One step of fourth order."""
    k1 = f(s, u)
    k2 = f(s + h / 2 * k1, u)
    k3 = f(s + h / 2 * k2, u)
    k4 = f(s + h * k3, u)
    return s + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def pole_episode(policy: Callable[[Array], float], half_lengths: tuple[float, ...], steps: int):
    """States before each action, and the cost: steps there may be, by those it stays up."""
    f, s = cart_and_poles(*half_lengths), np.zeros(2 + 2 * len(half_lengths))
    s[2] = math.radians(4)
    states = []
    for t in range(1, steps + 1):
        states.append(s)
        u = math.tanh(policy(s))
        for _ in range(2):
            s = runge_kutta(f, s, u, 0.01)
        if abs(s[0]) > 2.4 or any(abs(s[2::2]) > math.radians(36)):
            return np.array(states), steps / t
    return np.array(states), 1.0


def swing_up_episode(policy: Callable[[Array], float], steps: int = 500):
    """States before each action, and the mean lack of height, 1 for each step off the track."""
    f, s = cart_and_poles(0.5), np.array([0, 0, math.pi, 0])
    states, lacks = [], []
    for t in range(steps):
        states.append(s)
        seen = np.array([s[0], s[1], math.cos(s[2]), math.sin(s[2]), s[3]])
        s = runge_kutta(f, s, math.tanh(policy(seen)), 0.02)
        if abs(s[0]) > 2.4:
            lacks += [1.0] * (steps - t)
            break
        lacks.append((1 - math.cos(s[2])) / 2)
    return np.array(states), sum(lacks) / steps


def acrobot_episode(policy: Callable[[Array], float], steps: int = 500):
    """States before each action, and the steps it took, with a price for what lacks of height."""
    s, states, heights = np.zeros(4), [], []
    for t in range(1, steps + 1):
        states.append(s)
        seen = [math.cos(s[0]), math.sin(s[0]), math.cos(s[1]), math.sin(s[1]), s[2], s[3]]
        s = runge_kutta(acrobot, s, math.tanh(policy(np.array(seen))), 0.2)
        s[2] = np.clip(s[2], -4 * math.pi, 4 * math.pi)
        s[3] = np.clip(s[3], -9 * math.pi, 9 * math.pi)
        heights.append(-math.cos(s[0]) - math.cos(s[0] + s[1]))
        if heights[-1] > 1:
            return np.array(states), float(t)
    return np.array(states), steps + 100 * (1 - max(heights))
