"""What Gauss-Newton leaves out of the curvature: learnt, trusted and forgotten."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_diabetes

from symbreak import LeastSquares
from symbreak._polish import _steps
from symbreak._polish._polisher import Curvature, Polisher
from tests.papers import paper_problem
from tests.states import through_json
from tests.strategies import seeds

DIABETES = paper_problem(
    *load_diabetes(return_X_y=True), hidden=(5,), rescale="none", output_shift=True
)


def symmetric(rng, dim):
    A = rng.normal(size=(dim, dim))
    return A @ A.T


def learnt(S, step, change, G):
    """NumPy's twin: the sized update of Dennis, Gay and Welsch, on whole matrices."""
    rest = change - G @ step
    size = min(1.0, abs(step @ rest) / abs(step @ S @ step)) if step @ S @ step else 1.0
    rest = rest - size * S @ step
    along = step @ change
    pairs = np.outer(rest, change) + np.outer(change, rest)
    return size * S + pairs / along - (rest @ step) / along**2 * np.outer(change, change)


@pytest.mark.interpreted
@given(seeds(), st.integers(1, 9))
def test_what_is_learnt_explains_the_change_of_the_gradient(seed, dim):
    rng = np.random.default_rng(seed)
    G, S, step = (
        symmetric(rng, dim),
        symmetric(rng, dim) - symmetric(rng, dim),
        rng.normal(size=dim),
    )
    change = symmetric(rng, dim) @ step
    lower = np.tril(S)
    _steps.learn_curvature(lower, step, change, np.tril(G))
    after = lower + np.tril(lower, -1).T
    scale = np.abs(learnt(S, step, change, G)).max()
    np.testing.assert_allclose(after, learnt(S, step, change, G), atol=1e-9 * scale)
    np.testing.assert_allclose((G + after) @ step, change, atol=1e-8 * scale * np.abs(step).max())


def test_nothing_is_learnt_from_a_step_along_which_the_slope_falls():
    S = np.tril(symmetric(np.random.default_rng(0), 4))
    before, step = S.copy(), np.ones(4)
    _steps.learn_curvature(S, step, -step, np.eye(4))
    _steps.learn_curvature(S, 0 * step, step, np.eye(4))
    assert (before == S).all()


def test_the_model_that_foretold_a_step_better_is_used_next():
    curvature = Curvature(2)
    curvature.S[:] = [[2.0, 0.0], [1.0, 4.0]]  # 2 x^2 + 2 x y + 4 y^2
    step = np.array([1.0, -1.0])  # for which it adds 2 to what a fall lacks
    curvature.judge(step, promised=5.0, fall=3.1)
    assert curvature.in_use
    curvature.judge(step, promised=3.0, fall=4.9)
    assert not curvature.in_use


def test_what_is_not_finite_is_forgotten():
    curvature, step = Curvature(2), np.array([1e-150, 0.0])
    curvature.hessian(np.zeros(2), np.eye(2), np.zeros(2))
    curvature.hessian(step, np.eye(2), np.array([1e154, 0.0]))
    assert (curvature.S == 0).all()
    assert not curvature.in_use


def ends(problem, n, n_iterations, curved=True):
    """Errors of polishes that begin with small weights; and why they ended."""
    rows, columns = problem.topology.shapes[0]
    for seed in range(n):
        theta = np.random.default_rng(seed).uniform(-1, 1, size=problem.topology.dim)
        theta[: rows * columns] /= np.sqrt(columns - 1)
        polisher = Polisher(LeastSquares(problem), theta, max_iterations=n_iterations)
        if not curved:
            polisher._curvature = None
        while not polisher.finished:
            polisher.step()
        yield polisher.error, polisher.reason


def test_a_table_is_fitted_better_in_fewer_iterations():
    curved = [error for error, _ in ends(DIABETES, 10, 80)]
    plain = [error for error, _ in ends(DIABETES, 10, 160, curved=False)]
    assert np.mean(curved) < np.mean(plain)  # .329 and .336; .344 and .329 with 80 and 400


def test_gauss_newton_has_the_last_word_on_convergence(monkeypatch):
    theta = np.random.default_rng(6).uniform(-0.3, 0.3, size=DIABETES.topology.dim)
    polisher, forgotten, forget = (
        Polisher(LeastSquares(DIABETES), theta, max_iterations=400),
        [],
        Curvature.forget,
    )
    monkeypatch.setattr(
        Curvature, "forget", lambda c: (forgotten.append(polisher.n_iterations), forget(c))
    )
    while not polisher.finished:
        polisher.step()
    assert polisher.reason.startswith("converged")
    assert forgotten
    assert max(forgotten) < polisher.n_iterations


def test_a_polish_without_a_ball_continues_from_its_state_bit_by_bit():
    theta = np.random.default_rng(3).uniform(-0.3, 0.3, size=DIABETES.topology.dim)
    straight = Polisher(LeastSquares(DIABETES), theta, max_iterations=30)
    broken = Polisher(LeastSquares(DIABETES), theta, max_iterations=30)
    used = []
    while not straight.finished:
        straight.step()
        broken.step()
        used.append(broken._curvature.in_use)
        broken = Polisher.from_state(LeastSquares(DIABETES), through_json(broken.state()))
    assert any(used)
    assert not all(used)
    assert broken.theta.tobytes() == straight.theta.tobytes()
    assert (
        broken.state()["curvature"]["S"].tobytes() == straight.state()["curvature"]["S"].tobytes()
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [("S", np.zeros((2, 2))), ("S", None), ("theta", np.zeros(3)), ("g", "x"), ("in_use", 1.0)],
)
def test_a_tampered_curvature_is_refused(name, value):
    theta = np.zeros(DIABETES.topology.dim)
    state = Polisher(LeastSquares(DIABETES), theta).state()
    tampered = {**state, "curvature": {**state["curvature"], name: value}}
    with pytest.raises(ValueError, match=f"the state's {name} must"):
        Polisher.from_state(LeastSquares(DIABETES), tampered)


def test_numbers_of_a_curvature_must_be_finite():
    state = Polisher(LeastSquares(DIABETES), np.zeros(DIABETES.topology.dim)).state()
    S = np.full_like(state["curvature"]["S"], np.inf)
    tampered = {**state, "curvature": {**state["curvature"], "S": S}}
    with pytest.raises(ValueError, match="the state's S"):
        Polisher.from_state(LeastSquares(DIABETES), tampered)
