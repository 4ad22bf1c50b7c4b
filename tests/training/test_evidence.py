"""The evidence against dense matrices of the complete network, and what it is good for."""

import dataclasses

import numpy as np
import pytest

from symbreak import load_problem
from symbreak._polish._evidence import estimate
from symbreak._polish._linearisation import Linearisation
from symbreak.network import hidden_outputs
from symbreak.training import Run
from tests import reference_polish
from tests.papers import paper_problem
from tests.polishing import evidence, make_problem
from tests.reference import ridge_shares


def dense_evidence(problem, theta, alpha):
    """Effective parameters and log evidence from the Hessian of all weights at once."""
    topology, X, Y = problem.topology, problem.train.X, problem.train.y
    K, q, n_last = len(X), topology.n_outputs, topology.hidden[-1]
    weights = problem.train.weights
    weights = np.ones(K) if weights is None else weights
    options = {"shift": problem.output_shift, "alpha": alpha, "weights": weights}
    *_, W, root = reference_polish.fit(theta, topology, X, Y, **options)
    A = hidden_outputs(theta, topology, X, shift=problem.output_shift)
    n = A.shape[1]
    by_theta = reference_polish.derivatives(theta, topology, X, W[:n_last])  # (K, q, D)
    by_weights = np.einsum("kn,op->konp", A, np.eye(q)).reshape(K, q, n * q)
    J = (root[:, :, None] * np.concatenate([by_theta, by_weights], axis=2)).reshape(K * q, -1)
    prior = np.ones(theta.size + n * q)  # shares of the ridge
    prior[: theta.size] = ridge_shares(topology.sizes)
    if problem.output_shift:
        prior[-q:] = 0.0
    hessian = J.T @ J + alpha * np.diag(prior)
    held = prior[prior > 0]
    n_data, n_prior, n_free = weights.sum() * q, len(held), np.sum(prior == 0)
    gamma = n_prior - alpha * np.sum(np.linalg.inv(hessian).diagonal() * prior)
    residual = np.sum((root * (Y - A @ W)) ** 2)
    squares = prior[: theta.size] @ theta**2 + np.sum(W[:n_last] ** 2)
    beta = (n_data - gamma - n_free) / residual
    log_evidence = (
        n_data / 2 * np.log(beta / (2 * np.pi))
        - beta * residual / 2
        + np.sum(np.log(held * alpha * beta / (2 * np.pi))) / 2
        - alpha * beta * squares / 2
        + len(prior) / 2 * np.log(2 * np.pi)
        - np.linalg.slogdet(beta * hessian)[1] / 2
        + np.log(topology.n_replicas)
    )
    return gamma + n_free, log_evidence, gamma / squares / beta


@pytest.mark.parametrize("shift", [False, True])
@pytest.mark.parametrize("net", ["2-4-1", "2-3-4-3", "3-2-2-2", "2-2-5"])
def test_the_estimate_is_that_of_the_dense_hessian_of_all_weights(net, shift):
    problem = make_problem(net, K=70, weights=shift, output_shift=shift)
    theta = np.random.default_rng(1).normal(size=problem.topology.dim)
    here, alpha = Linearisation(problem), 0.3
    here(theta, alpha)
    now = estimate(problem, here, theta, alpha)
    n_effective, log_evidence, wanted = dense_evidence(problem, theta, alpha)
    assert now.n_effective == pytest.approx(n_effective, rel=1e-9)
    assert now.log_evidence == pytest.approx(log_evidence, rel=1e-9)
    assert now.alpha == pytest.approx(np.clip(wanted, alpha / 10, alpha * 10), rel=1e-9)


def friedman(K, rng):
    X = rng.uniform(size=(K, 10))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    return X, y + 10 * X[:, 3] + 5 * X[:, 4] + rng.normal(size=K)


def friedman_problem(K=150, hidden=8):
    rng = np.random.default_rng(0)
    problem = paper_problem(*friedman(K, rng), hidden=(hidden,), output_shift=True)
    object.__setattr__(problem, "rescale", "none")
    return problem


def small_start(problem, seed):
    return 0.3 * np.random.default_rng(seed).normal(size=problem.topology.dim)


def test_the_ridge_settles_where_it_asks_for_itself_and_finds_the_noise():
    problem = friedman_problem(K=400)
    result = evidence(problem, small_start(problem, 0))
    n_effective, log_evidence, wanted = dense_evidence(problem, result.theta, result.alpha)
    assert result.reason.startswith("converged")
    assert wanted == pytest.approx(result.alpha, rel=0.02)
    assert result.n_effective == pytest.approx(n_effective, rel=1e-6)
    assert result.log_evidence == pytest.approx(log_evidence, rel=1e-6)
    assert result.noise * problem.targets.scale[0] == pytest.approx(
        1.0, rel=0.1
    )  # to 0.09 over 12 tables


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_progress_and_record_show_the_error_of_the_network_without_its_ridge(task):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = np.tanh(X[:, 0] - X[:, 1]) + 0.1 * rng.normal(size=80)
    y = y > 0 if task == "classification" else y
    problem = paper_problem(X, y, hidden=(3,), task=task, alpha="auto", rescale="none")
    run = Run(problem, max_evaluations=4_000)

    def error_of(model):
        return run.objective.network_error(model, with_ridge=False)

    while not run.finished:
        run.step()
        under_way = run._running[0]._polisher if run._running else None
        if run.progress.n_starts == 0 and under_way is not None:
            found = under_way.evidence()
            expected = error_of(run.objective.model(found.theta, found.output_weights))
            assert run.progress.fit_error == pytest.approx(expected, rel=1e-9)
    record, progress = run.record(), run.progress
    assert progress.fit_error == error_of(record.model)
    assert progress.in_words == f"error {progress.fit_error:.3g}"
    assert progress.error > 1.01 * progress.fit_error  # that of searches, with a ridge
    assert f"error {record.model.origin['error']:.6g} after" in repr(record)


def test_an_error_with_a_ridge_in_it_is_said_to_have_one():
    problem = dataclasses.replace(load_problem("syn5"), alpha=0.5)
    run = Run(problem, "DE", max_evaluations=400)
    run.step()
    assert run.progress.in_words == f"error {run.error:.3g} with its ridge"
    assert f"error {run.error:.6g} with its ridge after" in repr(run.record())
    run = Run(dataclasses.replace(problem, alpha=0.0), "DE", max_evaluations=400)
    run.step()
    assert run.progress.in_words == f"error {run.error:.3g}"
    assert f"error {run.error:.6g} after" in repr(run.record())
