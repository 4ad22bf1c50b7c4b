import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from symbreak import Topology, load_problem, problem_names
from symbreak.symmetry import (
    AssignmentBreaking,
    ExhaustiveBreaking,
    align,
    replicas,
)
from symbreak.symmetry._nearest import assign, plan, safe_radius, scratch_for
from tests.strategies import KINDS, seeds, topologies

ENUMERABLE = topologies(max_layers=4, max_width=6, max_replicas=1_000_000, kinds=KINDS)
FEW = topologies(max_layers=3, max_width=4, max_replicas=3_000, kinds=KINDS)


def drawn(topology, seed, n=8, ties=False):
    """Candidates and an anchor; with ties, of few values, so that many replicas are as near."""
    rng = np.random.default_rng(seed)
    draw = (lambda shape: rng.integers(-1, 2, shape) * 1.0) if ties else rng.standard_normal
    return draw((n, topology.dim)), draw((topology.dim,)), rng


def distance(a, b):
    return np.linalg.norm(a - b, axis=-1)


@pytest.mark.interpreted
@given(st.integers(1, 12), seeds(), st.booleans())
def test_assign_is_as_good_as_scipy(n, seed, ties):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 3, (n, n)) * 1.0 if ties else rng.normal(size=(n, n))
    partner = np.empty(n, dtype=np.int64)
    total = assign(values, partner, scratch_for(n))
    rows, columns = linear_sum_assignment(values, maximize=True)
    assert sorted(partner) == list(range(n))
    best = values[rows, columns].sum()
    assert values[partner, np.arange(n)].sum() == pytest.approx(best, abs=1e-12)
    assert total == pytest.approx(best, abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(ENUMERABLE, seeds(), st.booleans())
def test_the_result_is_that_of_brute_force(topology, seed, ties):
    population, anchor, rng = drawn(topology, seed, 4, ties)
    nearest, _ = ExhaustiveBreaking(topology)(population, anchor, rng)
    aligned, _ = align(population, anchor, topology)
    assert distance(aligned, anchor) == pytest.approx(distance(nearest, anchor), rel=1e-12)


@pytest.mark.interpreted
@given(topologies(4, 6, 10**12, kinds=KINDS), seeds())
def test_no_candidate_gets_farther_and_the_second_time_changes_nothing(topology, seed):
    population, anchor, rng = drawn(topology, seed)
    breaking = AssignmentBreaking(topology)
    moved, modified = breaking(population, anchor, rng)
    before, after = distance(population, anchor), distance(moved, anchor)
    assert np.all(after[modified] < before[modified])
    assert np.array_equal(moved[~modified], population[~modified])
    again, modified = breaking(moved, anchor, rng)
    assert not modified.any()
    assert np.array_equal(again, moved)


def test_ties_that_rounding_breaks_do_not_move_a_candidate_again():
    topology = Topology.parse("2-3-2-1")
    breaking, rng = AssignmentBreaking(topology), np.random.default_rng(0)
    for _ in range(100):  # a tenth of integers: equal sums come out unequal
        population, anchor = (0.1 * rng.integers(-2, 3, (n, topology.dim)) for n in (200, 1))
        once, _ = breaking(population, anchor[0], rng)
        assert not breaking(once, anchor[0], rng)[1].any()


@settings(max_examples=25)
@given(FEW, seeds())
def test_all_replicas_of_a_network_come_to_the_same(topology, seed):
    (theta,), anchor, _ = drawn(topology, seed, 1)
    aligned, _ = align(replicas(theta, topology), anchor, topology)
    assert np.array_equal(aligned, np.tile(aligned[0], (len(aligned), 1)))


@given(FEW, seeds(), st.booleans())
def test_nothing_within_the_safe_radius_has_a_nearer_replica(topology, seed, ties):
    assume(topology.n_replicas > 1)
    _, anchor, _ = drawn(topology, seed, ties=ties)
    hidden = topology.layers(anchor)[: len(topology.hidden)]
    radius = safe_radius(hidden, topology.signed)
    to_replicas = distance(replicas(anchor, topology)[1:], anchor)
    assert 2 * radius <= to_replicas.min() + 1e-12
    if topology.hidden == (1,) and topology.outputs == "solved":
        assert 2 * radius == pytest.approx(to_replicas.min())


def test_the_plan_of_every_network_of_the_paper():
    steps = {name: plan(load_problem(name).topology.hidden, True)[1] for name in problem_names()}
    assert [steps[name] for name in ("syn5", "sinc", "sinc2d", "sinc3d", "two-circles")] == [
        *(1, 1, 4, 4, 16)
    ]
    assert max(steps.values()) == steps["autoenc-sphere"] < 100_000
    assert plan((4, 1000), True)[1] > 2_000  # a wide layer between enumerated ones
    assert plan((6, 400), True)[1] > 100_000


@pytest.mark.interpreted
@pytest.mark.parametrize("net", ["1-2-1", "2-2-3-1"])
@pytest.mark.parametrize("value", [1e200, np.inf, np.nan])
def test_numbers_that_cannot_be_compared_are_left_alone(net, value):
    topology = Topology.parse(net)
    population, anchor, rng = drawn(topology, 0, 3)
    population[:2, topology.blocks[-1][:, 0]] = value
    moved, _ = AssignmentBreaking(topology)(population, -1e150 * anchor, rng)
    assert np.array_equal(moved[:2], population[:2], equal_nan=True)


def test_a_large_neuron_does_not_hide_a_small_one():
    topology = Topology.parse("1-2-1")
    anchor = np.array([1e4, 1e4, 1e-3, 1e-3])
    population = anchor * np.array([[1, 1, -1, -1]])
    moved, _ = align(population, anchor, topology)
    assert np.array_equal(moved[0], anchor)


def test_a_wide_network_comes_back_from_flips_and_swaps():
    topology, rng = Topology.parse("784-64-10"), np.random.default_rng(0)
    theta = rng.normal(size=topology.dim)
    flipped = theta.copy()
    flipped[topology.blocks[0][:32]] *= -1
    flipped[topology.blocks[0]] = flipped[topology.blocks[0][::-1]]
    moved, _ = AssignmentBreaking(topology)(np.tile(flipped, (20, 1)), theta, rng)
    assert np.array_equal(moved, np.tile(theta, (20, 1)))
