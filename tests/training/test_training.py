import dataclasses
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from symbreak import METHODS, LeastSquares, load_problem, make_optimizer, network, train
from symbreak.network import alignment_cost, evaluation_cost
from symbreak.symmetry import NoBreaking
from symbreak.training import Run
from tests.papers import paper_problem


@pytest.fixture(scope="module")
def problem():
    return load_problem("syn5", seed=0)


def assert_same_run(a, b):
    assert a.model.to_json() == b.model.to_json()
    assert [one.to_json() for one in a.members] == [one.to_json() for one in b.members]
    for field in dataclasses.fields(a):
        if field.name not in ("seconds", "versions", "model", "members"):
            same = np.array_equal(getattr(a, field.name), getattr(b, field.name))
            assert same, field.name


def two_classes():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(300, 2))
    y = np.hypot(*X.T) < 0.6
    parts = [(X[i : i + 100], y[i : i + 100]) for i in (0, 100, 200)]
    return paper_problem(
        *parts[0], hidden=(3,), task="classification", validation=parts[1], test=parts[2]
    )


SEARCHES = [name for name, row in METHODS.items() if row.polish == "none"]


@pytest.mark.parametrize("method", SEARCHES)
def test_the_record_of_a_run_is_consistent(problem, method):
    record = train(problem, method, max_evaluations=2_000, seed=4)
    n = record.population_size
    largest = 2 * n if "IPOP" in method else n  # after a restart
    assert 2_000 - largest < record.n_evaluations <= 2_000
    assert not record.interrupted
    assert np.all(np.diff(record.evaluations) >= 0)
    assert np.all(np.diff(record.errors) <= 0)
    assert np.all(np.diff(record.errors)[:-1] < 0)  # all but the end improve
    assert record.evaluations[0] == 1
    assert record.evaluations[-1] == record.n_evaluations
    assert record.error == record.errors[-1] < record.errors[0]
    generations = record.generation_evaluations
    assert generations[-1] == record.n_evaluations
    assert (np.diff(generations, prepend=0) <= largest).all()
    if not method.startswith("L-SHADE"):  # whose population shrinks
        assert generations.tolist() == list(range(n, 2_001, n))
    assert len(record.modified_share) == len(record.generation_evaluations)
    assert (record.modified_share.sum() > 0) == (METHODS[method].breaking is not NoBreaking)
    assert (record.step_size is None) == method.startswith(("DE", "L-SHADE"))
    assert record.seconds > 0
    assert record.versions["numpy"] == np.__version__


def test_the_record_says_how_candidates_are_spread_over_partitions():
    problem = load_problem("sinc")
    plain, aligned = (
        train(problem, method, max_evaluations=40_000, seed=0) for method in ("DE", "DE-SB-LA")
    )
    for record in (plain, aligned):
        evaluations, share, conventions = record.spread.T
        assert evaluations[0] == record.population_size
        growth = evaluations[1:] / evaluations[:-1]
        assert np.all((growth >= 1.2) & (growth < 1.3 + record.population_size / evaluations[:-1]))
        assert np.all((share >= 0) & (share <= 1))
        assert np.all((conventions >= 1) & (conventions <= 100))
        assert conventions[0] > 80
    assert plain.spread[-1, 2] > 80
    assert aligned.spread[-1, 2] < 5


def test_the_spread_of_wide_networks_is_measured_within_a_share_of_the_evaluations():
    X = np.linspace(-1, 1, 20)[:, None]
    narrow, wide = (paper_problem(X, np.sin(3 * X), hidden=(n,)) for n in (5, 60))
    assert len(train(narrow, "DE", max_evaluations=500).spread) == 5
    assert len(train(wide, "DE", max_evaluations=500).spread) == 0
    cost, evaluation = alignment_cost(wide.topology), evaluation_cost(wide.topology, 20)
    assert 100 * cost > 0.05 * 500 * evaluation


