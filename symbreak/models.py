"""What a training yields and a person keeps: a network that predicts in the units of its data.

A model is a plain value. It holds no training data and needs no evaluator; saved, it is a JSON
file from which nothing can be executed.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from symbreak import _model_file
from symbreak._error_bars import ErrorBars
from symbreak._support.blas import one_blas_thread
from symbreak._support.checks import (
    Array,
    IntArray,
    Mask,
    as_matrix,
    check_choice,
    check_finite,
    check_kind,
    check_magnitude,
    check_path,
    check_real,
    check_vectors,
    shown,
)
from symbreak._support.frames import take_columns
from symbreak._support.words import few
from symbreak._support.writing import write_text
from symbreak.network import hidden_outputs, mean_square
from symbreak.problems import Dataset, Scaling
from symbreak.problems._encoding import Coded, Encoding
from symbreak.problems._problem import Task, check_units, label_array, target_matrix
from symbreak.topology import Topology, check_solved

__all__ = ["Model"]

#: What is applied to the weighted sums of the outputs: nothing, the paper's tanh for classes that
#: were fitted by least squares, or softmax for classes with probabilities.
Output = Literal["linear", "tanh", "softmax"]

#: Beyond a range by more than this part of it, inputs are far outside; and what is rounding.
ROOM, ROUNDING = 0.1, 1e-9


@dataclass(frozen=True, eq=False)
class Model:
    """A complete network with the units of its data.

    Attributes:
        topology: Layer sizes and activation.
        task: What it was trained for.
        theta: Parameters (D,) of the hidden layers.
        output_weights: (N_{L-1}, q), with a last row if the outputs have a bias.
        inputs: From the units of the inputs to normalised ones.
        targets: The same for the targets; the identity for classes.
        output: What is applied to the weighted sums of the outputs.
        classes: Labels, in the order of the outputs; empty if the task is not classification.
        feature_names: Names of the inputs; empty if they have none.
        target_names: Names of the targets; empty if they have none.
        origin: Where it came from: problem, method, seed, evaluations, error, versions.
        encoding: How the columns of a table become the inputs; None if they are numbers.
        error_bars: How sure its predictions are; None if that is not known.
        ranges: Least and largest normalised inputs (2, d) of training; None if not known.
    """

    topology: Topology
    task: Task
    theta: Array
    output_weights: Array
    inputs: Scaling
    targets: Scaling
    output: Output = "linear"
    classes: tuple[Any, ...] = ()
    feature_names: tuple[str, ...] = ()
    target_names: tuple[str, ...] = ()
    origin: Mapping[str, Any] = field(default_factory=dict)
    encoding: Encoding | None = None
    error_bars: ErrorBars | None = None
    ranges: Array | None = None

    def __post_init__(self) -> None:
        check_choice("task", self.task, get_args(Task))
        check_choice("output", self.output, get_args(Output))
        net, q = check_solved(self.topology), self.topology.n_outputs
        arrays = "theta", "output_weights", *["ranges"] * (self.ranges is not None)
        for name in arrays:
            object.__setattr__(self, name, check_vectors(getattr(self, name), "...", name))
        self._check_shape("theta", self.theta, (net.dim,))
        bias = self.output_weights.shape == (net.hidden[-1] + 1, q)
        self._check_shape("output_weights", self.output_weights, (net.hidden[-1] + bias, q))
        if self.ranges is not None:
            self._check_shape("ranges", self.ranges, (2, net.n_inputs))
        check_units(self)
        self._check_classes()
        check_kind("origin", self.origin, Mapping, "a dictionary")  # type: ignore[type-abstract]
        if self.encoding is not None:
            check_kind("encoding", self.encoding, Encoding, "as Encoding.learn makes")
            self._check_inputs((1, len(self.encoding.features)))

    def _check_classes(self) -> None:
        given = check_kind("classes", self.classes, tuple, "of labels")
        labels = tuple(c.item() if isinstance(c, np.generic) else c for c in given)
        n, q = len(labels), self.topology.n_outputs
        if not all(map(_is_label, labels)):
            raise ValueError(
                "classes must be strings, finite numbers or booleans, of 64 bits at most, got "
                f"{shown(given)}."
            )
        object.__setattr__(self, "classes", labels)
        if (self.task == "classification") != bool(n) or n not in (0, q):
            raise ValueError(f"a model of {q} outputs for {self.task} cannot have {n} classes.")
        if not n and self.output != "linear":
            raise ValueError(f"outputs for {self.task} must be 'linear', got {self.output!r}.")
        if len(set(labels)) < n or len({isinstance(label, str) for label in labels}) > 1:
            raise ValueError(
                "classes must differ from each other, and be strings all of them or none of them, "
                f"got {shown(labels)}."
            )

    def _check_shape(self, name: str, values: Array, shape: tuple[int, ...]) -> None:
        if values.shape != shape:
            raise ValueError(
                f"{name} must have shape {shape} for a {self.topology} network, got {values.shape}."
            )
        check_finite(name, values)

    def __repr__(self) -> str:
        kind = f"{len(self.classes)} classes" if self.classes else self.task
        origin = f", of {self.origin['problem']}" if "problem" in self.origin else ""
        return f"Model({self.topology}, {kind}{origin})"

    @property
    def output_shift(self) -> bool:
        """Whether the outputs have a bias, the last row of ``output_weights``."""
        return len(self.output_weights) > self.topology.hidden[-1]

    @overload
    def predict(self, X: ArrayLike, return_std: Literal[False] = False) -> NDArray[Any]: ...
    @overload
    def predict(self, X: ArrayLike, return_std: Literal[True]) -> tuple[Array, Array]: ...
    def predict(self, X: ArrayLike, return_std: bool = False) -> NDArray[Any] | tuple[Array, Array]:
        """Predictions for inputs X (K, d), both in the units of the data.

        Labels (K,) of classes; else numbers, (K,) for a single target and (K, q) for more. With
        ``return_std`` the standard deviations of targets around them, too, of a model that has
        ``error_bars``: they are those of the noise and of what the data leave open.

        Columns of a frame are found by name, and those that the model does not read are left out;
        they are taken as they stand if the frame or the model has no names, or the model has but
        ``x1, x2, ...``, of a file without a header, and the frame none of these. A model with an
        ``encoding`` takes the raw table, see ``encode``. Columns with values far outside of what
        training saw (``outside``) are named in a warning.

        Raises:
            ValueError: if X lacks a column, or does not hold finite numbers.
        """
        inputs, outputs = self._known_or_warned(X)
        if return_std:
            bars = self.check_error_bars()
            std = self.targets.scale * bars.std(inputs, self.targets(outputs))
            return _one_or_more(outputs), _one_or_more(std)
        if self.classes:
            return self._labels[outputs.argmax(axis=1)]
        return _one_or_more(outputs)

    def predict_interval(self, X: ArrayLike, coverage: float = 0.9) -> tuple[Array, Array]:
        """Lower and upper ends of intervals that hold a share of the targets at inputs X (K, d).

        Each (K,) for a single target and (K, q) for more. The share was measured on samples of the
        training that were left out.
        """
        check_coverage("coverage", coverage)
        bars, (inputs, outputs) = self.check_error_bars(), self._known_or_warned(X)
        half = self.targets.scale * bars.half_width(inputs, self.targets(outputs), coverage)
        return _one_or_more(outputs - half), _one_or_more(outputs + half)

    def check_error_bars(self) -> ErrorBars:
        """The error bars; a ValueError says why there are none."""
        if self.error_bars is not None:
            return self.error_bars
        usual = "train gives them to networks of regression on your own data"
        raise ValueError(f"the model has no error bars: {self.origin.get('no_error_bars', usual)}.")

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of a table that it reads; x1, x2, ... if they have no names."""
        return self.rule.names

    @cached_property
    def rule(self) -> Encoding:
        """The encoding, or where there is none, that of numbers which stay as they are."""
        if self.encoding is not None:
            return self.encoding
        names = self.feature_names or [f"x{i + 1}" for i in range(self.topology.n_inputs)]
        means = zip(names, self.inputs.mean.tolist(), strict=True)
        return Encoding(tuple(Coded(name, fill=mean) for name, mean in means))

    @property
    def output_names(self) -> tuple[str, ...]:
        """Names of the outputs: classes, or targets; y, or y1, y2, ... if these have none."""
        q = self.topology.n_outputs
        unnamed = ("y",) if q == 1 else tuple(f"y{i + 1}" for i in range(q))
        return tuple(map(str, self.classes)) or self.target_names or unnamed

    @property
    def owners(self) -> IntArray:
        """For each input of the network (d,) the column that it is made of."""
        return np.array([feature.column for feature in self.rule.features])

    def outside(self, X: ArrayLike) -> Mask:
        """Which ``columns`` (K, n) of inputs X are far outside of what training saw.

        That is, beyond its range by more than a tenth of that. All are inside if that is not known.
        """
        return self._outside(self.normalised_inputs(X))

    def _outside(self, inputs: Array) -> Mask:
        found = np.zeros((len(inputs), len(self.columns)), dtype=bool)
        if self.ranges is not None:
            low, high = self.ranges
            room = ROOM * (high - low) + ROUNDING
            beyond = (inputs < low - room) | (inputs > high + room)
            np.logical_or.at(found.T, self.owners, beyond.T)
        return found

    def _known_or_warned(self, X: ArrayLike) -> tuple[Array, Array]:
        """Normalised inputs and outputs; a warning, which Python shows once, of those outside."""
        inputs = self.normalised_inputs(X)
        columns = np.flatnonzero(self._outside(inputs).any(axis=0))
        if len(columns):
            names = few([self.columns[i] for i in columns])
            warnings.warn(
                f"Far outside of what training saw, where the network guesses: {names}.",
                stacklevel=3,
            )
        return inputs, self._of_normalised(inputs)

    def outputs(self, X: ArrayLike) -> Array:
        """Outputs (K, q): targets in the units of the data, or a score for each class.

        The largest score is that of the likeliest class; scores are probabilities if ``output`` is
        ``"softmax"``. Columns are found as ``predict`` finds them.
        """
        return self._of_normalised(self.normalised_inputs(X))

    def _of_normalised(self, inputs: Array) -> Array:
        z = self.weighted_sums(inputs)
        if self.output == "softmax":
            z = np.exp(z - z.max(axis=1, keepdims=True))
            return z / z.sum(axis=1, keepdims=True)
        # tanh would saturate and make ties; what it is applied to has the same order
        return z if self.classes else self.targets.undo(z)

    def normalised_inputs(self, X: ArrayLike) -> Array:
        """Inputs (K, d) as the network takes them. Columns are found as ``predict`` finds them."""
        return self.inputs(self.encode(X))

    def encode(self, X: ArrayLike) -> Array:
        """Inputs (K, d) of the network, in the units of the data.

        If there is an ``encoding``, X is a frame, columns by name, or rows with the cells of
        ``encoding.names``; levels, dates and missing values are as in training. An array of
        floats (K, d) is taken for what is encoded already.
        """
        ready = isinstance(X, np.ndarray) and X.dtype == np.float64
        if self.encoding is not None and not (ready and np.shape(X)[1:] == self.inputs.mean.shape):
            return self.encoding(X)
        matrix = as_matrix("X", take_columns("X", X, self.feature_names))
        self._check_inputs(matrix.shape)
        return matrix

    def theta_for(self, names: Sequence[str], inputs: Scaling) -> Array:
        """The hidden layers, ``theta``, for inputs that are named, or scaled, otherwise.

        They are found by name, if both have names. What the model does not know counts for
        nothing, and what is gone as if it were at its mean.

        Raises:
            ValueError: if they have nothing in common.
        """
        ours, theirs, n = list(self.feature_names), list(names), len(inputs.mean)
        if not ours or not theirs:  # as they stand
            ours = [f"x{i + 1}" for i in range(len(self.inputs.mean))]
            theirs = ours if n == len(ours) else []
        new = [i for i, name in enumerate(theirs) if name in ours]
        old = [ours.index(theirs[i]) for i in new]
        if not new:
            raise ValueError(
                f"the model has inputs {few(ours)}, none of which is among those of the data."
            )
        layer = self.topology.layers(self.theta)[0]
        scale, mean = self.inputs.scale[old], self.inputs.mean[old]
        first = np.zeros((len(layer), n + 1))
        first[:, new] = layer[:, old] * (inputs.scale[new] / scale)
        first[:, -1] = layer[:, -1] + layer[:, old] @ ((inputs.mean[new] - mean) / scale)
        return np.concatenate([first.ravel(), self.theta[layer.size :]])

    def _check_inputs(self, shape: tuple[int, ...]) -> None:
        if shape[1] != (d := self.topology.n_inputs):
            raise ValueError(
                f"X must have shape (K, d) = (K, {d}) for a {self.topology} network, got {shape}."
            )

    @one_blas_thread()
    def weighted_sums(self, X: Array) -> Array:
        """Weighted sums (K, q) of the outputs for inputs X (K, d) in normalised units (Eq. 3)."""
        X = as_matrix("X", X)
        self._check_inputs(X.shape)
        A = hidden_outputs(self.theta, self.topology, X, shift=self.output_shift)
        return A @ self.output_weights

    def error_on(self, data: Dataset) -> float:
        """``error`` on a data set of a problem, which is in normalised units already."""
        check_kind("data", data, Dataset, "such as the test set of a problem")
        z = self.weighted_sums(data.X)
        if data.y.shape[1] != z.shape[1]:
            raise ValueError(f"the data must have {z.shape[1]} targets, got {data.y.shape[1]}.")
        if self.classes:
            wrong = z.argmax(axis=1) != data.y.argmax(axis=1)
            return float(np.average(wrong, weights=data.weights))
        return mean_square(z - data.y, data.weights)

    def error(self, X: ArrayLike, y: ArrayLike) -> float:
        """Share of samples misclassified, or mean squared error in normalised targets.

        Targets are normalised by the training set, so 0 is perfect, and 1 is what predicting their
        mean would give there. Columns of X, and of several targets y, are found as ``predict``
        finds those of X.
        """
        if self.classes:
            truth = label_array("y", y)
            if truth.dtype.kind == "O":  # strings of a frame
                truth = label_array("y", truth.tolist())
            predicted = self.predict(X)
            if (predicted.dtype.kind == "U") != (truth.dtype.kind == "U"):
                raise ValueError(
                    f"y must have labels like {self.classes[0]!r}, got {truth.dtype} values."
                )
        else:
            truth = target_matrix("y", y, self.target_names)
            check_magnitude("y", truth)
            predicted = self.outputs(X)
        if predicted.shape != truth.shape:
            raise ValueError(
                f"y must have the shape of what is predicted for X, {predicted.shape}, got "
                f"{truth.shape}."
            )
        if self.classes:
            return float(np.mean(predicted != truth))
        return mean_square((predicted - truth) / self.targets.scale)

    @cached_property
    def _labels(self) -> NDArray[Any]:
        labels = np.array(self.classes)
        if labels.dtype.kind == "f" and all(isinstance(label, int) for label in self.classes):
            return np.array(self.classes, dtype=np.uint64 if min(self.classes) >= 0 else object)
        return labels

    def save(self, path: str | Path) -> None:
        """Write a JSON file, whole or not at all; ``Model.load`` reads it back to the last bit."""
        write_text(check_path("path", path), self.to_json())

    @classmethod
    def load(cls, path: str | Path) -> Model:
        """Read a model that ``save`` wrote.

        Raises:
            ValueError: if there is none, or the file is not what ``save`` writes; with the reason.
        """
        text = _model_file.text_of_file(path)
        try:
            return cls.from_json(text)
        except ValueError as error:
            raise ValueError(f"{path} is no model file: {error!s:.300}") from None

    def to_json(self) -> str:
        """What a model file holds."""
        return _model_file.to_json({one.name: getattr(self, one.name) for one in fields(self)})

    @classmethod
    def from_json(cls, text: str) -> Model:
        """The model of ``to_json``.

        Raises:
            ValueError: if the text is not that of a model.
        """
        return cls(**_model_file.from_json(text))


def _is_label(label: object) -> bool:
    if isinstance(label, int):
        return -(2**63) <= label < 2**64
    return isinstance(label, str) or (isinstance(label, float) and math.isfinite(label))


def check_coverage(name: str, coverage: float) -> float:
    """The share of targets that an interval is to hold."""
    return check_real(name, coverage, 0.01, 0.999)


def _one_or_more(values: Array) -> Array:
    """(K,) of a single target, (K, q) of more."""
    return values[:, 0] if values.shape[1] == 1 else values
