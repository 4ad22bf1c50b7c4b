"""Draws of a small Bayesian network, before and after their neurons are put in one order."""

import sys
from pathlib import Path

import numpy as np

from symbreak import Topology, network, symmetry
from symbreak.analysis import draws_chart, save_chart

OUT = Path(__file__).parent / "output" / "posterior.svg"
NET = Topology((1, 2, 1), outputs="searched")


def metropolis(log_density, theta, steps, rng):
    draws = []
    for step in range(steps):
        trial = theta + 0.1 * rng.normal(size=theta.shape)
        taken = np.log(rng.uniform(size=len(theta))) < log_density(trial) - log_density(theta)
        theta = np.where(taken[:, None], trial, theta)
        if step >= steps // 2 and step % 100 == 0:
            draws.append(theta)
    return np.stack(draws, axis=1)  # (chain, draw, D)


def main(out=OUT, budget=60_000):
    rng, X = np.random.default_rng(0), np.linspace(-2, 2, 40)[:, None]
    y = np.tanh(3 * X - 2) - np.tanh(2 * X + 1.5) + 0.3 * rng.normal(size=X.shape)
    fit = lambda t: np.sum((network.outputs(t, NET, X) - y) ** 2, axis=(-2, -1))  # noqa: E731
    density = lambda t: -fit(t) / 0.18 - np.sum(t**2, axis=1) / 8  # noqa: E731
    draws = metropolis(density, rng.normal(size=(16, NET.dim)), budget, rng)
    aligned = symmetry.align_draws(draws, NET)
    print(aligned.summary.round(2))
    for name, thetas in (("as drawn", draws), ("aligned", aligned.theta)):
        print(f"{name}: {np.sqrt(fit(thetas.mean(axis=(0, 1))) / 40):.2f} off by the mean weights")
    save_chart(draws_chart(draws, aligned), out)


if __name__ == "__main__":
    main(*sys.argv[1:2])
