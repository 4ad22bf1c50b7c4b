"""The clock of a try: what a contestant has found, and after how many seconds.

Contestants tell their watch whenever they know more. It stops them when the time is up or the goal
is reached, and its clock stands still while it measures a network that is given to it.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from _timing import Array

from symbreak import Problem
from symbreak.network import fit_output_weights, hidden_outputs

#: Errors are noted when they have fallen by this factor, or to the goal.
GRAIN = 0.99


class Enough(Exception):  # noqa: N818 - it is no fault
    """The time is up, or the goal is reached."""


class Watch:
    """Hand it errors or networks; it raises ``Enough`` when there is nothing left to do.

    Seconds are those of the processor: a busy machine changes little, and whoever used several
    threads would pay for all of them.

    Args:
        problem: What is trained.
        limit: Seconds that a try may take.
        goal: Error that ends it.

    Attributes:
        curve: Seconds and errors of improvements.
        error: The best so far.
        outside: Whether its network is outside the ball that the problem has.
    """

    def __init__(self, problem: Problem, limit: float, goal: float) -> None:
        self.limit, self.goal = limit, goal
        self.curve: list[tuple[float, float]] = []
        self.error, self.outside = np.inf, False
        self._radius = np.inf if problem.rescale == "none" else np.sqrt(problem.topology.dim)
        self._noted = np.inf
        self._measure = network_error(problem)
        self._away = 0.0
        self._began = time.process_time()

    @property
    def seconds(self) -> float:
        """How long the contestant has worked, at most the limit."""
        return min(time.process_time() - self._began - self._away, self.limit)

    def see(self, error: float) -> None:
        """Note the error of the best network so far."""
        seconds = self.seconds
        if seconds >= self.limit:
            raise Enough
        if error < self.error:
            self.error = error
            if error <= max(GRAIN * self._noted, self.goal):
                self.curve.append((seconds, error))
                self._noted = error
        if self.error <= self.goal:
            raise Enough

    def see_network(self, theta: Array) -> None:
        """Measure a network by its hidden layers (D,), while the clock stands still, and note it.

        Whatever its output layer is, the best one counts, and there is no ball.
        """
        began = time.process_time()
        error = self._measure(theta)
        if error < self.error:
            self.outside = bool(np.linalg.norm(theta) > self._radius)
        self._away += time.process_time() - began
        self.see(error)


def network_error(problem: Problem) -> Callable[[Array], float]:
    """Mean squared error of hidden layers with their best output layer, without a ball."""
    X, y = problem.train.X, problem.train.y

    def error(theta: Array) -> float:
        if not np.isfinite(theta).all():
            return np.inf
        A = hidden_outputs(theta, problem.topology, X, shift=problem.output_shift)
        return float(np.mean((A @ fit_output_weights(A, y) - y) ** 2))

    return error