@pytest.mark.parametrize("seed", [0, 1])
def test_a_search_does_not_find_lucky_rounding_errors(seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(100, 1))
    y = np.sin(5 * X) + 0.1 * rng.normal(size=(100, 1))
    problem = paper_problem(X, y, hidden=(10,))  # more neurons than a sine needs
    record = train(problem, "CMA-ES", max_evaluations=100_000, seed=seed)
    assert record.network_error == pytest.approx(record.error, rel=1e-2)


def test_the_curve_and_the_trace_are_those_of_the_optimizer(problem):
    record = train(problem, "CMA-ES-SB", max_evaluations=48 * 15, seed=3)
    optimizer, evaluate = make_optimizer("CMA-ES-SB", problem, seed=3), LeastSquares(problem)
    told, shares, steps = [], [], []
    for _ in range(15):
        candidates = optimizer.ask()
        told.extend(errors := evaluate(candidates))
        optimizer.tell(candidates, errors)
        shares.append(optimizer.modified.mean())
        steps.append(np.sqrt(np.linalg.eigvalsh(optimizer.sigma**2 * optimizer.C)[-1]))
    best = np.minimum.accumulate(told)
    improved = [0, *(np.flatnonzero(np.diff(best)) + 1)]
    assert record.evaluations.tolist() == [*(i + 1 for i in improved), 48 * 15]
    assert record.errors.tolist() == [*best[improved], best[-1]]
    assert record.modified_share.tolist() == shares
    assert record.step_size == pytest.approx(steps)


@pytest.mark.parametrize(
    ("name", "method"), [("syn5", "DE-SB"), ("sinc", "CMA-ES-SB"), ("two-circles", "CMA-ES-INV-SB")]
)
def test_the_saved_network_reproduces_the_recorded_error_to_its_condition(name, method):
    problem = load_problem(name)
    record = train(problem, method, max_evaluations=20_000, seed=0)
    A = network.hidden_outputs(record.theta, problem.topology, problem.train.X)
    bound = 1e-9 + 1e3 * np.finfo(float).eps * np.linalg.cond(A)
    assert record.network_error == pytest.approx(record.error, rel=bound)
    outputs = A @ record.output_weights
    if problem.task == "regression":
        mse = np.mean((problem.train.y - outputs) ** 2)
        assert record.network_error == pytest.approx(mse + record.penalty, rel=1e-12)
    assert np.linalg.norm(record.theta) <= np.sqrt(record.theta.size) * (1 + 1e-12)


def test_the_recorded_theta_is_the_vector_that_was_evaluated(problem):
    far = np.full((4, problem.topology.dim), 2.0)
    run = Run(problem, "DE", max_evaluations=4, population_size=4)
    run._running[0].optimizer._asked = far  # nothing but candidates outside the ball
    run.step()
    record = run.record()
    assert record.theta == pytest.approx(far[0] / np.linalg.norm(far[0]))
    assert record.penalty == pytest.approx(50 * (np.linalg.norm(far[0]) - np.sqrt(6)))
    assert record.error == pytest.approx(record.model.error_on(problem.train) + record.penalty)


def test_threads_of_blas_and_of_callers_change_nothing():
    X = np.random.default_rng(0).normal(size=(50, 8))
    problem = paper_problem(X, np.sin(X), hidden=(12, 8))
    options = {"method": "CMA-ES-SB", "max_evaluations": 3_000, "population_size": 300}
    with threadpool_limits(1):
        here = train(problem, **options)
    with threadpool_limits(2), ThreadPoolExecutor(2) as pool:
        there = [job.result() for job in [pool.submit(train, problem, **options) for _ in "ab"]]
    for record in there:
        assert_same_run(here, record)


def noisy_regression():
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, size=(90, 2))
    y = 100 + 5 * np.sin(4 * X[:, 0]) + 2 * rng.normal(size=90)
    parts = [(X[i : i + n], y[i : i + n]) for i, n in ((0, 20), (30, 30), (60, 30))]
    return paper_problem(*parts[0], hidden=(12,), validation=parts[1], test=parts[2])


