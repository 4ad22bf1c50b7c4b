"""Optimisers, polish and training under awkward values; and their states with any part replaced."""

import numpy as np
import pytest

from symbreak import CMAES, DE, make_optimizer, symmetry, train
from symbreak.methods import find_method, population_size_of
from symbreak.optimizers import Optimizer
from symbreak.polish import Polisher, polish
from symbreak.training import Training, evidence
from symbreak.training._evidence import EvidencePolisher
from tests.awkward.values import CALLABLE, NET, PROBLEM, THETA, complaints, each, each_in_state

SETTINGS = ("population_size", "max_evaluations", "breaking", "initial_population", "seed")
OF_DE = ("F", "CR", "inflate", "dither", "full_crossover_share", "anchor")
OF_CMAES = ("mean", "sigma", "replace_mean", "own_partition")
OF_TRAIN = ("method", "max_evaluations", "max_time", "polish", "seed", "population_size", "threads")
OF_POLISH = ("max_iterations", "max_evaluations", "tolerance")

TRAINED = Training(PROBLEM, "auto", population_size=8)


def going_on(optimizer):
    for _ in range(2):
        asked = optimizer.ask()
        optimizer.tell(asked, np.arange(len(asked), dtype=float))
    return optimizer.best.theta, optimizer.ask()


def told(v, name):
    optimizer = DE(6, population_size=8)
    arguments = {"candidates": optimizer.ask(), "errors": np.ones(8), name: v}
    optimizer.tell(**arguments)
    return optimizer.ask()


def trained(v, name):
    options = {"max_evaluations": 40, "population_size": 8, "method": "DE", name: v}
    options.setdefault("callback", lambda progress: True)
    return network_of(train(PROBLEM, **options))


def network_of(record):
    """Its vector; None if it found nothing, as its error then says."""
    return None if record.error == np.inf else record.theta


def stepped(state):
    training = Training.from_state(PROBLEM, state)
    if not training.finished:
        training.step()
    return network_of(training.record())


def polished(v, name):
    return polish(THETA, PROBLEM, **{"max_iterations": 2, name: v}).theta


def evident(v, name):
    return evidence(PROBLEM, THETA, **{"max_iterations": 2, name: v}).theta


OPTIMIZERS = {
    "find_method(v)": find_method,
    "population_size_of(v)": lambda v: population_size_of(v, NET),
    "DE(v)": lambda v: going_on(DE(v, population_size=8)),
    "CMAES(v)": lambda v: going_on(CMAES(v, population_size=8)),
    **each(
        "DE({}=v)",
        (*SETTINGS, *OF_DE),
        lambda v, name: going_on(DE(6, **{"population_size": 8, name: v})),
    ),
    **each(
        "CMAES({}=v)",
        (*SETTINGS, *OF_CMAES),
        lambda v, name: going_on(CMAES(6, **{"population_size": 8, name: v})),
    ),
    **each("tell({}=v)", ("candidates", "errors"), told),
    "from_state(v)": Optimizer.from_state,
    **each_in_state("DE", DE(6, population_size=8), lambda s: going_on(DE.from_state(s))),
    **each_in_state(
        "CMAES",
        CMAES(6, population_size=8, breaking=symmetry.ProximityBreaking(NET)),
        lambda s: going_on(CMAES.from_state(s)),
    ),
    "make_optimizer(v)": lambda v: make_optimizer(v, NET),
    "make_optimizer(problem=v)": lambda v: make_optimizer("DE", v, population_size=4).ask(),
    "make_optimizer('CMA-ES', v)": lambda v: make_optimizer("CMA-ES", v).ask(),
    **each(
        "make_optimizer({}=v)",
        (*(name for name in SETTINGS if name != "breaking"), "F", "lr"),
        lambda v, name: going_on(make_optimizer("DE-SB", NET, **{"population_size": 8, name: v})),
    ),
}
TRAINING = {
    "polish(v)": lambda v: polish(v, PROBLEM, max_iterations=2).theta,
    "polish(problem=v)": lambda v: polish(THETA, v, max_iterations=2).theta,
    **each("polish({}=v)", OF_POLISH, polished),
    "evidence(v)": lambda v: evidence(v, THETA, max_iterations=2).theta,
    "evidence(theta=v)": lambda v: evidence(PROBLEM, v, max_iterations=2).theta,
    **each("evidence({}=v)", OF_POLISH, evident),
    "Polisher.from_state(v)": lambda v: Polisher.from_state(PROBLEM, v),
    **each_in_state(
        "Polisher",
        Polisher(PROBLEM, THETA, max_iterations=3),
        lambda s: Polisher.from_state(PROBLEM, s).result().theta,
    ),
    **each_in_state(
        "EvidencePolisher",
        EvidencePolisher(PROBLEM, THETA, max_iterations=3),
        lambda s: EvidencePolisher.from_state(PROBLEM, s).result().theta,
    ),
    "train(v)": lambda v: train(v, "DE", max_evaluations=200).theta,
    **each("train({}=v)", (*OF_TRAIN, "F", "lr", "breaking", "initial_population"), trained),
    "train(callback=v)": lambda v: trained(v, "callback"),
    "Training(v)": lambda v: Training(v, "DE"),
    "Training.from_state(v)": lambda v: Training.from_state(PROBLEM, v),
    **each_in_state("Training", TRAINED, stepped),
    **each(
        "Training ledger, {}",
        TRAINED.state()["ledger"],
        lambda v, name: stepped(
            {**TRAINED.state(), "ledger": {**TRAINED.state()["ledger"], name: v}}
        ),
    ),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_an_optimiser_answers_awkward_values_in_words(name):
    assert complaints(OPTIMIZERS[name]) == {}


@pytest.mark.parametrize("name", TRAINING)
def test_a_training_answers_awkward_values_in_words(name):
    but = CALLABLE if "callback" in name else ()
    assert complaints(TRAINING[name], but) == {}
