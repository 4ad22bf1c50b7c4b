"""Slow, obvious twins of the library, written from the paper alone.

Every function follows one equation or algorithm of Urfalioglu and Arikan, "Symmetry Breaking in
Neuroevolution", in nested loops that can be checked against the printed page. Nothing here is
taken from the library: tests compare the two. "paper-notes N" names the note that says how the
paper is read where it is silent or wrong.

Conventions: ``sizes = (N_1, ..., N_L)``; ``theta`` is one-dimensional and holds the hidden layers
in order, each as its neurons' rows ``(w_n, tau_n)`` with the shift last (Eqs. 1, 5, 10). Hidden
layers count from 0, so ``layer`` is the paper's ``l - 2``; neurons count from 0 as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypedDict

import mpmath
import numpy as np
import scipy.optimize
from numpy.typing import NDArray

Array = NDArray[np.float64]
Sizes = Sequence[int]
BreakOne = Callable[[Array, Array], tuple[Array, bool]]

# ---------------------------------------------------------------------------------------------
# The network and its error
# ---------------------------------------------------------------------------------------------


def dimension(sizes: Sizes) -> int:
    """Count the parameters D of theta: a row (w_n, tau_n) per hidden neuron (Eqs. 1, 5, 10)."""
    return sum(sizes[h + 1] * (sizes[h] + 1) for h in range(len(sizes) - 2))


def neuron_indices(sizes: Sizes, layer: int, neuron: int) -> list[int]:
    """List where eta = (w_1, ..., w_N, tau) of one hidden neuron stands in theta (Eqs. 1, 5, 10).

    Args:
        sizes: The layer sizes (N_1, ..., N_L).
        layer: The hidden layer, from 0.
        neuron: The neuron in it, from 0.

    Returns:
        The flat indices of its weights in order, then of its shift.
    """
    start = 0
    for earlier in range(layer):
        start += sizes[earlier + 1] * (sizes[earlier] + 1)
    width = sizes[layer] + 1
    return [start + neuron * width + i for i in range(width)]


def activate(name: str, z: float) -> float:
    """Apply an activation function to one number; the paper's is tanh (Eq. 2)."""
    if name == "tanh":
        return math.tanh(z)
    if name == "sin":
        return math.sin(z)
    if name == "softsign":
        return z / (1 + abs(z))
    if name == "logistic":
        return 1 / (1 + math.exp(-z))
    if name == "relu":
        return max(z, 0.0)
    raise ValueError(f"no activation {name!r}")


def hidden_outputs(theta: Array, sizes: Sizes, X: Array, activation: str = "tanh") -> Array:
    """Compute the outputs of the last hidden layer, one neuron at a time (Eq. 2).

    Args:
        theta: The D hidden parameters.
        sizes: The layer sizes (N_1, ..., N_L).
        X: The K inputs, shape (K, N_1).
        activation: See `activate`.

    Returns:
        x^{L-1} of every sample, shape (K, N_{L-1}).
    """
    parameters = [float(value) for value in np.asarray(theta)]
    rows = []
    for sample in np.asarray(X):
        x = [float(value) for value in sample]
        for layer in range(len(sizes) - 2):
            outputs = []
            for neuron in range(sizes[layer + 1]):
                *weights, shift = neuron_indices(sizes, layer, neuron)
                total = parameters[shift]
                for i, index in enumerate(weights):
                    total += parameters[index] * x[i]
                outputs.append(activate(activation, total))
            x = outputs
        rows.append(x)
    return np.array(rows, dtype=float).reshape(len(rows), sizes[-2])


def feasible(theta: Array, rescale: str) -> tuple[Array, float]:
    """Pull a vector back into the ball of radius sqrt(D), for a penalty (Sec. 6, paper-notes 1).

    Args:
        theta: The D hidden parameters.
        rescale: ``"unit"`` evaluates an outside vector at length 1, as the paper prints;
            ``"radius"`` at length sqrt(D), which is continuous. With ``"none"`` there is no ball.

    Returns:
        The vector that is evaluated, and the penalty 50 (||theta|| - sqrt(D)), 0 inside.

    Raises:
        ValueError: If ``rescale`` is none of the three.
    """
    theta = np.array(theta, dtype=float)
    radius = math.sqrt(theta.size)
    length = math.hypot(*theta)
    if rescale not in ("unit", "radius", "none"):
        raise ValueError(f"rescale must be 'unit', 'radius' or 'none', got {rescale!r}")
    if rescale == "none" or not length > radius:
        return theta, 0.0
    target = 1.0 if rescale == "unit" else radius
    return theta / length * target, 50.0 * (length - radius)


