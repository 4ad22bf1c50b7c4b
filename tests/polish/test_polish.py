"""Polishing against finite differences, 60 digits, its NumPy twin, and hard cases."""

import dataclasses
import json
import math
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings

import symbreak
from symbreak import LeastSquares, Problem, Topology, load_problem, train
from symbreak._activations import ACTIVATIONS
from symbreak._polish import _products as products
from symbreak._polish import _steps
from symbreak._polish._evidence import EvidencePolisher, evidence_of
from symbreak._polish._linearisation import Linearisation, jacobian_cost
from symbreak._polish._polisher import Polisher
from symbreak._polish._steps import Dense, Dual, large_step
from symbreak.models import Model
from tests import reference_polish
from tests.papers import paper_problem
from tests.polishing import polish
from tests.reference import ridge_shares
from tests.strategies import seeds, topologies

REASONS = {
    *("converged: gradient", "converged: step", "converged: error"),
    *("max_iterations", "zero residual", "budget", "not finite"),
}


def make_problem(net, *, K=60, seed=0, alpha=0.0, weights=False, rescale="unit", **options):
    """A problem of random data; settings that a problem does not check yet are put in."""
    rng = np.random.default_rng(seed)
    topology = Topology.parse(net) if isinstance(net, str) else net
    X = rng.normal(size=(K, topology.n_inputs))
    y = np.sin(X @ rng.normal(size=(topology.n_inputs, topology.n_outputs)))
    problem = paper_problem(
        X, y + 0.1 * rng.normal(size=y.shape), hidden=topology.hidden, **options
    )
    problem = dataclasses.replace(problem, topology=topology)
    object.__setattr__(problem, "alpha", alpha)
    object.__setattr__(problem, "rescale", rescale)
    if weights:
        object.__setattr__(problem.train, "weights", rng.uniform(0.2, 3, size=K))
    return problem


def options_of(problem):
    return {
        "shift": problem.output_shift,
        "alpha": problem.alpha,
        "weights": problem.train.weights,
    }


def run(polisher):
    while not polisher.finished:
        polisher.step()
    return polisher


def full(G):
    return np.tril(G) + np.tril(G, -1).T


CASES = [
    (net, activation, shift, weights, alpha)
    for net in ("2-4-1", "3-4-3", "2-3-2-3-3", "2-2-6")
    for activation in ACTIVATIONS
    for shift, weights, alpha in ((False, False, 0.0), (True, True, 0.3))
]


@pytest.mark.interpreted
@pytest.mark.parametrize(("net", "activation", "shift", "weights", "alpha"), CASES)
def test_the_normal_equations_are_the_twins_and_the_gradient_that_of_finite_differences(
    net, activation, shift, weights, alpha
):
    problem = make_problem(
        f"{net} {activation}", K=301, alpha=alpha, weights=weights, output_shift=shift
    )
    topology, X, Y = problem.topology, problem.train.X, problem.train.y
    theta = np.random.default_rng(1).normal(size=topology.dim)
    here = Linearisation(problem)
    total = here(theta, alpha)
    options = options_of(problem)
    assert total == pytest.approx(
        reference_polish.objective(theta, topology, X, Y, **options), rel=1e-12
    )
    G, g = reference_polish.normal_equations(theta, topology, X, Y, **options)
    scale = np.sqrt(np.outer(G.diagonal(), G.diagonal())) + 1e-12
    assert np.abs(full(here.G) - G).max() <= 1e-9 * scale.max()
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
    here = Linearisation(problem)
    here(theta, problem.alpha)
    exact = reference_polish.exact_gradient(
        theta,
        problem.topology.sizes,
        problem.train.X,
        problem.train.y,
        alpha,
        problem.train.weights,
    )
    assert here.g + problem.alpha * theta == pytest.approx(
        exact, rel=1e-10 / size**2, abs=1e-10 * np.abs(exact).max()
    )


# From 60 digits, at vectors whose output weights are 1e8 and 1e7.
DEGENERATE = {
    0: [
        4.98991662e00,
        2.50839985e01,
        2.12003057e01,
        3.22508469e-02,
        -2.04803883e-01,
        1.36018727e-02,
    ],
    3: [13.04085956, -2.84439796, -4.91475223, 0.02573215, -0.03123821, 0.03297601],
}


