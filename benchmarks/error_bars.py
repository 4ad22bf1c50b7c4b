"""Error bars: how good their densities are, how often intervals hold, and how wide they have to be.

Densities on nine tables, three neurons, beside those of a posterior that others sampled by 1,274
chains of NUTS (J. G. Wiese et al., ECML 2023, supplement, table 3; their tables and splits, the
targets in standard deviations). Intervals on these and on the tables of docs/when-to-use.md, five
neurons, five outer folds with at most 600 rows to train on, beside a Gaussian process and MAPIE
(CV+) around scikit-learn's MLP.

    pip install -e '.[sklearn,bench]'
    python benchmarks/error_bars.py run --tables FOLDER    # what is missing; all in half an hour
    python benchmarks/error_bars.py write                  # docs/error-bars-measurements.md

Rows are kept one by one, so that a run may be stopped; without the file of results, all are made.

The nine tables (airfoil.data ... yacht.data, the target last, and splits.json) are in the paper's
repository; without them the densities are left as they are.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from _datasets import SOURCES, Data
from _error_bars_page import CHAINS, COVERAGES, PAGE, RESULTS, SORTED, filled
from _tasks import loadable
from _timing import Array, Row, environment, use_one_thread
from scipy.special import logsumexp
from scipy.stats import norm
from sklearn.compose import TransformedTargetRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from symbreak import Model, Problem, train
from symbreak._error_bars import ErrorBars, error_bars_of
from symbreak.training._trainer import optima_of, with_error_bars

SEEDS, FOLDS, MOST_ROWS, HIDDEN = 5, 5, 600, (5,)
PARTS = ("densities", "intervals", "chosen", "noise")
ALPHAS = {"mlpregressor__alpha": [0.001, 0.1, 1, 10]}

SIZES, NOISE, TABLES_OF_NOISE = (8, 15, 30, 200), 0.2, 20
Draw = Callable[[np.random.Generator, int], Array]
#: Rows of tables on which the size is chosen, too, which takes seconds a fold.
SMALL = 450


class Intervals(NamedTuple):
    """Predictions (K,) for new samples, and ends (n, K) of intervals for ``COVERAGES``.

    ``left_out`` is the root mean square that is said to be expected, a number for each sample.
    """

    mean: Array
    low: Array
    high: Array
    left_out: Array | float = np.nan


Contestant = Callable[[Array, Array, Array], dict[str, Intervals]]

# Densities


def density(data: Data, rows: dict[str, list[int]], seed: int) -> dict[str, float]:
    """Mean log densities of the test part, and what error bars cost of a fit."""
    (X, y), (X2, y2) = ((data.X[rows[part]], data.y[rows[part]]) for part in ("train", "test"))
    problem = Problem.from_arrays(X, y, hidden=(3,))
    began = time.process_time()
    record = train(problem, seed=seed)
    whole, began = time.process_time() - began, time.process_time()
    with_error_bars(problem, record)
    bars, model = time.process_time() - began, record.model
    at, to = model.normalised_inputs(X2), model.targets(y2[:, None])
    own = error_bars_of(problem, optima_of(record)[:1])
    return {
        "mixture": log_density(model.check_error_bars(), at, to),
        "best optimum": log_density(own, at, to),
        "time ratio": whole / (whole - bars),
    }


def log_density(bars: ErrorBars, X: Array, y: Array) -> float:
    """The mean, of targets y (K, 1) in the mixture, before it is made wider."""
    parts = [(member.share, *member(X)) for member in bars.members]
    logs = [np.log(share) + norm.logpdf(y, mean, var**0.5) for share, mean, var in parts]
    return float(logsumexp(logs, axis=0).mean())


def densities(name: str, data: Data, rows: dict[str, list[int]]) -> Iterator[Row]:
    """Means over seeds."""
    found = [density(data, rows, seed) for seed in range(SEEDS)]
    means = {key: float(np.mean([one[key] for one in found])) for key in found[0]}
    yield {"data": name, **{key: round(value, 3) for key, value in means.items()}}


# Intervals


def ours(X: Array, y: Array, new: Array) -> dict[str, Intervals]:
    """Ours, and those of the best optimum alone and of the mixture's own mean."""
    problem = Problem.from_arrays(X, y, hidden=HIDDEN)
    record = train(problem, seed=0)
    model, found = record.model, {"symbreak": _intervals(record.model, new)}
    alone = replace(model, error_bars=error_bars_of(problem, optima_of(record)[:1]))
    found["symbreak, best optimum"] = _intervals(alone, new)
    members = model.check_error_bars().members
    mean = np.sum([m.share * m(model.normalised_inputs(new))[0] for m in members], axis=0)
    same = found["symbreak"]
    found["symbreak, mean of mixture"] = same._replace(mean=model.targets.undo(mean)[:, 0])
    return found


