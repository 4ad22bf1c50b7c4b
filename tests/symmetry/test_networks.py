import copy
import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.neural_network import MLPRegressor

from symbreak import Model, Problem, Topology, network
from symbreak._activations import ACTIVATIONS
from symbreak.problems import Scaling
from symbreak.symmetry import networks
from tests.strategies import seeds

SIZES = st.lists(st.integers(1, 4), min_size=3, max_size=5)


def arrays(rng, sizes, biases=True):
    """As Keras has them: a matrix inputs by outputs and a vector for each layer."""
    made = []
    for pair in itertools.pairwise(sizes):
        made += [rng.normal(size=pair), *([rng.normal(size=pair[1])] if biases else [])]
    return made


def scrambled(rng, network, signed, biases=True):
    """A replica: neurons in another order, and flipped."""
    made, step = [array.copy() for array in network], 1 + biases
    for h in range(0, len(made) - step, step):
        order = rng.permutation(made[h].shape[1])
        sign = rng.choice([-1.0, 1.0], len(order)) if signed else np.ones(len(order))
        for k in range(step):
            made[h + k] = made[h + k][..., order] * sign
        made[h + step] = made[h + step][order] * sign[:, None]
    return made


def far(a, b):
    return np.sqrt(sum(np.sum((x - y) ** 2) for x, y in zip(a, b, strict=True)))


@settings(max_examples=50)
@given(SIZES, seeds(), st.sampled_from(list(ACTIVATIONS)), st.booleans())
def test_outputs_stay_and_no_network_gets_farther(sizes, seed, activation, biases):
    rng = np.random.default_rng(seed)
    one, anchor = arrays(rng, sizes, biases), arrays(rng, sizes, biases)
    how = (activation, "inputs-by-outputs")
    aligned, compared = networks.align(one, anchor, *how), networks.compare(one, anchor, *how)
    X = rng.normal(size=(5, sizes[0]))
    net = Topology(sizes, activation, outputs="searched", biases=biases)
    before, after = (network.outputs(networks.read(n, *how).theta, net, X) for n in (one, aligned))
    assert after == pytest.approx(before, rel=1e-9, abs=1e-9)
    assert compared.distance_before == pytest.approx(far(one, anchor), rel=1e-9)
    assert compared.distance == pytest.approx(far(aligned, anchor), rel=1e-9)
    assert compared.distance <= far(one, anchor) * (1 + 1e-12)
    assert networks.distance(one, anchor, *how) == compared.distance


@settings(max_examples=50)
@given(SIZES, seeds(), st.sampled_from(list(ACTIVATIONS)), st.booleans())
def test_a_replica_comes_back_and_it_is_said_how(sizes, seed, activation, biases):
    rng = np.random.default_rng(seed)
    anchor, how = arrays(rng, sizes, biases), (activation, "inputs-by-outputs")
    one = scrambled(rng, anchor, ACTIVATIONS[activation].odd, biases)
    assert far(networks.align(one, anchor, *how), anchor) == 0
    assert far(networks.average([anchor, one, one], *how), anchor) < 1e-12
    compared = networks.compare(one, anchor, *how)
    assert compared.distance == 0
    assert compared.proven
    assert np.concatenate(compared.agreement) == pytest.approx(1)
    signs, step = np.ones(sizes[0]), 1 + biases  # undone by hand, layer by layer
    rows = np.arange(sizes[0])
    for h, (order, sign) in enumerate(zip(compared.orders, compared.signs, strict=True)):
        moved = one[step * h][rows][:, order] * signs[:, None] * sign
        assert np.array_equal(moved, anchor[step * h])
        rows, signs = order, sign


def test_a_network_comes_back_as_what_it_came():
    rng = np.random.default_rng(0)
    anchor = arrays(rng, (2, 3, 1))
    one = [array.astype(np.float32) for array in scrambled(rng, anchor, True)]
    aligned = networks.align(one, anchor, "tanh")
    assert isinstance(aligned, list)
    assert [a.dtype for a in aligned] == [np.float32] * 4
    names = ("0.weight", "0.bias", "2.weight", "2.bias")  # of a state dict: outputs by inputs
    states = [dict(zip(names, [a.T for a in net], strict=True)) for net in (one, anchor)]
    aligned = networks.align(*states, "tanh")
    assert list(aligned) == list(names)
    assert far(aligned.values(), states[1].values()) < 1e-6
    in_groups = [[net[i] for i in (0, 2, 1, 3)] for net in (one, anchor)]
    assert far(networks.align(*in_groups, "tanh"), in_groups[1]) < 1e-6