@pytest.mark.parametrize("make", [two_classes, noisy_regression])
def test_rates_are_taken_over_when_the_validation_rate_improves(make):
    problem = make()
    record = train(problem, "DE-SB", max_evaluations=10_000, seed=0)
    assert record.rates.shape[1] == 4
    assert np.all(np.diff(record.rates[:, 2]) < 0)
    assert set(record.rates[:, 0]) <= set(record.evaluations)
    # the rates are those of the network that is kept
    for column, data in enumerate((problem.train, problem.validation, problem.test), start=1):
        assert record.rates[-1, column] == record.model.error_on(data)
    # trained longer, it has overfitted: of the regression seen 1.2 to 19 times over 12 seeds
    last = LeastSquares(problem).model(record.theta)
    assert not np.array_equal(record.model.theta, last.theta)
    assert last.error_on(problem.validation) >= record.model.error_on(problem.validation)


def test_the_other_reading_of_the_classification_error_trains_too():
    record = train(replace(two_classes(), output_error="tanh"), "DE-SB", max_evaluations=5_000)
    assert record.error < record.errors[0]


def test_the_callback_sees_every_generation_and_can_stop(problem):
    seen = []

    def stop_after_five(progress):
        seen.append(progress)
        return progress.generation == 5

    record = train(problem, "DE", max_evaluations=4_000, callback=stop_after_five)
    assert [p.n_evaluations for p in seen] == [80, 160, 240, 320, 400]
    assert seen[-1].error == record.error
    assert record.n_evaluations == 400
    assert record.interrupted


def test_ctrl_c_ends_with_the_best_so_far_after_a_whole_generation(problem, monkeypatch):
    step, calls = LeastSquares.__call__, []

    def interrupted_inside(self, population):
        errors = step(self, population)
        calls.append(len(errors))
        if sum(calls) == 3 * 48:
            os.kill(os.getpid(), signal.SIGINT)
        return errors

    monkeypatch.setattr(LeastSquares, "__call__", interrupted_inside)
    before = signal.getsignal(signal.SIGINT)
    record = train(problem, "CMA-ES-SB", max_evaluations=40_000)
    assert record.interrupted
    assert record.n_evaluations == record.evaluations[-1] == 3 * 48
    assert len(record.generation_evaluations) == 3
    assert signal.getsignal(signal.SIGINT) is before
    whole = train(problem, "CMA-ES-SB", max_evaluations=3 * 48)
    assert_same_run(replace(record, max_evaluations=3 * 48, stopped="budget"), whole)


def test_a_second_ctrl_c_does_not_wait(problem):
    def impatient(progress):
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        train(problem, "DE", max_evaluations=40_000, callback=impatient)


def test_counts_and_time_survive_an_interruption(problem):
    run = Run(problem, "CMA-ES-SB", max_evaluations=2_000)
    run.step()
    run._running[0].optimizer.counters |= {"repairs": 3, "bounded": 4, "nonfinite": 5}
    run.seconds = 100.0
    other = Run.from_state(problem, run.state())
    other.step()
    record = other.record()
    assert record.counters == {"nonfinite": 5, "repairs": 3, "bounded": 4}
    assert record.seconds > 100


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_evaluations": 79}, r"max_evaluations .* at least 80 \(one generation\), got 79"),
        ({"max_evaluations": 100.5}, "max_evaluations must be an integer"),
        ({"max_evaluations": "many"}, "max_evaluations must be an integer"),
        ({"seed": -1}, "seed must be an integer of at least 0"),
        ({"population_size": 3}, "population_size must be an integer of at least 4"),
        ({"threads": -2}, "threads must be an integer of at least 0"),
        ({"method": "DE-BS"}, "unknown method 'DE-BS'. Did you mean"),
        ({"polish": "gloss"}, "unknown polish 'gloss'"),
        ({"max_evals": 10}, "'max_evals'. Did you mean 'max_evaluations'"),
    ],
)
def test_bad_arguments_are_refused_in_words(problem, options, message):
    with pytest.raises(ValueError, match=message):
        train(problem, **{"method": "DE", **options})
