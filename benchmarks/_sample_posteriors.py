"""Draws from the posteriors of small Bayesian networks, for ``posteriors.py``; needs NumPyro.

The networks of Wiese et al. (ECML 2023): three tanh neurons, normal priors of unit width on all
weights and biases, a half-normal one on the noise. Many chains, since each ends in a replica of its
own. ``data`` holds a table a file, without a header, the target last, and ``splits.json`` with the
numbers of the rows to train on.

    python benchmarks/_sample_posteriors.py data draws
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from time import perf_counter

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
from numpyro.distributions import HalfNormal, Normal
from numpyro.infer import MCMC, NUTS

N_HIDDEN, CHAINS, WARMUP, DRAWS, THIN = 3, 44, 500, 500, 5
TREE_DEPTH = 7
#: Tables with little noise, whose chains take longer to settle.
SLOW, SLOW_WARMUP = ("energy", "yacht"), 2_500


def model(X: jax.Array, y: jax.Array) -> None:
    d = X.shape[1]
    shapes = {"w1": (d, N_HIDDEN), "b1": (N_HIDDEN,), "w2": (N_HIDDEN, 1), "b2": (1,)}
    p = {k: numpyro.sample(k, Normal(jnp.zeros(s), 1.0).to_event()) for k, s in shapes.items()}
    noise = numpyro.sample("noise", HalfNormal(1.0))
    outputs = jnp.tanh(X @ p["w1"] + p["b1"]) @ p["w2"] + p["b2"]
    numpyro.sample("y", Normal(outputs[:, 0], noise), obs=y)


def sample(table: np.ndarray, train: list[int], seed: int, warmup: int) -> dict[str, np.ndarray]:
    """Draws (chain, draw, ...) of each array, after standardising by the rows to train on."""
    scaled = (table - table[train].mean(axis=0)) / table[train].std(axis=0)
    X, y = scaled[train, :-1], scaled[train, -1]
    kernel = NUTS(model, max_tree_depth=TREE_DEPTH)
    options = {"num_warmup": warmup, "num_samples": DRAWS, "thinning": THIN, "num_chains": CHAINS}
    mcmc = MCMC(kernel, **options, chain_method="vectorized", progress_bar=False)
    mcmc.run(jax.random.PRNGKey(seed), X, y)
    return {k: np.asarray(v) for k, v in mcmc.get_samples(group_by_chain=True).items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, help="folder with tables and splits.json")
    parser.add_argument("draws", type=Path, help="folder for an .npz file a table")
    arguments = parser.parse_args()
    arguments.draws.mkdir(parents=True, exist_ok=True)
    splits = json.loads((arguments.data / "splits.json").read_text())
    tables = {name: np.loadtxt(arguments.data / f"{name}.data") for name in splits}
    for seed, name in enumerate(sorted(tables, key=lambda name: tables[name].size)):
        out = arguments.draws / f"{name}.npz"
        if out.exists():
            continue
        began, warmup = perf_counter(), SLOW_WARMUP if name in SLOW else WARMUP
        np.savez_compressed(out, **sample(tables[name], splits[name]["train"], seed, warmup))
        print(f"{name}: {perf_counter() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