def error(
    theta: Array,
    sizes: Sizes,
    X: Array,
    Y: Array,
    *,
    task: str = "regression",
    output_error: str = "linear",
    output_shift: bool = False,
    rescale: str = "unit",
    activation: str = "tanh",
    weights: Array | None = None,
    alpha: float = 0.0,
) -> float:
    """Compute the mean squared error with least-squares output weights, and the penalty (Eq. 47).

    The output layer is Eq. 3 for regression. For classification (Eqs. 4 and 9) the weights are
    fitted to the 0/1 targets times 20. Follows paper-notes 1, 14 and 15.

    Args:
        theta: The D hidden parameters.
        sizes: The layer sizes (N_1, ..., N_L).
        X: The inputs, shape (K, N_1).
        Y: The targets, shape (K, q); 0/1 for classification.
        task: ``"regression"`` or ``"classification"``.
        output_error: For classification, ``"linear"`` takes the residual of the fit to 20 Y
            divided by 20^2, ``"tanh"`` that of tanh of the fit against Y.
        output_shift: Whether the output layer has a shift.
        rescale: See `feasible`.
        activation: See `activate`.
        weights: How much each of the K samples counts; 1 each if None.
        alpha: The price of the squares of theta and of the output weights but for the output
            shift's, those of classes divided by 20.

    Returns:
        The error that the search minimises.
    """
    evaluated, penalty = feasible(theta, rescale)
    A = hidden_outputs(evaluated, sizes, X, activation)
    Y = np.asarray(Y, dtype=float)
    if output_shift:
        A = np.column_stack([A, np.ones(len(A))])
    if task not in ("regression", "classification"):
        raise ValueError(f"task must be 'regression' or 'classification', got {task!r}")
    if output_error not in ("linear", "tanh"):
        raise ValueError(f"output_error must be 'linear' or 'tanh', got {output_error!r}")
    scale = 20.0 if task == "classification" else 1.0
    if weights is None and alpha == 0:
        fit, cost = least_squares_fit(A, scale * Y), 0.0
    else:
        V = ridge_weights(A, scale * Y, weights, alpha, output_shift)
        fit, cost = A @ V, ridge_cost(evaluated, V / scale, alpha, output_shift)
    predicted = np.tanh(fit) if output_error == "tanh" else fit / scale
    total = weighted_squares(Y - predicted, weights) + cost
    total_weight = len(Y) if weights is None else float(sum(weights))
    return total / (total_weight * Y.shape[1]) + penalty


def ridge_weights(
    A: Array, targets: Array, weights: Array | None, alpha: float, output_shift: bool
) -> Array:
    """Solve the normal equations of weighted least squares with a ridge, but for a shift's."""
    n = A.shape[1]
    M, b = np.zeros((n, n)), np.zeros((n, targets.shape[1]))
    for k in range(len(A)):
        w = 1.0 if weights is None else float(weights[k])
        for i in range(n):
            b[i] += w * A[k, i] * targets[k]
            for j in range(n):
                M[i, j] += w * A[k, i] * A[k, j]
    for i in range(n - 1 if output_shift else n):
        M[i, i] += alpha
    solution: Array = np.linalg.solve(M, b)
    return solution


def ridge_cost(theta: Array, V: Array, alpha: float, output_shift: bool) -> float:
    """Add the squares of all parameters but the output shift's, times alpha."""
    total = 0.0
    for value in theta:
        total += float(value) ** 2
    for i in range(len(V) - 1 if output_shift else len(V)):
        for value in V[i]:
            total += float(value) ** 2
    return alpha * total


def weighted_squares(residuals: Array, weights: Array | None) -> float:
    """Sum the squares of a (K, q) array, each times its sample's weight."""
    total = 0.0
    for k in range(len(residuals)):
        for residual in residuals[k]:
            total += (1.0 if weights is None else float(weights[k])) * float(residual) ** 2
    return total


