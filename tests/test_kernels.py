"""The compiled kernels against their NumPy twin, nested loops and 60 digits."""

import math
import os
import subprocess
import sys
from itertools import product

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from symbreak import LeastSquares, Topology, _kernels, network
from symbreak._activations import ACTIVATIONS
from symbreak.objectives._least_squares import _sample_rows
from symbreak.symmetry import flip, replicas
from tests import reference
from tests.papers import paper_problem
from tests.strategies import seeds, topologies

EPS = np.finfo(float).eps


@_kernels._compiled
def tanh_of(x, out):
    for k in range(len(x)):
        out[k] = _kernels._tanh(x[k])


def our_tanh(x):
    out = np.empty_like(x)
    tanh_of(x, out)
    return out


@_kernels._compiled
def multiplied_and_added(a, b, c):
    return a * b + c


#: Whether compiled code rounds once here, after both.
FUSED = multiplied_and_added(1 + EPS, 1 - EPS, -1.0) != 0


def activated(name, x):
    out = x.copy()
    _kernels.activate(out, ACTIVATIONS[name].code)
    return out


def assert_near_the_truth(ours, x, function, ulp):
    with mpmath.workprec(200):
        for value, got in zip(x.tolist(), ours.tolist(), strict=True):
            true = function(mpmath.mpf(value))
            assert abs(mpmath.mpf(got) - true) <= ulp * np.spacing(abs(float(true))), value


def test_tanh_is_within_three_ulp_of_the_true_value_or_five_without_fused_multiply_add():
    rng = np.random.default_rng(0)
    reductions = np.arange(1, 60) * math.log(2) / 4  # where the reduction changes its mind
    parts = rng.uniform(0, 1, 3000), rng.uniform(0, 25, 3000), 10 ** rng.uniform(-300, 1, 3000)
    x = np.concatenate([*parts, reductions])
    assert_near_the_truth(our_tanh(x), x, mpmath.tanh, 3 if FUSED else 5)


def test_tanh_is_right_at_the_ends():
    ends = our_tanh(np.array([0.0, -0.0, np.inf, -np.inf, 700.0, np.nan]))
    assert ends[:5].tolist() == [0.0, -0.0, 1.0, -1.0, 1.0]
    assert math.copysign(1, ends[1]) == -1
    assert np.isnan(ends[5])


def test_sin_is_within_two_ulp_of_the_true_value():
    rng, multiples = np.random.default_rng(2), np.arange(1, 1000) * math.pi  # almost zeros
    parts = rng.uniform(0, 10, 3000), rng.uniform(0, 3e6, 3000), 10 ** rng.uniform(-300, 6, 2000)
    x = np.concatenate([*parts, multiples, multiples / 2])  # where the reduction changes its mind
    assert_near_the_truth(activated("sin", x), x, mpmath.sin, 2)


@pytest.mark.interpreted
def test_the_sine_of_large_numbers_is_right_too():
    x = np.array([1.0, 2.9e6, 3.1e6, 1e22])
    assert activated("sin", x) == pytest.approx(np.sin(x), rel=1e-12)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_are_those_of_the_table(name):
    activation = ACTIVATIONS[name]
    x = np.concatenate([np.linspace(-30, 30, 2001), [-1e-300, 0.0, 1e5, -1e5, 1e200, -1e200]])
    got = activated(name, x)
    with mpmath.workprec(900):  # sin(1e200) needs them
        exact = {
            "tanh": mpmath.tanh,
            "sin": mpmath.sin,
            "softsign": lambda z: z / (1 + abs(z)),
            "logistic": lambda z: 1 / (1 + mpmath.exp(-z)),
            "relu": lambda z: max(z, 0),
        }[name]
        expected = np.array([float(exact(mpmath.mpf(z))) for z in x.tolist()])
    assert got == pytest.approx(expected, rel=1e-15, abs=2e-16)
    assert activation.f(x) == pytest.approx(expected, rel=1e-15, abs=2e-16)
    assert np.array_equal(activated(name, -x), -got) == activation.odd
    assert np.isnan(activated(name, np.array([np.nan]))).all()
    step = 1e-6
    z = np.linspace(-3, 3, 61) + 0.01  # relu has no derivative at 0
    slope = (activation.f(z + step) - activation.f(z - step)) / (2 * step)
    assert activation.df(z, activation.f(z)) == pytest.approx(slope, abs=1e-9)


def random_problem(topology, rng, n_samples=40, **settings):
    X = rng.normal(size=(n_samples, topology.n_inputs))
    if settings.get("task") == "classification":
        y = rng.integers(topology.n_outputs, size=n_samples)
        y[: topology.n_outputs] = np.arange(topology.n_outputs)
    else:
        y = rng.normal(size=(n_samples, topology.n_outputs))
    return paper_problem(X, y, hidden=topology.hidden, activation=topology.activation, **settings)


