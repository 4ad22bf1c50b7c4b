import numpy as np
import pytest
from hypothesis import given

from symbreak import Topology
from tests import reference_symmetry
from tests.strategies import KINDS, topologies

# D and the number of replicas of the paper's eleven nets
NETS = {
    "1-3-1": (6, 48),
    "1-5-1": (10, 3_840),
    "2-3-1-3-1": (19, 4_608),
    "3-4-1-4-1": (29, 294_912),
    "2-5-3-2-1-2-3-5-2": (77, 4.35e12),
    "3-1-3-4-7-3": (61, 2.38e10),
    "3-8-5-2-5-8-3": (152, 1.26e22),
    "2-4-2-4-2": (34, 1_179_648),
    "2-8-3-1-3-8-2": (93, 4.91e17),
    "16-8-3-10-10": (203, 1.84e18),
}


@pytest.mark.parametrize("net", NETS)
def test_the_papers_nets_have_their_dimension_and_number_of_replicas(net):
    topology = Topology.parse(net)
    dim, n_replicas = NETS[net]
    assert topology.dim == dim
    assert topology.n_replicas == pytest.approx(n_replicas, rel=5e-3)
    assert str(topology) == net


@given(topologies())
def test_blocks_are_those_of_the_slow_twin(topology):
    expected = reference_symmetry.blocks(topology.sizes)
    assert [block.tolist() for block in topology.blocks] == expected


@given(topologies(kinds=("complete", "unbiased")))
def test_blocks_of_complete_networks_hold_what_a_neuron_reads_and_what_reads_it(topology):
    theta, position = {}, 0
    for layer, (fan_in, n) in enumerate(zip(topology.sizes, topology.sizes[1:], strict=False)):
        for neuron in range(n):
            for source in (*range(fan_in), *["bias"] * topology.biases):
                theta[layer, neuron, source] = position
                position += 1
    assert topology.dim == position
    for layer, block in enumerate(topology.blocks):
        assert len(block) == topology.hidden[layer]
        for neuron, places in enumerate(block.tolist()):
            own = [p for (k, n, _), p in theta.items() if (k, n) == (layer, neuron)]
            readers = [p for (k, _, s), p in theta.items() if (k, s) == (layer + 1, neuron)]
            assert places == own + readers
            assert topology.key_index[layer][neuron] == own[-1]


def test_networks_without_biases_are_complete():
    assert str(Topology((6, 6, 1), outputs="searched", biases=False)) == "6-6-1 searched unbiased"
    assert str(Topology((6, 6, 1), "relu", outputs="searched")) == "6-6-1 relu searched"
    assert str(Topology((6, 6, 1))) == "6-6-1"
    with pytest.raises(ValueError, match='only a network with outputs="searched"'):
        Topology((6, 6, 1), biases=False)
    with pytest.raises(ValueError, match="Did you mean 'searched'"):
        Topology((6, 6, 1), outputs="searching")


@given(topologies(kinds=KINDS))
def test_layers_are_views_that_cover_theta_once(topology):
    assert Topology.parse(str(topology)) == topology
    theta = np.arange(float(topology.dim))
    layers = topology.layers(theta)
    assert [layer.shape for layer in layers] == list(topology.shapes)
    assert np.concatenate([layer.ravel() for layer in layers]).tolist() == theta.tolist()
    assert all(np.shares_memory(layer, theta) for layer in layers)
    for index, layer in zip(topology.key_index, layers, strict=False):
        assert theta[index].tolist() == layer[:, -1].tolist()


@pytest.mark.parametrize("text", ["", "3", "2-1", "2-x-1", "2--1", "2-0-1", "2-3.5-1"])
def test_a_text_that_is_no_topology_is_refused_with_an_example(text):
    with pytest.raises(ValueError, match="2-3-1-3-1"):
        Topology.parse(text)


@pytest.mark.parametrize("sizes", [(), (1, 2), (1, 0, 1), (1, 2.5, 1), (1, True, 1), (1, -3, 1)])
def test_impossible_sizes_are_refused(sizes):
    with pytest.raises(ValueError, match="at least three layer sizes"):
        Topology(sizes)
