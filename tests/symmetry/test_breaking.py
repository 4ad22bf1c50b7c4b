import numpy as np
import pytest
from hypothesis import given, settings

from symbreak import Topology, load_problem, network
from symbreak.symmetry import (
    AssignmentBreaking,
    ExhaustiveBreaking,
    InvariantBreaking,
    NoBreaking,
    ProximityBreaking,
    replicas,
)
from tests import reference_symmetry
from tests.strategies import KINDS as NETWORK_KINDS
from tests.strategies import seeds, topologies

KINDS = [
    *(NoBreaking, InvariantBreaking, ProximityBreaking, ExhaustiveBreaking, AssignmentBreaking),
]
SMALL = topologies(max_layers=2, max_width=3, max_replicas=400, kinds=NETWORK_KINDS)


def drawn(topology, seed, n=8):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, topology.dim)), rng.normal(size=topology.dim), rng


def distance(a, b):
    return np.linalg.norm(a - b, axis=-1)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=25)
@given(SMALL, seeds())
def test_breaking_replaces_candidates_by_replicas_and_says_which(kind, topology, seed):
    population, anchor, rng = drawn(topology, seed)
    original = population.copy()
    broken, modified = kind(topology)(population, anchor, rng)
    assert np.array_equal(population, original)  # the input is left alone
    assert np.array_equal(modified, np.any(broken != population, axis=1))
    for before, after in zip(population, broken, strict=True):
        assert np.abs(replicas(before, topology) - after).max(axis=1).min() == 0
    if topology.outputs == "searched":
        X = rng.normal(size=(5, topology.n_inputs))
        expected = network.outputs(population, topology, X)
        assert network.outputs(broken, topology, X) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("kind", KINDS[1:])
def test_wrong_arguments_are_refused_before_the_compiled_code(kind):
    for wrong in (None, "1-3-1", load_problem("syn5"), (1, 3, 1)):
        with pytest.raises(ValueError, match="topology must be a Topology, such as"):
            kind(wrong)
    breaking, rng = kind(Topology.parse("1-5-1")), np.random.default_rng(0)
    with pytest.raises(ValueError, match=r"population must have shape \(N_p, D\) = \(N_p, 10\)"):
        breaking(np.zeros((3, 4)), np.zeros(10), rng)
    with pytest.raises(ValueError, match=r"anchor must have shape \(D,\) = \(10,\)"):
        breaking(np.zeros((3, 10)), np.zeros(4), rng)


def test_ties_change_nothing():
    topology, rng = Topology.parse("1-2-1"), np.random.default_rng(0)
    population = np.array([[0.0, 0.0, 1.0, 1.0], [1.0, 2.0, 1.0, 2.0]])
    _, modified = ProximityBreaking(topology)(population, np.array([3.0, -1.0, 3.0, -1.0]), rng)
    assert modified.tolist() == [False, False]
    _, modified = InvariantBreaking(topology)(np.array([[1.0, -0.0, 2.0, 0.0]]), np.zeros(4), rng)
    assert not modified.any()


@given(topologies(), seeds())
def test_proximity_breaking_is_algorithm_1(topology, seed):
    population, anchor, rng = drawn(topology, seed)
    twin_rng = np.random.default_rng()
    twin_rng.bit_generator.state = rng.bit_generator.state
    moved, modified = ProximityBreaking(topology)(population, anchor, rng)
    uniforms = [twin_rng.random((len(population), 2)) if n > 1 else None for n in topology.hidden]
    for i, theta in enumerate(population):
        pairs = [
            None if u is None else reference_symmetry.distinct_pair(n, *u[i])
            for n, u in zip(topology.hidden, uniforms, strict=True)
        ]
        expected, changed = reference_symmetry.algorithm_1(
            theta, anchor, topology.sizes, pairs, topology.signed
        )
        assert np.array_equal(moved[i], expected)
        assert modified[i] == changed
    before, after = distance(population, anchor), distance(moved, anchor)
    assert np.all(after[modified] < before[modified])
    assert np.array_equal(after[~modified], before[~modified])


def test_neurons_that_cannot_be_flipped_are_only_reordered():
    topology, rng = Topology.parse("1-2-1 relu"), np.random.default_rng(0)
    anchor = np.array([1.0, 1.0, 2.0, 2.0])
    for kind in KINDS[1:]:
        (broken,), _ = kind(topology)(-anchor[None], anchor, rng)
        assert np.array_equal(broken, [-2.0, -2.0, -1.0, -1.0])


