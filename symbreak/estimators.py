"""Small networks in the interface of scikit-learn; needs the extra ``symbreak[sklearn]``."""

from __future__ import annotations

import warnings
from concurrent.futures import Executor
from contextlib import nullcontext
from numbers import Integral, Real
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from symbreak._support.words import few, how_to_install

try:
    from sklearn.utils.validation import check_is_fitted, validate_data  # since 1.6
except ImportError as error:
    raise ImportError(
        f"the estimators need scikit-learn 1.6 or later ({error}): {how_to_install('sklearn')}"
    ) from None

import joblib
from joblib.parallel import get_active_backend
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
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_n_features,
    _check_sample_weight,
    check_array,
    check_X_y,
)

from symbreak._activations import ACTIVATIONS
from symbreak._support.checks import (
    MAX_MAGNITUDE,
    Array,
    as_matrix,
    check_unmasked,
    check_vectors,
)
from symbreak._support.frames import check_columns, column_labels, column_names
from symbreak._support.progress import progress_bar
from symbreak._support.random import stream
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

__all__ = ["EvolvedAutoencoder", "EvolvedMLPClassifier", "EvolvedMLPRegressor"]

Samples = tuple[Array, NDArray[Any], Array | None]  # inputs, targets, weights
Names = tuple[str, ...]

#: Hidden neurons where they are not chosen: of an autoencoder, and of a search without restarts.
NEURONS = 5
#: Longer than anybody waits; an integer may be too large for a float.
MAX_TIME = 1e9

#: What every estimator takes and learns; part of their descriptions.
PARAMETERS = """
    Inputs and targets are normalised inside, so raw units work. Equal samples are merged and
    counted: neither the order of samples, nor repeating one instead of giving it a larger
    ``sample_weight``, changes a bit of the model (except with ``early_stopping``, which divides
    them at random).

    Args:
        hidden_layer_sizes: Neurons of each hidden layer, or of the only one. ``"auto"`` chooses
            them by how well networks of several sizes predict samples that they have not seen
            (docs/size.md). An autoencoder has 5 then, or one less than up to 5 inputs; and 5 have
            those of a method that has no restarts.
        activation: Of the hidden neurons: ``"tanh"``, ``"sin"``, ``"softsign"``, ``"logistic"`` or
            ``"relu"``.
        method: ``"auto"``: short searches with symmetry breaking, each followed by a polish, until
            three of at least six agree. Or another registered name: a search alone that spends
            its budget.
        alpha: Ridge on all weights, a tenth of it on shifts of hidden neurons; ``"auto"`` lets the
            evidence of the data set it, and then larger ones compete with that in
            cross-validation (or on the samples of ``early_stopping``), where a search can use all
            samples. For classes, ridges from 0.001 to 30 compete after the search.
        max_time: Seconds after which to stop; classes are searched for half of them at most.
        max_evaluations: Evaluations of networks after which a search stops. If neither this nor
            ``max_time`` is given, as many as take 2e10 multiply-adds (a few seconds with some
            thousand samples); but at least 100 iterations of a polish, and at most 1,000
            iterations or 50,000 evaluations, whichever is more. That is the same on every machine.
        early_stopping: Keep samples for validation, and choose the network that is best on them.
        validation_fraction: Their share; stratified for classes.
        output_shift: Whether the outputs have a shift (an intercept).
        n_networks: Different networks are averaged into one, so many at most: by default 8 of a
            size that was chosen, else 1.
        max_neurons: Hidden neurons of the result at most, whatever it is made of.
        categorical_features: Columns of levels. ``"from_dtype"``: those of frames (of pandas,
            polars or pyarrow) that hold text or categories. Or indices, names or a mask of columns
            that are levels, too. Levels, dates and missing values become inputs by an ``Encoding``
            that ``model_`` keeps, see docs/data-files.md. ``None``: all columns must be numbers.
        n_jobs: Starts at the same time, in threads; -1 is one per core. Inside a
            ``joblib.parallel_config`` with a cluster's backend, such as ``"dask"``, they go there.
            The model is the same.
        random_state: Same number, same model.
        verbose: Show a progress bar.
        warm_start: Polish the network of the previous fit first; then search with other random
            numbers than before, until starts agree.

    A ``ConvergenceWarning`` says where the budget ended before six starts had, which are too few to
    tell whether there is a better network. Ctrl-C ends the fit with the best network so far and a
    warning; a second one raises.

    With many samples, searches and their polishes use half of the budget on 2,000 of them (or on 20
    for each parameter, divided by the number of outputs, if that is more). The network that they
    find is then polished on 5,000 (or 75), and in regression its output layer is fitted to all.

    Attributes:
        model_: The network, a ``Model``: ``model_.save("model.json")`` keeps it.
        confidence_: How many starts ended in the best network, and what that says of a better one.
        best_loss_: Mean squared error on the training samples, in normalised targets; for classes,
            mean cross-entropy (with many samples, on those of the polish).
        loss_curve_: What the search minimised, ridge included, at each improvement. Polishes are
            in it if ``alpha`` is a number; those of ``"auto"`` change the ridge as they go, so that
            their losses cannot be compared. Cross-entropy is never in it.
        n_evaluations_: Evaluations done.
        size_path_: What was tried where the size was chosen: hidden layers, their mean loss on
            samples that were not shown, its standard error, and the ridge.
        relevance_: How much each column of X matters: the mean change of the outputs per change of
            the column, both in standard deviations.
        members_: The networks whose mean the model is; one, if it is no committee.
        alpha_: The ridge.
        n_effective_parameters_: Number of parameters that the data determine, of the first member;
            NaN for classes where they are too many to be counted in seconds.
        coefs_: Weights of each layer, output layer included, for inputs and targets in raw units.
        intercepts_: Shifts of each layer, likewise. Where inputs are far from 0, compared with
            their spread, rounding is finer in ``model_``, which normalises first.
        out_activation_: ``"identity"`` or ``"softmax"``, applied to the last layer.
        n_features_in_: Number of inputs.
        feature_names_in_: Their names, if X had any."""


