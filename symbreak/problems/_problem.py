"""What a problem is: a network shape, normalised data and the paper's settings for it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from symbreak._activations import TANH, Activation, find_activation
from symbreak._support.checks import (
    Array,
    as_matrix,
    check_choice,
    check_count,
    check_kind,
    check_real,
    check_text,
    check_unmasked,
    check_vectors,
    shown,
    unknown,
)
from symbreak._support.frames import column_names, take_columns
from symbreak.problems._data import (
    Dataset,
    Scaling,
    merge_samples,
    named_columns,
    sample_weights,
    warn_of_outliers,
)
from symbreak.problems._encoding import Encoding
from symbreak.topology import Topology, check_solved

Task = Literal["regression", "autoencoding", "classification"]

#: The ridge of a search whose polish will set it: ``alpha="auto"``.
FIRST_GUESS = 0.1
#: What the paper's problems ask for instead of the defaults (paper-notes 1, 14): its ball, no shift
#: of the outputs, no ridge, and the samples as they were drawn.
PAPER: dict[str, Any] = {"rescale": "unit", "output_shift": False, "alpha": 0.0, "merge": False}
#: A larger ridge leaves nothing of any weight.
MAX_ALPHA = 1e12


@dataclass(frozen=True)
class Ridge:
    """How strongly weights are held: by a given ``alpha``, or by a first guess.

    Where it ``sets_itself``, the evidence of the data decides in every polish.
    """

    alpha: float
    sets_itself: bool = False


@dataclass(frozen=True, eq=False)
class Problem:
    """A network shape with the data to train it on.

    Numbers in brackets are those of docs/paper-notes.md.

    Attributes:
        name: What to call it.
        topology: Layer sizes and activation.
        task: ``"regression"``, ``"autoencoding"`` or ``"classification"``.
        train: Training data, normalised, but for class targets, which stay 0 and 1 (16).
        validation: Data that select the network, normalised by the training set; or None.
        test: Data that nothing is selected by, normalised likewise; or None.
        inputs: Normalises inputs.
        targets: Normalises targets; the identity for classes.
        classes: Labels, in the order of the outputs; empty if the task is not classification.
        population_size: Candidates by family of methods, where not the optimizers' own.
        max_evaluations: The usual budget; None if it goes by the size of network and data.
        rescale: Where vectors outside the ball of radius ``sqrt D`` are evaluated: at ``"unit"``
            length, on its ``"radius"``; or ``"none"`` for no ball (1).
        output_error: What classes are judged by: the ``"linear"`` fit, or ``"tanh"`` of it (15).
        output_shift: Whether the outputs have a bias (14).
        description: A line for tables and reports.
        alpha: The ridge: the search minimises ``(sum w r^2 + alpha (||theta||^2 + ||V||^2)) /
            (q sum w)`` with residuals r, sample weights w and output weights V (of targets 0 and 1
            for classes) without their bias; squares of biases in theta count a tenth (in
            ``network.ridge_shares``). ``"auto"`` lets the data set it in the polish.
        feature_names: Names of the inputs; empty if they have none.
        target_names: Names of the targets; empty if they have none.
        encoding: How the columns of a table became the inputs; None if they were numbers.
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
    max_evaluations: int | None = None
    rescale: Literal["unit", "radius", "none"] = "none"
    output_error: Literal["linear", "tanh"] = "linear"
    output_shift: bool = True
    description: str = ""
    alpha: float | Literal["auto"] = "auto"
    feature_names: tuple[str, ...] = ()
    target_names: tuple[str, ...] = ()
    encoding: Encoding | None = None

    def __post_init__(self) -> None:
        check_text("name", self.name)
        check_text("description", self.description)
        check_solved(self.topology)
        check_choice("task", self.task, get_args(Task))
        check_choice("rescale", self.rescale, ("unit", "radius", "none"))
        check_choice("output_error", self.output_error, ("linear", "tanh"))
        check_kind("output_shift", self.output_shift, bool, "True or False")
        if not isinstance(self.alpha, str) or self.alpha != "auto":
            check_real('alpha (or "auto")', self.alpha, 0, MAX_ALPHA)
        _check_population_sizes(self.population_size)
        if self.max_evaluations is not None:
            check_count("max_evaluations", self.max_evaluations, 1)
        for part in ("train", "validation", "test"):
            if part == "train" or getattr(self, part) is not None:
                _check_dataset(part, getattr(self, part), self.topology)
        check_units(self)
        n_classes = self.topology.n_outputs if self.task == "classification" else 0
        if not isinstance(self.classes, tuple) or len(self.classes) != n_classes:
            raise ValueError(
                f"classes must be a tuple of {n_classes} labels for {self.task} with a "
                f"{self.topology} network, got {shown(self.classes)}."
            )
        if self.output_error == "tanh" and self.task != "classification":
            raise ValueError(
                f"output_error='tanh' needs the 0/1 targets of classification, got {self.task!r}."
            )

    def __repr__(self) -> str:
        samples = "/".join(str(part.n_rows) for part in self.parts.values())
        return f"Problem({self.name!r}, {self.topology}, {self.task}, {samples} samples)"

    @property
    def parts(self) -> dict[str, Dataset]:
        """The data sets that there are, by name: training, validation, test."""
        parts = {"training": self.train, "validation": self.validation, "test": self.test}
        return {name: data for name, data in parts.items() if data is not None}

    @property
    def ridge(self) -> Ridge:
        """What ``alpha`` says."""
        if self.alpha == "auto":
            return Ridge(FIRST_GUESS, sets_itself=True)
        return Ridge(float(self.alpha))

    @cached_property
    def digest(self) -> str:
        """A hash of data and settings: runs on equal problems are comparable."""
        facts: tuple[object, ...]
        facts = (str(self.topology), self.task, self.rescale, self.output_error, self.output_shift)
        if self.alpha:  # what is not there does not count: digests outlive new settings
            facts = (*facts, self.alpha)
        digest = hashlib.sha256(repr(facts).encode())
        for part in self.parts.values():
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
        validation: Sequence[Any] | None = None,
        test: Sequence[Any] | None = None,
        name: str = "data",
        merge: bool = True,
        name_outliers: bool = True,
        **settings: Any,
    ) -> Problem:
        """Make a problem of inputs X (K, d) and targets y, normalised here.

        Targets of regression are (K,) or (K, q) numbers, those of classification (K,) labels.
        ``weights`` (K,) say how much each sample counts, in the normalisation too: one of weight 2
        counts like two. ``validation`` and ``test`` are pairs like ``(X, y)``, or with weights
        ``(X, y, weights)``; ``settings`` are other fields. Frames give their names to inputs and
        targets, and those of ``validation`` and ``test`` may have their columns in another order.

        Equal training samples are merged and counted, in an order of their own: neither the order
        of samples, nor repeating one instead of giving it more weight, changes a bit of what is
        trained on them. ``merge=False`` leaves them as they are. A warning names columns of the
        training samples that have a value far from all others, unless ``name_outliers=False``.
        """
        check_choice("task", task, get_args(Task))
        labels = _classes(y) if task == "classification" else None
        known = [field.name for field in fields(cls) if field.name not in _FROM_ARRAYS]
        for setting in settings:
            if setting not in known:
                raise unknown("setting of a problem", setting, known)
        names = column_names(X), column_names(y)
        X, y, w = _samples("train", (X, y, weights), labels, names)
        if name_outliers:
            columns = named_columns(X, names[0], "x")
            if labels is None:
                columns |= named_columns(y, names[1], "y")
            warn_of_outliers(columns)
        counts = None
        if merge:
            rows, w, counts = merge_samples(X, y, w)
            X, y = (np.ascontiguousarray(a[rows]) for a in (X, y))
        X, inputs = _normalised(X, w, in_place=merge)
        if labels is None:
            y, targets = _normalised(y, w, in_place=merge)
        else:
            y, targets = _one_hot(y, labels), Scaling.identity(len(labels))
        made = cls(
            name,
            Topology((X.shape[1], *_sizes(hidden), y.shape[1]), find_activation(activation)),
            task,
            Dataset(X, y, w, counts),
            inputs=inputs,
            targets=targets,
            classes=() if labels is None else tuple(labels.tolist()),
            **{"feature_names": names[0], "target_names": names[1], **settings},
        )
        part = partial(made._part, labels=labels, names=names)
        return replace(made, validation=part("validation", validation), test=part("test", test))

    def _part(
        self, part: str, given: Sequence[Any] | None, labels: np.ndarray | None, names: Any
    ) -> Dataset | None:
        """Other samples, normalised like the training set."""
        if given is None:
            return None
        X, y, w = _samples(part, given, labels, names)
        y = y if labels is None else _one_hot(y, labels)
        d, q = self.topology.n_inputs, self.topology.n_outputs
        if X.shape[1] != d or y.shape[1] != q:
            raise ValueError(
                f"{part} must have the columns of the training set, X (K, {d}) and y (K, {q}), "
                f"got {X.shape} and {y.shape}."
            )
        return Dataset(self.inputs(X), self.targets(y), w)


