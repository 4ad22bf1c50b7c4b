"""A Gauss-Newton step's equations against finite differences, 60 digits and their NumPy twin."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from symbreak import LeastSquares, Problem, load_problem
from symbreak._activations import ACTIVATIONS
from symbreak._polish import _products as products
from symbreak._polish import _steps
from symbreak._polish._evidence import EvidencePolisher, evidence_of
from symbreak._polish._linearisation import Linearisation
from symbreak._polish._steps import Dense, Dual, large_step
from tests import reference_polish
from tests.polishing import make_problem
from tests.reference import ridge_shares
from tests.strategies import seeds

CASES = [
    (net, activation, shift, weights, alpha)
    for net in ("2-4-1", "3-4-3", "2-3-2-3-3", "2-2-6")
    for activation in ACTIVATIONS
    for shift, weights, alpha in ((False, False, 0.0), (True, True, 0.3))
]


def full(G):
    return np.tril(G) + np.tril(G, -1).T


def linearised(problem, theta):
    """What is tested, and its sum of squares; normal equations by the twin, and its sum."""
    parts = theta, problem.topology, problem.train.X, problem.train.y
    here, options = Linearisation(problem), {"shift": problem.output_shift}
    options |= {"alpha": problem.alpha, "weights": problem.train.weights}
    total = here(theta, problem.alpha)
    G, g = reference_polish.normal_equations(*parts, **options)
    return here, total, G, g, reference_polish.objective(*parts, **options)


def apart(G, twin):
    """The largest difference of matrices, each entry measured by its row and column."""
    scale = np.sqrt(np.outer(twin.diagonal(), twin.diagonal()))
    return np.abs((full(G) - twin) / np.where(scale > 0, scale, 1.0)).max()


@pytest.mark.interpreted
@pytest.mark.parametrize(("net", "activation", "shift", "weights", "alpha"), CASES)
def test_the_normal_equations_are_the_twins_and_the_gradient_that_of_finite_differences(
    net, activation, shift, weights, alpha
):
    options = {"alpha": alpha, "weights": weights, "output_shift": shift}
    problem = make_problem(f"{net} {activation}", K=301, **options)
    topology = problem.topology
    theta = np.random.default_rng(1).normal(size=topology.dim)
    here, total, G, g, expected = linearised(problem, theta)
    assert total == pytest.approx(expected, rel=1e-12)
    assert np.abs(full(here.G) - G).max() <= 1e-9 * (G.diagonal().max() + 1e-12)
    assert here.g == pytest.approx(g, rel=1e-9, abs=1e-9 * np.abs(g).max())

    shares = ridge_shares(topology.sizes)
    h, gradient = 1e-6, here.g + alpha * np.multiply(shares, theta)
    differences = [
        (here.fit(theta + h * e, alpha) - here.fit(theta - h * e, alpha)) / (4 * h)
        for e in np.eye(topology.dim)
    ]
    rounding = 8 * np.spacing(here.fit(theta, alpha)) / (4 * h)  # a few last bits of either fit
    tolerance = 1e-6 * np.abs(gradient).max() + rounding
    assert gradient == pytest.approx(np.array(differences), abs=tolerance)


@pytest.mark.parametrize(("size", "alpha"), [(1.0, 0.01), (1.0, 0.0), (0.01, 0.0), (0.01, 0.01)])
def test_the_gradient_is_that_of_sixty_digits(size, alpha):
    """Also where weights are small, hidden outputs nearly dependent and output weights large."""
    problem = make_problem("2-4-2", K=9, alpha=alpha, weights=True, output_shift=True)
    theta = size * np.random.default_rng(3).normal(size=problem.topology.dim)
    here, *_ = linearised(problem, theta)
    data = problem.train
    exact = reference_polish.exact_gradient(
        theta, problem.topology.sizes, data.X, data.y, alpha, data.weights
    )
    tolerances = {"rel": 1e-10 / size**2, "abs": 1e-10 * np.abs(exact).max()}
    assert here.g + alpha * theta == pytest.approx(exact, **tolerances)


# From 60 digits, at vectors whose output weights are 1e8 and 1e7.
DEGENERATE = {
    0: [4.98991662, 25.0839985, 21.2003057, 0.0322508469, -0.204803883, 0.0136018727],
    3: [13.04085956, -2.84439796, -4.91475223, 0.02573215, -0.03123821, 0.03297601],
}


@pytest.mark.parametrize("seed", DEGENERATE)
def test_the_gradient_keeps_its_digits_where_hidden_outputs_are_nearly_dependent(seed):
    """A residual orthogonal up to rounding, times derivatives of 1e8, would have none."""
    problem = load_problem("autoenc-circle")
    theta = np.random.default_rng(seed).uniform(-1, 1, size=problem.topology.dim)
    here, _, G, _, _ = linearised(problem, theta)
    assert np.abs(here.output_weights).max() > 1e7
    assert here.g[[0, 20, 40, 55, 60, 75]] == pytest.approx(DEGENERATE[seed], rel=1e-3)
    assert apart(here.G, G) <= 1e-3


def test_the_jacobian_is_that_of_the_residual_where_the_residual_is_zero():
    """There the part that Kaufman leaves out vanishes."""
    problem = make_problem("2-3-2-2", K=40)
    topology, X = problem.topology, problem.train.X
    theta = np.random.default_rng(5).normal(size=topology.dim)
    A = reference_polish.network.hidden_outputs(theta, topology, X)
    Y = A @ np.random.default_rng(6).normal(size=(2, 2))
    object.__setattr__(problem.train, "y", Y)

    def residual(t):
        A, Y_, _, W, _ = reference_polish.fit(t, topology, X, Y)
        return (Y_ - A @ W).ravel()

    steps = 1e-6 * np.eye(topology.dim)
    J = np.array([(residual(theta + step) - residual(theta - step)) / 2e-6 for step in steps])
    here, *_ = linearised(problem, theta)
    assert full(here.G) == pytest.approx(J @ J.T, abs=1e-7 * here.G.max())


@pytest.mark.parametrize("size", [1.0, 1e-2, 1e-4])
def test_products_of_nearly_linear_networks_are_not_lost_to_cancellation(size):
    """Small weights: the derivatives lie almost in the span of the hidden outputs."""
    theta = size * np.random.default_rng(2).normal(size=9)
    here, _, G, _, _ = linearised(make_problem("2-3-2", K=50), theta)
    assert apart(here.G, G) <= 1e-13 / size**3
    assert np.linalg.eigvalsh(full(here.G)).min() >= -1e-14 * here.G.max()


@pytest.mark.parametrize("K", [1, 2, 15, 16, 17, 255, 256, 257, 700])
def test_any_number_of_samples_is_right_around_blocks_and_padding(K):
    problem = make_problem("2-3-2-1", K=K, output_shift=True)
    theta = np.random.default_rng(0).normal(size=problem.topology.dim)
    here, _, G, g, _ = linearised(problem, theta)
    assert full(here.G) == pytest.approx(G, rel=1e-7, abs=1e-13 * K)  # all zero for 1 and 2
    assert here.g == pytest.approx(g, rel=1e-7, abs=1e-13 * K)


@pytest.mark.interpreted
@pytest.mark.parametrize("n", [1, 4, 7, 20])
@pytest.mark.parametrize("D", [1, 6, 17, 37])
def test_products_by_tiles_are_those_of_numpy_with_any_ends(D, n):
    rng, samples = np.random.default_rng(D * n), 48
    B, Q = np.zeros((D + products.SPARE, samples)), rng.normal(size=(n, samples))
    B[:D] = rng.normal(size=(D, samples))
    G, H = np.ones((D, D)), np.ones((n, D))
    for k in (samples, 3):
        products.add_gram(B, D, k, G)
    first = B[:D, :3]
    expected = 1 + np.tril(B[:D] @ B[:D].T + first @ first.T)
    assert np.tril(G) == pytest.approx(np.tril(expected), rel=1e-12, abs=1e-12)

    panels = products.row_panels(n, samples)
    products.pack_rows(Q, 0, n, panels)
    products.add_products(panels, B, D, H)
    np.testing.assert_allclose(H, 1 + Q @ B[:D].T, rtol=1e-12, atol=1e-12)

    columns = products.column_panels(n, samples)
    products.pack_columns(Q, 0, samples, columns)
    weights, out = rng.normal(size=(products.ROWS, n)), np.empty((products.ROWS, samples))
    products.combine(weights, 0, columns, out)
    assert out == pytest.approx(weights @ Q, rel=1e-12, abs=1e-12)
    products.combine_last(weights[0], Q, 0, out[1])
    assert out[1] == pytest.approx(out[0], rel=1e-12, abs=1e-12)


def test_a_step_out_of_the_ball_ends_at_the_best_point_of_its_sphere():
    rng = np.random.default_rng(0)
    J, g, theta = rng.normal(size=(9, 6)), 30 * rng.normal(size=6), rng.normal(size=6)
    G, damping, ridge, radius = J.T @ J, 0.1, np.array([0.2, 0.2, 0.02, 0.2, 0.2, 0.02]), 3.0
    v = np.empty(6)
    fall = _steps.damped_step(theta, G, g, ridge, damping, radius, v, np.empty((2, *G.shape)))
    assert np.linalg.norm(v) == pytest.approx(radius, rel=1e-6)
    d = v - theta
    diagonal = G.diagonal() + ridge
    S = np.diag(np.sqrt(diagonal.max() * diagonal))
    gradient = g + (G + damping * S) @ d + ridge * v
    multiplier = -gradient @ v / radius**2
    assert multiplier > 0
    assert gradient + multiplier * v == pytest.approx(0, abs=1e-4 * np.abs(g).max())
    saved = ridge @ (theta**2 - v**2) / 2
    assert fall == pytest.approx(-g @ d - d @ G @ d / 2 + saved)


@pytest.mark.parametrize("radius", [np.inf, 2.0])
@pytest.mark.parametrize("K", [30, 5])
def test_the_step_of_a_large_network_is_that_of_a_small_one(K, radius):
    rng, D = np.random.default_rng(K), 12
    J, theta, r = rng.normal(size=(K, D)), rng.normal(size=D) / 2, rng.normal(size=K)
    ridge, damping, G, g = rng.uniform(0.1, 1, size=D), 0.1, J.T @ J, J.T @ r
    small = np.empty(D)
    fall = _steps.damped_step(
        theta, np.tril(G), g, ridge, damping, radius, small, np.empty((2, *G.shape))
    )
    for here in (Dense(np.tril(G)), Dual(J)):
        trial, promised = large_step(theta, here, g, ridge, damping, radius)
        assert trial == pytest.approx(small, rel=1e-8)
        assert promised == pytest.approx(fall, rel=1e-8)
        assert here.diagonal == pytest.approx(G.diagonal())
    singular = np.zeros((D, D))
    assert large_step(theta, Dense(singular), g, 0 * ridge, damping, radius)[1] < 0


@pytest.mark.parametrize(("K", "n_outputs"), [(200, 1), (200, 2), (40, 1), (15, 2)])
def test_a_large_network_is_polished_as_a_small_one(monkeypatch, K, n_outputs):
    """By LAPACK, with more samples than weights and with fewer."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(K, 9))
    problem = Problem.from_arrays(X, np.sin(X[:, :n_outputs]), hidden=(12,), alpha="auto")
    theta, found = 0.3 * rng.normal(size=problem.topology.dim), []
    for large in (problem.topology.dim, 1):
        for part in ("_evidence", "_linearisation", "_polisher"):
            monkeypatch.setattr(f"symbreak._polish.{part}.LARGE", large)
        objective = LeastSquares(problem)
        assert (objective.linearisation.J is not None) == (large == 1 and K < 200)
        found.append(evidence_of(objective, theta))
        polisher = EvidencePolisher(objective, theta, max_iterations=1)
        polisher._curvature = None
        polisher.step()
        found.append(polisher)
    small, stepped, large, stepped_large = found
    assert large.n_effective == pytest.approx(small.n_effective, rel=1e-8)
    assert large.log_evidence == pytest.approx(small.log_evidence, rel=1e-8)
    assert stepped_large.theta == pytest.approx(stepped.theta, rel=1e-6)
    assert stepped_large._wanted == pytest.approx(stepped._wanted, rel=1e-6)


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
