import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symbreak.activations import ACTIVATIONS
from symbreak.symmetry import align_networks
from symbreak.symmetry.networks import CAN_FLIP
from tests.strategies import seeds


def network(rng, sizes):
    """Weights inputs by outputs, as scikit-learn has them, and shifts."""
    weights = [rng.normal(size=pair) for pair in itertools.pairwise(sizes)]
    return weights, [rng.normal(size=n) for n in sizes[1:]]


def outputs(weights, shifts, activation, X):
    for w, b in zip(weights[:-1], shifts[:-1], strict=True):
        X = ACTIVATIONS[activation].f(X @ w + b)
    return X @ weights[-1] + shifts[-1]


def scrambled(rng, weights, shifts, signed):
    weights, shifts = [w.copy() for w in weights], [b.copy() for b in shifts]
    for h in range(len(weights) - 1):
        order = rng.permutation(weights[h].shape[1])
        sign = rng.choice([-1.0, 1.0], len(order)) if signed else np.ones(len(order))
        weights[h], shifts[h] = weights[h][:, order] * sign, shifts[h][order] * sign
        weights[h + 1] = weights[h + 1][order] * sign[:, None]
    return weights, shifts


def far(a, b):
    pairs = zip([*a[0], *a[1]], [*b[0], *b[1]], strict=True)
    return np.sqrt(sum(np.sum((x - y) ** 2) for x, y in pairs))


SIZES = st.lists(st.integers(1, 4), min_size=3, max_size=5)


@settings(max_examples=50)
@given(SIZES, seeds(), st.sampled_from(list(ACTIVATIONS)))
def test_outputs_stay_and_no_network_gets_farther(sizes, seed, activation):
    rng = np.random.default_rng(seed)
    one, anchor = network(rng, sizes), network(rng, sizes)
    square = len(set(sizes)) == 1
    layout = "inputs-by-outputs" if square else "auto"
    aligned = align_networks(*one, *anchor, activation, layout)
    X = rng.normal(size=(5, sizes[0]))
    expected = outputs(*one, activation, X)
    assert outputs(aligned.weights, aligned.shifts, activation, X) == pytest.approx(
        expected, rel=1e-9, abs=1e-9
    )
    assert aligned.distance == pytest.approx(far(aligned[:2], anchor), rel=1e-9)
    assert aligned.distance_before == pytest.approx(far(one, anchor), rel=1e-9)
    assert aligned.distance <= far(one, anchor) * (1 + 1e-12)


@settings(max_examples=50)
@given(SIZES, seeds(), st.sampled_from(list(ACTIVATIONS)))
def test_a_scrambled_network_comes_back(sizes, seed, activation):
    rng = np.random.default_rng(seed)
    anchor = network(rng, sizes)
    one = scrambled(rng, *anchor, signed=ACTIVATIONS[activation].odd)
    aligned = align_networks(*one, *anchor, activation, "inputs-by-outputs")
    assert aligned.distance == 0
    assert aligned.proven
    for a, b in zip([*aligned.weights, *aligned.shifts], [*anchor[0], *anchor[1]], strict=True):
        assert np.array_equal(a, b)


def test_names_of_other_libraries_are_known_too():
    assert CAN_FLIP["hardtanh"]
    assert not CAN_FLIP["gelu"]
    weights = [np.array([[1.0, 2.0]]), np.array([[3.0], [4.0]])]
    for name, can_flip in CAN_FLIP.items():
        mirrored = [-w for w in weights]
        aligned = align_networks(mirrored, None, weights, None, name, "inputs-by-outputs")
        assert (aligned.distance == 0) == can_flip


def test_a_relu_network_is_never_flipped():
    weights = [np.array([[1.0, 2.0]]), np.array([[3.0], [4.0]])]
    aligned = align_networks(
        [-w for w in weights], None, weights, None, "relu", "inputs-by-outputs"
    )
    assert np.array_equal(sorted(aligned.weights[0].ravel()), [-2, -1])
    aligned = align_networks(
        [-w for w in weights], None, weights, None, "tanh", "inputs-by-outputs"
    )
    assert aligned.distance == 0


def test_the_layout_and_types_of_pytorch_stay_as_they_came():
    rng = np.random.default_rng(0)
    weights, shifts = network(rng, (3, 5, 4, 2))
    theirs = [w.T.astype(np.float32) for w in weights], [b.astype(np.float32) for b in shifts]
    aligned = align_networks(*theirs, [w.T for w in weights], shifts)
    assert [w.shape for w in aligned.weights] == [(5, 3), (4, 5), (2, 4)]
    assert {a.dtype.name for a in [*aligned.weights, *aligned.shifts]} == {"float32"}
    assert aligned.distance < 1e-5


def test_whole_numbers_come_back_as_numbers_that_can_be_negative():
    weights = [np.array([[3, 5]], dtype=np.uint8), np.array([[1], [2]], dtype=np.uint8)]
    shifts = [np.array([1, 2]), np.array([0])]
    anchor = [-w.astype(float) for w in weights], [-shifts[0], shifts[1]]
    aligned = align_networks(weights, shifts, *anchor)
    assert aligned.weights[0].tolist() == [[-3, -5]]
    assert aligned.distance == 0 < aligned.distance_before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda w, b: (w, b[:1], w, b), "shifts must have one vector per layer, 2, got 1"),
        (lambda w, b: (w, None, w, b), "2-3-1 without shifts and 2-3-1 with shifts"),
        (lambda w, b: ([], None, [], None), "weights must be a list of matrices"),
        (lambda w, b: (None, None, w, None), "weights must be a list of matrices"),
        (lambda w, b: ("net", None, w, None), "weights must be a list of matrices"),
        (lambda w, b: (w, 3, w, b), "shifts must be a list of vectors, one per layer, got 3"),
        (lambda w, b: (w, [[[1], [1, 2]], b[1]], w, b), r"shifts\[0\] must be an array"),
        (lambda w, b: ([np.ma.masked_less(w[0], 9), w[1]], b, w, b), "has masked entries"),
        (lambda w, b: ([w[0], w[0]], None, w, None), "layers follow each other"),
        (lambda w, b: (w, b, w, b, "tanhh"), "Did you mean 'tanh'"),
        (lambda w, b: ([np.eye(2)] * 2, None, [np.eye(2)] * 2, None), "read in two ways"),
        (lambda w, b: ([w[0] * np.nan, w[1]], b, w, b), r"weights\[0\] must be finite"),
        (lambda w, b: (w, b, [w[0]], [b[0]]), "same sizes"),
    ],
)
def test_networks_that_do_not_fit_are_refused(change, message):
    weights, shifts = network(np.random.default_rng(0), (2, 3, 1))
    with pytest.raises(ValueError, match=message):
        align_networks(*change(weights, shifts))
