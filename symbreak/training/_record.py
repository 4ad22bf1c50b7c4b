"""What is recorded of a run."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import numba
import numpy as np
import scipy

from symbreak._support.blas import blas_in_words
from symbreak._support.checks import Array, IntArray
from symbreak._version import __version__
from symbreak.methods import find_method
from symbreak.models import Model
from symbreak.objectives._base import Found
from symbreak.training._recipe import Agreement, agreement, label_optima

if TYPE_CHECKING:
    from symbreak.training._run import Run


class Tried(NamedTuple):
    """A size that was tried.

    Attributes:
        hidden: Neurons of each hidden layer.
        loss: Mean over samples that were not shown: squared error of normalised targets, or
            cross-entropy.
        error: Standard error of that mean.
        alpha: The ridge that predicts best.
    """

    hidden: tuple[int, ...]
    loss: float
    error: float
    alpha: float


@dataclass(frozen=True, eq=False, repr=False)
class RunRecord:
    """What a run found and how it went.

    The curve ``(evaluations, errors)`` has one point per improvement of the best true error, at
    the very evaluation that brought it, and one at the end.

    Attributes:
        problem: Name of the problem.
        method: Name of the method.
        family: Family of the method.
        role: What the method is in its family.
        seed: Seed of the run.
        population_size: Candidates per generation, at first.
        max_evaluations: The budget.
        evaluations: Evaluations at each point of the curve.
        errors: Best error so far at each point.
        theta: The vector (D,) that was evaluated for the best error (paper-notes 1).
        output_weights: Its output weights (N_{L-1}, q), a last row for an output bias.
        penalty: Part of the best error that is penalty; 0 inside the feasible ball.
        network_error: Error of the saved network, theta with its output weights, plus penalty.
            It is ``error`` up to rounding, which grows with the condition of the fit.
        model: The network to keep: the one that the validation set selected, if there is such a
            set; else, where the ridge set itself, the most probable one; else the one with the
            best error; None if no error was finite.
        members: The networks whose mean the model is; one, if it is no committee.
        size_path: What was tried, if the size was chosen.
        alpha: The ridge of the model; of ``alpha="auto"``, what the data asked for.
        n_effective: Number of parameters that the data determine, if the ridge set itself.
        generation_evaluations: Evaluations at the end of each generation.
        modified_share: Share of candidates that the breaking modified, per generation.
        step_size: Widest standard deviation of the search after each generation; None for DE.
        spread: Whether symmetries divide the search: rows (evaluations, share of candidates in
            the best one's partition, effective number of conventions), at growing distances.
        rates: With validation data, rows (evaluations, training, validation, test error), one per
            improvement on the validation set: shares of misclassified samples, or mean squared
            errors of normalised targets. With test data alone, one row, of the model.
        founds: What every start ended in that was not cut short; those with the same ``optimum``
            ended in the same network, 0 is the best.
        restarts: Whether the method starts again and again, until its starts agree.
        n_evaluations: Evaluations done.
        counters: How often something happened that should be known, such as ``nonfinite`` errors.
        stopped: Why the run ended: ``"budget"``, ``"time"``, ``"agreement"`` of the starts,
            ``"starts"`` where there were enough for a committee, a reason of the optimizer or the
            polish, or ``"interrupted"``.
        seconds: Wall-clock time.
        versions: Versions of what the result depends on.
    """

    problem: str
    method: str
    family: str
    role: str
    seed: int
    population_size: int
    max_evaluations: int
    evaluations: IntArray
    errors: Array
    theta: Array
    output_weights: Array
    penalty: float
    network_error: float
    model: Model | None
    alpha: float
    n_effective: float | None
    generation_evaluations: IntArray
    modified_share: Array
    step_size: Array | None
    spread: Array
    rates: Array
    founds: tuple[Found, ...]
    restarts: bool
    n_evaluations: int
    stopped: str
    seconds: float
    members: tuple[Model, ...] = ()
    size_path: tuple[Tried, ...] = ()
    counters: Mapping[str, int] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=lambda: versions())

    @property
    def error(self) -> float:
        """Best error of the run, with its ridge if there is one.

        Where polishes set the ridge, this is the best error of the searches before them, with a
        first guess of the ridge; the model's own error, without a ridge, is
        ``model.origin["error"]``.
        """
        return float(self.errors[-1])

    def with_model(self, model: Model) -> RunRecord:
        """The same with another model, which is no committee."""
        return replace(self, model=model, members=(model,))

    def ends(self) -> list[Found]:
        """The best end in each optimum, the better first; starts that were given up have none."""
        best: dict[int, Found] = {}
        for found in sorted(self.founds, key=lambda found: found.score):
            if found.optimum >= 0 and found.output_weights.size:
                best.setdefault(found.optimum, found)
        return list(best.values())

    @property
    def size_in_words(self) -> str:
        """Of the model: how many networks, hidden neurons and numbers it has."""
        if self.model is None:
            return "no network"
        n, neurons = len(self.members), sum(self.model.topology.hidden)
        numbers = self.model.theta.size + self.model.output_weights.size
        networks = "one network" if n == 1 else f"{n} networks"
        return f"{networks}, {neurons:,} neurons, {numbers:,} numbers"

    @property
    def interrupted(self) -> bool:
        """Whether the run was stopped before it was through."""
        return self.stopped in ("interrupted", "time")

    @property
    def starts(self) -> Array:
        """Rows (evaluations at the end, error, number of the optimum) of ``founds``."""
        rows = [(found.n_evaluations, found.error, found.optimum) for found in self.founds]
        return np.array(rows, dtype=np.float64).reshape(-1, 3)

    @property
    def agreement(self) -> Agreement:
        """How many starts ended in the same network, and what that says of a better one."""
        return agreement([found.optimum for found in self.founds], restarts=self.restarts)

    @property
    def n_nonfinite(self) -> int:
        """How many evaluations had no finite error."""
        return self.counters.get("nonfinite", 0)

    def __repr__(self) -> str:
        selected = ""
        if len(self.rates):
            _, train, validation, test = self.rates[-1]
            parts = {"training": train, "validation": validation, "test": test}
            known = (f"{name} {error:.4g}" for name, error in parts.items() if not np.isnan(error))
            selected = f"\n  errors of the model: {', '.join(known)}"
        error = f"{self.error:.6g}{' with its ridge' if self.alpha > 0 else ''}"
        if self.n_effective is not None and self.model is not None:  # its ridge has set itself
            error = f"{self.model.origin.get('error', np.nan):.6g}"
        return (
            f"RunRecord({self.problem}, {self.method}, seed {self.seed})\n"
            f"  error {error} after {self.n_evaluations:,} evaluations in "
            f"{self.seconds:.2f} s, ended by {self.stopped}{selected}"
            + (f"\n  {self.agreement}" if self.restarts else "")
            + (f"\n  {self.size_in_words}" if self.size_path or len(self.members) > 1 else "")
        )


class Progress(NamedTuple):
    """How far a run has come; given to callbacks after each generation.

    Attributes:
        n_evaluations: Evaluations done.
        max_evaluations: The budget.
        error: Best error so far of what is minimised, with the ridge if there is one.
        generation: Generations done.
        n_starts: Starts that have ended.
        fit_error: The error without the ridge, NaN where it is not known. Where polishes set the
            ridge, it is that of the network that would be kept now; of the first one, until then.
        doing: What is done after the search, in words; empty before.
        word: What the error is called.
    """

    n_evaluations: int
    max_evaluations: int
    error: float
    generation: int
    n_starts: int
    fit_error: float = np.nan
    doing: str = ""
    word: str = "error"

    @property
    def in_words(self) -> str:
        """What is done after the search; before, the error, and whether the ridge is in it."""
        if self.doing:
            return self.doing
        known = not np.isnan(self.fit_error)
        return (
            f"{self.word} {self.fit_error:.3g}"
            if known
            else f"error {self.error:.3g} with its ridge"
        )


def versions() -> dict[str, str]:
    """Versions of what a result depends on."""
    return {
        "symbreak": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "numba": numba.__version__,
        "machine": platform.machine(),
        "blas": blas_in_words(),
    }


def record_of(run: Run, otherwise: str) -> RunRecord:
    """What a run has found by now; ``otherwise`` is why it ends, if it has not ended by itself."""
    on, history, kept, row = run.objective, run.history, run.kept, find_method(run.method)
    theta, penalty = on.evaluated(history.theta)
    best = _model(run, history.theta)
    if kept is not None:  # selected by the evidence; else by the validation set, if there is one
        model = _model(run, kept.theta, kept.output_weights) or best
    else:
        model = (_model(run, history.selected) if history.rates else None) or best
    end = (run.n_taken, history.error)
    curve = [*history.curve, *([] if history.curve[-1:] == [end] else [end])]
    trace = history.table("trace")
    labels = label_optima(run.founds, on)
    return RunRecord(
        problem=on.name,
        method=run.method,
        family=row.family,
        role=row.role if run.plan.polish == row.polish else "variant",
        seed=run.seed,
        population_size=run.plan.population_size,
        max_evaluations=run.max_evaluations,
        evaluations=np.array([n for n, _ in curve], dtype=np.int64),
        errors=np.array([error for _, error in curve]),
        theta=theta,
        output_weights=np.empty((0, 0)) if best is None else best.output_weights,
        penalty=penalty,
        network_error=history.error if best is None else on.network_error(best) + penalty,
        model=model,
        members=() if model is None else (model,),
        alpha=on.alpha if kept is None else kept.alpha,
        n_effective=None if kept is None else kept.n_effective,
        generation_evaluations=trace[:, 0].astype(np.int64),
        modified_share=trace[:, 1],
        step_size=None if np.isnan(trace[:, 2]).all() else trace[:, 2],
        spread=history.table("spread"),
        rates=_rates(run, model),
        founds=tuple(replace(f, optimum=n) for f, n in zip(run.founds, labels, strict=True)),
        restarts=run.plan.restarts,
        n_evaluations=run.n_taken,
        counters=run.counters,
        stopped=run.stopped or otherwise,
        seconds=run.seconds,
    )


def _model(run: Run, theta: Array, output_weights: Array | None = None) -> Model | None:
    """The network of a candidate; None if it is not finite, since nothing was found."""
    on, error = run.objective, run.history.error
    model = on.model(theta, output_weights) if np.isfinite(theta).all() else None
    if model is None:
        return None
    if on.sets_ridge:
        error = on.network_error(model, with_ridge=False)
    known = {"method": run.method, "seed": run.seed, "n_evaluations": run.n_taken, "error": error}
    return replace(model, origin={**on.origin, **known, "versions": versions()})


def _rates(run: Run, model: Model | None) -> Array:
    """Errors of the networks that the validation set selected; else the test error, if any."""
    if run.history.rates or not run.objective.tests or model is None:
        return run.history.table("rates")
    train, test = (run.objective.error_on(part, model) for part in ("train", "test"))
    return np.array([(run.n_taken, train, np.nan, test)])
