"""What a problem is: a network shape, normalised data and the paper's settings for it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from symbreak._checks import (
    Array,
    as_matrix,
    check_choice,
    check_count,
    check_finite,
    check_real,
    check_unmasked,
)
from symbreak.activations import TANH, Activation, find_activation
from symbreak.topology import Topology

Task = Literal["regression", "autoencoding", "classification"]

#: The ridge of a search whose polish will set it: ``alpha="auto"``.
AUTO_RIDGE = 0.1
#: A dearer ridge than this leaves nothing of any weight.
MAX_ALPHA = 1e12


@dataclass(frozen=True, eq=False)
class Dataset:
    """Samples: inputs ``X`` (K, d) and targets ``y`` (K, q).

    Positive ``weights`` (K,) say how much each counts; None means alike.
    """

    X: Array
    y: Array
    weights: Array | None = None

    def __len__(self) -> int:
        return len(self.X)


@dataclass(frozen=True, eq=False)
class Scaling:
    """The affine map to zero mean and unit variance of the training set, column by column."""

    mean: Array
    scale: Array

    @classmethod
    def fit(cls, values: Array, weights: Array | None = None) -> Scaling:
        """Measure ``values`` (K, n) of samples with ``weights``; a constant column gets scale 1."""
        centre = values[0]
        constant = np.all(values == centre, axis=0)
        # Measured in units of the largest deviation, or squares would under- or overflow.
        with np.errstate(over="ignore"):
            unit = np.where(constant, 1, np.abs(values - centre).max(axis=0))
        if not np.isfinite(unit).all():
            raise ValueError(f"values are too large to normalise, up to {np.abs(values).max():g}.")
        deviations = (values - centre) / unit
        if weights is None:
            mean, spread = deviations.mean(axis=0), deviations.std(axis=0)
        else:
            mean = np.average(deviations, axis=0, weights=weights)
            spread = np.sqrt(np.average((deviations - mean) ** 2, axis=0, weights=weights))
        scale = unit * spread
        return cls(centre + unit * mean, np.where(constant | (scale == 0), 1, scale))

    @classmethod
    def identity(cls, n: int) -> Scaling:
        """No change."""
        return cls(np.zeros(n), np.ones(n))

    def __call__(self, values: Array) -> Array:
        """To normalised units."""
        return np.ascontiguousarray((values - self.mean) / self.scale)

    def undo(self, values: Array) -> Array:
        """Back to the units of the data."""
        return values * self.scale + self.mean


@dataclass(frozen=True, eq=False)
class Problem:
    """A network shape with the data to train it on.

    ``train``, ``validation`` and ``test`` are normalised by the training set, but for class
    targets, which stay 0/1; the last two may be None. ``inputs`` and ``targets`` are those
    normalisations. Names of settings are the paper-notes': ``rescale`` (1; ``"none"`` is no ball),
    ``output_shift`` (14), ``output_error`` (15). ``alpha`` is the price of squared weights: the
    search minimises ``(sum w r^2 + alpha (||theta||^2 + ||V||^2)) / (q sum w)`` with residuals r,
    sample weights w and output weights V (of targets 0 and 1 for classes) without their shift;
    ``"auto"`` lets the data set it while a network is polished.
    ``population_size`` gives, by family of methods, the exceptions from the optimisers' own.
    """

    name: str
    topology: Topology
    task: Task
    train: Dataset
    validation: Dataset | None = None
    test: Dataset | None = None
    inputs: Scaling = field(kw_only=True)
    targets: Scaling = field(kw_only=True)
    classes: tuple[Any, ...] = ()
    population_size: Mapping[str, int] = field(default_factory=dict)
    max_evaluations: int = 100_000
    rescale: Literal["unit", "radius", "none"] = "unit"
    output_error: Literal["linear", "tanh"] = "linear"
    output_shift: bool = False
    description: str = ""
    alpha: float | Literal["auto"] = 0.0
    feature_names: tuple[str, ...] = ()
    target_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_choice("task", self.task, get_args(Task))
        check_choice("rescale", self.rescale, ("unit", "radius", "none"))
        check_choice("output_error", self.output_error, ("linear", "tanh"))
        if self.alpha != "auto":
            check_real('alpha (or "auto")', self.alpha, 0, MAX_ALPHA)
        _check_names("feature_names", self.feature_names, self.topology.n_inputs)
        _check_names("target_names", self.target_names, self.topology.n_outputs)
        _check_population_sizes(self.population_size)
        check_count("max_evaluations", self.max_evaluations, 1)
        for part in ("train", "validation", "test"):
            if getattr(self, part) is not None:
                _check_dataset(part, getattr(self, part), self.topology)
        if self.output_error == "tanh" and self.task != "classification":
            raise ValueError(
                f"output_error='tanh' needs the 0/1 targets of classification, got {self.task!r}."
            )

    @property
    def ridge(self) -> float:
        """The ridge of the search: ``alpha``, or a first guess of what the polish will set."""
        return AUTO_RIDGE if self.alpha == "auto" else float(self.alpha)

    @cached_property
    def digest(self) -> str:
        """A hash of data and settings: runs on equal problems are comparable."""
        facts: tuple[object, ...]
        facts = (str(self.topology), self.task, self.rescale, self.output_error, self.output_shift)
        if self.alpha:  # what is not there does not count: digests outlive new settings
            facts = (*facts, self.alpha)
        digest = hashlib.sha256(repr(facts).encode())
        for part in (self.train, self.validation, self.test):
            if part is not None:
                digest.update(part.X.tobytes() + part.y.tobytes())
                if part.weights is not None:
                    digest.update(b"weights" + part.weights.tobytes())
        return digest.hexdigest()[:32]

    @classmethod
    def from_arrays(
        cls,
        X: ArrayLike,
        y: ArrayLike,
        *,
        hidden: Sequence[int] = (5,),
        activation: str | Activation = TANH,
        task: Task = "regression",
        weights: ArrayLike | None = None,
        validation: tuple[ArrayLike, ArrayLike] | None = None,
        test: tuple[ArrayLike, ArrayLike] | None = None,
        name: str = "data",
        **settings: Any,
    ) -> Problem:
        """Make a problem of inputs X (K, d) and targets y, normalised here.

        Targets of regression are (K,) or (K, q) numbers, those of classification (K,) labels.
        ``weights`` (K,) say how much each sample counts, in the normalisation too: one of weight 2
        counts like two. ``validation`` and ``test`` are pairs like ``(X, y)``; ``settings`` are
        other fields.
        """
        check_choice("task", task, get_args(Task))
        labels = _classes(y) if task == "classification" else None
        if isinstance(hidden, int | np.integer):
            raise ValueError(f"hidden must be a sequence of layer sizes, such as ({hidden},).")
        parts = {"train": (X, y), "validation": validation, "test": test}
        raw = {k: _dataset(k, pair, labels) for k, pair in parts.items() if pair is not None}
        first = raw["train"]
        for part, data in raw.items():
            if data.X.shape[1] != first.X.shape[1] or data.y.shape[1] != first.y.shape[1]:
                raise ValueError(
                    f"{part} must have the columns of the training set, X (K, {first.X.shape[1]}) "
                    f"and y (K, {first.y.shape[1]}), got {data.X.shape} and {data.y.shape}."
                )
        w = None if weights is None else _sample_weights(weights, len(first))
        inputs, targets = Scaling.fit(first.X, w), Scaling.identity(first.y.shape[1])
        if labels is None:
            targets = Scaling.fit(first.y, w)
        normal = {k: Dataset(inputs(d.X), targets(d.y)) for k, d in raw.items()}
        normal["train"] = replace(normal["train"], weights=w)
        return cls(
            name,
            Topology((first.X.shape[1], *hidden, first.y.shape[1]), find_activation(activation)),
            task,
            normal["train"],
            normal.get("validation"),
            normal.get("test"),
            inputs=inputs,
            targets=targets,
            classes=() if labels is None else tuple(labels.tolist()),
            **settings,
        )


def _check_dataset(part: str, data: Dataset, topology: Topology) -> None:
    for name, values, n in (("X", data.X, topology.n_inputs), ("y", data.y, topology.n_outputs)):
        if values.ndim != 2 or values.shape[1] != n or len(values) != len(data.X):
            raise ValueError(
                f"{part} {name} must have shape (K, {n}) for a {topology} network, "
                f"got {values.shape}."
            )
        check_finite(f"{part} {name}", values)
    if data.weights is not None:
        _sample_weights(data.weights, len(data), part)


def _sample_weights(weights: ArrayLike, n: int, part: str = "train") -> Array:
    """Positive numbers, one a sample."""
    check_unmasked(f"{part} weights", weights)
    values = np.asarray(weights)
    if values.shape != (n,):
        raise ValueError(
            f"{part} weights must have shape (K,) = ({n},), one a sample, got {values.shape}."
        )
    column = as_matrix(f"{part} weights", values[:, None], "(K,)")[:, 0].copy()
    if not (column > 0).all():
        raise ValueError(
            f"{part} weights must be positive, got {column.min():g}; leave out samples that do "
            "not count."
        )
    return column


def _check_names(name: str, names: object, n: int) -> None:
    if not isinstance(names, tuple) or not all(isinstance(word, str) for word in names):
        raise ValueError(f"{name} must be a tuple of texts, got {names!r}.")
    if len(names) not in (0, n) or len(set(names)) < len(names):
        raise ValueError(f"{name} must be {n} different names or none, got {names!r}.")


def _check_population_sizes(sizes: object) -> None:
    if not isinstance(sizes, Mapping):
        raise ValueError(
            "population_size of a problem must be given by family of methods, as in "
            f"{{'DE': 100, 'CMA-ES': 400}}, got {sizes!r}."
        )
    for family, size in sizes.items():
        check_count(f"population_size of {family}", size, 4)


def _dataset(part: str, pair: tuple[ArrayLike, ArrayLike], labels: np.ndarray | None) -> Dataset:
    """Check one pair of arrays; turn labels into 0/1 columns, one a class (Eq. 9)."""
    X = as_matrix(f"{part} X", pair[0])
    check_unmasked(f"{part} y", pair[1])
    if labels is None:
        y = np.asarray(pair[1])
        y = as_matrix(f"{part} y", y[:, None] if y.ndim == 1 else y, "(K,) or (K, q)")
    else:
        y = _one_hot(part, np.asarray(pair[1]), labels)
    if len(X) != len(y):
        raise ValueError(
            f"{part} X and y must have the same number K of samples, got {len(X)} and {len(y)}."
        )
    return Dataset(X, y)


def _classes(y: ArrayLike) -> np.ndarray:
    try:
        return np.unique(np.asarray(y).ravel())
    except TypeError:
        raise ValueError("class labels must all be numbers or all be strings.") from None


def _one_hot(part: str, y: np.ndarray, labels: np.ndarray) -> Array:
    if y.ndim != 1:
        raise ValueError(
            f"{part} y must hold one class label per sample, shape (K,), got {y.shape}."
        )
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise ValueError(f"{part} y must not hold NaN or infinite labels; remove those samples.")
    if len(labels) < 2:
        raise ValueError(f"classification needs at least two classes, got {len(labels)}.")
    if not np.isin(y, labels).all():
        strange = sorted({str(label) for label in y[~np.isin(y, labels)]})
        raise ValueError(f"{part} y has labels that the training set lacks: {', '.join(strange)}.")
    return (y[:, None] == labels).astype(np.float64)
