"""Small networks in the interface of scikit-learn; needs the extra ``symbreak[sklearn]``."""

from __future__ import annotations

from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from symbreak._support.words import how_to_install

try:
    from sklearn.utils.validation import check_is_fitted, validate_data  # noqa: F401  (since 1.6)
except ImportError as error:
    raise ImportError(
        f"the estimators need scikit-learn 1.6 or later ({error}): {how_to_install('sklearn')}"
    ) from None

from sklearn.base import (
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    MultiOutputMixin,
    RegressorMixin,
    TransformerMixin,
    _fit_context,
)
from sklearn.metrics import r2_score
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from symbreak._support.checks import Array, as_matrix, check_vectors
from symbreak._support.frames import check_columns
from symbreak.estimators._base import EvolvedNetwork, target_names

__all__ = ["EvolvedAutoencoder", "EvolvedMLPClassifier", "EvolvedMLPRegressor"]

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
        n_networks: Different networks are averaged into one, so many at most: by default 16 of a
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
        names = target_names(y)
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
