import numpy as np
import pytest
from hypothesis import given

from symbreak import network
from tests import reference
from tests.strategies import seeds, topologies


@given(topologies(), seeds())
def test_hidden_outputs_are_those_of_nested_loops(topology, seed):
    rng = np.random.default_rng(seed)
    theta, X = rng.normal(size=topology.dim), rng.normal(size=(5, topology.n_inputs))
    expected = reference.hidden_outputs(theta, topology.sizes, X)
    assert network.hidden_outputs(theta, topology, X) == pytest.approx(expected, abs=1e-13)


@pytest.mark.parametrize("rescale", ["unit", "radius"])
@pytest.mark.parametrize("length", [0.5, 1.5])
def test_the_feasible_vector_and_its_penalty_are_the_papers(rescale, length):
    theta = np.array([1.0, -2.0, 2.0, 4.0]) / 5  # length 1; the ball has radius 2
    vector, penalty = network.feasible(2 * length * theta, rescale)
    if length < 1:
        assert penalty == 0
        assert vector.tolist() == (2 * length * theta).tolist()
    else:
        assert penalty == pytest.approx(50 * (3 - 2))
        assert vector == pytest.approx(theta if rescale == "unit" else 2 * theta)
    expected = reference.feasible(2 * length * theta, rescale)
    assert vector == pytest.approx(expected[0])
    assert penalty == pytest.approx(expected[1])
