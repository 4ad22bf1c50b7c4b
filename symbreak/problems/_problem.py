"""What a problem is: a network shape, normalised data and the paper's settings for it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from symbreak._checks import Array, as_matrix, check_choice, check_count, check_finite, unknown
from symbreak._random import stream
from symbreak.topology import Topology

Task = Literal["regression", "autoencoding", "classification"]

#: Population sizes where a problem gives none: typical of the paper's own.
POPULATION_SIZE = {"DE": 100, "CMA-ES": 400}


@dataclass(frozen=True, eq=False)
class Dataset:
    """Samples: inputs ``X`` (K, d) and targets ``y`` (K, q)."""

    X: Array
    y: Array

    def __len__(self) -> int:
        return len(self.X)


@dataclass(frozen=True, eq=False)
class Scaling:
    """The affine map to zero mean and unit variance of the training set, column by column."""

    mean: Array
    scale: Array

    @classmethod
    def fit(cls, values: Array) -> Scaling:
        """Measure ``values`` (K, n); a constant column gets scale 1."""
        centre = values[0]
        constant = np.all(values == centre, axis=0)
        # Measured in units of the largest deviation, or squares would under- or overflow.
        with np.errstate(over="ignore"):
            unit = np.where(constant, 1, np.abs(values - centre).max(axis=0))
        if not np.isfinite(unit).all():
            raise ValueError(f"values are too large to normalise, up to {np.abs(values).max():g}.")
        deviations = (values - centre) / unit
        mean, scale = centre + unit * deviations.mean(axis=0), unit * deviations.std(axis=0)
        return cls(mean, np.where(constant | (scale == 0), 1, scale))

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
    normalisations. Names of settings are the paper-notes': ``rescale`` (1), ``output_shift``
    (14), ``output_error`` (15).
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
    population_size: Mapping[str, int] = field(default_factory=POPULATION_SIZE.copy)
    max_evaluations: int = 100_000
    rescale: Literal["unit", "radius"] = "unit"
    output_error: Literal["linear", "tanh"] = "linear"
    output_shift: bool = False
    description: str = ""
    feature_names: tuple[str, ...] = ()
    target_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_choice("task", self.task, get_args(Task))
        check_choice("rescale", self.rescale, ("unit", "radius"))
        check_choice("output_error", self.output_error, ("linear", "tanh"))
        _check_population_sizes(self.population_size)
        check_count("max_evaluations", self.max_evaluations, 1)
        for part in ("train", "validation", "test"):
            if getattr(self, part) is not None:
                _check_dataset(part, getattr(self, part), self.topology)
        if self.output_error == "tanh" and self.task != "classification":
            raise ValueError(
                f"output_error='tanh' needs the 0/1 targets of classification, got {self.task!r}."
            )

    @cached_property
    def digest(self) -> str:
        """A hash of data and settings: runs on equal problems are comparable."""
        facts = (str(self.topology), self.task, self.rescale, self.output_error, self.output_shift)
        digest = hashlib.sha256(repr(facts).encode())
        for part in (self.train, self.validation, self.test):
            if part is not None:
                digest.update(part.X.tobytes() + part.y.tobytes())
        return digest.hexdigest()[:32]

    @classmethod
    def from_arrays(
        cls,
        X: ArrayLike,
        y: ArrayLike,
        *,
        hidden: Sequence[int] = (5,),
        task: Task = "regression",
        validation: tuple[ArrayLike, ArrayLike] | None = None,
        test: tuple[ArrayLike, ArrayLike] | None = None,
        name: str = "data",
        **settings: Any,
    ) -> Problem:
        """Make a problem of inputs X (K, d) and targets y, normalised here.

        Targets of regression are (K,) or (K, q) numbers, those of classification (K,) labels.
        ``validation`` and ``test`` are pairs like ``(X, y)``; ``settings`` are other fields.
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
        inputs = Scaling.fit(first.X)
        targets = Scaling.fit(first.y) if labels is None else Scaling.identity(first.y.shape[1])
        normal = {k: Dataset(inputs(d.X), targets(d.y)) for k, d in raw.items()}
        return cls(
            name,
            Topology((first.X.shape[1], *hidden, first.y.shape[1])),
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


def _check_population_sizes(sizes: object) -> None:
    if not isinstance(sizes, Mapping) or not {"DE", "CMA-ES"} <= set(sizes):
        raise ValueError(
            "population_size of a problem must give one per family, as in "
            f"{{'DE': 100, 'CMA-ES': 400}}, got {sizes!r}."
        )


def _dataset(part: str, pair: tuple[ArrayLike, ArrayLike], labels: np.ndarray | None) -> Dataset:
    """Check one pair of arrays; turn labels into 0/1 columns, one a class (Eq. 9)."""
    X = as_matrix(f"{part} X", pair[0])
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


def paper_problem(
    name: str,
    net: str,
    X: ArrayLike,
    y: ArrayLike,
    *,
    DE: int,
    CMAES: int,
    budget: int,
    text: str,
    **options: Any,
) -> Problem:
    """A problem as the paper gives it: net, data, a population size per family, our budget."""
    return Problem.from_arrays(
        X,
        y,
        hidden=Topology.parse(net).hidden,
        name=name,
        population_size={"DE": DE, "CMA-ES": CMAES},
        max_evaluations=budget,
        description=text,
        **options,
    )


Maker = Callable[[Generator], Problem]
_MAKERS: dict[str, Maker] = {}


def problem(name: str) -> Callable[[Maker], Maker]:
    """Register a function that draws the data of problem ``name``."""

    def register(make: Maker) -> Maker:
        _MAKERS[name] = make
        return make

    return register


def problem_names() -> list[str]:
    """Names of the paper's problems, in its order."""
    return list(_MAKERS)


def load_problem(name: str, seed: int = 0) -> Problem:
    """Draw the data of one of the paper's problems from the stream of ``seed``."""
    if name not in _MAKERS:
        raise unknown("problem", name, _MAKERS)
    return _MAKERS[name](stream(seed, "data", name))
