import dataclasses

import numpy as np
import pytest

from symbreak import (
    DE,
    METHODS,
    Model,
    Topology,
    load_problem,
    make_optimizer,
    methods,
    network,
    register_method,
    train,
)
from symbreak.methods import Method
from symbreak.optimizers import Optimizer, Restarts
from symbreak.symmetry import NoBreaking


def test_the_table_holds_the_papers_eight_names_and_ours():
    assert list(METHODS) == [
        *("DE", "DE-INV-SB", "DE-SB", "DE-SB-BF", "DE-SB-LA", "DE-SB-LA-W"),
        *("CMA-ES", "CMA-ES-INV-SB", "CMA-ES-SB", "CMA-ES-SB-BF"),
        *("CMA-ES-SB-LA", "CMA-ES-SB-LA-P", "CMA-ES-IPOP", "CMA-ES-IPOP-SB-LA"),
        *("CMA-ES-BIPOP", "DE-IPOP", "L-SHADE-IPOP", "L-SHADE", "L-SHADE-SB-LA", "auto"),
    ]
    plain = [name for name, row in METHODS.items() if row.breaking is NoBreaking]
    assert plain == [
        *("DE", "CMA-ES", "CMA-ES-IPOP", "CMA-ES-BIPOP", "DE-IPOP", "L-SHADE-IPOP", "L-SHADE"),
    ]


def test_the_population_size_is_the_problems_own_unless_given():
    problem = load_problem("syn5")
    assert make_optimizer("DE-SB", problem).population_size == 80
    assert make_optimizer("CMA-ES-SB", problem).population_size == 48
    assert make_optimizer("DE-SB", problem, population_size=30).population_size == 30
    assert make_optimizer("CMA-ES", Topology.parse("1-3-1")).population_size == 400


@pytest.mark.parametrize("net", ["2-2-2-1 searched", "2-3-1 searched unbiased"])
@pytest.mark.parametrize("method", METHODS)
def test_every_method_searches_complete_networks(method, net):
    topology, X = Topology.parse(net), np.random.default_rng(0).uniform(-1, 1, (20, 2))
    target = X[:, :1] * X[:, 1:]
    optimizer, errors = make_optimizer(method, topology, seed=1, population_size=30), []
    for generation in range(40):
        if generation == 20:
            optimizer = Optimizer.from_state(optimizer.state())
            assert optimizer.breaking.topology in (topology, None)
        candidates = optimizer.ask()
        errors = np.mean((network.outputs(candidates, topology, X) - target) ** 2, axis=(1, 2))
        optimizer.tell(candidates, errors)
    best = network.outputs(optimizer.best.theta, topology, X)
    assert np.mean((best - target) ** 2) == pytest.approx(optimizer.best.error, rel=1e-12)
    assert optimizer.best.error < np.mean(target**2)


def test_a_problem_and_a_model_solve_for_output_weights():
    topology = Topology.parse("1-3-1 searched")
    with pytest.raises(ValueError, match="topology must have outputs='solved', got 1-3-1 searched"):
        dataclasses.replace(load_problem("syn5"), topology=topology)
    with pytest.raises(ValueError, match="topology must have outputs='solved'"):
        Model(topology, "regression", np.zeros(topology.dim), np.zeros((4, 1)), None, None)


NET = Topology.parse("1-3-1")


@pytest.mark.parametrize(
    ("method", "settings", "message"),
    [
        ("DE_SB", {}, "unknown method 'DE_SB'. Did you mean 'DE-SB'"),
        ("cma-es-sb", {}, "Did you mean 'CMA-ES-SB'"),
        ("CMAES", {}, "Did you mean 'CMA-ES'"),
        ("DE", {"dithr": 0.1}, r"unknown setting of DE 'dithr'. Did you mean 'dither'"),
        ("DE", {"populaton_size": 8}, r"Did you mean 'population_size'"),
        ("CMA-ES", {"F": 0.1}, r"unknown setting of CMA-ES 'F'.* Known: .*sigma"),
    ],
)
def test_unknown_names_are_refused_with_the_nearest_known_one(method, settings, message):
    with pytest.raises(ValueError, match=message):
        make_optimizer(method, NET, **settings)


def test_brute_force_on_a_large_network_is_refused_with_the_replica_count():
    with pytest.raises(ValueError, match="1,179,648 replicas"):
        make_optimizer("DE-SB-BF", Topology.parse("2-4-2-4-2"))


def test_settings_of_a_method_are_those_of_its_constructors():
    assert make_optimizer("DE", NET, F=0.7).F == 0.7
    names = {"F", "CR", "inflate", "dither", "full_crossover_share", "anchor"}
    assert set(METHODS["DE-SB"].setting_names) == names
    assert set(METHODS["CMA-ES"].setting_names) == {
        *("mean", "sigma", "replace_mean", "own_partition"),
    }
    assert set(METHODS["DE-IPOP"].setting_names) == names | {"search", "schedule", "growth"}


@pytest.mark.parametrize(
    ("optimizer", "breaking", "role", "message"),
    [
        (DE, None, "plain", "breaking must make a breaking for a topology, .* got None"),
        (None, NoBreaking, "plain", "optimizer must be a subclass of Optimizer, got None"),
        (dict, NoBreaking, "plain", "optimizer must be a subclass of Optimizer, got .*dict"),
        (DE, NoBreaking, "best", "unknown role 'best'"),
    ],
)
def test_what_makes_no_search_is_refused(optimizer, breaking, role, message):
    with pytest.raises(ValueError, match=message):
        Method(optimizer, breaking, family="DE", role=role)


def test_a_method_from_outside_is_registered_or_refused_at_once(monkeypatch):
    monkeypatch.setattr(methods, "_METHODS", dict(methods._METHODS))
    monkeypatch.setattr(methods, "METHODS", methods._METHODS)
    row = register_method("wide DE", DE, NoBreaking, {"F": 0.9}, family="DE")
    assert methods.find_method("wide DE") is row
    assert train(load_problem("syn5"), "wide DE", max_evaluations=160).role == "variant"
    with pytest.raises(ValueError, match="'DE-SB' is taken by one of symbreak's own"):
        register_method("DE-SB", DE, NoBreaking, family="DE")
    with pytest.raises(ValueError, match=r"unknown setting of other 'f'\. Did you mean 'F'"):
        register_method("other", DE, NoBreaking, {"f": 0.9}, family="DE")
    with pytest.raises(ValueError, match="Did you mean 'CMAES'"):
        register_method("other", Restarts, NoBreaking, {"search": "CMA-ES"}, family="DE")
    with pytest.raises(TypeError, match="does not support item assignment"):
        METHODS["other"] = row