@pytest.mark.parametrize("seed", DEGENERATE)
def test_the_gradient_keeps_its_digits_where_hidden_outputs_are_nearly_dependent(seed):
    """A residual orthogonal up to rounding, times derivatives of 1e8, would have none."""
    problem = load_problem("autoenc-circle")
    theta = np.random.default_rng(seed).uniform(-1, 1, size=problem.topology.dim)
    here = Linearisation(problem)
    here(theta, 0.0)
    assert np.abs(here.output_weights).max() > 1e7
    assert here.g[[0, 20, 40, 55, 60, 75]] == pytest.approx(DEGENERATE[seed], rel=1e-3)
    G, _ = reference_polish.normal_equations(
        theta, problem.topology, problem.train.X, problem.train.y
    )
    scale = np.sqrt(np.outer(G.diagonal(), G.diagonal()))
    assert np.abs((full(here.G) - G) / scale).max() <= 1e-3


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

    h = 1e-6
    J = np.array(
        [
            (residual(theta + h * e) - residual(theta - h * e)) / (2 * h)
            for e in np.eye(topology.dim)
        ]
    )
    here = Linearisation(problem)
    here(theta, 0.0)
    assert full(here.G) == pytest.approx(J @ J.T, abs=1e-7 * here.G.max())


@pytest.mark.parametrize("size", [1.0, 1e-2, 1e-4])
def test_products_of_nearly_linear_networks_are_not_lost_to_cancellation(size):
    """Small weights: the derivatives lie almost in the span of the hidden outputs."""
    problem = make_problem("2-3-2", K=50)
    theta = size * np.random.default_rng(2).normal(size=9)
    here = Linearisation(problem)
    here(theta, 0.0)
    G, _ = reference_polish.normal_equations(
        theta, problem.topology, problem.train.X, problem.train.y
    )
    scale = np.sqrt(np.outer(G.diagonal(), G.diagonal()))
    assert np.abs((full(here.G) - G) / scale).max() <= 1e-13 / size**3
    assert np.linalg.eigvalsh(full(here.G)).min() >= -1e-14 * here.G.max()


@pytest.mark.parametrize("K", [1, 2, 15, 16, 17, 255, 256, 257, 700])
def test_any_number_of_samples_is_right_around_blocks_and_padding(K):
    problem = make_problem("2-3-2-1", K=K, output_shift=True)
    theta = np.random.default_rng(0).normal(size=problem.topology.dim)
    here = Linearisation(problem)
    here(theta, 0.0)
    G, g = reference_polish.normal_equations(
        theta, problem.topology, problem.train.X, problem.train.y, shift=True
    )
    assert full(here.G) == pytest.approx(G, rel=1e-7, abs=1e-13 * K)  # all zero for 1 and 2
    assert here.g == pytest.approx(g, rel=1e-7, abs=1e-13 * K)


def test_a_hundred_thousand_samples_need_no_matrix_of_samples_by_parameters():
    problem = make_problem("2-20-20-1", K=100_000)
    arrays = [v for v in vars(Linearisation(problem)).values() if isinstance(v, np.ndarray)]
    assert sum(a.size for a in arrays) < 0.4 * len(problem.train) * problem.topology.dim


def test_an_iteration_is_the_twins():
    problem = make_problem("2-4-3-1", output_shift=True)
    theta = np.random.default_rng(4).uniform(-1, 1, size=problem.topology.dim)
    polisher = Polisher(LeastSquares(problem), theta)
    polisher.step()
    damping, growth, error = 1e-3, 2.0, np.inf
    while error >= reference_polish.iterate(theta, problem, 1e30)[1]:  # no step
        trial, error, promised = reference_polish.iterate(theta, problem, damping)
        taken, damping, growth = damping, damping * growth, 2 * growth
    assert taken > 1e-3  # the first trial failed, or this tests less
    assert polisher.theta == pytest.approx(trial, rel=1e-8)
    assert polisher.error == pytest.approx(error, rel=1e-8)
    before = reference_polish.iterate(theta, problem, 1e30)[1]
    gain = (before - error) / promised
    assert polisher._damping == pytest.approx(taken * max(1 / 3, 1 - (2 * gain - 1) ** 3))


