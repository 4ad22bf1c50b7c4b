import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symbreak import Topology, network
from symbreak._activations import ACTIVATIONS
from symbreak.symmetry import (
    flip,
    replicas,
    swap,
    symmetries,
)
from tests import reference_symmetry
from tests.strategies import seeds, topologies


@st.composite
def operators(draw):
    """A topology, one of its flips or swaps as a function, its layer and its neurons."""
    topology = draw(topologies())
    layer = draw(st.integers(0, len(topology.hidden) - 1))
    neuron = st.integers(0, topology.hidden[layer] - 1)
    j, k = draw(neuron), draw(neuron)
    if topology.signed and draw(st.booleans()):
        return topology, lambda theta: flip(theta, topology, layer, j), (layer, j)
    return topology, lambda theta: swap(theta, topology, layer, j, k), (layer, j, k)


def transformed_outputs(weights, topology, where):
    """What the operator does to output weights, which are not part of theta (Eqs. 13-14)."""
    layer, *neurons = where
    weights = weights.copy()
    if layer == len(topology.hidden) - 1:
        if len(neurons) == 1:
            weights[neurons] *= -1
        else:
            weights[neurons] = weights[neurons[::-1]]
    return weights


@given(operators(), seeds())
def test_operators_leave_the_output_unchanged(operator, seed):
    topology, apply, where = operator
    rng = np.random.default_rng(seed)
    theta, X = rng.normal(size=topology.dim), rng.normal(size=(7, topology.n_inputs))
    weights = rng.normal(size=(topology.hidden[-1], topology.n_outputs))
    before = network.hidden_outputs(theta, topology, X) @ weights
    moved = transformed_outputs(weights, topology, where)
    assert network.hidden_outputs(apply(theta), topology, X) @ moved == pytest.approx(
        before, rel=1e-9, abs=1e-12
    )


@given(operators())
def test_operators_are_the_matrices_of_the_slow_twin_and_orthogonal_involutions(operator):
    topology, apply, where = operator
    matrix = apply(np.eye(topology.dim)).T  # a whole population
    twin = reference_symmetry.flip_matrix if len(where) == 2 else reference_symmetry.swap_matrix
    assert np.array_equal(matrix, twin(topology.sizes, *where))
    assert np.array_equal(matrix @ matrix.T, np.eye(topology.dim))
    assert np.array_equal(matrix @ matrix, np.eye(topology.dim))


@given(topologies(max_layers=2, max_width=3, max_replicas=400), seeds())
def test_signed_permutations_are_a_group(topology, seed):
    rng = np.random.default_rng(seed)
    group = list(symmetries(topology))  # the identity first
    assert np.array_equal(group[0](np.arange(topology.dim)), np.arange(topology.dim))
    a, b, c = (group[i] for i in rng.integers(len(group), size=3))
    theta = rng.normal(size=topology.dim)
    assert np.array_equal((a @ b)(theta), a(b(theta)))
    assert (a @ b) @ c == a @ (b @ c)
    assert a @ a.inverse == a.inverse @ a == group[0]
    one = np.eye(topology.dim)
    assert np.array_equal(np.linalg.inv(a(one).T), a.inverse(one).T)
    assert a @ b in group


@settings(max_examples=20)
@given(topologies(max_layers=2, max_width=3, max_replicas=400), seeds())
def test_replicas_are_those_of_the_slow_twin_each_once_itself_first(topology, seed):
    theta = np.random.default_rng(seed).normal(size=topology.dim)
    found = replicas(theta, topology)
    matrices = reference_symmetry.symmetry_matrices(topology.sizes, topology.signed)
    expected = {tuple(m @ theta) for m in matrices}
    assert len(found) == topology.n_replicas
    assert {tuple(replica) for replica in found} == expected
    assert np.array_equal(found[0], theta)


def test_some_million_replicas_are_listed_and_more_refused_with_their_number():
    assert len(replicas(np.zeros(29), Topology.parse("3-4-1-4-1"))) == 294_912
    with pytest.raises(ValueError, match="has 4,348,654,387,200 replicas, more than"):
        replicas(np.zeros(77), Topology.parse("2-5-3-2-1-2-3-5-2"))


@pytest.mark.parametrize("activation", [name for name, row in ACTIVATIONS.items() if not row.odd])
def test_a_neuron_whose_activation_is_not_odd_cannot_be_flipped(activation):
    topology = Topology((1, 2, 1), activation)
    with pytest.raises(ValueError, match=f"cannot be flipped, since {activation} is not odd"):
        flip(np.ones(4), topology, 0, 0)
    assert len(replicas(np.arange(4.0), topology)) == 2
    one = np.array([[1.0, -1.0], [0.5, 0.3]]).ravel()
    X = np.linspace(-1, 1, 9)[:, None]
    A = network.hidden_outputs(one, topology, X)
    flipped = network.hidden_outputs(one * [-1, -1, 1, 1], topology, X)
    assert not np.allclose(np.abs(A[:, 0]), np.abs(flipped[:, 0]))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda t, net: flip(t, net, 3, 0), "layer must be 0 to 2"),
        (lambda t, net: swap(t, net, 1, 0, 1), "neuron must be 0 to 0 .of layer 1 of 2-3-1-3-1"),
        (lambda t, net: flip(t[1:], net, 0, 0), r"theta must have shape .* = \(..., 19\)"),
    ],
)
def test_neurons_that_do_not_exist_and_other_vectors_are_refused(call, message):
    topology = Topology.parse("2-3-1-3-1")
    with pytest.raises(ValueError, match=message):
        call(np.zeros(topology.dim), topology)