def least_squares_fit(A: Array, targets: Array) -> Array:
    """Fit the targets linearly on the columns of A and return the fitted values (Eqs. 3 and 8)."""
    weights = np.linalg.lstsq(A, targets, rcond=None)[0]
    fit: Array = A @ weights
    return fit


def exact_residual(A: Array, Y: Array, digits: int = 60) -> float:
    """Compute the mean squared residual of a least-squares fit in many digits (Eqs. 3 and 47).

    Orthogonalises the columns one after the other (Gram-Schmidt) and takes what is left of each
    target. A column of which at most 10^-(digits/2) of its norm remains is dropped: it is
    zero, or depends on the columns before it.

    Args:
        A: The columns to fit on, float64 taken as exact, shape (K, p).
        Y: The targets, shape (K, q).
        digits: The decimal digits carried.

    Returns:
        The squared residual divided by K and by q.
    """
    A, Y = np.asarray(A, dtype=float), np.asarray(Y, dtype=float)
    K, q = Y.shape
    with mpmath.workdps(digits):
        smallest = mpmath.mpf(10) ** (-mpmath.mpf(digits) / 2)
        basis: list[list[mpmath.mpf]] = []
        for j in range(A.shape[1]):
            column = [mpmath.mpf(float(value)) for value in A[:, j]]
            rest = remove_projections(column, basis)
            norm = mpmath.sqrt(mpmath.fdot(rest, rest))
            if norm > smallest * mpmath.sqrt(mpmath.fdot(column, column)):
                basis.append([value / norm for value in rest])
        total = mpmath.mpf(0)
        for n in range(q):
            target = [mpmath.mpf(float(value)) for value in Y[:, n]]
            rest = remove_projections(target, basis)
            total += mpmath.fdot(rest, rest)
        return float(total / (K * q))


def exact_ridge(
    A: Array, Y: Array, weights: Array, alpha: float, output_shift: bool, digits: int = 60
) -> float:
    """Compute the least of sum w r^2 + alpha ||V||^2 over V in many digits, over sum w and q.

    By the normal equations, which many digits make as good as any; a last column of A that carries
    the output shift has no ridge.
    """
    A, Y = np.asarray(A, dtype=float), np.asarray(Y, dtype=float)
    with mpmath.workdps(digits):
        M, T, W = mpmath.matrix(A.tolist()), mpmath.matrix(Y.tolist()), mpmath.diag(weights)
        R = mpmath.diag([alpha] * A.shape[1])
        if output_shift:
            R[A.shape[1] - 1, A.shape[1] - 1] = 0
        total = mpmath.mpf(0)
        for n in range(Y.shape[1]):
            target = T[:, n]
            V = mpmath.lu_solve(M.T * W * M + R, M.T * W * target)
            rest = target - M * V
            total += (rest.T * W * rest)[0] + (V.T * R * V)[0]
        return float(total / (mpmath.fsum(weights) * Y.shape[1]))


def remove_projections(vector: list[mpmath.mpf], basis: list[list[mpmath.mpf]]) -> list[mpmath.mpf]:
    """Subtract from a vector its projection on each of some orthonormal vectors, in turn."""
    for direction in basis:
        length = mpmath.fdot(vector, direction)
        vector = [v - length * d for v, d in zip(vector, direction, strict=True)]
    return vector


# ---------------------------------------------------------------------------------------------
# Symmetries
# ---------------------------------------------------------------------------------------------


def blocks(sizes: Sizes) -> list[list[list[int]]]:
    """List where every symmetry relevant parameter block beta_n^l stands in theta (Eqs. 43, 44).

    Args:
        sizes: The layer sizes (N_1, ..., N_L).

    Returns:
        ``blocks[layer][neuron]``: the neuron's own parameters, shift last, then the weights that
        read it in the next hidden layer; in the last hidden layer only its own.
    """
    hidden = len(sizes) - 2
    result = []
    for layer in range(hidden):
        of_layer = []
        for neuron in range(sizes[layer + 1]):
            indices = neuron_indices(sizes, layer, neuron)
            if layer + 1 < hidden:
                for reader in range(sizes[layer + 2]):
                    indices.append(neuron_indices(sizes, layer + 1, reader)[neuron])
            of_layer.append(indices)
        result.append(of_layer)
    return result


