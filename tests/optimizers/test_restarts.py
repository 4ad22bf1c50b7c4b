"""Searches that begin again when they are stuck, beside a slow twin of their schedules."""

import math

import numpy as np
import pytest

from symbreak.optimizers import Optimizer, Restarts
from tests.states import through_json

N, STEP = 8, 0.5


class Recorded(np.random.Generator):
    """A generator that keeps what was drawn for restarts; CMA-ES draws normal numbers alone."""

    def __init__(self, seed):
        super().__init__(np.random.PCG64(seed))
        self.drawn = []

    def random(self, *arguments):
        self.drawn.append(super().random(*arguments))
        return self.drawn[-1]


def told(optimizer, n, fitness):
    for _ in range(n):
        candidates = optimizer.ask()
        optimizer.tell(candidates, fitness(candidates))
    return optimizer


def flat(thetas):
    return np.ones(len(thetas))


def sphere(thetas):
    return (thetas**2).sum(axis=1)


def ragged(thetas):
    return np.floor(3 * sphere(thetas))


def searches(optimizer, n_evaluations):
    """Those that ended where all errors are the same: candidates, first step, evaluations."""
    begun = []
    while optimizer.n_evaluations < n_evaluations:
        if not begun or begun[-1][0] is not optimizer.search:
            begun.append((optimizer.search, optimizer.step_size))
        told(optimizer, 1, flat)
    return [(search.population_size, step, search.n_evaluations) for search, step in begun[:-1]]


def after(ended, schedule, drawn):
    """The twin: kind, candidates and step of the search after those that ended, and its limit."""
    large = [n for kind, _, n in ended if kind == "large"]
    small = [n for kind, _, n in ended if kind == "small"]
    if schedule == "bipop" and sum(small) < sum(large):
        u, v = next(drawn)
        largest = N * 2 ** len(large)
        size = math.floor(N * (0.5 * largest / N) ** (u**2))
        return "small", size, STEP * 10 ** (-2 * v), 0.5 * large[-1]
    return "large", N * 2 ** (len(large) + 1), STEP, math.inf


@pytest.mark.parametrize("schedule", ["ipop", "bipop"])
def test_searches_follow_each_other_as_in_the_slow_twin(schedule):
    rng = Recorded(1)
    found = searches(Restarts(4, population_size=N, schedule=schedule, seed=rng), 20_000)
    drawn, ended, kinds = iter(rng.drawn), [("first", *found[0][::2])], ["first"]
    assert found[0][:2] == (N, STEP)
    for size, step, n in found[1:]:
        kind, *expected, limit = after(ended, schedule, drawn)
        assert (size, step) == (expected[0], pytest.approx(expected[1]))
        assert n < limit + size
        ended.append((kind, size, n))
        kinds.append(kind)
    assert kinds.count("large") > 3  # seen 6 over 12 seeds
    assert (kinds.count("small") > 5) == (schedule == "bipop")


@pytest.mark.parametrize("search", ["CMAES", "DE", "LSHADE"])
def test_a_search_ends_where_it_is_stuck_and_not_before(search):
    stuck = told(Restarts(10, search=search, seed=1), 200, flat)
    n = stuck.counters["restarts"]
    assert n >= 1
    assert stuck.search.population_size == 10 * 2**n
    getting_on = told(Restarts(10, search=search, population_size=40, seed=1), 120, sphere)
    assert getting_on.counters["restarts"] == 0
    assert getting_on.best.error < 1e-3  # seen 2e-5 at most over 12 seeds


def test_the_scale_of_errors_changes_nothing():
    one, far = (told(Restarts(6), 60, lambda x, a=a: a * sphere(x)) for a in (1.0, 4.0))
    assert np.array_equal(one.best.theta, far.best.theta)


@pytest.mark.parametrize(
    ("search", "schedule"), [("CMAES", "ipop"), ("CMAES", "bipop"), ("LSHADE", "bipop")]
)
def test_a_restored_one_goes_on_bit_by_bit_across_restarts(search, schedule):
    whole, parts = (Restarts(6, search=search, schedule=schedule, seed=2) for _ in range(2))
    while whole.counters["restarts"] < 4:
        told(whole, 1, ragged)
        parts = told(Optimizer.from_state(through_json(parts.state())), 1, ragged)
        assert np.array_equal(whole.ask(), parts.ask())


def test_parents_that_were_judged_again_are_those_of_the_search_under_way():
    optimizer = told(Restarts(6, search="DE", seed=1), 3, sphere)
    n, errors = optimizer.n_evaluations, 2 + sphere(optimizer.parents)
    optimizer.renew(errors)
    assert np.array_equal(optimizer.search.errors, errors)
    assert optimizer.n_evaluations == n + len(errors)
    assert sphere(optimizer.finalists).min() <= optimizer.best.error


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"search": "CMA-ES"}, "unknown search 'CMA-ES'"),
        ({"schedule": "pop"}, "unknown schedule 'pop'"),
        ({"growth": 0.5}, "growth must be a finite number in"),
    ],
)
def test_what_cannot_be_restarted_is_refused(options, words):
    with pytest.raises(ValueError, match=words):
        Restarts(6, **options)