def _normalised(values: Array, weights: Array | None, in_place: bool) -> tuple[Array, Scaling]:
    """Values (K, n) and how they were scaled: in place column by column, else all at once."""
    if in_place:
        return values, Scaling.fit_in_place(values, weights)
    scaling = Scaling.fit(values, weights)
    return scaling(values), scaling


#: Fields of a problem that ``from_arrays`` finds itself.
_FROM_ARRAYS = (
    *("name", "topology", "task", "train", "validation", "test"),
    *("inputs", "targets", "classes"),
)


def _sizes(hidden: Sequence[int]) -> tuple[int, ...]:
    """Layer sizes, which an array may hold too."""
    whole = not isinstance(hidden, np.ndarray) or hidden.ndim == 1
    if isinstance(hidden, str | bytes) or not isinstance(hidden, Iterable) or not whole:
        raise ValueError(
            f"hidden must be a sequence of layer sizes, such as (5,), got {shown(hidden)}."
        )
    return tuple(hidden.tolist() if isinstance(hidden, np.ndarray) else hidden)


def _check_dataset(part: str, data: Dataset, topology: Topology) -> None:
    check_kind(part, data, Dataset, "Dataset(X, y)")
    for name, values, n in (("X", data.X, topology.n_inputs), ("y", data.y, topology.n_outputs)):
        if values.shape[1] != n:
            raise ValueError(
                f"{part} {name} must have shape (K, {n}) for a {topology} network, "
                f"got {values.shape}."
            )


