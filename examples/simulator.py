"""A network evolved against a simulator of ten lines: a ship that is to stay on a line in gusts."""

import sys
from pathlib import Path

import altair as alt
import numpy as np
import pandas as pd

from symbreak import Topology, evolve
from symbreak.analysis import save_chart

OUT = Path(__file__).parent / "output" / "simulator.svg"
NET = Topology((3, 4, 1), outputs="searched")


def course(network, seed, steps=200):
    """Distances from the line; the rudder turns a ship that is slow to answer, and gusts push."""
    distance, heading, turn = 1.0, 0.0, 0.0
    for gust in np.random.default_rng(seed).normal(size=steps):
        rudder = np.tanh(network([distance, heading, turn])[0])
        turn += 0.1 * (rudder - turn)
        heading += 0.1 * turn + 0.02 * gust
        distance += 0.1 * np.sin(heading)
        yield distance


def fitness(network, seed):
    return np.mean(np.abs(list(course(network, seed))))


def main(out=OUT, budget=2_000):
    record = evolve(fitness, NET, noisy=True, max_evaluations=budget, seed=0)
    print(record)
    steer = record.model.predict
    runs = [list(course(lambda seen: steer(np.array([seen])), seed)) for seed in (1, 2, 3)]
    frame = pd.DataFrame(np.transpose(runs)).reset_index(names="step")
    frame = frame.melt("step", var_name="gusts", value_name="distance")
    chart = alt.Chart(frame).mark_line().encode(x="step", y="distance", color="gusts:N")
    save_chart(chart, out)


if __name__ == "__main__":
    main(*sys.argv[1:2])
