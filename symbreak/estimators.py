"""Small networks in the interface of scikit-learn (``pip install 'symbreak[sklearn]'``)."""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

try:
    from joblib import effective_n_jobs
    from sklearn.base import (
        BaseEstimator,
        ClassifierMixin,
        ClassNamePrefixFeaturesOutMixin,
        MultiOutputMixin,
        RegressorMixin,
        TransformerMixin,
        _fit_context,
    )
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.metrics import r2_score
    from sklearn.model_selection import train_test_split
    from sklearn.utils import check_array, check_random_state, column_or_1d
    from sklearn.utils._param_validation import Interval, StrOptions
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data
except ImportError as error:
    raise ImportError(
        f"the estimators need scikit-learn 1.6 or later ({error}): pip install 'symbreak[sklearn]'"
    ) from None

from symbreak._checks import Array
from symbreak._estimation import (
    default_evaluations,
    merge_samples,
    progress_bar,
    raw_layers,
    rescaled_theta,
)
from symbreak.activations import ACTIVATIONS
from symbreak.methods import METHODS
from symbreak.models import Model
from symbreak.polish import polish
from symbreak.problems import Problem, Task
from symbreak.records import RunRecord
from symbreak.training import train

__all__ = ["EvolvedAutoencoder", "EvolvedMLPClassifier", "EvolvedMLPRegressor"]

Samples = tuple[Array, NDArray[Any], Array | None]  # inputs, targets, weights
Names = tuple[str, ...]