def chosen(X: Array, y: Array, new: Array) -> dict[str, Intervals]:
    """Ours with the size and the number of networks that nobody has asked for."""
    record = train(Problem.from_arrays(X, y), hidden="auto", seed=0)
    return {"symbreak, size chosen": _intervals(record.model, new)}


def _intervals(model: Model, new: Array) -> Intervals:
    ends = [model.predict_interval(new, coverage) for coverage in COVERAGES]
    low, high = zip(*ends, strict=True)
    said = model.check_error_bars().error[0] * model.targets.scale[0]
    return Intervals(model.predict(new), np.array(low), np.array(high), np.full(len(new), said))


def gaussian_process(X: Array, y: Array, new: Array) -> dict[str, Intervals]:
    """A width for each input and a noise, all by maximal evidence."""
    scaler = StandardScaler().fit(X)
    kernel = ConstantKernel() * RBF(np.ones(X.shape[1]), (1e-2, 1e3)) + WhiteKernel(0.1)
    process = GaussianProcessRegressor(kernel, normalize_y=True, random_state=0)
    mean, std = process.fit(scaler.transform(X), y).predict(scaler.transform(new), return_std=True)
    half = norm.ppf((1 + np.array(COVERAGES)) / 2)[:, None] * std
    return {"Gaussian process": Intervals(mean, mean - half, mean + half)}


def mapie(X: Array, y: Array, new: Array) -> dict[str, Intervals]:
    """CV+ around the same network, its ridge by cross-validation."""
    from mapie.regression import CrossConformalRegressor

    mlp = MLPRegressor(
        hidden_layer_sizes=HIDDEN, activation="tanh", solver="lbfgs", max_iter=1000, random_state=0
    )
    search = GridSearchCV(make_pipeline(StandardScaler(), mlp), ALPHAS, cv=3)
    scaler = StandardScaler().fit(y[:, None])
    best = search.fit(X, scaler.transform(y[:, None])[:, 0]).best_estimator_
    network = TransformedTargetRegressor(best, transformer=StandardScaler())
    conformal = CrossConformalRegressor(
        network,
        confidence_level=COVERAGES,
        method="plus",
        cv=KFold(5, shuffle=True, random_state=0),
    )
    mean, ends = conformal.fit_conformalize(X, y).predict_interval(new)
    return {"MAPIE around MLP": Intervals(np.ravel(mean), ends[:, 0].T, ends[:, 1].T)}


# Noise that is not normal


def noises(name: str, n: int) -> Iterator[Row]:
    """What intervals of 90 % hold, over tables of a sine with noise whose scale is ``NOISE``."""
    draw, uneven = KINDS[name]
    found = [_one_noise(draw, uneven, n, seed) for seed in range(TABLES_OF_NOISE)]
    means = np.mean(found, axis=0).round(4).tolist()
    columns = "all", "quiet", "noisy", "half width"
    yield {"noise": name, "n": n, **dict(zip(columns, means, strict=True))}


def _one_noise(draw: Draw, uneven: bool, n: int, seed: int) -> list[float]:
    rng = np.random.default_rng([seed, n])
    X = rng.uniform(-2, 2, size=(n + 4_000, 1))
    scale = NOISE * (0.2 + 0.8 * np.abs(X[:, 0]) if uneven else np.ones(len(X)))
    y = np.sin(2 * X[:, 0]) + scale * draw(rng, len(X))
    model = train(Problem.from_arrays(X[:n], y[:n], hidden=(3,)), seed=0).model
    low, high = model.predict_interval(X[n:], 0.9)
    inside, quiet = (low <= y[n:]) & (y[n:] <= high), np.abs(X[n:, 0]) < 1
    half = float(np.median(high - low)) / 2 / NOISE
    return [float(inside.mean()), float(inside[quiet].mean()), float(inside[~quiet].mean()), half]


def _contaminated(rng: np.random.Generator, n: int) -> Array:
    return rng.normal(size=n) * np.where(rng.uniform(size=n) < 0.05, 20, 1)


#: Draws of noise, and whether its scale grows with the distance from 0.
KINDS: dict[str, tuple[Draw, bool]] = {
    "normal": (lambda rng, n: rng.normal(size=n), False),
    "Student's t, 3 degrees": (lambda rng, n: rng.standard_t(3, size=n), False),
    "Student's t, 2 degrees": (lambda rng, n: rng.standard_t(2, size=n), False),
    "Cauchy's": (lambda rng, n: rng.standard_cauchy(size=n), False),
    "5 % of values twenty times as large": (_contaminated, False),
    "skewed": (lambda rng, n: rng.exponential(size=n) - 1, False),
    "uneven": (lambda rng, n: rng.normal(size=n), True),
}

#: By the first of the methods that each says something of.
CONTESTANTS: dict[str, Contestant] = {
    "symbreak": ours,
    "Gaussian process": gaussian_process,
    "MAPIE around MLP": mapie,
}


