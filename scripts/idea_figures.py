"""Draw the pictures of docs/idea.md with the library.

python scripts/idea_figures.py
"""

from pathlib import Path

import altair as alt
import numpy as np
import pandas as pd
from _idea_charts import GOLD, STAR, breaking_chart, separation_chart

from symbreak import LeastSquares, Problem, Topology, symmetry
from symbreak.analysis import save_chart
from symbreak.analysis._style import styled
from symbreak.problems import PAPER

FOLDER = Path(__file__).parent.parent / "docs" / "figures"
#: Two neurons without biases, so that a network is a point (w1, w2) of a plane.
TOPOLOGY, OPTIMUM, EDGE, CELLS = Topology((1, 2, 1)), (2.6, 0.8), 4.0, 80
X = np.linspace(-2, 2, 81)[:, None]


def networks(plane: np.ndarray) -> np.ndarray:
    """Points (n, 2) as parameters (n, 4) of networks whose biases are zero."""
    theta = np.zeros((len(plane), 4))
    theta[:, [0, 2]] = plane
    return theta


def problem() -> Problem:
    """Data that the network at ``OPTIMUM`` fits exactly."""
    first, second = OPTIMUM
    y = np.tanh(first * X) - 1.5 * np.tanh(second * X)
    return Problem.from_arrays(X, y, hidden=(2,), **{**PAPER, "rescale": "none"})


def stars() -> pd.DataFrame:
    """The optimum, in units of the problem, and its replicas in the plane."""
    scaled = np.array([OPTIMUM]) * problem().inputs.scale
    replicas = symmetry.replicas(networks(scaled)[0], TOPOLOGY)
    return pd.DataFrame(replicas[:, [0, 2]], columns=["w1", "w2"]).round(3)


def grid() -> pd.DataFrame:
    """Points of the plane, with their errors and which replica of the optimum is nearest."""
    edges = np.linspace(-EDGE, EDGE, CELLS + 1)
    centres = (edges[1:] + edges[:-1]) / 2  # an even number: none is 0, where a neuron is lost
    plane = np.stack(np.meshgrid(centres, centres), axis=-1).reshape(-1, 2)
    frame = pd.DataFrame(plane, columns=["w1", "w2"]).round(3)
    beside = plane * [1.001, 1]  # on the diagonals two neurons are one, and two stars as near
    frame["log error"] = np.log10(LeastSquares(problem())(networks(beside)) + 1e-5).round(2)
    away = beside[:, None] - stars().to_numpy()
    frame["partition"] = (away**2).sum(axis=2).argmin(axis=1)
    return frame


def field(color: alt.Color, title: str, about: list[str]) -> alt.LayerChart:
    """A map of the plane with the replicas of the optimum as stars."""
    scale = alt.Scale(domain=[-EDGE, EDGE], nice=False)
    x = alt.X("w1:Q", scale=scale, title="weight of neuron 1")
    y = alt.Y("w2:Q", scale=scale, title="weight of neuron 2")
    size = {"width": 320, "height": 320, "title": alt.TitleParams(title, subtitle=about)}
    cells = alt.Chart(grid(), **size).mark_square(size=26, opacity=1, clip=True)
    marks = alt.Chart(stars()).mark_point(
        shape=STAR, size=160, filled=True, fill=GOLD, stroke="white", strokeWidth=1, opacity=1
    )
    return alt.layer(cells.encode(x=x, y=y, color=color), marks.encode(x=x, y=y))


def conventions() -> alt.TopLevelMixin:
    """A network, a replica of it and their average, which computes something else."""
    theta = np.array([2.6, 1.2, 0.8, -0.9])
    swapped = symmetry.flip(symmetry.swap(theta, TOPOLOGY, 0, 0, 1), TOPOLOGY, 0, 0)
    weights, other = np.array([1.0, -1.5]), np.array([1.5, 1.0])
    rows, x = [], X[:, 0]
    pairs = {
        "a network, and its replica": (theta, weights),
        "their average": ((theta + swapped) / 2, (weights + other) / 2),
    }
    for name, (point, output) in pairs.items():
        y = np.tanh(x[:, None] * point[[0, 2]] + point[[1, 3]]) @ output
        rows.append(pd.DataFrame({"x": x, "output": y, "networks": name}).round(3))
    same = np.tanh(x[:, None] * swapped[[0, 2]] + swapped[[1, 3]]) @ other
    assert np.allclose(same, rows[0]["output"], atol=1e-3)
    color = alt.Color(
        "networks:N", scale=alt.Scale(range=["#1a7fc1", "#d55e00"]), legend=alt.Legend(columns=1)
    )
    about = ["Neuron 1 (weight, bias): 2.6, 1.2 and -0.8, 0.9", "Neuron 2: 0.8, -0.9 and 2.6, 1.2"]
    title = alt.TitleParams("Two ways to write one network", subtitle=about)
    chart = alt.Chart(pd.concat(rows), width=420, height=220, title=title)
    return styled(chart.mark_line(strokeWidth=3).encode(x="x:Q", y="output:Q", color=color))


def figures() -> dict[str, alt.TopLevelMixin]:
    """All pictures by the names of their files."""
    legend = alt.Legend(title="logarithm of the error")
    errors = alt.Color(
        "log error:Q", scale=alt.Scale(scheme="viridis", reverse=True), legend=legend
    )
    parts = alt.Color("partition:N", scale=alt.Scale(scheme="tableau10"), legend=None)
    replicas = ["Every star is the same network:", "two neurons have 2 · 2 · 2 replicas."]
    nearest = ["Each point has the colour of the star that is nearest.", "One part is enough."]
    return {
        "idea-1-conventions.png": conventions(),
        "idea-2-replicas.png": styled(field(errors, "Errors of all networks", replicas)),
        "idea-3-partitions.png": styled(field(parts, "Partitions", nearest)),
        "idea-4-rules.png": separation_chart(),
        "idea-5-breaking.png": breaking_chart(),
    }


if __name__ == "__main__":
    for name, chart in figures().items():
        save_chart(chart, FOLDER / name)
