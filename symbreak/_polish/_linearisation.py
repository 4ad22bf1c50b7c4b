"""The fit of a problem at one vector, and what a Gauss-Newton step from there needs."""

from __future__ import annotations

import math

import numpy as np

from symbreak._polish import _kernels as kernels
from symbreak._polish._products import SPARE
from symbreak._polish._steps import COLUMNS, LARGE, Dual
from symbreak._support.checks import Array, check_memory
from symbreak.problems import Problem
from symbreak.topology import Topology

#: Samples whose derivatives are held at once: with 150 parameters they fill half of an L2 cache.
BLOCK = 256
PADDING = 16

_NOTHING = np.empty((0, 0))


class Linearisation:
    """Call it with a vector: it holds the best output layer there, and the normal equations.

    Its arrays are overwritten by the next call and shared with nobody.

    Attributes:
        output_weights: (n, q), a last row for an output bias; fitted to the problem's targets.
        norms: (n,) squared lengths of the orthogonalised columns of hidden outputs; 0 where a
            column is dependent and has no weights.
        R: (n, n + q) unit upper triangle, the columns as combinations of the orthogonal ones.
        H: (min(n, q), n, D) products of the orthonormal basis with the derivatives of each
            output, after a rotation of the outputs that leaves as few as there can be.
        sum_of_squares: Of weighted residuals, and ``alpha`` times those of theta, as
            ``network.ridge_shares`` counts them, and of output weights.
        G: (D, D) ``J'J``, in its lower triangle; J is Kaufman's Jacobian. Empty if that is held.
        J: (rows, D), some of them zeros, where there are fewer samples than weights; or None.
        g: (D,) ``J'r``, half the gradient of the sum of squares (without that of the ridge).
        weight: Sum of the sample weights, which is K if there are none.
    """

    def __init__(self, problem: Problem) -> None:
        topology, K = problem.topology, len(problem.train)
        sizes, shift = np.array(topology.sizes), problem.output_shift
        n, q, D = topology.hidden[-1] + shift, topology.n_outputs, topology.dim
        n_blocks = -(-K // BLOCK)
        block = -(-K // (PADDING * n_blocks)) * PADDING
        samples = n_blocks * block
        weights = problem.train.weights
        self.weight = problem.train.total_weight
        root_weights, YT = np.zeros(samples), np.zeros((q, samples))
        root_weights[:K] = 1.0 if weights is None else np.sqrt(weights)
        YT[:, :K] = problem.train.y.T
        x = np.zeros((topology.n_inputs + sum(topology.hidden), samples))
        x[: topology.n_inputs, :K] = problem.train.X.T
        V, B = np.zeros((n + q, samples + n)), np.zeros((D + SPARE, block))
        self.R, self.norms = np.zeros((n, n + q)), np.zeros(n)
        self.output_weights, self.sum_of_squares = np.zeros((n, q)), math.inf
        rank = min(q, topology.hidden[-1])
        self.H, self.g = np.zeros((rank, n, D)), np.zeros(D)
        self.J = np.zeros((rank * (samples + n), D)) if is_dual(topology, K) else None
        self.G = np.zeros((D, D)) if self.J is None else _NOTHING
        self._fitted: tuple[Array | None, float] = None, 0.0
        data = x, np.zeros_like(x), root_weights, V, self.output_weights
        self._for_fit = (sizes, *data, topology.activation.code, shift, YT, self.R, self.norms)
        J = _NOTHING if self.J is None else self.J
        scratch = B, np.zeros((max(topology.sizes), block))
        self._for_equations = (sizes, *data, *scratch, self.H, self.G, self.g, J)

    @property
    def diagonal(self) -> Array:
        """That of ``J'J``."""
        return self.G.diagonal() if self.J is None else Dual(self.J).diagonal

    def fit(self, theta: Array, alpha: float) -> float:
        """The sum of squares of the best output layer, ridge included."""
        if self._fitted[0] is not theta or self._fitted[1] != alpha:  # nobody changes a vector
            self.sum_of_squares = kernels.fit(theta, alpha, *self._for_fit)
            self._fitted = theta, alpha
        return self.sum_of_squares

    def __call__(self, theta: Array, alpha: float) -> float:
        """The same, and the normal equations."""
        total = self.fit(theta, alpha)
        kernels.normal_equations(theta, alpha, *self._for_equations)
        return total


def n_rows(topology: Topology, n_samples: int) -> int:
    """Rows of a Jacobian, those of the ridge included."""
    last = topology.hidden[-1]
    return min(topology.n_outputs, last) * (n_samples + last)


def is_dual(topology: Topology, n_samples: int) -> bool:
    """Whether steps are solved for by equations of samples, not of weights.

    With 800 to 2,500 weights an iteration takes as long by either where there are .55 times as many
    rows as weights, and a third of the time where there are .25 times as many (2026-11).
    """
    return topology.dim > LARGE and 2 * n_rows(topology, n_samples) < topology.dim


def check_polish_memory(problem: Problem) -> None:
    """Refuse a network whose normal equations would not fit the memory."""
    topology = problem.topology
    n, q, D = topology.hidden[-1] + problem.output_shift, topology.n_outputs, topology.dim
    n_samples = len(problem.train) + BLOCK
    rank = min(q, topology.hidden[-1])
    rows = n_rows(topology, n_samples) if is_dual(topology, len(problem.train)) else 0
    matrices = rows * (D + 2 * rows + COLUMNS) if rows else 4 * D * D
    doubles = matrices + rank * n * D + BLOCK * D + (2 * sum(topology.sizes) + n + q) * n_samples
    check_memory(
        f"the polish of a {topology} network, with its {rows or D:,} by {D:,} matrices,",
        8 * doubles,
        'use a method without one, such as method="DE-SB-LA-W", or polish="none"',
    )


# What the parts of an iteration cost, in the multiply-adds of an evaluation; with these numbers
# the count is within 15 % of what six networks took (benchmarks/polish.py, 2026-11).
TANH = 4
#: A derivative that is written to memory, in two passes.
DERIVATIVE = 6
#: Matrix products do so many multiply-adds in the time in which an evaluation does one.
PRODUCTS = 1.75
#: Equations are solved about so often: for each trial, and again to stay in the ball.
SOLUTIONS = 3
#: The same by LAPACK, which is faster, with the inverse for the evidence.
SOLUTIONS_LARGE = 2
#: What an iteration costs whatever its size, 25 us.
OVERHEAD = 150_000


def jacobian_cost(topology: Topology, n_samples: int, *, output_shift: bool = False) -> int:
    """What a Jacobian and the step it gives cost, in evaluations of the same network.

    By counting multiply-adds, so that it is the same everywhere; ``benchmarks/polish.py`` compares
    it with what is measured.
    """
    n, q, D = topology.hidden[-1] + output_shift, topology.n_outputs, topology.dim
    layers = sum(rows * (columns - 1) for rows, columns in topology.shapes)
    evaluation = TANH * sum(topology.hidden) + layers + 2 * sum(n - j - 1 + q for j in range(n))
    twice = n * n  # the basis is orthogonalised once more
    rank = min(q, topology.hidden[-1])
    share = 0
    if rank > 1 and len(topology.hidden) == 1:  # outputs share their derivatives
        rank, share = 1, rank * (n + q)
    backward = DERIVATIVE * rank * (D + layers) + share
    products = 2.0 * rank * n * D
    if is_dual(topology, n_samples):
        solutions = SOLUTIONS_LARGE * n_rows(topology, n_samples) ** 2 * D / 2
    else:
        products += rank * D * D / 2
        solutions = (SOLUTIONS_LARGE if D > LARGE else SOLUTIONS) * D**3 / 6
    once = solutions + OVERHEAD  # the rest is done for every sample
    work = evaluation + twice + backward + products / PRODUCTS + once / n_samples
    return max(1, round(work / evaluation))
