"""An autoencoder with one neuron in the middle finds the angle of points on a noisy circle."""

import sys
from pathlib import Path

import altair as alt
import numpy as np
import pandas as pd

from symbreak.analysis import save_chart
from symbreak.estimators import EvolvedAutoencoder

OUT = Path(__file__).parent / "output" / "circle.svg"


def main(out=OUT, budget=60_000):
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 300)
    X = np.stack([np.cos(angle), np.sin(angle)], axis=1) + rng.normal(0, 0.03, (300, 2))
    network = EvolvedAutoencoder((6, 1, 6), max_evaluations=budget, random_state=0).fit(X)
    code = network.transform(X)[:, 0]
    print(f"mean squared error {network.best_loss_:.4f} of what was 1; {network.confidence_}")

    points = pd.DataFrame({"x": X[:, 0], "y": X[:, 1], "code": code, "angle": angle})
    line = np.linspace(code.min(), code.max(), 200)
    way_back = pd.DataFrame(network.inverse_transform(line[:, None]), columns=["x", "y"])
    way_back["code"] = line
    color = alt.Color("code", scale=alt.Scale(scheme="viridis"))
    dots = alt.Chart(points).mark_circle(size=40).encode(x="x", y="y", color=color)
    back = alt.Chart(way_back).mark_line(color="black").encode(x="x", y="y", order="code")
    angles = alt.Chart(points).mark_circle(size=40).encode(x="angle", y="code", color=color)
    save_chart((dots + back).properties(title="points, their code, and the way back") | angles, out)


if __name__ == "__main__":
    main(*sys.argv[1:2])