def flip_matrix(sizes: Sizes, layer: int, neuron: int) -> Array:
    """Build the point symmetry operator O of one neuron as a (D, D) matrix (Eq. 13)."""
    matrix = np.eye(dimension(sizes))
    for index in blocks(sizes)[layer][neuron]:
        matrix[index, index] = -1.0
    return matrix


def swap_matrix(sizes: Sizes, layer: int, j: int, k: int) -> Array:
    """Build the permutation operator P of two neurons of a layer as a (D, D) matrix (Eq. 14)."""
    matrix = np.eye(dimension(sizes))
    if j == k:
        return matrix
    of_layer = blocks(sizes)[layer]
    for a, b in zip(of_layer[j], of_layer[k], strict=True):
        matrix[a, a] = matrix[b, b] = 0.0
        matrix[a, b] = matrix[b, a] = 1.0
    return matrix


def symmetry_matrices(sizes: Sizes, signed: bool = True) -> list[Array]:
    """Build all symmetry operators, the set P of Sec. 5.3 that makes the replicas (Eq. 37).

    Multiplies flips and swaps with what was found before until nothing new appears; for small
    networks only.

    Args:
        sizes: The layer sizes (N_1, ..., N_L).
        signed: Whether neurons can be flipped, as those with an odd activation.

    Returns:
        Every (D, D) matrix of the group once, the identity first.
    """
    generators = []
    for layer in range(len(sizes) - 2):
        count = sizes[layer + 1]
        generators += [flip_matrix(sizes, layer, n) for n in range(count) if signed]
        generators += [swap_matrix(sizes, layer, j, k) for k in range(count) for j in range(k)]
    found = [np.eye(dimension(sizes))]
    seen = {found[0].tobytes()}
    for matrix in found:  # the list grows while it is read
        for generator in generators:
            product = generator @ matrix + 0.0  # + 0.0 turns a -0.0 into 0.0
            if product.tobytes() not in seen:
                seen.add(product.tobytes())
                found.append(product)
    return found


def rule_1(theta: Array, sizes: Sizes) -> Array:
    """Flip every neuron whose shift is negative (rule-1 of Sec. 4; Lemma 5.1, Eqs. 23 and 27)."""
    theta = np.array(theta, dtype=float)
    for layer in range(len(sizes) - 2):
        for neuron in range(sizes[layer + 1]):
            shift = neuron_indices(sizes, layer, neuron)[-1]
            if theta[shift] < 0.0:
                theta = flip_matrix(sizes, layer, neuron) @ theta
    return theta


def rule_2(theta: Array, sizes: Sizes) -> Array:
    """Sort the neurons of every hidden layer by ascending shift (rule-2 of Sec. 4; paper-notes 10).

    Eq. 32 of Lemma 5.3, applied to neighbours until none is out of order. Neurons with equal
    shifts keep their order.
    """
    theta = np.array(theta, dtype=float)
    for layer in range(len(sizes) - 2):
        count = sizes[layer + 1]
        for _ in range(count):
            for n in range(count - 1):
                left = neuron_indices(sizes, layer, n)[-1]
                right = neuron_indices(sizes, layer, n + 1)[-1]
                if theta[left] > theta[right]:
                    theta = swap_matrix(sizes, layer, n, n + 1) @ theta
    return theta


def squared_distance(a: Array, b: Array) -> float:
    """Sum the squared differences of two vectors."""
    total = 0.0
    for x, y in zip(a, b, strict=True):
        total += (float(x) - float(y)) ** 2
    return total


