import copy
import math

import cma
import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from symbreak import CMAES, METHODS, make_optimizer
from symbreak.optimizers import _cmaes, _cmaes_kernels
from symbreak.symmetry import NoBreaking
from tests import reference_cmaes
from tests.optimizers.runs import NET, family, landscape, twin_breaking

REPLACING = ["CMA-ES-SB", "CMA-ES-SB-LA", "CMA-ES-SB-LA-P"]


def twin_of(optimizer):
    names = ("mean", "sigma", "C", "_p_sigma", "_p_c")
    parts = [copy.copy(getattr(optimizer, name)) for name in names]
    return reference_cmaes.CMAESState(*parts, optimizer.generation)


def assert_is_twin(optimizer, twin):
    assert optimizer.mean == pytest.approx(twin.mean, rel=1e-9, abs=1e-12)
    assert optimizer.sigma == pytest.approx(twin.sigma, rel=1e-9)
    assert pytest.approx(twin.C, rel=1e-9, abs=1e-12) == optimizer.C
    assert optimizer._p_sigma == pytest.approx(twin.p_sigma, rel=1e-7, abs=1e-9)
    assert optimizer._p_c == pytest.approx(twin.p_c, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("method", family("CMA-ES"))
def test_generations_are_those_of_the_slow_twin(method):
    n = 12
    optimizer = make_optimizer(method, NET, seed=3, population_size=n)
    twin = twin_of(optimizer)
    rng = np.random.default_rng(3)
    break_all = twin_breaking(method, rng)
    best, best_error, n_modified = None, np.inf, 0
    for _ in range(10):
        candidates = optimizer.ask()
        rng.standard_normal((n, NET.dim))  # what ask drew
        errors = landscape(candidates)
        optimizer.tell(candidates, errors)

        if errors.min() < best_error:
            best, best_error = candidates[errors.argmin()], errors.min()
        moved, modified = break_all(candidates, best)
        n_modified += modified.sum()
        answers = iter(zip(moved, modified, strict=True))
        plain = METHODS[method].breaking is NoBreaking
        twin = reference_cmaes.cmaes_generation(
            twin,
            candidates,
            errors,
            best,
            None if plain else lambda theta, anchor, answers=answers: next(answers),
            replace_mean=method in REPLACING,
            damped=not plain,
            own_partition=method == "CMA-ES-SB-LA-P",
        )
        assert_is_twin(optimizer, twin)
        assert optimizer.modified.tolist() == modified.tolist()
    assert (n_modified > 0) == (not plain)


def test_candidates_have_the_distribution():
    optimizer = CMAES(2, population_size=40_000, mean=[1.0, -2.0], sigma=0.3, seed=0)
    optimizer.C = np.array([[4.0, 1.0], [1.0, 2.0]])
    optimizer._decompose()
    sample = optimizer.ask()
    assert sample.mean(axis=0) == pytest.approx([1.0, -2.0], abs=0.02)
    assert np.cov(sample.T) / 0.3**2 == pytest.approx(optimizer.C, abs=0.1)


def test_one_number_is_the_mean_of_all_coordinates():
    one, each = CMAES(3, mean=0.5, seed=1), CMAES(3, mean=[0.5, 0.5, 0.5], seed=1)
    assert np.array_equal(one.ask(), each.ask())


@pytest.mark.parametrize(("dim", "population_size"), [(6, 48), (10, 400), (152, 1000), (3, 5)])
def test_constants_are_those_of_the_slow_twin(dim, population_size):
    ours = _cmaes_kernels.strategy_constants(dim, population_size)._asdict()
    twin = reference_cmaes.cmaes_constants(dim, population_size)
    assert ours.pop("w") == pytest.approx(np.array(twin["weights"]))
    for name, value in ours.items():
        assert value == pytest.approx(twin[name]), name


def test_the_damped_step_size_does_not_overflow():
    none, some = np.zeros(10), np.full(10, 1e150)
    assert _cmaes_kernels.damped_step_size(2.0, 1e308, some) == 2.0
    assert _cmaes_kernels.damped_step_size(2.0, np.inf, some) == 2.0
    assert np.isfinite(_cmaes_kernels.damped_step_size(2.0, 1e308, none))


@pytest.mark.parametrize(("step", "bound"), [(1e12, 1e10), (1e-120, 1e-100)])
def test_a_step_out_of_bounds_is_bounded_and_counted(step, bound):
    optimizer = CMAES(3, population_size=8, seed=0)
    optimizer.sigma = step
    optimizer._bound_step()
    assert optimizer.step_size == pytest.approx(bound)
    assert optimizer.counters["bounded"] == 1


def test_sigma_drifts_into_the_covariance_without_changing_the_search():
    """The same distribution, written with another sigma, gives the same candidates."""
    here, there = (CMAES(4, population_size=10, seed=0) for _ in range(2))
    advance(here, 5)
    advance(there, 5)
    factor = 2.0**45
    there.sigma *= factor
    there.C, there._p_c = there.C / factor**2, there._p_c / factor
    there._scales, there._root = there._scales / factor, there._root / factor
    for _ in range(30):
        assert there.ask() == pytest.approx(here.ask(), rel=1e-9, abs=1e-12)
        assert there.step_size == pytest.approx(here.step_size, rel=1e-9)
        advance(here, 1)
        advance(there, 1)
    assert 2.0**-40 <= there.sigma <= 2.0**40
    assert there.counters["bounded"] == 0


def advance(optimizer, generations):
    for _ in range(generations):
        candidates = optimizer.ask()
        optimizer.tell(
            candidates, np.sum((candidates - 1) ** 2 * np.arange(1, optimizer.dim + 1), axis=1)
        )


@pytest.mark.parametrize("h", [True, False])
def test_the_covariance_stalls_while_the_step_path_is_long(h):
    optimizer = CMAES(4, population_size=10, seed=0)
    advance(optimizer, 3)
    optimizer._p_sigma = optimizer._p_sigma * (0.1 if h else 100.0)
    twin = twin_of(optimizer)
    candidates = optimizer.ask()
    errors = np.sum(candidates**2, axis=1)
    p_c = optimizer._p_c.copy()
    optimizer.tell(candidates, errors)
    c_c = optimizer._constants.c_c
    assert np.allclose(optimizer._p_c, (1 - c_c) * p_c) == (not h)
    twin = reference_cmaes.cmaes_generation(twin, candidates, errors, candidates[0], None)
    assert_is_twin(optimizer, twin)


def test_candidates_do_not_depend_on_the_signs_of_eigenvectors(monkeypatch):
    def with_other_lapack(C, p_sigma):
        eigenvalues, B = np.linalg.eigh(C)
        B, scales = B * np.resize([1, -1], len(C)), np.sqrt(eigenvalues)
        return B, scales, _cmaes_kernels._symmetric_root(B, scales), False

    here = CMAES(4, population_size=10, seed=0)
    advance(here, 10)
    monkeypatch.setattr(_cmaes, "axes_and_root", with_other_lapack)
    there = CMAES(4, population_size=10, seed=0)
    advance(there, 10)
    assert there.ask() == pytest.approx(here.ask(), rel=1e-9, abs=1e-12)


def test_blas_threads_change_nothing_where_they_are_not_forbidden():
    asked, dim = [], _cmaes.UNTHREADED
    for threads in (1, 4):
        with threadpool_limits(threads, user_api="blas"):
            optimizer = CMAES(dim, population_size=2 * dim, seed=0)
            advance(optimizer, 12)
            asked.append(optimizer.ask())
    assert np.array_equal(*asked)


def test_the_decomposition_lags_where_it_is_dear_and_is_saved_so():
    optimizer = CMAES(60, population_size=6, seed=0)
    lag = 1 / (10 * 60 * optimizer._constants.c_cov)
    assert lag > 1
    decomposed = []
    for _ in range(12):
        advance(optimizer, 1)
        decomposed.append(optimizer._decomposed)
    step = math.ceil(lag)  # the first generation that is at least so far from the last
    assert decomposed == [g // step * step for g in range(1, 13)]
    assert CMAES.from_state(optimizer.state())._decomposed == optimizer._decomposed


def test_a_lost_generation_teaches_nothing():
    optimizer = make_optimizer("CMA-ES-SB", NET, seed=0, population_size=12)
    candidates = optimizer.ask()
    optimizer.tell(candidates, landscape(candidates))
    mean, C, best = optimizer.mean.copy(), optimizer.C.copy(), optimizer.best
    optimizer.tell(optimizer.ask(), np.full(12, np.inf))
    assert np.array_equal(optimizer.mean, mean)
    assert np.array_equal(optimizer.C, C)
    assert optimizer.best is best
    assert not optimizer.modified.any()


def test_the_mean_starts_at_the_centroid_of_a_given_population():
    initial = np.random.default_rng(0).normal(5, 1, size=(20, 3))
    assert CMAES(3, population_size=20, initial_population=initial).mean == pytest.approx(
        initial.mean(axis=0)
    )


@pytest.mark.parametrize("bad", ["negative", "nan", "path"])
def test_a_covariance_that_is_not_definite_is_repaired_and_counted(bad):
    optimizer = CMAES(3, population_size=8, seed=0)
    optimizer.tell(optimizer.ask(), np.arange(8.0))
    if bad == "path":
        optimizer._p_sigma[:] = 1e308
    else:
        optimizer.C = np.diag([1.0, -3.0, 2.0]) if bad == "negative" else np.full((3, 3), np.nan)
    optimizer._decompose()
    assert optimizer.counters["repairs"] == 1
    eigenvalues = np.linalg.eigvalsh(optimizer.C)
    assert eigenvalues[0] > 0
    if bad == "negative":  # what was right stays
        assert eigenvalues[1:] == pytest.approx([1, 2])
    else:
        assert not optimizer._p_sigma.any()
        assert not optimizer._p_c.any()
    advance(optimizer, 200)
    assert optimizer.best.error < 1e-6


def test_a_flat_generation_enlarges_the_step():
    flat, steep = (CMAES(4, population_size=8, seed=0) for _ in range(2))
    ranks = np.arange(8)
    flat.tell(flat.ask(), np.where(ranks <= 4, 1.0, 1.0 + ranks))  # equal up to rank lambda / 2
    steep.tell(steep.ask(), np.where(ranks <= 3, 1.0, 1.0 + ranks))
    k = flat._constants
    assert flat.sigma == pytest.approx(steep.sigma * np.exp(0.2 + k.c_sigma / k.d_sigma))


@pytest.mark.parametrize("function", ["sphere", "rosen"])
def test_evaluations_to_a_target_are_of_the_order_of_pycmas(function):
    dim, n, target = 8, 20, 1e-8
    f = getattr(cma.ff, function)
    start = np.full(dim, 0.2)

    def ours(seed):
        optimizer, count = CMAES(dim, population_size=n, mean=start, sigma=0.3, seed=seed), 0
        while optimizer.best.error > target and count < 100_000:
            candidates = optimizer.ask()
            optimizer.tell(candidates, [f(x) for x in candidates])
            count += n
        return count

    def pycmas(seed):
        options = {"popsize": n, "ftarget": target, "seed": seed + 1, "verbose": -9}
        es = cma.CMAEvolutionStrategy(start, 0.3, options | {"maxfevals": 1e5})
        while not es.stop():
            xs = es.ask()
            es.tell(xs, [f(x) for x in xs])
        return es.result.evaluations

    ratio = np.median([ours(s) for s in range(5)]) / np.median([pycmas(s) for s in range(5)])
    assert 0.5 < ratio < 2
