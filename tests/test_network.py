import numpy as np
import pytest
from hypothesis import given

from symbreak import Topology, load_problem, network, problem_names
from symbreak.training._history import SPREAD_FREE
from tests import reference
from tests.strategies import seeds, topologies


@given(topologies(), seeds())
def test_hidden_outputs_are_those_of_nested_loops(topology, seed):
    rng = np.random.default_rng(seed)
    theta, X = rng.normal(size=topology.dim), rng.normal(size=(5, topology.n_inputs))
    expected = reference.hidden_outputs(theta, topology.sizes, X, topology.activation.name)
    assert network.hidden_outputs(theta, topology, X) == pytest.approx(expected, abs=1e-13)


@given(topologies(kinds=("complete", "unbiased")), seeds())
def test_a_complete_network_is_a_solved_one_with_its_output_weights(topology, seed):
    rng = np.random.default_rng(seed)
    thetas, X = rng.normal(size=(3, topology.dim)), rng.normal(size=(5, topology.n_inputs))
    found = network.outputs(thetas, topology, X)
    hidden = Topology(topology.sizes, topology.activation)
    for theta, made in zip(thetas, found, strict=True):
        part, V = network.divided(theta, topology)
        A = reference.hidden_outputs(part, hidden.sizes, X, topology.activation.name)
        assert made == pytest.approx(np.column_stack([A, np.ones(5)]) @ V, abs=1e-12)
        if topology.biases:
            assert network.complete(part, hidden, V).tolist() == theta.tolist()
            assert network.complete(part, hidden, V[:-1]).size == theta.size
    with pytest.raises(ValueError, match="has no output weights"):
        network.outputs(part, hidden, X)


def test_columns_that_are_only_rounding_errors_are_dependent():
    rng = np.random.default_rng(0)
    base, small = rng.normal(size=(50, 1)), rng.normal(size=(50, 4))
    apart = base + 1e-6 * small
    twice = 0.1 * base + 0.7 * apart[:, :1]  # equal but for rounding
    A = np.hstack([base, apart, twice, np.zeros((50, 1)), base])
    assert network.independent_columns(A).tolist() == [True] * 5 + [False] * 3
    # what is left of the third is 1e-10, far above its own rounding errors of 1e-16, but a hundred
    # thousand times the second is taken from it, with what that has of errors
    a, b = small[:, :1], small[:, 1:2]
    grown = np.hstack([base, base + 1e-8 * a, base + 1e-3 * a + 1e-10 * b])
    assert network.independent_columns(grown).tolist() == [True, True, False]
    assert network.independent_columns(grown[:, [0, 2]]).all()
    weights = network.fit_output_weights(A, base)
    assert not weights[5:].any()
    assert A @ weights == pytest.approx(base)
    assert network.fit_output_weights(np.zeros((5, 2)), np.ones((5, 1))).tolist() == [[0], [0]]


def test_the_cost_of_an_alignment_grows_with_the_cube_of_the_width():
    costs = [network.alignment_cost(Topology((1, n, 1))) for n in (100, 1_000)]
    assert costs[1] == pytest.approx(1_000 * costs[0], rel=0.1)
    problems = map(load_problem, problem_names())
    assert max(network.alignment_cost(p.topology) for p in problems) < SPREAD_FREE / 5
