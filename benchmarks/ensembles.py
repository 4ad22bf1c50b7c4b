"""Is the mean of several networks better than the most probable one, on samples not seen?

Twelve starts with a ridge by the evidence, five outer folds, one hidden layer of five neurons: R2
of the most probable network, of means of predictions, and of the network whose weights are the mean
of the aligned ones.

    python benchmarks/ensembles.py --json benchmarks/results/ensembles.json      # half a minute
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from _datasets import SOURCES, Data
from _tasks import loadable
from _timing import Array, Row, Tables, run
from sklearn.metrics import r2_score
from sklearn.model_selection import KFold

from symbreak import LeastSquares, Problem
from symbreak._polish._evidence import Evidence, EvidencePolisher
from symbreak.symmetry import align

TABLES = ("cpus", "ethanol", "schools", "diabetes", "quakes", "diamonds")
STARTS, FEW = 12, 4


def trained(problem: Problem, fold: int) -> list[Evidence]:
    """Networks of independent starts, the most probable first."""
    objective, ends = LeastSquares(problem), []
    for n in range(STARTS):
        rng = np.random.default_rng([fold, n])
        theta = rng.uniform(-1, 1, size=problem.topology.dim) * objective.units
        polisher = EvidencePolisher(objective, theta, tolerance=1e-5)
        while not polisher.finished:
            polisher.step()
        ends.append(polisher.evidence())
    return sorted(ends, key=lambda end: -end.log_evidence)


def averaged(problem: Problem, ends: list[Evidence], X: Array) -> Array:
    """Predictions of the mean of networks, each aligned with the first."""
    first = ends[0]
    thetas = align(np.array([end.theta for end in ends]), first.theta, problem.topology)[0]
    evaluate = LeastSquares(replace(problem, alpha=first.alpha))
    return evaluate.model(np.mean(thetas, axis=0)).predict(X).ravel()


def scores(data: Data, fold: int, shown: Array, left_out: Array) -> dict[str, float]:
    """R2 of each way, on one fold."""
    problem = Problem.from_arrays(
        *(data.X[shown], data.y[shown]),
        hidden=(5,),
    )
    ends, X, y = trained(problem, fold), data.X[left_out], data.y[left_out]
    model = LeastSquares(problem).model
    singles = np.array([model(end.theta, end.output_weights).predict(X).ravel() for end in ends])
    odds = np.exp([end.log_evidence - ends[0].log_evidence for end in ends])
    predictions = {
        "most probable": singles[0],
        f"mean of the best {FEW}": singles[:FEW].mean(axis=0),
        f"mean of all {STARTS}": singles.mean(axis=0),
        "mean by evidence": odds @ singles / odds.sum(),
        f"aligned average of {FEW}": averaged(problem, ends[:FEW], X),
    }
    return {name: r2_score(y, predicted) for name, predicted in predictions.items()}


def measure(repeats: int) -> Tables:
    """Means over the outer folds."""
    rows: list[Row] = []
    for name in loadable(TABLES, lambda name: SOURCES[name].load()):
        data = SOURCES[name].load()
        folds = KFold(repeats, shuffle=True, random_state=1).split(data.X)
        found = [scores(data, fold, *parts) for fold, parts in enumerate(folds)]
        means = {way: round(float(np.mean([row[way] for row in found])), 3) for way in found[0]}
        rows.append({"data set": name, **means})
    return {"R2 of one network and of several": rows}


if __name__ == "__main__":
    run(measure, __doc__, repeats=5)