def test_scikit_learns_networks_are_averaged():
    X = np.linspace(-1, 1, 30)[:, None]
    y = np.sin(3 * X[:, 0])
    settings = {"hidden_layer_sizes": (4,), "activation": "tanh", "solver": "lbfgs"}
    one = MLPRegressor(**settings, max_iter=2_000, random_state=0).fit(X, y)
    other = copy.deepcopy(one)
    replica = scrambled(np.random.default_rng(1), [*_paired(one)], True)
    other.coefs_, other.intercepts_ = replica[::2], replica[1::2]
    assert other.predict(X) == pytest.approx(one.predict(X))
    mean = networks.average([one, other])
    assert mean.predict(X) == pytest.approx(one.predict(X))
    assert networks.distance(one, other) < 1e-12 < networks.compare(one, other).distance_before


def _paired(mlp):
    return itertools.chain.from_iterable(zip(mlp.coefs_, mlp.intercepts_, strict=True))


class Tensor:
    """What is used of a PyTorch tensor."""

    def __init__(self, values):
        self.values = np.array(values, dtype=np.float32)

    def cpu(self):
        return self

    def numpy(self):
        return self.values

    def new_tensor(self, values):
        return Tensor(values)


class Linear:
    def __init__(self, weight, bias):
        self.weight, self.bias = Tensor(weight), None if bias is None else Tensor(bias)


class Tanh: ...


class ReLU: ...


class LayerNorm: ...


class Sequential(list):
    def state_dict(self):
        return {f"{i}.{name}": tensor for i, name, tensor in self._tensors()}

    def load_state_dict(self, state):
        for i, name, _ in self._tensors():
            setattr(self[i], name, state[f"{i}.{name}"])

    def _tensors(self):
        every = ((i, *kept) for i, module in enumerate(self) for kept in vars(module).items())
        return [row for row in every if row[-1] is not None]


def sequential(parameters, *between):
    layers = [Linear(w.T, b) for w, b in zip(parameters[::2], parameters[1::2], strict=True)]
    return Sequential([layers[0], *between, layers[1]])


def test_pytorchs_networks_are_read_and_written_without_it():
    rng = np.random.default_rng(0)
    anchor = arrays(rng, (2, 3, 1))
    one = sequential(scrambled(rng, anchor, True), Tanh())
    aligned = networks.align(one, sequential(anchor, Tanh()))
    assert aligned is not one
    assert far([aligned[0].weight.values.T], [anchor[0]]) < 1e-6
    assert far([aligned[2].bias.values], [anchor[3]]) < 1e-6
    flipped = [-anchor[0], -anchor[1], -anchor[2], anchor[3]]
    flipped = networks.compare(sequential(flipped, ReLU()), sequential(anchor, ReLU()))
    assert all(np.all(sign > 0) for sign in flipped.signs)  # relu is not odd
    bare = [Sequential([Linear(w.T, None) for w in net[::2]]) for net in (anchor, anchor)]
    assert networks.distance(*bare) == 0
    with pytest.raises(ValueError, match=r"known activations between them, got .*LayerNorm"):
        networks.read(sequential(anchor, LayerNorm(), Tanh()))


def test_models_are_aligned_and_averaged_with_their_scaling():
    X = np.linspace(-1, 1, 30)[:, None]
    problem = Problem.from_arrays(X, np.sin(3 * X), hidden=(3,))
    rng = np.random.default_rng(0)

    def model(scale, shift):
        scaling = Scaling(np.zeros(1), np.full(1, scale))
        weights = rng.normal(size=(3 + shift, 1))
        return Model(problem.topology, "regression", rng.normal(size=6), weights, scaling, scaling)

    for shift in (0, 1):
        one, other = model(1.0, shift), model(1.0, shift)
        aligned = networks.align(one, other)
        assert aligned.output_weights.shape == (3 + shift, 1)
        assert aligned.predict(X) == pytest.approx(one.predict(X))
    with pytest.raises(ValueError, match="must have the same scaling of their inputs"):
        networks.average([one, model(2.0, 1)])


