"""A noisy thermistor is calibrated by four neurons, which are exported to C for the device."""

import sys
from pathlib import Path

import altair as alt
import numpy as np
import pandas as pd

from symbreak import Problem, train
from symbreak.analysis import save_chart
from symbreak.export import to_c

OUT = Path(__file__).parent / "output" / "calibration.svg"


def volts(celsius):
    return 3.3 / (1 + np.exp(3950 * (1 / 298.15 - 1 / (celsius + 273.15))))


def main(out=OUT, budget=10_000):
    rng = np.random.default_rng(0)
    celsius = rng.uniform(-30, 110, 120)
    measured = volts(celsius) + rng.normal(0, 0.004, 120)
    problem = Problem.from_arrays(measured[:, None], celsius, hidden=(4,))
    model = train(problem, max_evaluations=budget).model
    Path(out).with_suffix(".c").write_text(to_c(model, name="thermistor", real="float"))
    grid = np.linspace(-30, 110, 141)
    found = model.predict(volts(grid)[:, None])
    print(f"off by {np.abs(found - grid).max():.2f} degrees at most")
    samples = pd.DataFrame({"volts": measured, "celsius": celsius})
    dots = alt.Chart(samples).mark_circle(color="grey").encode(x="volts", y="celsius")
    line = alt.Chart(pd.DataFrame({"volts": volts(grid), "celsius": found})).mark_line()
    save_chart(dots + line.encode(x="volts", y="celsius"), out)


if __name__ == "__main__":
    main(*sys.argv[1:2])