def test_a_step_out_of_the_ball_ends_at_the_best_point_of_its_sphere():
    rng = np.random.default_rng(0)
    J, g, theta = rng.normal(size=(9, 6)), 30 * rng.normal(size=6), rng.normal(size=6)
    G, damping, ridge, radius = J.T @ J, 0.1, np.array([0.2, 0.2, 0.02, 0.2, 0.2, 0.02]), 3.0
    v = np.empty(6)
    fall = _steps.damped_step(theta, G, g, ridge, damping, radius, v)
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


@pytest.mark.parametrize("start", ["inside", "outside"])
@pytest.mark.parametrize("rescale", ["unit", "radius"])
def test_a_problem_with_a_ball_is_polished_inside_it(start, rescale):
    problem = dataclasses.replace(load_problem("inc-sinc"), rescale=rescale)
    D = problem.topology.dim
    theta = np.random.default_rng(2).uniform(-1, 1, size=D) * (1 if start == "inside" else 9)
    polisher = Polisher(LeastSquares(problem), theta, max_iterations=60)
    evaluate = LeastSquares(problem)
    lengths = []
    while not polisher.finished:
        polisher.step()
        assert evaluate.evaluated(polisher.theta)[1] == 0.0
        lengths.append(np.linalg.norm(polisher.theta) / math.sqrt(D))
    if start == "inside":
        assert max(lengths) > 0.999  # the sphere was reached, or this tests nothing
    assert polisher.error < 0.01 * evaluate(theta[None])[0]


def test_without_a_ball_weights_may_grow():
    problem = load_problem("inc-sinc")
    object.__setattr__(problem, "rescale", "none")
    theta = np.random.default_rng(11).uniform(-1, 1, size=10)
    polisher = run(Polisher(LeastSquares(problem), theta, max_iterations=60))
    assert np.linalg.norm(polisher.theta) > math.sqrt(10)
    assert polisher.error < 0.01  # seen 1e-4 to 9e-4 over 12 seeds


def test_the_ridge_shrinks_the_network_and_is_part_of_the_error():
    theta = np.random.default_rng(1).uniform(-1, 1, size=12)
    sizes = []
    for alpha in (0.0, 0.1, 10.0):
        problem = make_problem("2-4-2", alpha=alpha, rescale="none", output_shift=True)
        polisher = run(Polisher(LeastSquares(problem), theta))
        total = reference_polish.objective(
            polisher.theta,
            problem.topology,
            problem.train.X,
            problem.train.y,
            **options_of(problem),
        )
        assert polisher.error == pytest.approx(total / problem.train.y.size, rel=1e-9)
        sizes.append(np.linalg.norm(polisher.theta))
    assert sizes[0] > sizes[1] > sizes[2]


HARD = {
    "one sample": {"K": 1},
    "fewer samples than parameters": {"K": 7},
    "fewer samples than hidden neurons": {"K": 3},
    "more outputs than hidden neurons": {"net": "2-2-6", "K": 30},
    "one neuron": {"net": "1-1-1", "K": 30},
    "saturated": {"scale": 1e3},
    "no weights at all": {"scale": 0.0},
    "tiny weights": {"scale": 1e-9},
    "equal neurons": {"equal": True},
    "zero targets": {"zero": True},
}


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("rescale", ["unit", "none"])
@pytest.mark.parametrize("name", HARD)
def test_hard_cases_end_with_a_reason_and_nothing_worse(name, rescale, activation):
    case = {"net": "2-4-3-2", "K": 30, "scale": 1.0, "equal": False, "zero": False, **HARD[name]}
    problem = make_problem(f"{case['net']} {activation}", K=case["K"], rescale=rescale)
    if case["zero"]:
        object.__setattr__(problem.train, "y", np.zeros_like(problem.train.y))
    theta = case["scale"] * np.random.default_rng(7).normal(size=problem.topology.dim)
    if case["equal"]:
        for layer in problem.topology.layers(theta):
            layer[:] = layer[0]
    polisher = Polisher(LeastSquares(problem), theta, max_iterations=30)
    start = polisher.error
    run(polisher)
    assert polisher.reason in REASONS
    assert polisher.error <= start
    assert np.isfinite(polisher.theta).all()
    assert math.isfinite(polisher.error)