def algorithm_1(
    theta: Array,
    anchor: Array,
    sizes: Sizes,
    pairs: Sequence[tuple[int, int] | None],
    signed: bool = True,
) -> tuple[Array, bool]:
    """Break symmetry by Algorithm 1: the flips of all layers, then one swap per layer.

    Follows paper-notes 6: layers in order, each looking at what the one before it left.

    Args:
        theta: The candidate, D parameters.
        anchor: The estimate of the global optimum, theta-hat.
        sizes: The layer sizes (N_1, ..., N_L).
        pairs: Per hidden layer the two neurons (m, n) that may swap; None where there is one.
        signed: Whether neurons can be flipped.

    Returns:
        The candidate after breaking, and whether an operator was applied.
    """
    theta, anchor = np.array(theta, dtype=float), np.asarray(anchor, dtype=float)
    beta = blocks(sizes)
    modified = False
    for layer in range(len(sizes) - 2):
        for neuron in range(sizes[layer + 1]):
            b = beta[layer][neuron]
            D_1 = squared_distance(theta[b], anchor[b])
            D_2 = squared_distance(-theta[b], anchor[b])
            if signed and D_1 > D_2:
                theta[b] = -theta[b]
                modified = True
    for layer in range(len(sizes) - 2):
        pair = pairs[layer]
        if pair is None:
            continue
        m, n = beta[layer][pair[0]], beta[layer][pair[1]]
        D_1 = squared_distance(theta[n], anchor[n]) + squared_distance(theta[m], anchor[m])
        D_2 = squared_distance(theta[n], anchor[m]) + squared_distance(theta[m], anchor[n])
        if D_1 > D_2:
            theta[m], theta[n] = theta[n].copy(), theta[m].copy()
            modified = True
    return theta, modified


def nearest_replica(theta: Array, anchor: Array, sizes: Sizes, signed: bool = True) -> Array:
    """Find the replica of theta nearest to the anchor by trying all (Eq. 38).

    Args:
        theta: The candidate, D parameters.
        anchor: The estimate of the global optimum.
        sizes: The layer sizes (N_1, ..., N_L) of a small network.
        signed: Whether neurons can be flipped.

    Returns:
        The nearest replica; theta itself if none is strictly nearer.
    """
    theta, anchor = np.array(theta, dtype=float), np.asarray(anchor, dtype=float)
    best, best_distance = theta, squared_distance(theta, anchor)
    for matrix in symmetry_matrices(sizes, signed):
        replica = matrix @ theta
        distance = squared_distance(replica, anchor)
        if distance < best_distance:
            best, best_distance = replica, distance
    return best


def assignment_sweeps(theta: Array, anchor: Array, sizes: Sizes) -> Array:
    """Match the neurons of one layer after the other to the anchor's, until none changes.

    Args:
        theta: The candidate, D parameters.
        anchor: The estimate of the global optimum.
        sizes: The layer sizes (N_1, ..., N_L).

    Returns:
        A replica that no symmetry of a single layer brings nearer to the anchor.
    """
    theta, anchor = np.array(theta, dtype=float), np.asarray(anchor, dtype=float)
    changed = True
    while changed:
        changed = False
        for layer in blocks(sizes):
            neurons = [theta[b].copy() for b in layer]
            distances = np.array(
                [
                    [min(squared_distance(s * x, anchor[b]) for s in (1, -1)) for b in layer]
                    for x in neurons
                ]
            )
            rows, places = scipy.optimize.linear_sum_assignment(distances)
            moved = theta.copy()
            for row, place in zip(rows, places, strict=True):
                b, x = layer[place], neurons[row]
                nearer = squared_distance(-x, anchor[b]) < squared_distance(x, anchor[b])
                moved[b] = -x if nearer else x
            if squared_distance(moved, anchor) < squared_distance(theta, anchor) - 1e-12:
                theta, changed = moved, True
    return theta


# ---------------------------------------------------------------------------------------------
# Differential evolution
# ---------------------------------------------------------------------------------------------


def distinct_donors(i: int, n: int, u1: float, u2: float, u3: float) -> tuple[int, int, int]:
    """Choose three donors for candidate i of n, all four distinct (DE/rand/1; paper-notes 12).

    Args:
        i: The candidate.
        n: The size of the population.
        u1: A uniform number in [0, 1) that chooses the first donor.
        u2: The one that chooses the second.
        u3: The one that chooses the third.

    Returns:
        (r1, r2, r3), each taken out of the ascending list of those that remain.
    """
    remaining = [index for index in range(n) if index != i]
    r1 = remaining.pop(math.floor(u1 * (n - 1)))
    r2 = remaining.pop(math.floor(u2 * (n - 2)))
    r3 = remaining.pop(math.floor(u3 * (n - 3)))
    return r1, r2, r3


def distinct_pair(n: int, u1: float, u2: float) -> tuple[int, int]:
    """Choose two distinct neurons of n (the pair of Algorithm 1; paper-notes 6)."""
    remaining = list(range(n))
    m = remaining.pop(math.floor(u1 * n))
    k = remaining.pop(math.floor(u2 * (n - 1)))
    return m, k