class EvolvedNetwork(BaseEstimator):
    """The base of the three; ``PARAMETERS`` describes what it takes and learns."""

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
        try:
            with np.errstate(invalid="ignore"):  # in its sums of large numbers
                return validate_data(self, X, *y, dtype=np.float64, **options)
        except OverflowError:
            raise ValueError("X and y must be below 1.8e308 in magnitude; rescale them.") from None

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
                max_time=None if self.max_time is None else min(self.max_time, MAX_TIME),
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
        if self._task == "classification" and len(lost := np.setdiff1d(y, parts[2])):
            raise ValueError(
                f"validation_fraction={self.validation_fraction} leaves no sample of class "
                f"{lost.tolist()[0]!r} to learn from; make it smaller, or add samples."
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
    if isinstance(sample_weight, complex):  # others are refused below
        raise ValueError("Complex data not supported: sample_weight must be real numbers.")
    check_unmasked("sample_weight", sample_weight)
    try:
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    except OverflowError:
        raise ValueError("sample_weight must be below 1.8e308; rescale it.") from None
    if MAX_MAGNITUDE < weights.max() < np.inf:  # or their sum would overflow
        weights = weights / weights.max()
    if not (weights > 0).any():
        raise ValueError("Sample weights must contain at least one non-zero number.")
    return weights


def _target_names(y: Any) -> Names:
    """Names of the targets, if y is a frame or a named series."""
    name = getattr(y, "name", None)
    return column_names(y) or ((name,) if isinstance(name, str) else ())


Class = TypeVar("Class", bound=type)


def _described(cls: Class) -> Class:
    """Add to a class what all of them take and learn."""
    cls.__doc__ = f"{cls.__doc__}{PARAMETERS}{cls.__dict__.get('_learns', '')}\n    "
    return cls


@_described
class EvolvedMLPRegressor(RegressorMixin, MultiOutputMixin, EvolvedNetwork):
    """A small network for one or several numbers, found by global search."""

    _task = "regression"

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train the network on inputs X (K, d) and targets y (K,) or (K, q)."""
        names = _target_names(y)
        X, y = self._validated(X, y, multi_output=True, y_numeric=True, order="C")
        y = check_vectors(y, "(K,) or (K, q)", "y")  # scikit-learn leaves texts to us
        if y.ndim == 2 and y.shape[1] == 1:
            y = column_or_1d(y, warn=True)
        self._y_is_1d = y.ndim == 1
        X, y, weights = self._counting_samples(X, y, sample_weight, names)
        return self._fit(X, y.reshape(len(y), -1), weights, names)

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Predictions (K,) or (K, q), in the units of y; if asked, their standard deviations too.

        These are those of the noise and of what the data leave open: docs/error-bars.md.
        """
        X = self._inputs(X)
        return self.model_.predict(X, return_std=True) if return_std else self.model_.predict(X)

    def predict_interval(self, X: Any, coverage: float = 0.9) -> tuple[Array, Array]:
        """Lower and upper ends, (K,) or (K, q), of intervals with a share of the targets."""
        X = self._inputs(X)
        return self.model_.predict_interval(X, coverage)


@_described
class EvolvedMLPClassifier(ClassifierMixin, EvolvedNetwork):
    """A small network for classes, found by global search."""

    _task = "classification"
    _learns = "\n        classes_: Labels, in the order of the probabilities."
    classes_: NDArray[Any]

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train the network on inputs X (K, d) and labels y (K,) of any kind."""
        X, y = self._validated(X, y, order="C")
        if y.dtype.kind in "mM":  # a model keeps texts and numbers
            raise ValueError(f"Unknown label type: y must hold classes, got {y.dtype}.")
        if y.dtype.kind == "O" and all(isinstance(label, bool) for label in y.flat):
            y = y.astype(bool)  # scikit-learn knows no other objects than strings
        check_classification_targets(y)
        X, y, weights = self._counting_samples(X, column_or_1d(y, warn=True), sample_weight)
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
        """Labels (K,): the likeliest."""
        X = self._inputs(X)
        return self.model_.predict(X).astype(self.classes_.dtype)

    def predict_proba(self, X: Any) -> Array:
        """Probabilities (K, q) of the classes, in the order of ``classes_``."""
        X = self._inputs(X)
        return self.model_.outputs(X)


@_described
class EvolvedAutoencoder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, EvolvedNetwork):
    """A small network that finds a short code for many numbers, and the way back from it.

    The code is what comes out of the narrowest hidden layer, the first of equals: with
    ``hidden_layer_sizes=(5, 2, 5)`` two numbers, after their activation.
    """

    _task = "autoencoding"

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Train the network to give back X (K, d)."""
        X = self._validated(X, order="C")
        X, _, weights = self._counting_samples(X, X, sample_weight)
        return self._fit(X, X, weights, self._feature_names)

    @property
    def _code_layer(self) -> int:
        hidden = self.model_.topology.hidden
        return hidden.index(min(hidden))

    @property
    def _n_features_out(self) -> int:
        return min(self.model_.topology.hidden)

    def transform(self, X: Any) -> Array:
        """The code (K, n) of X (K, d): outputs of the narrowest hidden layer."""
        X = self._inputs(X)
        return self._through(self.model_.inputs(X), 0, self._code_layer + 1)

    def inverse_transform(self, X: Any) -> Array:
        """What codes X (K, n) stand for, (K, d) in the units of the data."""
        check_is_fitted(self)
        codes, model = as_matrix("X", check_columns("X", X)), self.model_
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
        """Send outputs of the layer before ``first`` through the hidden layers up to ``last``."""
        net = self.model_.topology
        for layer in net.layers(self.model_.theta)[first:last]:
            x = net.activation.f(x @ layer[:, :-1].T + layer[:, -1])
        return x

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Coefficient of determination of what comes back, 1 at best."""
        X = self._inputs(X)
        return float(r2_score(X, self.model_.outputs(X), sample_weight=sample_weight))