def test_models_are_compared_in_the_units_and_by_the_names_of_the_anchor():
    """The same function, in another order, for inputs that are scaled and placed otherwise."""
    rng = np.random.default_rng(2)
    anchor = Model(
        Topology((2, 3, 1)),
        "regression",
        rng.normal(size=9),
        rng.normal(size=(4, 1)),
        Scaling(np.array([5.0, -1.0]), np.array([2.0, 0.1])),
        Scaling(np.array([7.0]), np.array([3.0])),
        feature_names=("a", "b"),
    )
    inputs = Scaling(np.array([0.0, 1.0, 4.0]), np.array([9.0, 0.3, 3.0]))
    theta = anchor.theta_for(("new", "b", "a"), inputs).reshape(3, 4)
    V = np.vstack([-anchor.output_weights[[2, 0, 1]] * 1.5, anchor.output_weights[3] * 1.5 + 2.5])
    moved = replace(
        anchor,
        topology=Topology((3, 3, 1)),
        theta=-theta[[2, 0, 1]].ravel(),
        output_weights=V,
        inputs=inputs,
        targets=Scaling(np.array([2.0]), np.array([2.0])),
        feature_names=("new", "b", "a"),
    )
    X = rng.normal([0, -1, 5], size=(20, 3))
    assert moved.predict(X) == pytest.approx(anchor.predict(X[:, [2, 1]]))
    found = networks.compare(moved, anchor)
    assert found.distance < 1e-12 < 0.1 < found.distance_before
    assert found.inputs == ("a", "b", "new")
    assert [order.tolist() for order in found.orders] == [[1, 2, 0]]
    aligned = networks.align(moved, anchor)
    assert aligned.predict(X) == pytest.approx(moved.predict(X))
    assert np.array_equal(aligned.theta.reshape(3, 4), theta)


def test_names_of_other_libraries_are_known_too():
    anchor = arrays(np.random.default_rng(0), (2, 3, 1))
    flipped = [-anchor[0], -anchor[1], -anchor[2], anchor[3]]
    for name, symmetries in networks.SYMMETRIES.items():
        assert (networks.distance(flipped, anchor, name) == 0) == ("flip" in symmetries)
    assert networks.distance(anchor, anchor, "LeakyReLU") == 0
    for name, activation in ACTIVATIONS.items():
        assert ("flip" in networks.SYMMETRIES[name]) == activation.odd


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda n: (n[:3], n, "tanh"), "a vector of biases for each or none, got arrays of shapes"),
        (lambda n: (n[::2], n, "tanh"), "got 2-3-1 unbiased, 2-3-1"),
        (lambda n: ([], n, "tanh"), "at least two layers"),
        (lambda n: (n[:2], n, "tanh"), "at least two layers"),
        (lambda n: (None, n, "tanh"), "a network must be a Model, .*, got None"),
        (lambda n: ("net", n, "tanh"), "a network must be a Model, .*, got 'net'"),
        (lambda n: ([[[1], [1, 2]], *n[1:]], n, "tanh"), "array 0 of a network must be an array"),
        (lambda n: ([np.ma.masked_less(n[0], 9), *n[1:]], n, "tanh"), "an array of numbers"),
        (lambda n: ([n[0], n[1], n[0], n[1]], n, "tanh"), "layers of a network must follow"),
        (lambda n: (n, n, "tanhh"), "Did you mean 'tanh'"),
        (lambda n: (n, n), "arrays do not say their activation"),
        (lambda n: ([np.eye(2)] * 2, n, "tanh"), "read in two ways"),
        (lambda n: ([n[0] * np.nan, *n[1:]], n, "tanh"), "must be finite"),
        (lambda n: (n, n, "tanh", "rows"), "unknown layout 'rows'"),
    ],
)
def test_networks_that_do_not_fit_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        networks.align(*change(arrays(np.random.default_rng(0), (2, 3, 1))))