def de_trials(
    population: Array, uniforms: Array, F: Array | float = 0.5, CR: Array | float = 0.9
) -> Array:
    """Make one trial per candidate by DE/rand/1/bin (Sec. 6 settings; paper-notes 12).

    Args:
        population: The candidates, shape (N_p, D).
        uniforms: Numbers in [0, 1), shape (N_p, 4 + D): three choose the donors, the fourth the
            coordinate that always crosses over, the rest decide for each coordinate.
        F: The weight of the difference, one for all or one per trial.
        CR: The crossover rate, likewise.

    Returns:
        The trials, shape (N_p, D).
    """
    population, uniforms = np.asarray(population, dtype=float), np.asarray(uniforms, dtype=float)
    count, dim = population.shape
    F, CR = np.broadcast_to(F, count), np.broadcast_to(CR, count)
    trials = population.copy()
    for i in range(count):
        u1, u2, u3, u_always = (float(u) for u in uniforms[i, :4])
        r1, r2, r3 = distinct_donors(i, count, u1, u2, u3)
        always = math.floor(u_always * dim)
        for d in range(dim):
            if d == always or uniforms[i, 4 + d] < CR[i]:
                difference = population[r2, d] - population[r3, d]
                trials[i, d] = population[r1, d] + F[i] * difference
    return trials


def de_select(
    population: Array,
    errors: Array,
    to_beat: Array,
    trials: Array,
    trial_errors: Array,
) -> tuple[Array, Array, Array]:
    """Let each trial replace its candidate unless it is worse (DE; paper-notes 2 and 12).

    A trial wins ties. A trial whose error is not finite never wins, not even against infinity.

    Args:
        population: The candidates, shape (N_p, D).
        errors: Their true errors.
        to_beat: The errors that trials are compared with, inflated by Algorithm 2.
        trials: The trials, shape (N_p, D).
        trial_errors: Their errors.

    Returns:
        The population, true errors and errors to beat after selection.
    """
    population, errors = np.array(population, dtype=float), np.array(errors, dtype=float)
    to_beat = np.array(to_beat, dtype=float)
    trials, trial_errors = np.asarray(trials), np.asarray(trial_errors)
    for i in range(len(population)):
        if math.isfinite(trial_errors[i]) and trial_errors[i] <= to_beat[i]:
            population[i] = trials[i]
            errors[i] = trial_errors[i]
            to_beat[i] = trial_errors[i]
    return population, errors, to_beat


