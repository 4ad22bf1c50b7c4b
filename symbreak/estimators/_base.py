"""What the estimators share: their parameters, and how arrays become a trained network."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from numbers import Integral, Real
from typing import Any, Self

import joblib
import numpy as np
from joblib.parallel import get_active_backend
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import (
    _check_n_features,
    _check_sample_weight,
    check_is_fitted,
    validate_data,
)

from symbreak._support.checks import MAX_MAGNITUDE, Array, check_unmasked
from symbreak._support.frames import check_columns, column_names
from symbreak._support.interrupts import deferred_interrupts
from symbreak.activations import ACTIVATIONS
from symbreak.fitting import (
    POLISH_SAMPLES,
    SEARCH_SAMPLES,
    SEARCH_SHARE,
    classified,
    default_evaluations,
    is_worthwhile,
    loss_of,
    merge_samples,
    n_effective_parameters,
    part_of,
    progress_bar,
    raw_layers,
    refitted,
    rescaled_theta,
    standardise,
    with_validated_ridge,
)
from symbreak.inspection import is_constant
from symbreak.methods import METHODS
from symbreak.models import Model
from symbreak.optimizers import State
from symbreak.problems import Dataset, Problem, Scaling, Task
from symbreak.topology import Topology
from symbreak.training import RunRecord, StartJob, run_start, train

Samples = tuple[Array, NDArray[Any], Array | None]  # inputs, targets, weights
Names = tuple[str, ...]

#: Hidden neurons, if nothing else is said.
NEURONS = 5
#: Seconds of a long max_time that are left for what cannot be cut short; 10 % of a short one.
RESERVE = 1.0
#: Longer than anybody waits; a whole number may be too large for a float.
MAX_TIME = 1e9


class EvolvedNetwork(BaseEstimator):
    """The base of the three; ``_estimators.PARAMETERS`` describes what it takes and learns."""

    _task: Task
    _n_fits = 0  # in a row, by warm starts
    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012  (scikit-learn's way)
        "hidden_layer_sizes": [None, "array-like", Interval(Integral, 1, None, closed="left")],
        "activation": [StrOptions(set(ACTIVATIONS))],
        "method": [StrOptions(set(METHODS))],
        "alpha": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
        "max_time": [None, Interval(Real, 0, None, closed="neither")],
        "max_evaluations": [None, Interval(Integral, 1, None, closed="left")],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "output_shift": ["boolean"],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "warm_start": ["boolean"],
    }

    def __init__(
        self,
        hidden_layer_sizes: Any = None,
        activation: str = "tanh",
        *,
        method: str = "auto",
        alpha: Any = "auto",
        max_time: float | None = None,
        max_evaluations: int | None = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        output_shift: bool = True,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool = False,
        warm_start: bool = False,
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.method = method
        self.alpha = alpha
        self.max_time = max_time
        self.max_evaluations = max_evaluations
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.output_shift = output_shift
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start

    def __sklearn_is_fitted__(self) -> bool:
        """Whether there is a network; a fit that failed has left none."""
        return hasattr(self, "model_")

    @property
    def coefs_(self) -> list[Array]:
        """Weights (fan-in, n) of each layer, the output layer last, for inputs in raw units."""
        check_is_fitted(self)
        return raw_layers(self.model_)[0]

    @property
    def intercepts_(self) -> list[Array]:
        """Shifts (n,) of each layer, in the same units."""
        check_is_fitted(self)
        return raw_layers(self.model_)[1]

    @property
    def out_activation_(self) -> str:
        """What is applied to the last layer: ``"identity"`` or ``"softmax"``."""
        check_is_fitted(self)
        return "softmax" if self.model_.output == "softmax" else "identity"

    def _outputs(self, X: Any) -> Array:
        check_is_fitted(self)
        return self.model_.outputs(self._validated(X, reset=False))

    def _validated(self, X: Any, *y: Any, **options: Any) -> Any:
        """What scikit-learn makes of X (K, d), or of X and y; it would take dates for numbers."""
        check_columns("X", X)
        for targets in y:
            check_unmasked("y", targets)
        if not options.get("reset", True) and len(getattr(X, "shape", ())) == 2:
            _check_n_features(self, X, reset=False)  # before a warning about names
        try:
            with np.errstate(invalid="ignore"):  # in its sums of large numbers
                return validate_data(self, X, *y, dtype=np.float64, **options)
        except OverflowError:
            raise ValueError("X and y must be below 1.8e308 in magnitude; rescale them.") from None

    def _fit(self, X: Array, y: NDArray[Any], weights: Array | None, names: Names = ()) -> Self:
        """Fit targets (K, q), or labels (K,)."""
        seconds = np.inf if self.max_time is None else min(self.max_time, MAX_TIME)
        self._deadline = time.monotonic() + seconds - min(0.1 * seconds, RESERVE)
        previous = getattr(self, "model_", None) if self.warm_start else None
        if previous is None:  # should this fit fail: its classes must not name old outputs
            self.__dict__.pop("model_", None)
        self._n_fits = 1 if previous is None else self._n_fits + 1
        seed = int(check_random_state(self.random_state).randint(2**31 - 1, size=self._n_fits)[-1])
        problem = self._problem(*self._divide((X, y, weights), seed), names)
        initial = None if previous is None else self._continued(previous, problem)
        interrupted = threading.Event()
        with deferred_interrupts(interrupted.set):
            records = self._train(problem, seed, initial)
            self._check(records)
            self._learn(problem, records, lambda: self._may_go_on(interrupted))
        if interrupted.is_set():
            warnings.warn("Training interrupted by user.", stacklevel=4)
        elif self.alpha == "auto" and is_constant(self.model_, problem):
            warnings.warn(
                "The network predicts the same for all samples, as if the data were noise. If they "
                "are not, give alpha a number, such as 0.01.",
                ConvergenceWarning,
                stacklevel=4,
            )
        return self

    def _divide(self, samples: Samples, seed: int) -> tuple[Samples, Samples | None]:
        """Samples for training and for validation, if there is one."""
        if not self.early_stopping:
            return samples, None
        X, y, weights = samples
        parts = train_test_split(
            *(X, y, np.ones(len(X)) if weights is None else weights),
            test_size=self.validation_fraction,
            random_state=seed,
            stratify=y if self._task == "classification" else None,
        )
        if self._task == "classification" and len(lost := np.setdiff1d(y, parts[2])):
            raise ValueError(
                f"validation_fraction={self.validation_fraction} leaves no sample of class "
                f"{lost.tolist()[0]!r} to learn from; make it smaller, or add samples."
            )
        return tuple(parts[::2]), tuple(parts[1::2])

    def _problem(self, samples: Samples, validation: Samples | None, names: Names) -> Problem:
        """What ``Problem.from_arrays`` makes, with one copy of the samples in memory, not four."""
        rows, weights = merge_samples(*samples)
        X, y = samples[0][rows], samples[1][rows]
        inputs = standardise(X, weights)
        classes = np.unique(y) if self._task == "classification" else None
        Y = y if classes is None else _one_hot(y, classes)
        targets = inputs if self._task == "autoencoding" else Scaling.identity(Y.shape[1])
        if self._task == "autoencoding":
            Y = X
        elif classes is None:
            targets = standardise(Y, weights)
        held = None
        if validation is not None:
            y = validation[1] if classes is None else _one_hot(validation[1], classes)
            held = Dataset(inputs(validation[0]), targets(y), validation[2])
        sizes = (X.shape[1], *self._hidden(X.shape[1]), Y.shape[1])
        return Problem(
            type(self).__name__,
            Topology(sizes, ACTIVATIONS[self.activation]),
            self._task,
            Dataset(X, Y, weights),
            held,
            inputs=inputs,
            targets=targets,
            classes=() if classes is None else tuple(classes.tolist()),
            rescale="none",
            output_shift=self.output_shift,
            alpha=self.alpha,
            feature_names=tuple(getattr(self, "feature_names_in_", ())),
            target_names=names,
        )

    def _hidden(self, n_inputs: int) -> tuple[int, ...]:
        """Sizes of the hidden layers; by default a code is shorter than what it stands for."""
        sizes = self.hidden_layer_sizes
        if sizes is None:
            most = max(n_inputs - 1, 1) if self._task == "autoencoding" else NEURONS
            return (min(NEURONS, most),)
        return tuple(sizes) if np.iterable(sizes) else (sizes,)

    def _continued(self, previous: Model, problem: Problem) -> Array:
        """Where a warm start begins: the previous hidden layers, for inputs scaled anew."""
        if METHODS[self.method].polish == "none":
            raise ValueError(
                f"warm_start polishes the previous network, and method={self.method!r} is a search "
                "alone. Set method='auto'."
            )
        if previous.topology != problem.topology:
            raise ValueError(
                "warm_start can only be used with the inputs, layers and outputs of the previous "
                f"call to fit. Previously {previous.topology}, now {problem.topology}."
            )
        return rescaled_theta(previous, problem.inputs)

    def _train(self, problem: Problem, seed: int, initial: Array | None) -> list[RunRecord]:
        """One run; or one on a part of many samples, and a polish of its network on more.

        Classes are polished by cross-entropy afterwards.
        """
        budget, part = self.max_evaluations, part_of(problem, SEARCH_SAMPLES)
        if self._task == "classification":
            searched = part if self._restarts else problem
            return [self._run(searched, SEARCH_SHARE, budget, seed=seed, initial=initial)]
        if part is problem or not self._restarts:
            return [self._run(problem, 1.0, budget, seed=seed, initial=initial)]
        half = None if budget is None else round(SEARCH_SHARE * budget)
        search = self._run(part, SEARCH_SHARE, half, seed=seed, initial=initial)
        if search.model is None or search.stopped == "interrupted":
            return [search]
        part = part_of(problem, POLISH_SAMPLES)
        left = None if budget is None else budget - search.n_evaluations
        theta = search.model.theta
        return [search, self._run(part, 1.0, left, seed=seed, initial=theta, polish="final")]

    @property
    def _restarts(self) -> bool:
        return METHODS[self.method].polish == "restarts"

    def _run(
        self, problem: Problem, time_share: float, budget: int | None, **options: Any
    ) -> RunRecord:
        """A run that may take a share of the time that is left."""
        if budget is None and self.max_time is None:
            budget = default_evaluations(problem)
        left = None if self.max_time is None else time_share * self._time_left
        what = f"{problem.name}, {len(problem.train):,} samples"
        bar = progress_bar(what, left) if self.verbose else nullcontext()
        with bar as show:
            return train(
                problem,
                self.method,
                max_evaluations=budget,
                max_time=left,
                threads=joblib.effective_n_jobs(self.n_jobs),
                elsewhere=self._elsewhere(),
                callback=show,
                **options,
            )

    def _may_go_on(self, interrupted: threading.Event) -> bool:
        return self._time_left > 0 and not interrupted.is_set()

    @property
    def _time_left(self) -> float:
        return max(self._deadline - time.monotonic(), 0.0)

    def _elsewhere(self) -> Callable[[list[StartJob]], list[State]] | None:
        """Starts go to the cluster of a joblib backend, such as Dask's; threads do at home."""
        at_home = type(get_active_backend()[0]).__module__ == "joblib._parallel_backends"
        if at_home or joblib.effective_n_jobs(self.n_jobs) == 1:
            return None

        def run(jobs: list[StartJob]) -> list[State]:
            calls = [joblib.delayed(run_start)(job, self._time_left) for job in jobs]
            states: list[State] = joblib.Parallel(n_jobs=self.n_jobs)(calls)
            return states

        return run

    def _check(self, records: list[RunRecord]) -> None:
        """Warn, or raise if there is nothing."""
        last = records[-1]
        if last.model is None:
            if last.stopped == "interrupted":
                raise KeyboardInterrupt
            raise ValueError(
                f"{type(self).__name__} found no network with a finite loss in "
                f"{last.n_evaluations:,} evaluations, ended by {last.stopped}; give it more "
                "max_time, or look for extreme values in the data."
            )
        if self._restarts and last.stopped != "interrupted":
            self._warn_of_the_budget(records)

    def _warn_of_the_budget(self, records: list[RunRecord]) -> None:
        """Warn if it ended before a polish did, or before enough starts to tell if they agree."""
        cut = next((record for record in records if record.agreement.n_starts == 0), records[0])
        if not cut.agreement.is_too_few:
            return
        lacks = "the optimization hasn't converged yet"
        if cut.agreement.n_starts:
            lacks = f"whether there is a better network is unknown ({cut.agreement})"
        warnings.warn(
            f"The budget ended ({cut.stopped}, after {cut.n_evaluations:,} evaluations) and "
            f"{lacks}. Increase max_evaluations or max_time.",
            ConvergenceWarning,
            stacklevel=6,
        )

    def _learn(
        self, problem: Problem, records: list[RunRecord], may_go_on: Callable[[], bool]
    ) -> None:
        """Set what is learned."""
        model, last = records[-1].model, records[-1]
        assert model is not None  # or _check had raised
        self.loss_curve_ = np.concatenate([record.errors for record in records])
        self.n_evaluations_ = sum(record.n_evaluations for record in records)
        self.confidence_ = records[0].agreement
        if self._task == "classification":
            found, self.best_loss_ = classified(model, problem, may_go_on)
            self.model_, self.alpha_, self.n_effective_parameters_ = found
            return
        self.alpha_ = last.alpha if problem.alpha == "auto" else problem.ridge
        part = part_of(problem, POLISH_SAMPLES)
        self.n_effective_parameters_ = n_effective_parameters(part, last)
        if len(records) > 1:
            model = refitted(model, problem, self.alpha_)
        elif problem.alpha == "auto" and self._restarts and is_worthwhile(problem):
            held = with_validated_ridge(model, problem, self.alpha_, may_go_on)
            model, self.alpha_ = held.model or model, held.alpha
            self.n_effective_parameters_ = held.n_effective
        self.model_, self.best_loss_ = model, loss_of(model, problem)


def _one_hot(y: NDArray[Any], classes: NDArray[Any]) -> Array:
    return (y[:, None] == classes).astype(np.float64)


def weighted(X: Array, y: NDArray[Any], sample_weight: Any) -> Samples:
    """The samples that count, and how much; None if they count alike."""
    if sample_weight is None:
        return X, y, None
    if isinstance(sample_weight, complex):  # others are refused below
        raise ValueError("Complex data not supported: sample_weight must be real numbers.")
    check_unmasked("sample_weight", sample_weight)
    try:
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    except OverflowError:
        raise ValueError("sample_weight must be below 1.8e308; rescale it.") from None
    if MAX_MAGNITUDE < weights.max() < np.inf:  # or their sum would overflow
        weights = weights / weights.max()
    counts = weights > 0
    if not counts.any():
        raise ValueError("Sample weights must contain at least one non-zero number.")
    return (X, y, weights) if counts.all() else (X[counts], y[counts], weights[counts])


def target_names(y: Any) -> Names:
    """Names of the targets, if y is a frame or a named series."""
    name = getattr(y, "name", None)
    return column_names(y) or ((name,) if isinstance(name, str) else ())
