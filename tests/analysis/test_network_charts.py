import numpy as np
import pytest

from symbreak import Topology
from symbreak.analysis import draws_chart, match_chart, save_chart
from symbreak.symmetry import align_draws, networks


def test_the_lines_of_the_match_chart_are_the_matches(tmp_path):
    rng = np.random.default_rng(0)
    one = [rng.normal(size=shape) for shape in ((2, 3), 3, (3, 1), 1)]
    other = [one[0][:, [2, 0, 1]] * [1, -1, 1], one[1][[2, 0, 1]] * [1, -1, 1]]
    other += [one[2][[2, 0, 1]] * [[1], [-1], [1]], one[3]]
    chart = match_chart({"b": networks.compare(other, one, "tanh")}, "a")
    rows = next(iter(chart.to_dict()["datasets"].values()))
    assert [(row["a"], row["b"]) for row in rows] == [(0, 1), (1, 2), (2, 0)]
    assert len({row["color"] for row in rows}) == 2
    assert rows[1]["color"] == rows[2]["color"] != rows[0]["color"]
    save_chart(chart, tmp_path / "chart.svg")
    assert "Which neuron is which" in (tmp_path / "chart.svg").read_text(encoding="utf-8")


def test_the_points_of_the_draws_chart_are_weights_before_and_after():
    topology, rng = Topology.parse("1-2-1"), np.random.default_rng(0)
    draws = rng.choice([-1.0, 1.0], size=(3, 1, 1)) * (
        np.arange(1.0, 5) + 0.01 * rng.normal(size=(3, 10, 4))
    )
    aligned = align_draws(draws, topology)
    rows = next(iter(draws_chart(draws, aligned).to_dict()["datasets"].values()))
    for when, theta in (("as drawn", draws), ("aligned", aligned.theta)):
        shown = [row["y"] for row in rows if row["when"] == when]
        assert shown == pytest.approx(theta.reshape(-1, 4).T.ravel())
    with pytest.raises(ValueError, match=r"before must have shape \(3, 10, 4\), got \(30, 4\)"):
        draws_chart(draws.reshape(30, 4), aligned)
