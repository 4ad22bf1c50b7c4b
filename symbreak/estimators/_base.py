"""What the three estimators share: samples as scikit-learn wants them, one fit, what it learns."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager, nullcontext
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
    check_array,
    check_is_fitted,
    check_X_y,
    validate_data,
)

from symbreak._activations import ACTIVATIONS
from symbreak._support.checks import (
    MAX_MAGNITUDE,
    Array,
    check_unmasked,
)
from symbreak._support.frames import check_columns, column_labels, column_names
from symbreak._support.progress import progress_bar
from symbreak._support.random import stream
from symbreak._support.words import few
from symbreak.export._parts import raw_rows_of
from symbreak.inspection import is_constant, relevance
from symbreak.methods import find_method
from symbreak.models import Model
from symbreak.problems import Problem
from symbreak.problems._data import named_columns, warn_of_outliers
from symbreak.problems._encoding import Encoding
from symbreak.problems._problem import Task
from symbreak.problems._tables import SHOWN, is_plain
from symbreak.training import RunRecord, train
from symbreak.training._last_step import log_loss, n_effective_parameters
from symbreak.training._size import what_takes_long

Samples = tuple[Array, NDArray[Any], Array | None]  # inputs, targets, weights
Names = tuple[str, ...]

#: Hidden neurons where they are not chosen: of an autoencoder, and of a search without restarts.
NEURONS = 5


class EvolvedNetwork(BaseEstimator):
    """The base of the three, which say what it takes and learns."""

    _task: Task
    _n_fits = 0  # in a row, by warm starts
    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012  (scikit-learn's way)
        "hidden_layer_sizes": [
            StrOptions({"auto"}),
            "array-like",
            Interval(Integral, 1, None, closed="left"),
        ],
        "activation": [StrOptions(set(ACTIVATIONS))],
        "method": [str],
        "alpha": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
        "max_time": [None, Interval(Real, 0, None, closed="neither")],
        "max_evaluations": [None, Interval(Integral, 1, None, closed="left")],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "output_shift": ["boolean"],
        "n_networks": [None, Interval(Integral, 1, None, closed="left")],
        "max_neurons": [None, Interval(Integral, 1, None, closed="left")],
        "categorical_features": [None, StrOptions({"from_dtype"}), "array-like"],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "warm_start": ["boolean"],
    }

    def __init__(
        self,
        hidden_layer_sizes: Any = "auto",
        activation: str = "tanh",
        *,
        method: str = "auto",
        alpha: Any = "auto",
        max_time: float | None = None,
        max_evaluations: int | None = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        output_shift: bool = True,
        n_networks: int | None = None,
        max_neurons: int | None = None,
        categorical_features: Any = "from_dtype",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool = False,
        warm_start: bool = False,
    ) -> None:
        given = locals()
        for name in self._parameter_constraints:
            setattr(self, name, given[name])

    def __sklearn_is_fitted__(self) -> bool:
        """Whether there is a network; a fit that failed has left none."""
        return hasattr(self, "model_")

    @property
    def coefs_(self) -> list[Array]:
        """Weights (fan-in, n) of each layer, the output layer last, for inputs in raw units."""
        check_is_fitted(self)
        return [rows[:, :-1].T for rows in raw_rows_of(self.model_)]

    @property
    def intercepts_(self) -> list[Array]:
        """Shifts (n,) of each layer, in the same units."""
        check_is_fitted(self)
        return [rows[:, -1] for rows in raw_rows_of(self.model_)]

    @property
    def out_activation_(self) -> str:
        """What is applied to the last layer: ``"identity"`` or ``"softmax"``."""
        check_is_fitted(self)
        return "softmax" if self.model_.output == "softmax" else "identity"

    @property
    def relevance_(self) -> Array:
        """How much each column matters to the network, as ``inspection.relevance``."""
        check_is_fitted(self)
        return relevance(self.model_)

    def _inputs(self, X: Any) -> Array:
        """Inputs (K, d) of the network that was fitted."""
        check_is_fitted(self)
        inputs: Array = self._validated(X, reset=False)
        return inputs

    def _validated(self, X: Any, *y: Any, **options: Any) -> Any:
        """What scikit-learn makes of X (K, d), or of X and y; it would take dates for numbers."""
        reset = options.get("reset", True)
        if reset:
            before = getattr(self, "_encoding", None) if self.warm_start else None
            self._encoding = self._learned(X, before)
        for targets in y:
            check_unmasked("y", targets)
        if not reset and len(getattr(X, "shape", ())) == 2:
            _check_n_features(self, X, reset=False)  # before a warning about names
        if self._encoding is not None:
            validate_data(self, X, reset=options.pop("reset", True), skip_check_array=True)
            with warnings.catch_warnings():
                if reset:  # what is rare there
                    warnings.simplefilter("ignore")
                encoded = self._encoding(_columns(X))
            check = check_X_y if y else check_array
            return check(encoded, *y, dtype=np.float64, estimator=self, **options)
        check_columns("X", X)
        with _in_floats("X and y"), np.errstate(invalid="ignore"):  # in its sums of large numbers
            return validate_data(self, X, *y, dtype=np.float64, **options)

    def _counting_samples(
        self, X: Array, y: NDArray[Any], sample_weight: Any, names: Names = ()
    ) -> Samples:
        """The samples that count, and how much; None if they count alike. Outliers are named."""
        weights = None if sample_weight is None else _weights(X, sample_weight)
        counts = np.ones(len(X), dtype=bool) if weights is None else weights > 0
        columns = named_columns(X, self._feature_names, "x")
        if self._task == "regression":
            columns |= named_columns(y.reshape(len(y), -1), names, "y")
        counting = {name: np.where(counts, values, np.nan) for name, values in columns.items()}
        warn_of_outliers(counting, stacklevel=5)
        if counts.all():
            return X, y, weights
        return X[counts], y[counts], None if weights is None else weights[counts]

    def _learned(self, X: Any, before: Encoding | None) -> Encoding | None:
        """How columns that are no plain numbers become inputs; None if there are none of these."""
        chosen = self.categorical_features
        if chosen is None or len(names := column_names(X) or _numbered(X)) == 0:
            return None
        levels = [] if isinstance(chosen, str) else _chosen(chosen, names)
        columns = _columns(X)
        if not levels and all(map(is_plain, columns.values())):
            return None
        encoding = Encoding.learn(columns, levels, like=before)
        if encoding.left_out:
            said = few([f"{name} {why}" for name, why in encoding.left_out.items()], SHOWN, "; ")
            warnings.warn(f"Columns that are left out: {said}.", stacklevel=6)
        return encoding

    def __sklearn_tags__(self) -> Any:
        """Missing values and levels are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.categorical = True
        return tags

    def _fit(self, X: Array, y: NDArray[Any], weights: Array | None, names: Names = ()) -> Self:
        """Fit targets (K, q), or labels (K,)."""
        previous = getattr(self, "model_", None) if self.warm_start else None
        if previous is None:  # should this fit fail: its classes must not name old outputs
            self.__dict__.pop("model_", None)
        self._n_fits = 1 if previous is None else self._n_fits + 1
        seed = self._seed()
        problem = self._problem(*self._divide((X, y, weights), seed), names)
        if previous is not None and find_method(self.method).polish == "none":
            raise ValueError(
                f"warm_start polishes the previous network, and method={self.method!r} is a search "
                "alone. Set method='auto'."
            )
        no_limit = self.max_time is None and self.max_evaluations is None
        if no_limit and (what := what_takes_long(problem)):
            warnings.warn(
                f"{what}; max_time=60 ends after one, with the best so far.", stacklevel=3
            )
        bar = progress_bar(f"{problem.train.n_rows:,} samples", self.max_time)
        with bar if self.verbose else nullcontext() as show:
            record = train(
                problem,
                self.method,
                max_evaluations=self.max_evaluations,
                max_time=self.max_time,
                seed=seed,
                threads=joblib.effective_n_jobs(self.n_jobs),
                initial=previous,
                executor=self._executor(),
                callback=show,
                hidden="auto" if self._chooses_size else None,
                n_networks=self.n_networks,
                max_neurons=self.max_neurons,
            )
        self._learn(problem, record)
        return self

    def _seed(self) -> int:
        """``random_state`` itself if that is a number; another one in each warm start."""
        state = self.random_state
        if isinstance(state, Integral) and self._n_fits == 1:
            return int(state)
        if isinstance(state, Integral):
            return int(stream(int(state), "fit", self._n_fits).integers(2**31))
        return int(check_random_state(state).randint(2**31 - 1, size=self._n_fits)[-1])

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
        return tuple(parts[::2]), tuple(parts[1::2])

    def _problem(self, samples: Samples, validation: Samples | None, names: Names) -> Problem:
        X, y, weights = samples
        return Problem.from_arrays(
            X,
            y,
            hidden=self._hidden(X.shape[1]),
            activation=self.activation,
            task=self._task,
            weights=weights,
            validation=validation,
            output_shift=self.output_shift,
            alpha=self.alpha,
            name_outliers=False,
            feature_names=self._feature_names,
            target_names=names,
            encoding=self._encoding,
        )

    @property
    def _chooses_size(self) -> bool:
        """Whether the training chooses; a code is as long as it is told to be."""
        return isinstance(self.hidden_layer_sizes, str) and self._task != "autoencoding"

    def _hidden(self, n_inputs: int) -> tuple[int, ...]:
        """Sizes of the hidden layers; by default a code is shorter than what it stands for."""
        sizes = self.hidden_layer_sizes
        if isinstance(sizes, str):
            most = max(n_inputs - 1, 1) if self._task == "autoencoding" else NEURONS
            return (min(NEURONS, most),)
        return tuple(sizes) if np.iterable(sizes) else (sizes,)

    @property
    def _feature_names(self) -> Names:
        """Names of the inputs of the network."""
        if self._encoding is not None:
            return tuple(feature.name for feature in self._encoding.features)
        return tuple(getattr(self, "feature_names_in_", ()))

    def _executor(self) -> Executor | None:
        """Starts go to the cluster of a joblib backend, such as Dask's; threads do at home."""
        at_home = type(get_active_backend()[0]).__module__ == "joblib._parallel_backends"
        alone = joblib.effective_n_jobs(self.n_jobs) == 1
        return None if at_home or alone else _JoblibExecutor(self.n_jobs)

    def _learn(self, problem: Problem, record: RunRecord) -> None:
        """Set what is learned, and warn of what should be known; or raise if there is nothing."""
        if record.model is None:
            if record.stopped == "interrupted":
                raise KeyboardInterrupt
            raise ValueError(
                f"{type(self).__name__} found no network with a finite loss in "
                f"{record.n_evaluations:,} evaluations, ended by {record.stopped}; give it more "
                "max_time, or look for extreme values in the data."
            )
        self.model_, self.alpha_ = record.model, record.alpha
        self.members_, self.size_path_ = record.members, record.size_path
        self.loss_curve_, self.n_evaluations_ = record.errors, record.n_evaluations
        self.confidence_ = record.agreement
        self.n_effective_parameters_ = n_effective_parameters(problem, record)
        loss = log_loss if self._task == "classification" else Model.error_on
        self.best_loss_ = loss(self.model_, problem.train)
        if record.stopped == "interrupted":
            warnings.warn("Training interrupted by user.", stacklevel=5)
            return
        if record.restarts and record.agreement.is_too_few:
            lacks = "the optimization hasn't converged yet"
            if record.agreement.n_starts:
                lacks = f"whether there is a better network is unknown ({record.agreement})"
            warnings.warn(
                f"The budget ended ({record.stopped}, after {record.n_evaluations:,} evaluations) "
                f"and {lacks}. Increase max_evaluations or max_time.",
                ConvergenceWarning,
                stacklevel=5,
            )
        if self.alpha == "auto" and is_constant(self.model_, problem):
            warnings.warn(
                "The network predicts the same for all samples, as if the data were noise. If they "
                "are not, give alpha a number, such as 0.01.",
                ConvergenceWarning,
                stacklevel=5,
            )


