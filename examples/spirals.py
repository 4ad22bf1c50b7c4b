"""Two spirals: a classical hard problem for small networks, and the surface between the classes."""

import sys
from pathlib import Path

import altair as alt
import numpy as np
import pandas as pd

from symbreak import load_problem
from symbreak.analysis import save_chart
from symbreak.estimators import EvolvedMLPClassifier

OUT = Path(__file__).parent / "output" / "spirals.svg"


def main(out=OUT, budget=60_000):
    problem = load_problem("two-spirals")
    parts = problem.parts.values()  # training, validation and test data
    X = np.vstack([problem.inputs.undo(part.X) for part in parts])
    y = np.concatenate([part.y.argmax(axis=1) for part in parts])
    network = EvolvedMLPClassifier((12, 6), alpha=0.01, max_evaluations=budget, random_state=0)
    print(f"{network.fit(X, y).score(X, y):.1%} right; {network.confidence_}")

    axis = np.linspace(-7, 7, 90)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    surface = pd.DataFrame(grid, columns=["x", "y"])
    surface["probability"] = network.predict_proba(grid)[:, 1].round(3)
    shade = alt.Scale(scheme="blueorange", domain=[0, 1])
    field = alt.Chart(surface, width=360, height=360).mark_square(size=22, opacity=1)
    field = field.encode(x="x", y="y", color=alt.Color("probability", scale=shade))
    points = pd.DataFrame({"x": X[:, 0], "y": X[:, 1], "spiral": y})
    dots = alt.Chart(points).mark_point(filled=True, size=45, stroke="white")
    fill = alt.Color("spiral", scale=shade, legend=None)
    save_chart(field + dots.encode(x="x", y="y", color=fill), out)


if __name__ == "__main__":
    main(*sys.argv[1:2])