def check_units(owner: Any) -> None:
    """Raise unless scalings and names of a problem or model are those of its inputs and outputs."""
    net = owner.topology
    for kind, n in (("input", net.n_inputs), ("target", net.n_outputs)):
        scaling = check_kind(
            f"{kind}s", getattr(owner, f"{kind}s"), Scaling, "Scaling(mean, scale)"
        )
        if len(scaling.mean) != n:
            raise ValueError(f"{kind}s must be a Scaling of {n} columns, got {len(scaling.mean)}.")
        name = "feature_names" if kind == "input" else "target_names"
        names = getattr(owner, name)
        if not isinstance(names, tuple) or not all(isinstance(word, str) for word in names):
            raise ValueError(f"{name} must be a tuple of strings, got {shown(names)}.")
        if len(names) not in (0, n) or len(set(names)) < len(names):
            raise ValueError(f"{name} must be {n} different names or none, got {shown(names)}.")


def _check_population_sizes(sizes: object) -> None:
    if not isinstance(sizes, Mapping):
        raise ValueError(
            "population_size of a problem must be given by family of methods, as in "
            f"{{'DE': 100, 'CMA-ES': 400}}, got {shown(sizes)}."
        )
    for family, size in sizes.items():
        check_count(f"population_size of {family}", size, 4)


def _samples(
    part: str,
    given: Sequence[Any],
    labels: np.ndarray | None,
    names: tuple[Sequence[str], Sequence[str]],
) -> tuple[Array, np.ndarray, Array | None]:
    """Inputs (K, d), targets (K, q) or labels (K,), and weights of a part of the samples.

    ``names`` of inputs and targets are those by which columns of frames are found.
    """
    if not isinstance(given, tuple | list) or len(given) not in (2, 3):
        raise ValueError(f"{part} must be a pair (X, y), got {shown(given)}.")
    X = as_matrix(f"{part} X", take_columns(f"{part} X", given[0], names[0]))
    if labels is None:
        y = target_matrix(f"{part} y", given[1], names[1])
    else:
        y = _known_labels(part, label_array(f"{part} y", given[1]), labels)
    if len(X) != len(y):
        raise ValueError(
            f"{part} X and y must have the same number K of samples, got {len(X)} and {len(y)}."
        )
    weights = None if len(given) == 2 or given[2] is None else given[2]
    return X, y, None if weights is None else sample_weights(weights, len(X), part)


def target_matrix(name: str, y: ArrayLike, names: Sequence[str]) -> Array:
    """Targets (K, q) of an array (K,) or (K, q), or a frame; a single name cannot be mistaken."""
    found = take_columns(name, y, names if len(names) > 1 else ())
    values = check_vectors(found, "(K,) or (K, q)", name)
    return as_matrix(name, values[:, None] if values.ndim == 1 else values, "(K,) or (K, q)")


def _classes(y: ArrayLike) -> np.ndarray:
    try:
        return np.unique(label_array("train y", y).ravel())
    except TypeError:
        raise ValueError("class labels must all be numbers or all be strings.") from None


def label_array(name: str, y: ArrayLike) -> np.ndarray:
    """Labels as they came; complex numbers, dates and spans of time are refused."""
    check_unmasked(name, y)
    try:
        labels = np.asarray(y)
    except (ValueError, RecursionError):
        labels = np.empty((0, 0))
    if labels.ndim != 1 or len(labels) == 0 or labels.dtype.kind in "cmMV":
        raise ValueError(
            f"{name} must hold one class label per sample, a string or a number, shape (K,), "
            f"got {shown(y)}."
        )
    if labels.dtype.kind == "O":
        from pandas import isna  # only here: it is slow to load, and knows all kinds of missing

        lost = np.flatnonzero(isna(labels))
        if len(lost):
            raise ValueError(
                f"{name} must hold a label for each sample, got {len(lost):,} without one, the "
                f"first at index {lost[0]}; remove those samples."
            )
    return labels


def _known_labels(part: str, y: np.ndarray, labels: np.ndarray) -> np.ndarray:
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise ValueError(f"{part} y must not hold NaN or infinite labels; remove those samples.")
    if len(labels) < 2:
        raise ValueError(
            f"classification needs at least two classes to learn from, got {len(labels)}; if there "
            "are more, take smaller shares for validation and test."
        )
    if not np.isin(y, labels).all():
        strange = sorted({str(label) for label in y[~np.isin(y, labels)]})
        raise ValueError(
            f"{part} y has labels that the training set lacks: {', '.join(strange)}. Take smaller "
            "shares, or leave them out."
        )
    return y


def _one_hot(y: np.ndarray, labels: np.ndarray) -> Array:
    """Columns of 0 and 1, one a class (Eq. 9)."""
    return (y[:, None] == labels).astype(np.float64)
