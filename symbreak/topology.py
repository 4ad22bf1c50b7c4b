"""The shape of a feedforward network and where its parameters live (Sections 2 and 3)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from symbreak._activations import TANH, Activation, find_activation
from symbreak._support.checks import IntArray, check_choice, check_flag, check_text, shown

__all__ = ["Topology"]

Entry = TypeVar("Entry", bound=np.generic)
Outputs = Literal["solved", "searched"]

#: With a wider layer, a population of networks would not fit into memory.
MAX_SIZE = 10_000_000


@dataclass(frozen=True)
class Topology:
    """Layer sizes ``(N_1, ..., N_L)`` of a feedforward network, inputs and outputs included.

    Only the hidden layers are searched; the output weights are solved for (Eq. 10). With
    ``outputs="searched"`` the output layer is searched too: ``theta`` is a complete network, which
    may have no ``biases`` at all. Hidden layers are counted from 0: ``layer`` h is the paper's
    ``l = h + 2``. The activation of the hidden neurons, by name or as an ``Activation``, says
    which symmetries there are.
    """

    sizes: tuple[int, ...]
    activation: Activation = TANH
    outputs: Outputs = field(default="solved", kw_only=True)
    biases: bool = field(default=True, kw_only=True)

    def __post_init__(self) -> None:
        whole = isinstance(self.sizes, Iterable) and not isinstance(self.sizes, np.ndarray | str)
        sizes = tuple(self.sizes) if whole else ()
        whole = all(isinstance(n, int | np.integer) and not isinstance(n, bool) for n in sizes)
        if len(sizes) < 3 or not whole or not all(1 <= n <= MAX_SIZE for n in sizes):
            raise ValueError(
                "a topology needs at least three layer sizes (inputs, hidden, outputs), each an "
                f"integer from 1 to {MAX_SIZE:,}, got {shown(self.sizes)}. "
                "Example: Topology((2, 3, 1))."
            )
        object.__setattr__(self, "sizes", tuple(int(n) for n in sizes))
        object.__setattr__(self, "activation", find_activation(self.activation))
        check_choice("outputs", self.outputs, get_args(Outputs))
        object.__setattr__(self, "biases", check_flag("biases", self.biases))
        if self.outputs == "solved" and not self.biases:
            raise ValueError('only a network with outputs="searched" can have no biases.')

    @classmethod
    def parse(cls, text: str) -> Topology:
        """Read the paper's notation, ``"2-3-1-3-1"``, or ``"2-3-1-3-1 relu"``.

        A complete network is ``"6-6-1 searched"``, or ``"6-6-1 searched unbiased"``.
        """
        sizes, *words = check_text("a topology", text).split() or [""]
        names = [word for word in words if word not in ("searched", "unbiased")]
        kind = find_activation(" ".join(names) or "tanh")
        outputs: Outputs = "searched" if "searched" in words else "solved"
        try:
            numbers = tuple(int(n) for n in sizes.split("-"))
            return cls(numbers, kind, outputs=outputs, biases="unbiased" not in words)
        except ValueError:
            raise ValueError(
                "a topology is layer sizes joined by '-', like '2-3-1-3-1', and an activation "
                "if it is not tanh, like '1-5-1 relu'; a complete network is '1-5-1 searched', or "
                f"'1-5-1 searched unbiased', got {shown(text)}."
            ) from None

    def __str__(self) -> str:
        words = {
            str(self.activation): self.activation is not TANH,
            "searched": self.outputs == "searched",
            "unbiased": not self.biases,
        }
        return " ".join(["-".join(map(str, self.sizes)), *(w for w in words if words[w])])

    @property
    def n_inputs(self) -> int:
        """Number of inputs, ``d = N_1``."""
        return self.sizes[0]

    @property
    def n_outputs(self) -> int:
        """Number of outputs, ``q = N_L``."""
        return self.sizes[-1]

    @property
    def hidden(self) -> tuple[int, ...]:
        """Sizes of the hidden layers, ``(N_2, ..., N_{L-1})``."""
        return self.sizes[1:-1]

    @cached_property
    def shapes(self) -> tuple[tuple[int, int], ...]:
        """``(N_l, N_{l-1} + 1)`` of each searched layer; the bias, if any, is the last column."""
        searched = self.hidden if self.outputs == "solved" else self.sizes[1:]
        pairs = zip(self.sizes, searched, strict=False)
        return tuple((n, fan_in + self.biases) for fan_in, n in pairs)

    @cached_property
    def _parts(self) -> list[tuple[slice, tuple[int, int]]]:
        """Where each searched layer lives in ``theta``, and its shape."""
        ends = itertools.accumulate(n * m for n, m in self.shapes)
        sized = zip(ends, self.shapes, strict=True)
        return [(slice(end - n * m, end), (n, m)) for end, (n, m) in sized]

    @cached_property
    def dim(self) -> int:
        """Number of searched parameters, ``D``."""
        return sum(n * m for n, m in self.shapes)

    def layers(self, theta: NDArray[Entry]) -> tuple[NDArray[Entry], ...]:
        """Views ``lambda^l`` of ``theta`` (..., D), each (..., N_l, N_{l-1} + 1) (Eq. 5).

        A row is a neuron ``eta = (w, tau)`` (Eq. 1), without ``tau`` if there are no biases. The
        last one is the output layer where that is searched.
        """
        if not isinstance(theta, np.ndarray) or theta.shape[-1:] != (self.dim,):
            raise ValueError(
                f"theta must be an array of shape (..., D) = (..., {self.dim}) for a {self} "
                f"network, got {theta.shape if isinstance(theta, np.ndarray) else shown(theta)}."
            )
        lead = theta.shape[:-1]
        return tuple(theta[..., part].reshape(lead + shape) for part, shape in self._parts)

    @cached_property
    def blocks(self) -> tuple[IntArray, ...]:
        """Where each symmetry block ``beta`` lives in ``theta`` (Eqs. 43-44).

        ``theta[..., blocks[h][n]]`` is neuron ``n`` of hidden layer ``h``: its own
        parameters, then the weights that read it in the next searched layer. The last
        hidden layer has no second part if the output weights are solved for.
        """
        own = self.layers(np.arange(self.dim, dtype=np.int64))
        readers = [following[:, :n].T for following, n in zip(own[1:], self.hidden, strict=False)]
        joined = list(map(np.hstack, zip(own, readers, strict=False)))
        if self.outputs == "solved":
            joined.append(own[-1])
        return tuple(map(np.ascontiguousarray, joined))

    @cached_property
    def key_index(self) -> tuple[IntArray, ...]:
        """Where the keys of rule-1 and rule-2 live in ``theta``, each (N_l,).

        These are the biases ``tau`` of each hidden layer, or the last weights if there are none.
        """
        rows = self.layers(np.arange(self.dim, dtype=np.int64))
        return tuple(layer[:, -1].copy() for layer in rows[: len(self.hidden)])

    @property
    def signed(self) -> bool:
        """Whether neurons can be flipped as well as reordered."""
        return self.activation.odd

    @property
    def log_replicas(self) -> float:
        """Natural logarithm of the number of replicas; that itself takes long for wide layers."""
        flips = math.log(2) if self.signed else 0.0
        return sum(math.lgamma(n + 1) + n * flips for n in self.hidden)

    @property
    def replicas_in_words(self) -> str:
        """How many replicas a network has, short and in no time, however many there are."""
        power = self.log_replicas / math.log(10)
        return f"{self.n_replicas:,}" if power < 30 else f"about 1e{power:.0f}"

    @cached_property
    def n_replicas(self) -> int:
        """Number of exact replicas of a network.

        The product over layers of ``2^N N!``, or ``N!`` where neurons cannot be flipped.
        """
        return math.prod((2**n if self.signed else 1) * math.factorial(n) for n in self.hidden)


def check_topology(value: object) -> Topology:
    """Return ``value`` if it is a topology; a ValueError says how to make one."""
    if not isinstance(value, Topology):
        hint = (
            "; give its .topology" if isinstance(getattr(value, "topology", None), Topology) else ""
        )
        raise ValueError(
            "topology must be a Topology, such as Topology.parse('2-3-1'), got a "
            f"{type(value).__name__}{hint}."
        )
    return value


def check_solved(value: object) -> Topology:
    """Return ``value`` if it is a topology whose output weights are solved for."""
    topology = check_topology(value)
    if topology.outputs != "solved":
        raise ValueError(
            "the output weights are solved for here, so topology must have outputs='solved', got "
            f"{topology}."
        )
    return topology