@given(topologies(max_layers=3, max_width=4, max_replicas=10**6), seeds())
@settings(max_examples=25)
def test_what_is_reported_is_what_the_evaluator_says_and_never_worse(topology, seed):
    rng = np.random.default_rng(seed)
    problem = make_problem(topology, K=int(rng.integers(1, 50)), seed=seed)
    theta = 2 * rng.normal(size=topology.dim)
    evaluate = LeastSquares(problem)
    result = polish(theta, problem, max_iterations=8)
    assert result.error == evaluate(result.theta[None])[0]
    assert result.error <= evaluate(theta[None])[0]


def test_the_model_is_the_network_and_may_be_polished_again():
    problem = make_problem("2-4-1", K=80, output_shift=True)
    first = polish(np.random.default_rng(0).normal(size=12), problem, max_iterations=3)
    X = problem.inputs.undo(problem.train.X)
    y = problem.targets.undo(problem.train.y)
    assert isinstance(first.model, Model)
    assert first.model.error(X, y) == pytest.approx(first.error, rel=1e-9)
    again = symbreak.polish(first.model, problem)
    assert again.origin["error"] < first.error
    with pytest.raises(ValueError, match="2-4-1 network, the problem has 2-5-1"):
        symbreak.polish(first.model, make_problem("2-5-1"))


def test_classes_are_polished_by_the_evaluators_error():
    problem = load_problem("two-circles")
    theta = np.random.default_rng(0).uniform(-1, 1, size=problem.topology.dim)
    evaluate = LeastSquares(problem)
    result = polish(theta, problem, max_iterations=30)
    assert result.error == evaluate(result.theta[None])[0] < 0.7 * evaluate(theta[None])[0]
    assert LeastSquares(problem).network_error(result.model) == pytest.approx(
        result.error, rel=1e-6
    )


def test_a_polish_continues_from_its_state_bit_by_bit():
    problem = load_problem("sinc")
    theta = np.random.default_rng(0).uniform(-1, 1, size=10)
    straight = run(Polisher(LeastSquares(problem), theta, max_iterations=25))
    polisher = Polisher(LeastSquares(problem), theta, max_iterations=25)
    while not polisher.finished:
        polisher.step()
        state = polisher.state()
        arrays = {k: v for k, v in state.items() if isinstance(v, np.ndarray)}
        plain = json.loads(json.dumps({k: v for k, v in state.items() if k not in arrays}))
        polisher = Polisher.from_state(LeastSquares(problem), {**plain, **arrays})
    assert polisher.theta.tobytes() == straight.theta.tobytes()
    assert polisher.state()["numbers"].tobytes() == straight.state()["numbers"].tobytes()
    assert polisher.state()["counts"] == straight.state()["counts"]
    with pytest.raises(ValueError, match="another problem"):
        Polisher.from_state(load_problem("inc-sinc"), straight.state())
    with pytest.raises(ValueError, match="lacks 'numbers'"):
        Polisher.from_state(LeastSquares(problem), {**plain, "theta": theta, "best": theta})


def test_work_is_counted_and_never_exceeds_the_budget():
    problem = load_problem("sinc")
    theta = np.random.default_rng(0).uniform(-1, 1, size=10)
    cost = jacobian_cost(problem.topology, 200)
    assert 5 <= cost <= 30
    for budget in (2, 2 + cost, 3 * cost, 100):
        result = polish(theta, problem, max_evaluations=budget)
        assert result.n_evaluations <= budget
        assert result.reason == "budget"
        assert result.n_evaluations >= 1 + result.n_iterations * (cost + 1)
    assert polish(theta, problem, max_iterations=4).reason == "max_iterations"


def test_errors_that_are_no_least_squares_have_no_polish():
    problem = dataclasses.replace(load_problem("two-circles"), output_error="tanh")
    with pytest.raises(ValueError, match="a polish needs least squares"):
        polish(np.zeros(problem.topology.dim), problem)
    with pytest.raises(ValueError, match="a polish needs least squares"):
        symbreak.train(problem)


def test_a_fit_without_residual_ends_at_once():
    problem = make_problem("2-4-1", K=4)
    result = polish(np.random.default_rng(0).normal(size=12), problem)
    assert result.reason == "zero residual"
    assert result.n_iterations <= 2


def test_an_optimum_is_recognised():
    problem = make_problem("1-2-1", K=100, rescale="none", output_shift=True)
    result = run(Polisher(LeastSquares(problem), [0.5, 0.1, -0.3, 0.4], max_iterations=1000))
    assert result.reason.startswith("converged")
    assert result.error <= 1.0001 * run(Polisher(LeastSquares(problem), result.theta)).error