class _EvolvedNetwork(BaseEstimator):
    """What the three estimators share: parameters, and a fit of arrays."""

    _task: Task
    _n_fits = 0  # in a row, by warm starts
    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012  (scikit-learn's way)
        "hidden_layer_sizes": ["array-like", Interval(Integral, 1, None, closed="left")],
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
        hidden_layer_sizes: Any = (5,),
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

    def _fit(self, X: Array, y: NDArray[Any], weights: Array | None, names: Names = ()) -> Self:
        """Fit targets (K, q), or labels (K,)."""
        previous = getattr(self, "model_", None) if self.warm_start else None
        self._n_fits = 1 if previous is None else self._n_fits + 1
        seed = int(check_random_state(self.random_state).randint(2**31 - 1, size=self._n_fits)[-1])
        problem = self._problem(*self._divide((X, y, weights), seed), names)
        if previous is not None and previous.topology != problem.topology:
            raise ValueError(
                "warm_start can only be used with the inputs, layers and outputs of the previous "
                f"call to fit. Previously {previous.topology}, now {problem.topology}."
            )
        self._finish(problem, self._train(problem, seed), previous)
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
        return tuple(parts[::2]), tuple(parts[1::2])

    def _problem(self, samples: Samples, validation: Samples | None, names: Names) -> Problem:
        """The problem of some samples."""
        X, y, weights = samples
        rows, weights = merge_samples(X, y, weights)
        problem = Problem.from_arrays(
            X[rows],
            y[rows],
            hidden=tuple(np.ravel(self.hidden_layer_sizes)),
            activation=self.activation,
            task=self._task,
            weights=weights,
            validation=None if validation is None else validation[:2],
            name=type(self).__name__,
            output_shift=self.output_shift,
            rescale="none",
            alpha=self.alpha,
            feature_names=tuple(getattr(self, "feature_names_in_", ())),
            target_names=names,
        )
        if validation is None or problem.validation is None:
            return problem
        return replace(problem, validation=replace(problem.validation, weights=validation[2]))

    def _train(self, problem: Problem, seed: int) -> RunRecord:
        budget = self.max_evaluations
        if budget is None and self.max_time is None:
            budget = default_evaluations(problem)
        bar = progress_bar(problem.name, self.max_time) if self.verbose else nullcontext()
        with bar as show:
            record = train(
                problem,
                self.method,
                max_evaluations=budget,
                max_time=self.max_time,
                seed=seed,
                threads=effective_n_jobs(self.n_jobs),
                callback=show,
            )
        self._warn(record)
        return record

    def _warn(self, record: RunRecord) -> None:
        if record.model is None:
            if record.stopped == "interrupted":
                raise KeyboardInterrupt
            raise ValueError(
                f"{type(self).__name__} found no network with a finite loss in "
                f"{record.n_evaluations} evaluations, ended by {record.stopped}; give it more "
                "max_time, or look for extreme values in the data."
            )
        if record.stopped == "interrupted":
            warnings.warn("Training interrupted by user.", stacklevel=6)
        elif METHODS[self.method].polish == "restarts" and record.agreement.n_starts == 0:
            warnings.warn(
                f"The budget ended (by {record.stopped}, after {record.n_evaluations:,} "
                "evaluations) and the optimization hasn't converged yet; increase "
                "max_evaluations or max_time.",
                ConvergenceWarning,
                stacklevel=6,
            )

    def _finish(self, problem: Problem, record: RunRecord, previous: Model | None) -> None:
        """Set what is learned."""
        model, loss, spent = record.model, record.error, record.n_evaluations
        if previous is not None:
            polished = polish(rescaled_theta(previous, problem.inputs), problem)
            spent += polished.n_evaluations
            if polished.model is not None and polished.error < loss:
                model, loss = polished.model, polished.error
        assert model is not None  # or _warn had raised
        if problem.task == "classification":
            model = replace(model, output="softmax")  # until there is a calibration
        self.model_ = model
        self.best_loss_ = loss
        self.loss_curve_ = record.errors
        self.n_evaluations_ = spent
        self.confidence_ = record.agreement
        self.alpha_ = problem.alpha
        self.n_effective_parameters_ = float(model.theta.size + model.output_weights.size)

    def _outputs(self, X: Any) -> Array:
        check_is_fitted(self)
        return self.model_.outputs(validate_data(self, X, reset=False, dtype=np.float64))


class EvolvedMLPRegressor(RegressorMixin, MultiOutputMixin, _EvolvedNetwork):
    """A small network for numbers."""

    _task = "regression"

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train the network on inputs X (K, d) and targets y (K,) or (K, q)."""
        names = _column_names(y)
        X, y = validate_data(
            self, X, y, multi_output=True, y_numeric=True, dtype=np.float64, order="C"
        )
        if y.ndim == 2 and y.shape[1] == 1:
            y = column_or_1d(y, warn=True)
        self._y_is_1d = y.ndim == 1
        X, y, weights = _weighted(X, y, sample_weight)
        return self._fit(X, y.reshape(len(y), -1).astype(np.float64), weights, names)

    def predict(self, X: Any) -> Array:
        """Predictions (K,) or (K, q), in the units of y."""
        outputs = self._outputs(X)
        return outputs[:, 0] if self._y_is_1d else outputs


class EvolvedMLPClassifier(ClassifierMixin, _EvolvedNetwork):
    """A small network for classes."""

    _task = "classification"
    classes_: NDArray[Any]

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train the network on inputs X (K, d) and labels y (K,)."""
        X, y = validate_data(self, X, y, dtype=np.float64, order="C")
        check_classification_targets(y)
        X, y, weights = _weighted(X, column_or_1d(y, warn=True), sample_weight)
        classes = np.unique(y)
        if len(classes) < 2:
            raise ValueError(
                "This solver needs samples of at least 2 classes in the data, but the data "
                f"contains only one class: {classes[0]!r}"
            )
        if self.warm_start and not np.array_equal(getattr(self, "classes_", classes), classes):
            raise ValueError(
                "warm_start can only be used where `self.classes_` has the same classes as in the "
                f"previous call to fit. Previously got {self.classes_}, `y` has {classes}"
            )
        self.classes_ = classes
        return self._fit(X, y, weights)

    def predict(self, X: Any) -> NDArray[Any]:
        """Labels (K,)."""
        best = self._outputs(X).argmax(axis=1)
        return self.classes_[best]

    def predict_proba(self, X: Any) -> Array:
        """Probabilities (K, q) of the classes, in the order of ``classes_``."""
        return self._outputs(X)


class EvolvedAutoencoder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, _EvolvedNetwork):
    """A small network that finds few numbers to stand for many."""

    _task = "autoencoding"

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Train the network to give back X (K, d)."""
        X = validate_data(self, X, dtype=np.float64, order="C")
        X, _, weights = _weighted(X, X, sample_weight)
        self._fit(X, X, weights, tuple(getattr(self, "feature_names_in_", ())))
        hidden = self.model_.topology.hidden
        self._code_layer = hidden.index(min(hidden))
        return self

    @property
    def _n_features_out(self) -> int:
        return min(self.model_.topology.hidden)

    def transform(self, X: Any) -> Array:
        """The code (K, n) of X (K, d): outputs of the narrowest hidden layer."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        return self._through(self.model_.inputs(X), 0, self._code_layer + 1)

    def inverse_transform(self, X: Any) -> Array:
        """What codes X (K, n) stand for, (K, d) in the units of the data."""
        check_is_fitted(self)
        codes, model = check_array(X, dtype=np.float64), self.model_
        if codes.shape[1] != self._n_features_out:
            raise ValueError(
                f"X has {codes.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self._n_features_out} features as input."
            )
        A = self._through(codes, self._code_layer + 1, None)
        if model.output_shift:
            A = np.column_stack([A, np.ones(len(A))])
        return model.targets.undo(A @ model.output_weights)

    def _through(self, x: Array, first: int, last: int | None) -> Array:
        """Outputs of the hidden layer before ``last``, from those of the one before ``first``."""
        net = self.model_.topology
        for layer in net.layers(self.model_.theta)[first:last]:
            x = net.activation.f(x @ layer[:, :-1].T + layer[:, -1])
        return x

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Coefficient of determination of what comes back, 1 at best."""
        X = validate_data(self, X, reset=False, dtype=np.float64)
        return float(r2_score(X, self._outputs(X), sample_weight=sample_weight))


def _weighted(X: Array, y: NDArray[Any], sample_weight: Any) -> Samples:
    """The samples that count, and how much; None if they count alike."""
    if sample_weight is None:
        return X, y, None
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    counts = weights > 0
    if not counts.any():
        raise ValueError("Sample weights must contain at least one non-zero number.")
    return (X, y, weights) if counts.all() else (X[counts], y[counts], weights[counts])


def _column_names(y: Any) -> Names:
    """Names of the targets, if y is a frame or a named series."""
    names = getattr(y, "columns", None)
    if names is None and isinstance(getattr(y, "name", None), str):
        names = [y.name]
    found = () if names is None else tuple(names)
    return found if all(isinstance(name, str) for name in found) else ()
