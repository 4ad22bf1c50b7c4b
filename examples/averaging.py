"""Two networks, each trained on half of the data: the way from one to the other, and its middle."""

import sys
from dataclasses import replace
from pathlib import Path

import altair as alt
import numpy as np
import pandas as pd

from symbreak import LeastSquares, Problem, symmetry, train
from symbreak.analysis import save_chart
from symbreak.problems import Dataset

OUT = Path(__file__).parent / "output" / "averaging.svg"


def main(out=OUT, budget=10_000):
    x, noise = np.random.default_rng(0).uniform(-2, 2, (2, 200, 1))
    y = np.tanh(3 * x + 2) - 2 * np.tanh(2 * x) + np.tanh(4 * x - 3) + 0.02 * noise
    problem, found = Problem.from_arrays(x, y, hidden=(3,), alpha=0.1, rescale="none"), []
    for i in (0, 1):
        half = Dataset(problem.train.X[i::2], problem.train.y[i::2])
        found.append(train(replace(problem, train=half), max_evaluations=budget, seed=1 + i).theta)
    one, other = found
    aligned, _ = symmetry.align(other, one, problem.topology)
    evaluate, share, rows = LeastSquares(problem), np.linspace(0, 1, 61), []
    for name, end in (("as they are", other), ("aligned", aligned)):
        errors = evaluate((1 - share[:, None]) * one + share[:, None] * end)
        print(f"{name}: error {errors[0]:.2g} and {errors[-1]:.2g}, their average {errors[30]:.2g}")
        rows += [(name, s, e) for s, e in zip(share, errors, strict=True)]
    frame = pd.DataFrame(rows, columns=["networks", "share of the second", "training error"])
    y = alt.Y("training error", scale=alt.Scale(type="log"))
    chart = alt.Chart(frame).mark_line().encode(x="share of the second", y=y, color="networks")
    save_chart(chart.properties(title="From one trained network to another"), out)


if __name__ == "__main__":
    main(*sys.argv[1:2])
