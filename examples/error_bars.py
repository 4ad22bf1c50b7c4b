"""How sure is it? A band that holds nine of ten new values, and widens where there were none."""

import sys
from pathlib import Path

import altair as alt
import numpy as np
import pandas as pd

from symbreak import Problem, train
from symbreak.analysis import save_chart

OUT = Path(__file__).parent / "output" / "error_bars.svg"


def main(out=OUT, budget=20_000):
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.uniform(-2, 0, 50), rng.uniform(1.2, 2, 30)])  # none in between
    y = np.sin(2.5 * x) + 0.2 * rng.normal(size=80)
    model = train(Problem.from_arrays(x[:, None], y, hidden=(4,)), max_evaluations=budget).model

    grid = np.linspace(-2.1, 2.1, 300)
    low, high = model.predict_interval(grid[:, None], coverage=0.9)
    band = pd.DataFrame({"x": grid, "y": model.predict(grid[:, None]), "low": low, "high": high})
    print(f"half widths: {np.ptp([low, high], axis=0).min() / 2:.2f} at best, ", end="")
    print(f"{np.ptp([low, high], axis=0).max() / 2:.2f} where there are no samples")

    base = alt.Chart(band, width=480, height=260)
    area = base.mark_area(opacity=0.25).encode(alt.X("x"), alt.Y("low", title="y"), alt.Y2("high"))
    line = base.mark_line().encode(x="x", y="y")
    samples = alt.Chart(pd.DataFrame({"x": x, "y": y})).mark_circle(color="grey")
    save_chart(area + line + samples.encode(x="x", y="y"), out)


if __name__ == "__main__":
    main(*sys.argv[1:2])
