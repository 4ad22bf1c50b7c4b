"""Polishes from their beginning to their end, with all that can be known of them."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np

from symbreak import LeastSquares, Model, Run, Topology
from symbreak._polish._evidence import EvidencePolisher
from symbreak._polish._polisher import Polisher
from tests.papers import paper_problem


def make_problem(net, *, K=60, seed=0, weights=False, **options):
    """A problem of random data."""
    rng = np.random.default_rng(seed)
    topology = Topology.parse(net) if isinstance(net, str) else net
    X = rng.normal(size=(K, topology.n_inputs))
    y = np.sin(X @ rng.normal(size=(topology.n_inputs, topology.n_outputs)))
    y += 0.1 * rng.normal(size=y.shape)
    if weights:
        options["weights"] = rng.uniform(0.2, 3, size=K)
    layers = {"hidden": topology.hidden, "activation": topology.activation}
    return paper_problem(X, y, **layers, **options)


def polish(start, problem, **options):
    theta = start.theta if isinstance(start, Model) else start
    return _finished(Polisher(LeastSquares(problem), theta, **options))


def evidence(problem, theta, *, tolerance=1e-5, **options):
    polisher = EvidencePolisher(LeastSquares(problem), theta, tolerance=tolerance, **options)
    found = _finished(polisher)
    return SimpleNamespace(**vars(found), **dict(list(polisher.evidence()._asdict().items())[2:]))


def searched(problem, method="auto", **options):
    """The record of a run without the last step of a training."""
    run = Run(problem, method, **options)
    while not run.finished:
        run.step()
    return run.record()


def bare(model):
    """The model without what it is given in the end of a training."""
    origin = {key: value for key, value in model.origin.items() if key != "scores"}
    return replace(model, error_bars=None, ranges=None, origin=origin)


def _finished(polisher):
    while not polisher.finished:
        polisher.step()
    weights, names = polisher.output_weights(), ("theta", "error", "reason")
    found = {name: getattr(polisher, name) for name in (*names, "n_iterations", "n_evaluations")}
    model = None if weights is None else polisher.objective.model(polisher.theta, weights)
    return SimpleNamespace(**found, model=model)
