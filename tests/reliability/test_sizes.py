"""What does not fit the memory is refused before any of it is taken, with a way out."""

import tracemalloc

import numpy as np
import pytest

from symbreak import (
    CMAES,
    DE,
    LeastSquares,
    Topology,
    make_optimizer,
    symmetry,
    train,
)
from symbreak._support import checks
from symbreak.experiments._spec import RunSpec
from symbreak.training import Run
from tests.papers import paper_problem

X = np.linspace(-1, 1, 50)[:, None]


def wide(n, **settings):
    return paper_problem(X, np.sin(3 * X), hidden=(n,), **settings)


@pytest.fixture
def small_machine(monkeypatch):
    """A machine of 1 GiB, whatever this one has."""
    monkeypatch.setattr(checks, "total_memory", lambda: 2**30)


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda: CMAES(50_000), r"would take about 150 GiB, .*, 0\.5 GiB; use DE"),
        (lambda: make_optimizer("CMA-ES-SB", wide(5_000)), "use DE"),
        (lambda: CMAES(10, population_size=10**9), "use DE"),
        (lambda: DE(10, population_size=10**9), "use a smaller population or network"),
        (lambda: DE(10**9), "use a smaller population or network"),
        (lambda: train(wide(10), "DE", population_size=10**8, max_evaluations=10**9), "population"),
        (lambda: LeastSquares(wide(2_000_000)), "^1 evaluation at .*use fewer threads or samples"),
        (lambda: LeastSquares(wide(20_000), threads=4_000), "use fewer threads or samples"),
        (lambda: Run(wide(3_000), "auto"), 'polish="none"'),
        (lambda: Run(wide(3_000), "DE", polish="final"), 'polish="none"'),
        (lambda: symmetry.ExhaustiveBreaking(Topology((10_000, 5, 1))), "without brute force"),
        (lambda: symmetry.replicas(np.zeros(300), Topology((2, 100, 1))), "about 1e188 replicas"),
    ],
)
def test_what_does_not_fit_is_refused_before_it_is_taken(small_machine, act, message):
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=message):
            act()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 100 * 2**20


def test_the_numbers_of_a_network_too_wide_to_count_are_said_at_once():
    net = Topology((1, 10_000_000, 1))
    assert net.replicas_in_words == "about 1e68667359"
    with pytest.raises(ValueError, match="about 1e68667359 replicas"):
        symmetry.ExhaustiveBreaking(net)


@pytest.mark.parametrize("net", ["1-5-1", "2-3-1-3-1", "2-4-2-4-2 relu", "3-8-5-2-5-8-3"])
def test_the_logarithm_of_the_number_of_replicas_is_right(net):
    topology = Topology.parse(net)
    assert np.isclose(np.exp(topology.log_replicas), topology.n_replicas)
    assert topology.replicas_in_words == f"{topology.n_replicas:,}"


def test_a_network_of_1500_neurons_is_trained_and_described():
    record = train(wide(1_500), "DE-SB", max_evaluations=12, population_size=4)
    assert np.isfinite(record.error)
    assert "after 12 evaluations" in repr(record)
    run = RunSpec("syn5", "DE", 0, 100, 0, 0, problem_settings={"hidden": [1_500]})
    assert run.facts()["n_replicas"] == "about 1e4566"