def inflate(to_beat: Array, modified: NDArray[np.bool_], cap: float = 1e300) -> Array:
    """Multiply by 100 the errors to beat of modified candidates (Algorithm 2; paper-notes 2, 3).

    Args:
        to_beat: The errors that trials are compared with, shape (N_p,).
        modified: Whether breaking modified each candidate.
        cap: The largest error to beat.

    Returns:
        The errors to beat; only the first N_p // 2 can have changed.
    """
    to_beat, modified = np.array(to_beat, dtype=float), np.asarray(modified)
    for j in range(len(to_beat) // 2):
        if modified[j]:
            to_beat[j] = min(100.0 * float(to_beat[j]), cap)
    return to_beat


# ---------------------------------------------------------------------------------------------
# CMA-ES
# ---------------------------------------------------------------------------------------------


class CMAESConstants(TypedDict):
    """The constants of CMA-ES, by the names of its literature (paper-notes 13)."""

    mu: int
    weights: Array
    mu_eff: float
    c_sigma: float
    d_sigma: float
    c_c: float
    mu_cov: float
    c_cov: float
    chi_n: float


@dataclass
class CMAESState:
    """The distribution N(mean, sigma^2 C) and its paths (paper-notes 11).

    Attributes:
        mean: The mean m.
        sigma: The global step size.
        C: The covariance matrix.
        p_sigma: The evolution path of the step size.
        p_c: The evolution path of the covariance matrix.
        generation: How many generations are completed.
    """

    mean: Array
    sigma: float
    C: Array
    p_sigma: Array
    p_c: Array
    generation: int


def cmaes_constants(dim: int, population_size: int) -> CMAESConstants:
    """Compute the constants of the CMA-ES C code (Sec. 6 settings; paper-notes 13).

    Args:
        dim: The number of parameters, N = D.
        population_size: The number of candidates, lambda = N_p.

    Returns:
        The constants by name.
    """
    N = dim
    mu = population_size // 2
    raw = [math.log(mu + 1) - math.log(i) for i in range(1, mu + 1)]
    weights = [w / sum(raw) for w in raw]
    mu_eff = 1.0 / sum(w**2 for w in weights)
    c_sigma = (mu_eff + 2.0) / (N + mu_eff + 3.0)
    d_sigma = 1.0 + 2.0 * max(0.0, math.sqrt((mu_eff - 1.0) / (N + 1.0)) - 1.0) + c_sigma
    mu_cov = mu_eff
    rank_one = 2.0 / (N + 1.4142) ** 2
    rank_mu = min(1.0, (2.0 * mu_eff - 1.0) / ((N + 2.0) ** 2 + mu_eff))
    return CMAESConstants(
        mu=mu,
        weights=np.array(weights),
        mu_eff=mu_eff,
        c_sigma=c_sigma,
        d_sigma=d_sigma,
        c_c=4.0 / (N + 4.0),
        mu_cov=mu_cov,
        c_cov=(1.0 / mu_cov) * rank_one + (1.0 - 1.0 / mu_cov) * rank_mu,
        chi_n=math.sqrt(N) * (1.0 - 1.0 / (4.0 * N) + 1.0 / (21.0 * N**2)),
    )


def inverse_root(C: Array) -> Array:
    """Compute C^(-1/2) = B D^-1 B' from the eigenvectors B and eigenvalues D^2 of C."""
    eigenvalues, B = np.linalg.eigh(C)
    root: Array = B @ np.diag(1.0 / np.sqrt(eigenvalues)) @ B.T
    return root


def algorithm_3(
    ranked: Array, modified: Sequence[bool], anchor: Array, weights: Array, replace_mean: bool
) -> Array:
    """Compute the new mean of CMA-ES, m = sum w_j theta_j (Algorithm 3; paper-notes 7 and 8).

    Args:
        ranked: The candidates after breaking, best first.
        modified: Whether breaking modified each of them.
        anchor: The estimate of the global optimum.
        weights: The weights of the best N_p // 2.
        replace_mean: Whether the anchor stands in for modified candidates (CMA-ES-SB only).

    Returns:
        The new mean.
    """
    mean = np.zeros(ranked.shape[1])
    for j, weight in enumerate(weights):
        chosen = anchor if replace_mean and modified[j] else ranked[j]
        mean = mean + weight * chosen
    return mean


def own_weights(weights: Array, modified: Sequence[bool]) -> tuple[float, Array]:
    """Weigh only candidates that breaking left alone: their share, and weights that sum to one."""
    kept = np.array([0.0 if m else w for w, m in zip(weights, modified, strict=False)])
    share = float(kept.sum())
    return share, kept / share if share > 0 else kept


def next_covariance(
    state: CMAESState, ranked: Array, p_c: Array, h: float, k: CMAESConstants, weights: Array
) -> Array:
    """Update C by the path (rank one) and the best candidates (rank mu; paper-notes 8 and 13).

    Args:
        state: The state before the generation: old mean, sigma and C.
        ranked: The candidates after breaking, best first, never replaced by the anchor.
        p_c: The new evolution path.
        h: 1, or 0 where the path was stalled.
        k: The constants.
        weights: The weights of the best N_p // 2.

    Returns:
        The new C.
    """
    c_c, c_cov, mu_cov = k["c_c"], k["c_cov"], k["mu_cov"]
    rank_mu = np.zeros_like(state.C)
    for i, weight in enumerate(weights):
        step = (ranked[i] - state.mean) / state.sigma
        rank_mu = rank_mu + weight * np.outer(step, step)
    rank_one = np.outer(p_c, p_c) + (1.0 - h) * c_c * (2.0 - c_c) * state.C
    return (
        (1.0 - c_cov) * state.C
        + (c_cov / mu_cov) * rank_one
        + c_cov * (1.0 - 1.0 / mu_cov) * rank_mu
    )


def next_sigma(
    sigma: float,
    p_sigma: Array,
    shift: Array,
    sorted_errors: Array,
    k: CMAESConstants,
    damped: bool,
) -> float:
    """Update the step size, damped by the shift of breaking (Eqs. 45 and 46; paper-notes 9).

    If the best error equals the one at 0-based rank N_p // 2, sigma grows besides; the damping
    does not touch that (paper-notes 13).

    Args:
        sigma: The step size so far.
        p_sigma: The new evolution path.
        shift: The shift s of the centroid of the best N_p // 2, D entries.
        sorted_errors: The errors of the generation, best first.
        k: The constants.
        damped: Whether Eq. 46 replaces Eq. 45.

    Returns:
        The new step size.
    """
    D, population_size = len(p_sigma), len(sorted_errors)
    chi = (k["c_sigma"] / k["d_sigma"]) * (math.hypot(*p_sigma) / k["chi_n"] - 1.0)
    if damped:
        chi = chi * math.exp(-0.05 * D**2 * math.hypot(*shift))
    sigma = sigma * math.exp(chi)
    if sorted_errors[0] == sorted_errors[population_size // 2]:
        sigma = sigma * math.exp(0.2 + k["c_sigma"] / k["d_sigma"])
    return sigma


def cmaes_generation(
    state: CMAESState,
    candidates: Array,
    errors: Array,
    anchor: Array,
    break_one: BreakOne | None,
    replace_mean: bool = False,
    damped: bool = False,
    own_partition: bool = False,
) -> CMAESState:
    """Carry out one generation of CMA-ES with symmetry breaking (Algorithm 3, Eqs. 45 and 46).

    Follows paper-notes 4, 5, 7, 8, 9, 11 and 13, without any guard or repair.

    Args:
        state: The state that the candidates were drawn from.
        candidates: The candidates as evaluated, shape (N_p, D).
        errors: Their errors.
        anchor: The best vector so far, this generation included.
        break_one: Maps (theta, anchor) to (theta', modified), called once per candidate in the
            order given; None for plain CMA-ES.
        replace_mean: Whether the anchor stands in for modified candidates in the mean.
        damped: Whether the shift of breaking damps the step size.
        own_partition: Whether modified candidates are left out, of the mean where the others hold
            more than half of the weight, of the covariance where they hold more than a tenth.

    Returns:
        The state after the generation.
    """
    candidates, anchor = np.asarray(candidates, dtype=float), np.asarray(anchor, dtype=float)
    errors = np.asarray(errors, dtype=float)
    population_size, N = candidates.shape
    k = cmaes_constants(N, population_size)
    mu, mu_eff, c_sigma, c_c = k["mu"], k["mu_eff"], k["c_sigma"], k["c_c"]

    broken, modified = candidates.copy(), [False] * population_size
    if break_one is not None:
        for j in range(population_size):
            broken[j], modified[j] = break_one(candidates[j].copy(), anchor)
    order = np.argsort(errors, kind="stable")
    ranked, ranked_modified = broken[order], [modified[j] for j in order]
    shift = ranked[:mu].mean(axis=0) - candidates[order][:mu].mean(axis=0)

    share, own = own_weights(k["weights"], ranked_modified)
    if own_partition and share > 0.5:
        mean = algorithm_3(ranked, ranked_modified, anchor, own, False)
    else:
        mean = algorithm_3(ranked, ranked_modified, anchor, k["weights"], replace_mean)
    y = (mean - state.mean) / state.sigma
    p_sigma = (1.0 - c_sigma) * state.p_sigma + math.sqrt(c_sigma * (2.0 - c_sigma) * mu_eff) * (
        inverse_root(state.C) @ y
    )
    g = state.generation + 1
    unbiased = math.hypot(*p_sigma) / math.sqrt(1.0 - (1.0 - c_sigma) ** (2 * g))
    h = 1.0 if unbiased / k["chi_n"] < 1.4 + 2.0 / (N + 1.0) else 0.0
    p_c = (1.0 - c_c) * state.p_c + h * math.sqrt(c_c * (2.0 - c_c) * mu_eff) * y
    weights = own if own_partition and share > 0.1 else k["weights"]
    C = next_covariance(state, ranked, p_c, h, k, weights)
    sigma = next_sigma(state.sigma, p_sigma, shift, errors[order], k, damped)
    return CMAESState(mean, sigma, C, p_sigma, p_c, g)