def intervals(name: str, data: Data, contestant: Contestant) -> Iterator[Row]:
    """A row for each method, over all folds; of ``SORTED``, with the first rows of a file."""
    folds = list(KFold(FOLDS, shuffle=True, random_state=0).split(data.X))
    y = np.concatenate([data.y[test] for _, test in folds])
    began, parts = time.process_time(), []
    for train_rows, test in folds:
        shown = train_rows[:MOST_ROWS]
        if name not in SORTED:
            shown = np.random.default_rng(0).permutation(train_rows)[:MOST_ROWS]
        parts.append(contestant(data.X[shown], data.y[shown], data.X[test]))
    seconds = time.process_time() - began
    for method in parts[0]:
        joined = zip(*(part[method] for part in parts), strict=True)
        found = Intervals(
            *(np.concatenate(list(map(np.atleast_1d, ends)), axis=-1) for ends in joined)
        )
        row: Row = {"data": name, "method": method, "n": len(y)}
        yield {**row, **scored(found, y), "seconds": round(seconds / FOLDS, 2)}


def scored(found: Intervals, y: Array) -> dict[str, Any]:
    """Coverage and mean width; also the width where all are stretched to cover as many as asked.

    Widths and errors are in standard deviations of the target.
    """
    middle, half = (found.low + found.high) / 2, (found.high - found.low) / 2
    stretch = np.abs(y - middle) / np.maximum(half, 1e-12 * y.std())
    needed = [
        np.quantile(row, c, method="higher") for row, c in zip(stretch, COVERAGES, strict=True)
    ]
    width = 2 * half.mean(axis=1) / y.std()
    left_out = float(np.sqrt(np.mean(np.square(found.left_out))) / y.std())
    return {
        "coverage": np.mean((found.low <= y) & (y <= found.high), axis=1).round(4).tolist(),
        "width": width.round(4).tolist(),
        "width at equal coverage": (width * needed).round(4).tolist(),
        "left out": None if np.isnan(left_out) else round(left_out, 4),
        "rmse": round(float(np.sqrt(np.mean((found.mean - y) ** 2)) / y.std()), 4),
    }


def read_tables(folder: Path) -> tuple[dict[str, Data], dict[str, Any]]:
    """The nine tables and their splits, if they are there."""
    if not (folder / "splits.json").exists():
        print(f"No splits.json in {folder}: the nine tables of the paper are left out, see --help.")
        return {}, {}
    tables = {name: np.loadtxt(folder / f"{name}.data") for name in CHAINS}
    split = {name: Data(table[:, :-1], table[:, -1]) for name, table in tables.items()}
    return split, json.loads((folder / "splits.json").read_text())


def jobs(folder: Path) -> Iterator[tuple[str, Row, Iterator[Row]]]:
    """What there is to measure: the part of the results, what its rows say, and they themselves."""
    nine, splits = read_tables(folder)
    for name, table in nine.items():
        yield "densities", {"data": name}, densities(name, table, splits[name])
    names = [name for name, source in SOURCES.items() if source.task == "regression"]
    data = {name: SOURCES[name].load() for name in loadable(names, lambda n: SOURCES[n].load())}
    data |= {name: table for name, table in nine.items() if name not in data}
    small = {name: table for name, table in data.items() if len(table.y) < SMALL}
    data |= {name: nine[name.split(",")[0]] for name in SORTED if nine}
    for method, contestant in CONTESTANTS.items():
        for name, table in data.items():
            yield "intervals", {"data": name, "method": method}, intervals(name, table, contestant)
    for name, table in small.items():
        yield "chosen", {"data": name}, intervals(name, table, chosen)
    for name in KINDS:
        for n in SIZES if name == "normal" else SIZES[-1:]:
            yield "noise", {"noise": name, "n": n}, noises(name, n)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["run", "write"])
    parser.add_argument("--tables", type=Path, default=Path("tables"), help="nine, see above")
    parser.add_argument("--only", choices=PARTS, help="one of these")
    options = parser.parse_args()
    if options.what == "write":
        PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
        return
    use_one_thread()
    warnings.simplefilter("ignore")  # rivals that do not converge
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for part, about, rows in jobs(options.tables):
        known = results.setdefault(part, [])
        if options.only not in (None, part) or any(about.items() <= row.items() for row in known):
            continue
        for row in rows:
            print(*row.values(), flush=True)
            known.append(row)
        keep(results)


def keep(results: dict[str, Any]) -> None:
    """A row a line, whole or not at all."""
    blocks = [f'"environment": {json.dumps(environment())}']
    for part in [part for part in results if part != "environment"]:
        blocks.append(f'"{part}": [\n' + ",\n".join(map(json.dumps, results[part])) + "\n]")
    new = RESULTS.with_suffix(".new")
    new.write_text("{" + ",\n".join(blocks) + "}\n")
    new.replace(RESULTS)


if __name__ == "__main__":
    main()