class _JoblibExecutor(Executor):
    """The backend of joblib that is active here."""

    def __init__(self, n_jobs: int | None) -> None:
        self._n_jobs = n_jobs

    def map(self, fn: Any, *iterables: Any, **_: Any) -> Any:
        """What ``fn`` returns, in order."""
        calls = (joblib.delayed(fn)(*args) for args in zip(*iterables, strict=True))
        return joblib.Parallel(n_jobs=self._n_jobs)(calls)


def _numbered(X: Any) -> Names:
    """Names for the columns of an array of floats, which may have gaps."""
    floats = isinstance(X, np.ndarray) and X.dtype.kind == "f" and X.ndim == 2
    return tuple(f"x{i}" for i in range(1, 1 + X.shape[1])) if floats else ()


def _columns(X: Any) -> dict[str, Any]:
    """Columns of a frame, or an array, by name."""
    if column_labels(X):
        return {str(label): X[label] for label in column_labels(X)}
    return dict(zip(_numbered(X := np.asarray(X, dtype=np.float64)), X.T, strict=True))


def _chosen(columns: Any, names: Names) -> list[str]:
    """Names of columns that are given by name, by index, or by a mask."""
    chosen = np.asarray(columns)
    if chosen.dtype.kind in "OUT":
        return [str(name) for name in chosen]
    try:
        return np.asarray(names, dtype=object)[chosen].tolist()
    except IndexError:
        raise ValueError(
            f"categorical_features must be columns of X, by name, index or mask, got {columns!r}."
        ) from None


def _weights(X: Array, sample_weight: Any) -> Array:
    """How much samples (K,) count, some of them nothing."""
    check_unmasked("sample_weight", sample_weight)
    if isinstance(sample_weight, complex):  # others are refused below
        raise ValueError("Complex data not supported: sample_weight must be real numbers.")
    with _in_floats("sample_weight"):
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    if MAX_MAGNITUDE < weights.max() < np.inf:  # or their sum would overflow
        weights = weights / weights.max()
    if not (weights > 0).any():
        raise ValueError("Sample weights must contain at least one non-zero number.")
    return weights


@contextmanager
def _in_floats(what: str) -> Iterator[None]:
    """Say that integers are too large, which NumPy and scikit-learn leave to Python."""
    try:
        yield
    except OverflowError:
        raise ValueError(f"{what} must be below 1.8e308 in magnitude; rescale them.") from None


def target_names(y: Any) -> Names:
    """Names of the targets, if y is a frame or a named series."""
    name = getattr(y, "name", None)
    return column_names(y) or ((name,) if isinstance(name, str) else ())
