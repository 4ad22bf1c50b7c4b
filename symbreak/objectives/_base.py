"""What the loop of a training knows: an objective, and what a start has found of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from symbreak._polish._polisher import Polisher
from symbreak._support.checks import Array, check_count, check_kind, check_text
from symbreak._support.state import State, restored
from symbreak.models import Model
from symbreak.topology import Topology

_NOTHING = np.empty((0, 0))


@dataclass(frozen=True, eq=False)
class Found:
    """What a start ended in.

    Attributes:
        theta: The vector (D,).
        error: Its error, without the ridge where that sets itself.
        score: What ends are compared by, the smaller the better: the error, or the negative
            logarithm of the evidence.
        reason: Why the start ended.
        n_evaluations: Evaluations of the run by then.
        output_weights: Of its network (n, q); empty where the objective has none.
        signature: Outputs on some samples, by which networks are told apart; empty if the start
            was given up on its way.
        alpha: Its ridge.
        n_effective: Number of parameters that the data determine, if the ridge set itself.
        noise: Standard deviation of the noise, in normalised targets, likewise.
        log_evidence: Logarithm of the probability of the data, likewise.
        optimum: Number of the optimum, the same for the same network modulo symmetry; 0 is the
            best, -1 is none.
    """

    theta: Array
    error: float
    score: float
    reason: str
    n_evaluations: int = 0
    output_weights: Array = field(default_factory=lambda: _NOTHING)
    signature: Array = field(default_factory=lambda: _NOTHING)
    alpha: float = 0.0
    n_effective: float | None = None
    noise: float | None = None
    log_evidence: float | None = None
    optimum: int = -1

    def state(self) -> State:
        """Plain values, but for the number of the optimum, which others may change."""
        return {name: value for name, value in vars(self).items() if name != "optimum"}

    @classmethod
    def from_state(cls, state: State, dim: int) -> Self:
        """What ``state()`` was of."""
        check_kind("what was found", state, dict, "of state()")
        real = ("error", "score", "alpha", "n_effective", "noise", "log_evidence")
        return cls(
            **{name: None if state[name] is None else float(state[name]) for name in real},  # type: ignore[arg-type]
            **restored(
                state, {"theta": "D", "output_weights": "n q", "signature": "K q"}, {"D": dim}
            ),
            reason=check_text("reason", state["reason"]),
            n_evaluations=check_count("n_evaluations", state["n_evaluations"], 0),
        )


class Objective(ABC):
    """Errors of networks of one topology, by whatever they are judged.

    Call it with a population (N_p, D); it returns errors (N_p,), infinite where there is none. A
    subclass needs no more than that. It knows no optimizer, no budget and no clock.

    Attributes:
        topology: Of the networks.
        name: What to call it.
        origin: What a model should remember of it.
        digest: A hash of all that the errors depend on: a state of a run fits the same objective
            only.
        can_polish: Whether there is a ``polisher``.
        noisy: Whether errors of the same network differ from one call to the next.
        validates: Whether there are samples that select networks.
        tests: Whether there are samples that nothing is selected by.
        sets_ridge: Whether polishes set the ridge, so that errors cannot be compared on the way.
        alpha: The ridge; where polishes set it, that of the searches before them.
        units: What searches measure each weight in (D,); None if all are 1.
        cost: About how many multiply-adds an evaluation takes.
        iteration_cost: What an iteration of a polish costs, in evaluations.
        max_evaluations: The usual budget; None if it goes by the costs.
        target: An error that is good enough, where a run stops.
    """

    topology: Topology
    name = "objective"
    origin: Mapping[str, Any] = MappingProxyType({})
    digest = ""
    can_polish = False
    noisy = False
    validates = False
    tests = False
    sets_ridge = False
    alpha = 0.0
    units: Array | None = None
    cost = 0.0
    iteration_cost = 1
    max_evaluations: int | None = 100_000
    target = -np.inf

    @abstractmethod
    def __call__(self, population: Array) -> Array:
        """Errors (N_p,) of a population (N_p, D)."""

    def population_size(self, family: str) -> int | None:
        """Candidates for a family of methods, where not the optimizers' own."""
        return None

    def for_thread(self) -> Objective:
        """One that may be called at the same time as this one."""
        return self

    def evaluated(self, theta: Array) -> tuple[Array, float]:
        """The vector at which ``theta`` (D,) is evaluated, and its penalty."""
        return theta.copy(), 0.0

    def check_polish(self) -> None:
        """Raise a ValueError, now, if there is no polish or it would not fit the memory."""
        raise ValueError(f"{self.name} has no gradient to polish by; use polish='none'.")

    def polisher(self, theta: Array, *, max_iterations: int, max_evaluations: int) -> Polisher:
        """The way down from a vector, if ``can_polish``."""
        raise NotImplementedError

    def model(self, theta: Array, output_weights: Array | None = None) -> Model | None:
        """The complete network of a vector, with the best output weights if none are given."""
        return None

    def network_error(self, model: Model, *, with_ridge: bool = True) -> float:
        """Error of a complete network, without a penalty."""
        raise NotImplementedError

    def error_on(self, part: str, model: Model) -> float:
        """Error of a network on samples for training, validation or test; NaN if there are none."""
        return np.nan

    def found(
        self, theta: Array, error: float, reason: str, polisher: Polisher | None = None
    ) -> Found:
        """What to keep of a start that ended in ``theta``, perhaps by a polish."""
        return Found(theta.copy(), error, error, reason, signature=theta[None].copy())

    def is_same(self, better: Found, other: Found) -> bool:
        """Whether two starts ended in the same network, modulo symmetry."""
        return bool(np.allclose(better.signature, other.signature))