@given(topologies(), seeds())
def test_invariant_breaking_is_rule_1_then_rule_2(topology, seed):
    population, anchor, rng = drawn(topology, seed)
    broken, _ = InvariantBreaking(topology)(population, anchor, rng)
    for before, after in zip(population, broken, strict=True):
        ruled = reference_symmetry.rule_1(before, topology.sizes) if topology.signed else before
        assert np.array_equal(after, reference_symmetry.rule_2(ruled, topology.sizes))
    for shifts in topology.key_index:
        assert not topology.signed or np.all(broken[:, shifts] >= 0)
        assert np.all(np.diff(broken[:, shifts], axis=1) >= 0)


@settings(max_examples=25)
@given(SMALL, seeds())
def test_brute_force_returns_the_nearest_replica(topology, seed):
    population, anchor, rng = drawn(topology, seed, n=4)
    broken, _ = ExhaustiveBreaking(topology)(population, anchor, rng)
    for before, after in zip(population, broken, strict=True):
        every = distance(replicas(before, topology), anchor)
        assert distance(after, anchor) == pytest.approx(every.min(), rel=1e-12)
        other_way = distance(replicas(anchor, topology), after)  # Theorem 5.5
        assert distance(after, anchor) == pytest.approx(other_way.min(), rel=1e-12)
        if topology.outputs == "solved":
            net = (topology.sizes, topology.signed)
            twin = reference_symmetry.nearest_replica(before, anchor, *net)
            assert distance(after, anchor) == pytest.approx(distance(twin, anchor), rel=1e-12)


def test_brute_force_works_in_parts(monkeypatch):
    topology = Topology.parse("2-3-2-1")
    population, anchor, rng = drawn(topology, 0, n=2**14)  # 256 replicas at a time, of 384
    whole, _ = ExhaustiveBreaking(topology)(population[:50], anchor, rng)
    parts, _ = ExhaustiveBreaking(topology)(population, anchor, rng)
    assert np.array_equal(parts[:50], whole)


@given(seeds())
def test_theorems_5_2_and_5_4_flips_and_swaps_alone_separate_too(seed):
    rng = np.random.default_rng(seed)
    one, two = Topology.parse("2-1-1"), Topology.parse("2-2-1")
    population, anchor = rng.normal(size=(20, one.dim)), rng.normal(size=one.dim)
    moved, _ = ProximityBreaking(one)(population, anchor, rng)
    assert np.all(distance(moved, anchor) <= distance(moved, -anchor))

    # two neurons whose signs are settled: only the swap is left
    anchor, population = np.abs(rng.normal(size=two.dim)), np.abs(rng.normal(size=(20, two.dim)))
    moved, _ = ProximityBreaking(two)(population, anchor, rng)
    swapped = np.roll(anchor, 3)
    assert np.all(distance(moved, anchor) <= distance(moved, swapped))


def test_every_pair_is_tried_equally_often():
    """By the twin, which draws as Algorithm 1 does here."""
    u = np.random.default_rng(0).random((12_000, 2))
    pairs, counts = np.unique(
        [sorted(reference_symmetry.distinct_pair(4, *each)) for each in u],
        axis=0,
        return_counts=True,
    )
    assert len(pairs) == 6
    assert counts == pytest.approx(np.full(6, 2_000), rel=0.1)


@given(seeds())
def test_lemmas_5_1_and_5_3_the_rules_are_distance_rules(seed):
    rng = np.random.default_rng(seed)
    flipped, swapped = (lambda theta: -theta), (lambda theta: np.roll(theta, 3))
    for net, settled, other in (("2-1-1", (), flipped), ("2-2-1", (2, 5), swapped)):
        topology = Topology.parse(net)
        r = np.eye(topology.dim)[-1]  # the reference is the last shift
        for theta in rng.normal(size=(10, topology.dim)):
            theta[[*settled]] = np.abs(theta[[*settled]])  # rule-1 has nothing to do there
            nearer = min(theta, other(theta), key=lambda replica: distance(replica, r))
            (broken,), _ = InvariantBreaking(topology)(theta[None], r, rng)
            assert np.array_equal(broken, nearer)
