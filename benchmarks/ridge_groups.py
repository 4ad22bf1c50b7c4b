"""What a ridge for each input is worth beside one for all weights: a trial, before it was in.

    python benchmarks/ridge_groups.py run      # what is missing in results/ridge_groups.json
    python benchmarks/ridge_groups.py write    # the table of docs/size.md

A ridge for each input is one ridge on scaled inputs: where an input is divided by s, its weights
cost 1 / s² as much. So the scales are learned from a first network, as MacKay re-estimates his
(each is the root mean square of the input's weights), twice, and then everything goes on as usual.
The training itself is kept from doing so.
"choose" takes whichever has the lower loss of samples that were not shown. The tables are those on
which sizes were tuned, none of which is scored elsewhere, and one on which three inputs do nothing.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from unittest import mock

import _kept
import numpy as np
import pandas as pd
from _datasets import Data, _columns, _table
from _generalisation_page import filled
from _timing import Row
from numpy.typing import NDArray
from sizes import idle_inputs
from sklearn.datasets import make_friedman1, make_friedman2, make_friedman3
from sklearn.model_selection import KFold
from threadpoolctl import threadpool_limits

from symbreak import Problem, train
from symbreak.problems import Dataset, Scaling
from symbreak.training import _size

RESULTS = Path(__file__).parent / "results" / "ridge_groups.json"
PAGE = Path(__file__).parent.parent / "docs" / "size.md"
FOLDS, REPORTED = 5, 3  # so many of the folds are scored
HIDDEN = (12,)  # of the networks whose weights say what an input is worth
LEAST = 0.05  # no input is made smaller, compared with the largest

Array = NDArray[np.float64]


def _friedman(make: Callable[..., tuple[Array, Array]], noise: float) -> Callable[[], Data]:
    return lambda: Data(*make(300, noise=noise, random_state=0))


def _of(path: str, inputs: str, target: str, log: bool = False) -> Callable[[], Data]:
    def load() -> Data:
        table = _table(path)[[*inputs.split(), target]].dropna()
        y = table[target].to_numpy(dtype=np.float64)
        return _columns(table, inputs.split(), np.log(y) if log else y)

    return load


TABLES: dict[str, Callable[[], Data]] = {
    "Boston": _of(
        "MASS/Boston", "crim zn indus nox rm age dis rad tax ptratio black lstat", "medv"
    ),
    "airquality": _of("datasets/airquality", "Solar.R Wind Temp Month Day", "Ozone"),
    "mpg": _of("ggplot2/mpg", "displ year cyl cty", "hwy"),
    "Cigar": _of("Ecdat/Cigar", "year price pop pop16 cpi ndi pimin", "sales"),
    "Housing": _of("Ecdat/Housing", "lotsize bedrooms bathrms stories garagepl", "price", log=True),
    "Friedman 1": _friedman(make_friedman1, 1.0),
    "Friedman 2": _friedman(make_friedman2, 100.0),
    "Friedman 3": _friedman(make_friedman3, 0.1),
    "idle inputs": lambda: Data(*idle_inputs(600, 2)),
}


def scaled(problem: Problem, s: Array) -> Problem:
    """The same problem with inputs divided by 1 / s, which gives each its own ridge."""
    inputs = Scaling(problem.inputs.mean, problem.inputs.scale / s)
    return replace(problem, train=Dataset(problem.train.X * s, problem.train.y), inputs=inputs)


def by_input(problem: Problem, seed: int) -> Problem:
    """The problem with a ridge for each input, of size root mean square of its weights."""
    s = np.ones(problem.topology.n_inputs)
    for _ in range(2):
        model = train(scaled(problem, s), seed=seed).model
        first = model.topology.layers(model.theta)[0][:, :-1]
        s = s * np.sqrt((first**2).mean(axis=0))
        s = np.maximum(s / s.max(), LEAST)
        s = s / np.sqrt((s**2).mean())
    return scaled(problem, s)


def scored(name: str, fold: int) -> Row:
    """R2 of samples left out, and the loss that chooses, with either ridge."""
    data = TABLES[name]()
    folds = list(KFold(FOLDS, shuffle=True, random_state=0).split(data.X))
    learn, test = folds[fold]
    problem = Problem.from_arrays(data.X[learn], data.y[learn], hidden=HIDDEN)
    row: Row = {}
    for ridge in ("one", "by input"):
        started = time.process_time()
        mine = problem if ridge == "one" else by_input(problem, fold)
        record = train(mine, hidden="auto", seed=fold)
        row[f"{ridge}: seconds"] = round(time.process_time() - started, 2)
        losses = (data.y[test] - record.model.predict(data.X[test])) ** 2 / data.y[test].var()
        row[f"{ridge}: R2"] = float(1 - losses.mean())
        row[f"{ridge}: error"] = float(losses.std(ddof=1) / np.sqrt(len(losses)))
        row[f"{ridge}: loss"] = min((tried.loss for tried in record.size_path), default=np.inf)
    return row


def run(names: list[str]) -> None:
    for fold in range(REPORTED):
        for name in names:
            job = {"data": name, "fold": fold}
            if not _kept.has(RESULTS, job):
                row = {**job, **scored(name, fold)}
                _kept.add(RESULTS, row, lambda r: (list(TABLES).index(r["data"]), r["fold"]))
                print(row, flush=True)


def table(rows: pd.DataFrame) -> list[str]:
    """Means over the folds; the ridge that is chosen is that with the lower loss."""
    chosen = rows["by input: loss"] < rows["one: loss"]
    rows = rows.assign(
        choose=np.where(chosen, rows["by input: R2"], rows["one: R2"]), by_input=chosen
    )
    lines = [
        "| table | one ridge | by input | choose | by input chosen | seconds, one | by input |"
    ]
    lines.append("|---|---|---|---|---|---|---|")
    for name in [name for name in TABLES if name in set(rows["data"])]:
        mine = rows[rows["data"] == name]
        mean = mine.drop(columns="data").mean()
        lines.append(
            f"| {name} | {mean['one: R2']:.3f} | {mean['by input: R2']:.3f} | "
            f"{mean['choose']:.3f} | {mine['by_input'].sum()} of {len(mine)} | "
            f"{mean['one: seconds']:.1f} | {mean['by input: seconds']:.1f} |"
        )
    return lines


def pages() -> dict[Path, str]:
    """The page with what the results say."""
    return filled(pd.DataFrame(_kept.read(RESULTS)), {"ridge-groups": table}, [PAGE])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["run", "write"])
    parser.add_argument("--data", nargs="+", choices=list(TABLES), default=list(TABLES))
    options = parser.parse_args()
    if options.what == "write":
        for path, text in pages().items():
            path.write_text(text, encoding="utf-8")
        return
    with threadpool_limits(limits=1), mock.patch.object(_size, "MOST_INPUTS", 0):
        run(options.data)


if __name__ == "__main__":
    main()