def test_starts_that_are_no_network_are_refused_or_named():
    problem = make_problem("1-2-1 relu", rescale="none")
    with pytest.raises(ValueError, match=r"theta must have shape \(D,\) = \(4,\)"):
        polish([1.0], problem)
    with pytest.raises(ValueError, match="theta must be finite"):
        polish([1.0, np.nan, 0.0, 0.0], problem)
    result = polish([1e308, 1e308, 1.0, 1e308], problem)
    assert result.reason == "not finite"
    assert result.model is None


def test_threads_do_not_change_results():
    problem = load_problem("sinc2d")
    starts = np.random.default_rng(0).uniform(-1, 1, size=(8, problem.topology.dim))

    def polished(theta):
        return polish(theta, problem, max_iterations=15).theta.tobytes()

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(polished, starts)) == [polished(theta) for theta in starts]


SCRIPT = """
import sys
import numpy as np
from tests.papers import paper_problem
from tests.polishing import polish
rng = np.random.default_rng(0)
X = rng.normal(size=(20, 2))
problem = paper_problem(X, np.sin(X.sum(axis=1)), hidden=(3, 2), output_shift=True)
np.save(sys.argv[1], polish(rng.uniform(-1, 1, size=17), problem, max_iterations=3).theta)
"""


def test_the_kernels_give_the_same_without_the_compiler(tmp_path):
    files = []
    for disable in "01":
        files.append(tmp_path / f"{disable}.npy")
        environment = {**os.environ, "NUMBA_DISABLE_JIT": disable}
        command = [sys.executable, "-c", SCRIPT, str(files[-1])]
        subprocess.run(command, env=environment, check=True, timeout=300)
    compiled, interpreted = map(np.load, files)
    assert compiled == pytest.approx(interpreted, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "starts", "error"),
    [
        ("sinc", 30, 0.00016),  # 5 to 7 of 30 starts did, with three seeds
        ("inc-sinc", 30, 0.00013),  # 7 to 14
        ("autoenc-circle", 30, 0.00005),  # 10 to 13
        ("autoenc-sphere", 20, 0.0002),  # 5
    ],
)
def test_random_starts_reach_the_floors_of_the_papers_problems(name, starts, error):
    problem = load_problem(name)
    rng = np.random.default_rng(0)
    thetas = rng.uniform(-1, 1, size=(starts, problem.topology.dim))
    assert min(polish(theta, problem, max_iterations=400).error for theta in thetas) <= error


@pytest.mark.slow
def test_sinc2d_is_solved_in_a_fifth_of_short_searches_with_a_polish():
    problem = load_problem("sinc2d")
    found = [train(problem, "DE-SB", max_evaluations=10_000, seed=seed).theta for seed in range(20)]
    errors = [polish(theta, problem).error for theta in found]
    assert sum(error < 1.1 * 0.00245 for error in errors) >= 4  # 9 to 15 in three groups


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
    products.pack_rows(Q, panels)
    products.add_products(panels, B, D, H)
    np.testing.assert_allclose(H, 1 + Q @ B[:D].T, rtol=1e-12, atol=1e-12)

    columns = products.column_panels(n, samples)
    products.pack_columns(Q, columns)
    weights, out = rng.normal(size=(products.ROWS, n)), np.empty((products.ROWS, samples))
    products.combine(weights, 0, columns, out)
    assert out == pytest.approx(weights @ Q, rel=1e-12, abs=1e-12)
    products.combine_last(weights[0], Q, out[1])
    assert out[1] == pytest.approx(out[0], rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("radius", [np.inf, 2.0])
@pytest.mark.parametrize("K", [30, 5])
def test_the_step_of_a_large_network_is_that_of_a_small_one(K, radius):
    rng, D = np.random.default_rng(K), 12
    J, theta, r = rng.normal(size=(K, D)), rng.normal(size=D) / 2, rng.normal(size=K)
    ridge, damping, G, g = rng.uniform(0.1, 1, size=D), 0.1, J.T @ J, J.T @ r
    small = np.empty(D)
    fall = _steps.damped_step(theta, np.tril(G), g, ridge, damping, radius, small)
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
