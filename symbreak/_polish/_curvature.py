"""What Gauss-Newton leaves out of the curvature, learnt from gradients along the way.

Where much remains unexplained, as in most tables, the second derivatives of the residuals count.
NL2SOL's way (J. E. Dennis, D. M. Gay and R. E. Welsch, 1981): a matrix S stands for them, updated
after each step so that ``G + S`` explains the change of the gradient; each next step is made with
``G`` or with ``G + S``, whichever foretold the last one better.
"""

from __future__ import annotations

import math
from typing import ClassVar, Self

import numpy as np

from symbreak._polish import _step_kernels as kernels
from symbreak._support.checks import Array, check_finite
from symbreak._support.state import State, restored, taken


class Curvature:
    """The matrix S of a polish.

    Attributes:
        in_use: Whether steps are made with ``G + S``.
    """

    _saved: ClassVar[dict[str, type | str]] = {"in_use": bool, "S": "D D", "theta": "D?", "g": "D?"}

    def __init__(self, dim: int) -> None:
        self.S = np.zeros((dim, dim))  # in its lower triangle, as G
        self.theta: Array | None = None  # where the gradient was g
        self.g: Array | None = None
        self.in_use = False

    def hessian(self, theta: Array, G: Array, g: Array) -> Array:
        """What to step with from ``theta``, where the normal equations are G and g.

        What is known of S is brought up to date. A ridge that has changed since then changes the
        gradient a little, too, and that does no harm.
        """
        if self.theta is not None and self.g is not None:
            kernels.learn_curvature(self.S, theta - self.theta, g - self.g, G)
            if not math.isfinite(self.S.sum()):  # a tiny step with a huge change of the gradient
                self.forget()
        self.theta, self.g = theta.copy(), g.copy()
        return G + self.S if self.in_use else G

    def judge(self, step: Array, promised: float, fall: float) -> None:
        """Choose between the two by what they promised of a step: sums of squares, halved."""
        part = 0.5 * kernels.quadratic_form(self.S, step)
        plain = promised + part if self.in_use else promised
        self.in_use = bool(abs(plain - part - fall) < abs(plain - fall))

    def forget(self) -> None:
        """Begin anew with ``S = 0``: it has led nowhere."""
        self.S[:], self.in_use = 0.0, False

    def state(self) -> State:
        """Everything needed to continue."""
        return taken(self, self._saved)

    @classmethod
    def from_state(cls, state: State, dim: int) -> Self:
        """The curvature of ``state()``."""
        curvature = cls(dim)
        vars(curvature).update(restored(state, cls._saved, {"D": dim}))
        for name, value in vars(curvature).items():
            if isinstance(value, np.ndarray):
                check_finite(f"the state's {name}", value)
        return curvature
