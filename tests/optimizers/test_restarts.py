"""CMA-ES that begins again with a larger population."""

import numpy as np

from symbreak.optimizers import Optimizer, Restarts


def told(optimizer, n, fitness):
    for _ in range(n):
        candidates = optimizer.ask()
        optimizer.tell(candidates, fitness(candidates))
    return optimizer


def test_the_population_doubles_where_all_errors_are_the_same():
    optimizer = told(Restarts(10, seed=1), 200, lambda thetas: np.ones(len(thetas)))
    assert optimizer.counters["restarts"] >= 1
    assert optimizer.search.population_size == 10 * 2 ** optimizer.counters["restarts"]


def test_no_search_that_gets_on_is_ended():
    optimizer = told(Restarts(10, seed=1), 150, lambda thetas: (thetas**2).sum(axis=1))
    assert optimizer.counters["restarts"] == 0
    assert optimizer.best.error < 1e-3


def test_the_scale_and_the_shift_of_errors_change_nothing():
    def far(thetas):
        return 4.0 * (thetas**2).sum(axis=1)

    one = told(Restarts(6), 60, lambda thetas: (thetas**2).sum(axis=1))
    assert np.array_equal(one.best.theta, told(Restarts(6), 60, far).best.theta)


def test_a_restored_one_goes_on_bit_by_bit_across_restarts():
    def ragged(thetas):
        return np.floor((thetas**2).sum(axis=1))

    whole, parts = Restarts(6, seed=2), Restarts(6, seed=2)
    for _ in range(150):
        told(whole, 1, ragged)
        parts = told(Optimizer.from_state(parts.state()), 1, ragged)
        assert np.array_equal(whole.ask(), parts.ask())
    assert whole.counters["restarts"] > 0
