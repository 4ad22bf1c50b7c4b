"""Activation functions of the hidden layers, as values; the symmetry group follows from them.

A neuron with an odd activation can be flipped and reordered, any other only reordered.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import expit

from symbreak._support.checks import Array, check_choice


@dataclass(frozen=True)
class Activation:
    """What a hidden neuron applies to its weighted sum.

    Attributes:
        name: What people call it.
        odd: Whether ``f(-z) = -f(z)``.
        code: What stands for it in compiled code.
        f: The function, entry by entry.
        df: Its derivative at ``z``, given ``a = f(z)`` too, since most need only that.
    """

    name: str
    odd: bool
    code: int
    f: Callable[[Array], Array] = field(repr=False)
    df: Callable[[Array, Array], Array] = field(repr=False)

    def __str__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[Any, ...]:
        return find_activation, (self.name,)  # other processes have the functions, too


ACTIVATIONS: dict[str, Activation] = {
    row.name: row
    for row in (
        Activation("tanh", True, 0, np.tanh, lambda z, a: 1 - a * a),
        Activation("sin", True, 1, np.sin, lambda z, a: np.cos(z)),
        Activation(
            "softsign", True, 2, lambda z: z / (1 + np.abs(z)), lambda z, a: (1 - np.abs(a)) ** 2
        ),
        Activation("logistic", False, 3, expit, lambda z, a: a * (1 - a)),
        Activation(
            "relu", False, 4, lambda z: np.maximum(z, 0), lambda z, a: np.where(z > 0, 1.0, 0.0)
        ),
    )
}

TANH = ACTIVATIONS["tanh"]


def find_activation(name: str | Activation) -> Activation:
    """The row of ``ACTIVATIONS``; a ValueError names the nearest ones."""
    if isinstance(name, Activation):
        return name
    return ACTIVATIONS[check_choice("activation", name, ACTIVATIONS)]
