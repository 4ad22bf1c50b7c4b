"""Polishes from their beginning to their end, with all that can be known of them."""

from dataclasses import replace
from types import SimpleNamespace

from symbreak import LeastSquares, Model, Run
from symbreak._polish._evidence import EvidencePolisher
from symbreak._polish._polisher import Polisher


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
