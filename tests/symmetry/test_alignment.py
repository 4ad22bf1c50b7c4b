import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symbreak import Topology
from symbreak.symmetry import _alignment as module
from symbreak.symmetry import (
    align,
    canonical,
    centroid,
    distance,
    replicas,
    spread,
)
from tests.strategies import KINDS, seeds, topologies

NETS = topologies(max_layers=3, max_width=3, max_replicas=3_000, kinds=KINDS)
METHODS = st.sampled_from(module.ALIGNMENTS)


def drawn(topology, seed, n=6):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, topology.dim)), rng.normal(size=topology.dim)


@given(NETS, seeds(), METHODS)
def test_the_operators_are_symmetries_that_give_what_was_aligned(topology, seed, method):
    population, anchor = drawn(topology, seed)
    before = population.copy()
    aligned, operators = align(population, anchor, topology, method)
    assert np.array_equal(population, before)
    for theta, moved, operator in zip(population, aligned, operators, strict=True):
        assert np.array_equal(operator(theta), moved)
        assert np.any(np.all(replicas(theta, topology) == moved, axis=1))
    one, operator = align(population[0], anchor, topology, method)
    assert np.array_equal(one, aligned[0])
    assert operator == operators[0]


@settings(max_examples=25)
@given(NETS, seeds())
def test_distance_is_a_metric_on_networks_modulo_symmetries(topology, seed):
    (a, b, c), _ = drawn(topology, seed, 3)
    every = replicas(b, topology)
    ab = distance(a, b, topology)
    assert distance(every, b, topology) == pytest.approx(np.zeros(len(every)), abs=1e-12)
    assert distance(every, a, topology) == pytest.approx(np.full(len(every), ab), rel=1e-9)
    assert distance(b, a, topology) == pytest.approx(ab, rel=1e-12)
    assert ab <= np.linalg.norm(a - b) + 1e-12
    assert distance(a, c, topology) <= ab + distance(b, c, topology) + 1e-9
    assert distance(a, b, topology, "assignment") >= ab - 1e-12


@given(NETS, seeds())
def test_replicas_have_one_canonical_form(topology, seed):
    (theta,), _ = drawn(topology, seed, 1)
    forms = canonical(replicas(theta, topology), topology)
    assert np.array_equal(forms, np.tile(forms[0], (len(forms), 1)))
    assert np.any(np.all(replicas(theta, topology) == forms[0], axis=1))
    assert np.array_equal(canonical(theta, topology), forms[0])
    assert np.array_equal(canonical(forms[0], topology), forms[0])
    for keys in topology.key_index:
        assert not topology.signed or np.all(forms[0][keys] >= 0)
        assert np.all(np.diff(forms[0][keys]) >= 0)


def test_the_centroid_does_not_collapse():
    topology, rng = Topology.parse("2-3-2-1"), np.random.default_rng(0)
    theta = rng.normal(size=topology.dim)
    every = replicas(theta, topology)
    population = every[rng.integers(len(every), size=200)] + 0.01 * rng.normal(size=(200, 17))
    assert np.linalg.norm(population.mean(axis=0)) < 0.3 * np.linalg.norm(theta)
    mean = centroid(population, topology)
    assert distance(mean, theta, topology) < 0.01
    aligned, _ = align(population, mean, topology)
    assert aligned.mean(axis=0) == pytest.approx(mean, rel=1e-9)  # a fixed point


@given(NETS, seeds())
def test_the_centroid_of_replicas_is_a_replica(topology, seed):
    (theta,), _ = drawn(topology, seed, 1)
    every = replicas(theta, topology)
    some = np.random.default_rng(seed).integers(len(every), size=8)
    mean = centroid(every[some], topology)
    assert np.linalg.norm(every - mean, axis=1).min() < 1e-12 * np.linalg.norm(theta)


def test_a_centroid_is_swept_where_exact_alignment_takes_too_long(monkeypatch):
    topology = Topology.parse("2-3-2-1")  # 16 steps per candidate
    population, _ = drawn(topology, 4, 10)
    exact, swept = (
        module.centroid_from(population[0], population, topology, how) for how in module.ALIGNMENTS
    )
    assert not np.allclose(exact, swept)
    monkeypatch.setattr(module, "MAX_CENTROID_STEPS", 160)
    assert np.array_equal(centroid(population, topology), exact)
    monkeypatch.setattr(module, "MAX_CENTROID_STEPS", 159)
    assert np.array_equal(centroid(population, topology), swept)
    monkeypatch.undo()
    monkeypatch.setattr(module, "MAX_EXACT_STEPS", 15)
    assert np.array_equal(centroid(population, topology), swept)
    wide = Topology.parse("2-12-12-1")
    ones = np.ones((3, wide.dim))
    assert distance(centroid(ones, wide), ones[0], wide, "assignment") == 0


def test_the_spread_counts_partitions():
    topology, rng = Topology.parse("1-2-1"), np.random.default_rng(0)
    theta = np.array([1.0, 2.0, -3.0, 0.5])
    assert spread(np.tile(theta, (7, 1)), theta, topology) == (1.0, 1.0)
    every = replicas(theta, topology)  # 8 conventions, equally common
    assert spread(every, theta, topology) == (1 / 8, 8.0)
    half = np.vstack([np.tile(theta, (4, 1)), np.tile(-theta, (4, 1))])
    assert spread(half, theta, topology) == (0.5, 2.0)
    share, conventions = spread(rng.normal(size=(500, 4)), theta, topology)
    assert 0.05 < share < 0.25
    assert 6 < conventions <= 8


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda t: align(np.zeros(5), np.zeros(4), t), r"theta must have shape \(N_p, D\)"),
        (lambda t: align(np.zeros(4), np.zeros(5), t), r"anchor must have shape \(D,\) = \(4,\)"),
        (lambda t: align(np.full(4, np.nan), np.zeros(4), t), "theta must be finite"),
        (lambda t: align(np.full(4, 1e200), np.zeros(4), t), "below 1e.100 in magnitude"),
        (lambda t: align(np.zeros(4), np.zeros(4), t, "exakt"), "Did you mean 'exact'"),
        (lambda t: centroid(np.zeros(4), t), "population must have shape"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call(Topology.parse("1-2-1"))


def test_exact_alignment_refuses_what_it_cannot_afford_and_says_what_can():
    topology = Topology.parse("2-12-12-1")
    theta = np.ones(topology.dim)
    with pytest.raises(ValueError, match='use method="assignment"'):
        align(theta, theta, topology)
    assert distance(theta, theta, topology, "assignment") == 0
    wide = Topology((1, 1500, 1500, 1))
    with pytest.raises(ValueError, match="takes more than 100,000 steps"):
        align(np.ones(wide.dim), np.ones(wide.dim), wide)
    one_layer = Topology((1, 300, 1))
    assert distance(-np.ones(600), np.ones(600), one_layer) == 0