def twin_errors(population, problem):
    train, topology = problem.train, problem.topology
    return np.array(
        [
            reference.error(
                *(theta, topology.sizes, train.X, train.y),
                task=problem.task,
                output_error=problem.output_error,
                output_shift=problem.output_shift,
                rescale=problem.rescale,
                activation=topology.activation.name,
                weights=train.weights,
                alpha=problem.alpha,
            )
            for theta in population
        ]
    )


def hidden_of_kernel(theta, problem):
    """The very hidden outputs (K, N) that the kernel fits its output layer on."""
    topology, K = problem.topology, len(problem.train)
    buffers = np.zeros((2, max(topology.sizes), _kernels.SAMPLE_BLOCK))
    AT = np.zeros((topology.sizes[-2], -(-K // 16) * 16))
    XT = _sample_rows(problem.train.X)
    code = topology.activation.code
    _kernels._hidden_outputs(theta, np.array(topology.sizes), code, XT, K, *buffers, AT)
    return AT[:, :K].T.copy()


@pytest.mark.interpreted
@pytest.mark.parametrize(
    ("rescale", "output_shift", "reading"),
    list(product(["unit", "radius", "none"], [False, True], ["regression", "linear", "tanh"])),
)
@settings(max_examples=15)
@given(topologies(), seeds(), st.booleans(), st.sampled_from([0.0, 1e-3, 2.0]))
def test_errors_equal_the_twins_where_the_fit_is_well_conditioned(
    rescale, output_shift, reading, topology, seed, weighted, alpha
):
    rng = np.random.default_rng(seed)
    options = {"rescale": rescale, "output_shift": output_shift, "alpha": alpha}
    if reading != "regression":
        sizes = (*topology.sizes[:-1], topology.n_outputs + 1)
        topology = Topology(sizes, topology.activation)
        options |= {"task": "classification", "output_error": reading}
    if weighted:
        options["weights"] = rng.uniform(0.1, 3, size=40)
    problem = random_problem(topology, rng, **options)
    train = problem.train
    population = rng.normal(scale=1.2, size=(4, topology.dim))  # some outside the ball
    well_conditioned = []
    for theta in population:
        evaluated, _ = reference.feasible(theta, rescale)
        A = network.hidden_outputs(evaluated, topology, train.X, shift=output_shift)
        A, _ = network.weighted_rows(A, train.y, train.weights, alpha, shift=output_shift)
        well_conditioned.append(np.linalg.cond(A) <= 1e4)
    assume(any(well_conditioned))
    fit = population[well_conditioned]
    assert LeastSquares(problem)(fit) == pytest.approx(twin_errors(fit, problem), rel=1e-8)


@pytest.mark.parametrize("output_shift", [False, True])
@pytest.mark.parametrize("alpha", [0.0, 1e-6, 0.3])
def test_weighted_errors_with_a_ridge_equal_sixty_digits(alpha, output_shift):
    rng = np.random.default_rng(6)
    topology = Topology.parse("2-3-4-2 logistic")
    weights = 10 ** rng.uniform(-3, 3, size=40)
    options = {"weights": weights, "alpha": alpha, "output_shift": output_shift, "rescale": "none"}
    problem = random_problem(topology, rng, **options)
    theta = rng.normal(scale=3, size=topology.dim)
    A = hidden_of_kernel(theta, problem)
    if output_shift:
        A = np.column_stack([A, np.ones(len(A))])
    exact = reference.exact_ridge(A, problem.train.y, weights, alpha, output_shift)
    shares = reference.ridge_shares(topology.sizes)
    exact += alpha * float(shares @ theta**2) / (weights.sum() * 2)
    assert LeastSquares(problem)(theta[None])[0] == pytest.approx(exact, rel=1e-11)


def degenerate_networks():
    """One hidden layer of five neurons with something the matter, by name."""
    rng = np.random.default_rng(3)
    base = rng.uniform(-1, 1, size=(5, 2))
    cases = {"healthy": base}
    for distance in (1e-4, 1e-6, 1e-8):
        near = base.copy()
        near[1] = near[0] + distance * np.array([1.0, -0.5])
        cases[f"two neurons {distance:g} apart"] = near
    cases["saturated"] = base.copy()
    cases["saturated"][2] = [0.0, 3.1]  # constant to 4 digits after rescaling
    cases["zero"] = base.copy()
    cases["zero"][3] = 0.0
    cases["duplicated"] = base[[0, 1, 1, 3, 4]]
    cases["mirrored"] = base * 1.0
    cases["mirrored"][4] = -base[0]
    return cases


@pytest.mark.parametrize("case", degenerate_networks())
def test_errors_of_degenerate_networks_equal_sixty_digits(case):
    rng = np.random.default_rng(4)
    X = rng.uniform(-1, 1, size=(50, 1))
    problem = paper_problem(
        X, np.sinc(3 * X) + rng.normal(0, 5e-3, X.shape), hidden=(5,), rescale="radius"
    )
    theta = degenerate_networks()[case].ravel()
    if np.linalg.norm(theta) > np.sqrt(theta.size):  # the saturated one
        theta, _ = reference.feasible(theta, "radius")
    A = hidden_of_kernel(theta, problem)
    exact = reference.exact_residual(A, problem.train.y)
    (error,) = LeastSquares(problem)(theta[None])
    cond = np.linalg.cond(A)
    if cond > 1e14:  # dependent to rounding: the column is dropped, and so does the oracle
        cond = np.linalg.cond(np.unique(np.abs(A[:, np.abs(A).sum(0) > 0]), axis=1))
    bound = 1e-9 if cond <= 1e5 else 100 * EPS * cond
    assert error == pytest.approx(exact, rel=bound)


@given(topologies(max_layers=2, max_width=3, max_replicas=400), seeds())
@settings(max_examples=25)
def test_errors_of_replicas_are_equal_and_of_flipped_ones_bit_identical(topology, seed):
    rng = np.random.default_rng(seed)
    problem = random_problem(topology, rng)
    evaluate = LeastSquares(problem)
    theta = rng.normal(size=topology.dim)
    (error,) = evaluate(theta[None])
    evaluated, _ = reference.feasible(theta, "unit")
    A = network.hidden_outputs(evaluated, topology, problem.train.X)
    assume(np.linalg.cond(A) <= 1e5)
    assert evaluate(replicas(theta, topology)) == pytest.approx(error, rel=1e-9)
    if topology.signed:
        for layer, n in enumerate(topology.hidden):
            for neuron in range(n):
                assert evaluate(flip(theta, topology, layer, neuron)[None])[0] == error


@pytest.mark.parametrize("distance", [0.0, 1e-15, 1e-12, 1e-10, 1e-8, 1e-4])
def test_the_residual_of_nearly_dependent_columns_equals_sixty_digits(distance):
    """Saturated columns of plus and minus one, and two of them almost equal."""
    rng = np.random.default_rng(5)
    A = np.sign(rng.normal(size=(48, 4)))
    A[:, 2] = A[:, 1] + distance * rng.normal(size=48)
    y = rng.normal(size=(48, 1))
    W = np.vstack([A.T, y.T])
    _kernels._project_out(W, 4, np.empty(5), np.empty(5))
    kept = A if distance > 1e-13 else A[:, [0, 1, 3]]  # what is equal to rounding is dropped
    exact = reference.exact_residual(kept, y)
    bound = 1e-12 + 100 * EPS * np.linalg.cond(kept)
    assert np.mean(W[4] ** 2) == pytest.approx(exact, rel=bound)


@pytest.mark.parametrize(
    ("net", "n_samples"),
    [*(("2-3-2-1", n) for n in (1, 2, 15, 16, 17, 511, 512, 513, 1030)), ("20-60-45-3", 100)],
)
def test_any_number_of_samples_and_neurons_is_right_around_blocks_and_padding(net, n_samples):
    topology, rng = Topology.parse(net), np.random.default_rng(n_samples)
    problem = random_problem(topology, rng, n_samples)
    population = rng.uniform(-1, 1, size=(2, topology.dim))
    got = LeastSquares(problem)(population)
    assert got == pytest.approx(twin_errors(population, problem), rel=1e-9, abs=1e-25)


SCRIPT = """
import sys
import numpy as np
from symbreak import LeastSquares, make_optimizer
from tests.papers import paper_problem
from tests.polishing import polish
from symbreak._activations import ACTIVATIONS
rng, results = np.random.default_rng(0), {}
X = rng.normal(size=(20, 2))
data = {"X": X, "y": np.sin(X.sum(axis=1)), "hidden": (3, 2), "output_shift": True}
problem = paper_problem(**data)
evaluate = LeastSquares(problem)
for method in ("DE-SB", "DE-INV-SB", "CMA-ES-SB"):
    optimizer = make_optimizer(method, problem, population_size=8, seed=1)
    for _ in range(3):
        candidates = optimizer.ask()
        optimizer.tell(candidates, evaluate(candidates))
    results[method] = optimizer.ask()
    results[method + " errors"] = evaluate(results[method])
data |= {"weights": rng.uniform(1, 2, 20), "alpha": 0.1, "rescale": "none"}
for name in ACTIVATIONS:
    problem = paper_problem(activation=name, **data)
    results[name] = LeastSquares(problem)(rng.normal(size=(3, problem.topology.dim)))
problem = paper_problem(**(data | {"weights": None, "alpha": 0.0}))
start = np.linspace(-1, 1, problem.topology.dim)
results["polish"] = polish(start, problem, max_iterations=3).theta
np.savez(sys.argv[1], **results)
"""


def test_the_kernels_give_the_same_without_the_compiler(tmp_path):
    files = []
    for disable in "01":
        files.append(tmp_path / f"{disable}.npz")
        environment = {**os.environ, "NUMBA_DISABLE_JIT": disable}
        command = [sys.executable, "-c", SCRIPT, str(files[-1])]
        subprocess.run(command, env=environment, check=True, timeout=300)
    compiled, interpreted = map(np.load, files)
    assert compiled.files
    for name in compiled.files:
        tolerance = 1e-6 if name == "polish" else 1e-9  # of which errors grow from step to step
        assert interpreted[name] == pytest.approx(compiled[name], rel=tolerance)
