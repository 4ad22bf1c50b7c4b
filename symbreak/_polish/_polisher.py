"""Polish: from a point near an optimum down to its floor, by Levenberg-Marquardt.

A search finds the basin, this finds its floor. The output weights are eliminated (variable
projection), so only ``theta`` is stepped; the error of every step is the evaluator's.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike

from symbreak._polish._linearisation import Linearisation
from symbreak._polish._steps import (
    LARGE,
    Dense,
    Dual,
    damped_step,
    is_stationary,
    large_step,
    learn_curvature,
    quadratic_form,
)
from symbreak._support.checks import Array, check_count, check_finite, check_real, check_theta
from symbreak._support.state import State, check_saved, reading_state, restored, taken
from symbreak.network import MIN_OVER_ROUNDING, ROUNDING, ridge_shares
from symbreak.problems import Problem
from symbreak.problems._problem import Ridge
from symbreak.topology import Topology

#: First damping in the paper's ball and without one, and that at which a step is given up.
FIRST_DAMPING, FIRST_DAMPING_UNBOUNDED, MAX_DAMPING = 1e-3, 0.1, 1e12
#: Iterations at most, if nothing else is said.
ITERATIONS = 200
#: Cosine between the residual and every column of the Jacobian that counts as a right angle.
RIGHT_ANGLE = 1e-10

#: Why a polish ends: at an optimum, as far as gradient, step or error can tell; or for want of
#: something.
Reason = Literal[
    "",
    "converged: gradient",
    "converged: step",
    "converged: error",
    "zero residual",
    "max_iterations",
    "budget",
    "not finite",
]
CONVERGED = ("converged: gradient", "converged: step", "converged: error")


class Polishable(Protocol):
    """What a polish needs to know of least squares (``objectives.LeastSquares``)."""

    problem: Problem
    topology: Topology
    ridge: Ridge
    name: str

    @property
    def digest(self) -> str: ...
    @property
    def iteration_cost(self) -> int: ...
    @property
    def linearisation(self) -> Linearisation: ...
    def error(self, theta: Array) -> float: ...
    def evaluated(self, theta: Array) -> tuple[Array, float]: ...


class Curvature:
    """What Gauss-Newton leaves out of the curvature, learnt from gradients along the way.

    Where much remains unexplained, as in most tables, the second derivatives of the residuals
    count. NL2SOL's way (J. E. Dennis, D. M. Gay and R. E. Welsch, 1981): a matrix S stands for
    them, updated after each step so that ``G + S`` explains the change of the gradient; each next
    step is made with ``G`` or with ``G + S``, whichever foretold the last one better.

    Attributes:
        in_use: Whether steps are made with ``G + S``.
    """

    _saved: ClassVar[dict[str, type | str]] = {"in_use": bool, "S": "D D", "theta": "D?", "g": "D?"}

    def __init__(self, dim: int) -> None:
        self.S, self._sum = np.zeros((2, dim, dim))  # in its lower triangle, as G
        self.theta: Array | None = None  # where the gradient was g
        self.g: Array | None = None
        self.in_use = False

    def hessian(self, theta: Array, G: Array, g: Array) -> Array:
        """What to step with from ``theta``, where the normal equations are G and g.

        What is known of S is brought up to date. A ridge that has changed since then changes the
        gradient a little, too, and that does no harm.
        """
        if self.theta is not None and self.g is not None:
            learn_curvature(self.S, theta - self.theta, g - self.g, G)
            if not math.isfinite(self.S.sum()):  # a tiny step with a huge change of the gradient
                self.forget()
        self.theta, self.g = theta.copy(), g.copy()
        return np.add(G, self.S, out=self._sum) if self.in_use else G

    def judge(self, step: Array, promised: float, fall: float) -> None:
        """Choose between the two by what they promised of a step: sums of squares, halved."""
        part = 0.5 * quadratic_form(self.S, step)
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


class Polisher:
    """A polish under way: iteration by iteration, with a state to continue from.

    Minimises least squares: within their ball, where they have one, by steps that stay inside, and
    with their ridge. The error of the result is never above that of the start.

    Args:
        objective: What to minimise.
        theta: Where to start, (D,); outside the ball, from the vector that is evaluated instead.
        max_iterations: Jacobians at most.
        max_evaluations: Work at most, in evaluations: ``jacobian_cost`` for each Jacobian, 1 for
            each trial; never exceeded.
        tolerance: Relative fall of the error in an iteration that counts as none. After short
            searches on six of the paper's problems 1e-6 ended where 1e-9 did, to 0.1 % in the
            mean; 1e-4 needed half to three quarters of the iterations and ended up to 20 %
            higher (2026-11).

    Attributes:
        theta: Best vector so far.
        error: Its error, as the objective says.
        reason: Why the polish ended; empty while it has not.
        n_iterations: Jacobians so far.
        n_evaluations: Work so far, in evaluations.
    """

    # what a state holds, besides two vectors
    _settings: tuple[str, ...] = ("max_iterations", "max_evaluations", "tolerance")
    _counts: tuple[str, ...] = ("n_iterations", "n_evaluations", "reason")
    _numbers: tuple[str, ...] = ("error", "_value", "_damping", "_growth")

    def __init__(
        self,
        objective: Polishable,
        theta: ArrayLike,
        *,
        max_iterations: int = ITERATIONS,
        max_evaluations: int | None = None,
        tolerance: float = 1e-6,
    ) -> None:
        self._prepare(objective)
        if max_evaluations is not None:
            max_evaluations = check_count("max_evaluations", max_evaluations, 2, "for a polish")
        self.max_evaluations = max_evaluations
        self.max_iterations = check_count("max_iterations", max_iterations, 0)
        self.tolerance = check_real("tolerance", tolerance, 0.0, 1.0)
        self._theta = self._inside(check_theta(theta, objective.topology.dim))
        self._damping = FIRST_DAMPING if self._ball else FIRST_DAMPING_UNBOUNDED
        self._growth = 2.0
        is_dual = self._linearise.J is not None  # where there is little residual
        self._curvature = None if self._ball or is_dual else Curvature(objective.topology.dim)
        self.n_iterations = self.n_evaluations = 0
        self.reason: Reason = ""
        self._value = self._judged(self._theta)
        self.theta, self.error = self._theta, self._value
        self._look_around()

    def _prepare(self, objective: Polishable) -> None:
        """What follows from the objective alone."""
        self.objective, problem = objective, objective.problem
        topology, y = problem.topology, problem.train.y
        self._ball: bool = problem.rescale in ("unit", "radius")
        self._radius = math.sqrt(topology.dim) if self._ball else math.inf
        self._alpha, self._held = objective.ridge.alpha, ridge_shares(topology)
        self._linearise = objective.linearisation
        self._divisor = self._linearise.weight * topology.n_outputs
        self._jacobian_cost = objective.iteration_cost
        # kept: memory that is given back after each trial has to be cleared for the next one
        self._scratch = np.empty((2, D, D) if (D := topology.dim) <= LARGE else (2, 0, 0))
        self._zero = (MIN_OVER_ROUNDING * ROUNDING) ** 2 * float(np.mean(y * y))

    def _error(self, theta: Array) -> float:
        return self.objective.error(theta)

    def _inside(self, theta: Array) -> Array:
        check_finite("theta", theta)
        return self.objective.evaluated(theta)[0]

    @property
    def finished(self) -> bool:
        """Whether there is nothing left to do; ``reason`` says why."""
        return bool(self.reason)

    def step(self) -> None:
        """Do one iteration: a Jacobian, and trials until one is better or none is left."""
        if self._affordable(self._jacobian_cost):
            self._iterate()
            self._look_around()

    def _iterate(self) -> None:
        here = self._linearise
        total = self._linearised()
        self.n_iterations += 1
        self.n_evaluations += self._jacobian_cost
        if is_stationary(
            *(self._theta, here.diagonal, here.g, self._ridge, self._radius),
            RIGHT_ANGLE**2 * total,
        ):
            self.reason = "converged: gradient"
            return
        if self._curvature is not None and self._try_curved(self._curvature):
            return
        while self._affordable(1) and not self._try(here.G):
            self._damping *= self._growth
            self._growth *= 2.0
            if self._damping > MAX_DAMPING:
                self.reason = "converged: step"

    def _try_curved(self, curvature: Curvature) -> bool:
        """Step with all that is known of the curvature, if it is trusted; whether that is enough.

        It is no longer trusted if not, and forgotten where it sees nothing more to gain: whether
        the polish has converged is for Gauss-Newton to say.
        """
        here = self._linearise
        hessian = curvature.hessian(self._theta, here.G, here.g)
        if not curvature.in_use or not self._affordable(1):
            return False
        is_enough = self._try(hessian)
        if self.reason:
            self.reason = ""
            curvature.forget()
        curvature.in_use &= is_enough
        return is_enough

    def _try(self, hessian: Array) -> bool:
        """Step to the minimum of a model if that is better; whether no other trial is needed."""
        trial, promised = self._propose(hessian)
        if promised < 0:
            return False
        if promised == 0 and (trial == self._theta).all():
            self.reason = "converged: step"
            return True
        value = self._judged(trial)
        if value < self._value:
            self._move(trial, value, promised)
            return True
        if promised <= ROUNDING * self._value:
            self.reason = "converged: error"
        return bool(self.reason)

    def _linearised(self) -> float:
        self._ridge = self._alpha * self._held
        return self._linearise(self._theta, self._alpha)

    def _propose(self, hessian: Array) -> tuple[Array, float]:
        """The best vector by the damped model, and the fall of the error that it promises."""
        here, D = self._linearise, len(self._theta)
        model = (here.g, self._ridge, self._damping, self._radius)
        if D > LARGE:
            curved = Dense(hessian) if here.J is None else Dual(here.J)
            trial, fall = large_step(self._theta, curved, *model)
        else:
            trial = np.empty(D)
            fall = damped_step(self._theta, hessian, *model, trial, self._scratch)
        return trial, 2 * fall / self._divisor

    def _move(self, trial: Array, value: float, promised: float) -> None:
        fall = self._value - value
        if max(fall, promised) <= self.tolerance * self._value:
            self.reason = "converged: error"
        if self._curvature is not None:
            half = 0.5 * self._divisor
            self._curvature.judge(trial - self._theta, half * promised, half * fall)
        gain = fall / promised if promised > fall else 1.0
        self._damping *= max(1 / 3, 1 - (2 * gain - 1) ** 3)  # Nielsen's rule
        self._growth = 2.0
        self._theta, self._value = trial, value
        if value <= self.error:
            self.theta, self.error = trial, value

    def _look_around(self) -> None:
        """End where there is nothing to gain, or no iteration left."""
        if not math.isfinite(self._value):
            self.reason = "not finite"
        elif self._value <= self._zero:
            self.reason = "zero residual"
        elif not self.reason and self.n_iterations >= self.max_iterations:
            self.reason = "max_iterations"

    def _affordable(self, cost: int) -> bool:
        limit = self.max_evaluations
        if not self.reason and limit is not None and self.n_evaluations + cost > limit:
            self.reason = "budget"
        return not self.reason

    def _judged(self, theta: Array) -> float:
        self.n_evaluations += 1
        return self._error(theta)

    def output_weights(self) -> Array | None:
        """Those of the best network, for the problem's targets; None if no error is finite."""
        if not math.isfinite(self.error):
            return None
        self._linearise.fit(self.theta, self._alpha)
        return self._linearise.output_weights.copy()

    def state(self) -> State:
        """Everything needed to continue, in arrays and JSON-able values."""
        return {
            "problem": self.objective.digest,
            "settings": {name: getattr(self, name) for name in self._settings},
            "counts": {name: getattr(self, name) for name in self._counts},
            "best": self.theta.copy(),
            "theta": self._theta.copy(),
            "numbers": np.array([getattr(self, name) for name in self._numbers]),
            "curvature": None if self._curvature is None else self._curvature.state(),
        }

    @classmethod
    def from_state(cls, objective: Polishable, state: State) -> Self:
        """The polish of ``state()``, which goes on bit by bit as if never interrupted."""
        check_digest(objective, state)
        sizes = {"D": objective.topology.dim, "m": len(cls._numbers)}
        kinds: dict[str, type | str] = {"settings": dict, "counts": dict, "numbers": "m"}
        kinds |= {"theta": "D", "best": "D"}
        with reading_state():
            parts = restored(state, kinds, sizes)
            settings = {name: parts["settings"][name] for name in cls._settings}
            polisher = cls(objective, parts["theta"], **settings)
            for name in cls._counts:
                kind = str if name == "reason" else int
                setattr(polisher, name, check_saved(name, parts["counts"][name], kind, sizes))
            for name, value in zip(cls._numbers, parts["numbers"].tolist(), strict=True):
                setattr(polisher, name, check_saved(name, value, float, sizes))
            polisher.theta = parts["best"]
            check_finite("the state's best", polisher.theta)
            if polisher._curvature is not None:
                polisher._curvature = Curvature.from_state(state["curvature"], sizes["D"])
        return polisher


def check_digest(objective: Any, state: Any) -> None:
    """Refuse the state of another objective, or none."""
    digest = state.get("problem") if isinstance(state, dict) else None
    if not isinstance(digest, str) or digest != objective.digest:
        raise ValueError(f"the state is of another problem than this {objective.name}, or data.")
