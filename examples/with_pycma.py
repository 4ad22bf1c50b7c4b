"""Another package's CMA-ES, with our evaluator, and with our breaking between ask and tell."""

import sys
from pathlib import Path

import altair as alt
import cma
import pandas as pd

from symbreak import LeastSquares, load_problem
from symbreak.analysis import save_chart
from symbreak.symmetry import AssignmentBreaking, NoBreaking

OUT = Path(__file__).parent / "output" / "with_pycma.svg"


def run(problem, breaking, budget, seed):
    evaluate, options = LeastSquares(problem), {"popsize": 100, "seed": seed + 1, "verbose": -9}
    search = cma.CMAEvolutionStrategy(problem.topology.dim * [0], 0.5, options)
    for n_evaluations in range(100, budget + 1, 100):
        candidates = search.ask()
        errors = evaluate(candidates)  # breaking changes none of them
        candidates, _ = breaking(candidates, search.mean, None)
        search.tell(list(candidates), errors.tolist())
        yield n_evaluations, search.best.f


def main(out=OUT, budget=30_000, repetitions=3):
    problem, rows = load_problem("sinc"), []
    for name, kind in (("pycma", NoBreaking), ("with our breaking", AssignmentBreaking)):
        for seed in range(repetitions):
            rows += [(name, *at) for at in run(problem, kind(problem.topology), budget, seed)]
    frame = pd.DataFrame(rows, columns=["search", "evaluations", "error"])
    y, lines = alt.Y("median(error)").scale(type="log"), alt.Chart(frame).mark_line()
    save_chart(lines.encode(x="evaluations", y=y, color="search"), out)


if __name__ == "__main__":
    main(*sys.argv[1:2])
