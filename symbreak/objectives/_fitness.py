"""Any function of networks as an objective: a simulator, a game, a loss without a gradient."""

from __future__ import annotations

import hashlib
import math
import signal
import threading
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from traceback import format_exception_only
from typing import Any

import numpy as np

from symbreak._support.checks import (
    Array,
    check_choice,
    check_count,
    check_executor,
    check_flag,
    check_kind,
    check_population,
    check_real,
    check_theta,
    shown,
)
from symbreak.models import Model
from symbreak.network import divided
from symbreak.objectives._base import Objective
from symbreak.objectives._network import Network
from symbreak.problems import Scaling
from symbreak.topology import Topology

#: A population is divided into at most this many parts for an executor. It does not depend on the
#: number of workers, so that a vectorised function sees the same parts with any of them.
PARTS = 16
#: Seeds of generations are below this, those of the last judgement from here on: all are integers
#: of 31 bits, which any generator takes.
FRESH = 2**30


@dataclass(frozen=True)
class _Judge:
    """What an executor calls: the function, and how."""

    function: Callable[..., Any]
    topology: Topology
    inputs: Scaling | None
    vectorized: bool
    timeout: float | None
    raises: bool

    def __call__(self, thetas: Array, seed: int | None) -> tuple[Array, list[str]]:
        """Fitness (n,) of networks, NaN where there is none, and why."""
        if self.vectorized:
            return self._judged(thetas, len(thetas), seed)
        parts = [self._judged(theta, 1, seed) for theta in thetas]
        return np.concatenate([values for values, _ in parts]), [w for _, why in parts for w in why]

    def _judged(self, theta: Array, n: int, seed: int | None) -> tuple[Array, list[str]]:
        """The same of one call of the function."""
        network = Network(theta.copy(), self.topology, self.inputs)
        is_main = threading.current_thread() is threading.main_thread()
        if self.timeout is not None and not (is_main and hasattr(signal, "setitimer")):
            raise ValueError(
                "a timeout needs the main thread of a process; use an executor of them."
            )
        try:
            with nullcontext() if self.timeout is None else _timed(self.timeout):
                value = self.function(*(network,) if seed is None else (network, seed))
        except (Exception, SystemExit) as error:  # a simulator that gives up ends but itself
            if self.raises:
                raise
            why = "".join(format_exception_only(error)).strip()  # even if it cannot say what it is
            return np.full(n, math.nan), [why] * n
        try:
            values = np.array(() if value is None else value, dtype=np.float64)
        except (TypeError, ValueError):
            values = np.empty(0)
        except OverflowError:  # an integer beyond all floats
            values = np.full(n, math.inf)
        if self.vectorized and values.shape != (n,):
            raise ValueError(
                f"the fitness of a population must have shape (n,) = ({n},), a number for each "
                f"network, got {shown(value)}."
            )
        if values.size != n:
            raise ValueError(
                f"the fitness must be one number for a network, got {shown(value)}; "
                "a function of whole populations needs vectorized=True."
            )
        return values.reshape(n), [f"not finite: {v}" for v in values.flat if not math.isfinite(v)]


class Fitness(Objective):
    """A function of networks, to be minimised or maximised.

    Inside a run lower is better: with ``maximize`` its errors are the negative fitness. A network
    whose fitness is not finite, raises or takes too long counts as the worst there is; the first
    one is told by a warning, all are counted in ``failures``.

    Args:
        function: Of one ``Network``, to a number; with ``vectorized`` of n networks at once,
            to n numbers: a function that numba compiled would take ``networks.theta`` (n, D).
        topology: With ``outputs="searched"``; another is taken as a complete network too.
        vectorized: Whether it judges whole populations.
        maximize: Whether higher is better.
        noisy: Whether it takes a second argument, a seed. All networks of a generation, and the
            parents that they compete with, get the same one, so that luck is the same for all of
            them; the next generation gets another.
        episodes: How many seeds it is averaged over, if noisy.
        on_error: ``"count"``, or ``"raise"`` to end at the first network without a fitness.
        timeout: Seconds for a call of the function, at most; it must run in the main thread of a
            process, and be Python. What takes too long may differ from one run to the next.
        target: Fitness at which to stop.
        executor: Judges parts of a population at a time, anybody's ``concurrent.futures``.
        inputs: How observations are scaled, kept in the model; not at all by default.
        name: What to call it; by default the function's name.
        description: A line for tables and reports.

    Attributes:
        failures: How often there was no fitness, by the reason.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        topology: Topology,
        *,
        vectorized: bool = False,
        maximize: bool = False,
        noisy: bool = False,
        episodes: int = 1,
        on_error: str = "count",
        timeout: float | None = None,
        target: float | None = None,
        executor: Executor | None = None,
        inputs: Scaling | None = None,
        name: str | None = None,
        description: str = "",
    ) -> None:
        if not callable(function):
            raise ValueError(f"fitness must be a function of a network, got {shown(function)}.")
        check_kind("topology", topology, Topology, "such as Topology((4, 6, 1))")
        self.topology = replace(topology, outputs="searched")
        self.maximize, self.noisy = check_flag("maximize", maximize), check_flag("noisy", noisy)
        self.episodes = check_count("episodes", episodes, 1)
        raises = check_choice("on_error", on_error, ("count", "raise")) == "raise"
        if timeout is not None:
            timeout = check_real("timeout", timeout, 1e-3, 1e9)
        self._judge = _Judge(
            function, self.topology, inputs, check_flag("vectorized", vectorized), timeout, raises
        )
        d, q = topology.n_inputs, topology.n_outputs
        self._inputs, self._outputs = inputs or Scaling.identity(d), Scaling.identity(q)
        if len(self._inputs.mean) != d:
            raise ValueError(f"inputs must scale d = {d} numbers, got {len(self._inputs.mean)}.")
        check_executor(executor)
        self._executor = executor
        self._sign = -1.0 if self.maximize else 1.0
        self.name = str(name or getattr(function, "__name__", type(function).__name__))
        self.description = description
        self.origin = {"problem": self.name, "maximize": self.maximize}
        self.target = -math.inf
        if target is not None:
            self.target = self._sign * check_real("target", target, -math.inf, math.inf)
        home = f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', '')}"
        facts = (home, self.name, str(self.topology), maximize, vectorized, noisy, episodes)
        self.digest = hashlib.sha256(repr(facts).encode()).hexdigest()
        self.failures: Counter[str] = Counter()

    def __call__(self, population: Array) -> Array:
        population = check_population(population, self.topology.dim)
        errors = self._sign * self._mean(population)
        errors[~np.isfinite(errors)] = np.inf
        return errors

    def _mean(self, population: Array) -> Array:
        """Fitness, averaged over episodes if it is noisy."""
        if not self.noisy:
            return self.judge(population)
        # of nothing but the networks of a generation, so that states need no seed
        digest = hashlib.sha256(population.tobytes()).digest()
        first = int.from_bytes(digest[:4], "little") % FRESH
        seeds = [(first + i) % FRESH for i in range(self.episodes)]
        return np.mean([self.judge(population, seed) for seed in seeds], axis=0)

    def judge(self, thetas: Array, seed: int | None = None) -> Array:
        """Fitness (n,) of networks (n, D), in its own sign; NaN where there is none."""
        if self._executor is None:
            parts = [self._judge(thetas, seed)]
        else:
            cuts = np.array_split(thetas, min(PARTS, len(thetas)))
            parts = self._judged_elsewhere(self._executor, cuts, seed)
        reasons = [why for _, whys in parts for why in whys]
        if reasons and self._judge.raises:
            raise ValueError(f"a network has no fitness: {reasons[0]}.")
        if reasons and not self.failures:
            warnings.warn(
                f"{len(reasons)} of {len(thetas)} networks have no fitness and count as worst; "
                f"the first one: {reasons[0]}. All are counted.",
                stacklevel=2,
            )
        self.failures.update(reasons)
        return np.concatenate([values for values, _ in parts])

    def _judged_elsewhere(
        self, executor: Executor, cuts: list[Array], seed: int | None
    ) -> list[tuple[Array, list[str]]]:
        futures = [executor.submit(self._judge, part, seed) for part in cuts]
        try:
            return [future.result() for future in futures]
        except Exception as error:
            if self._judge.raises or isinstance(error, ValueError):  # of the function
                raise
            raise ValueError(
                f"the executor cannot judge networks ({type(error).__name__}: {error}); for other "
                "processes, the fitness must be a function of a module, and must not end them."
            ) from error

    def champion(self, thetas: Array, n: int = 30) -> tuple[Array, float, float]:
        """Of networks (m, D), the best by its mean over n fresh seeds, and that mean, judged again.

        The mean and its standard error are of seeds that nothing was selected by. Those without a
        fitness are left out, which a warning says; if all are, the mean is the worst there is.
        """

        def judged(of: Array, first: int) -> Array:
            return np.array([self.judge(of, FRESH + seed) for seed in range(first, first + n)])

        means = self._sign * judged(thetas, 0).mean(axis=0)
        best = thetas[int(np.argmin(np.where(np.isfinite(means), means, np.inf)))]
        values = judged(best[None], n)[:, 0]
        if (lost := n - np.count_nonzero(np.isfinite(values))) > 0:
            warnings.warn(
                f"The champion has no fitness on {lost} of {n} fresh seeds.", stacklevel=4
            )
            values = values[np.isfinite(values)]
        if len(values) < 2:
            return best, float(values[0]) if len(values) else self._sign * math.inf, math.nan
        return best, float(values.mean()), float(values.std(ddof=1) / math.sqrt(len(values)))

    def model(self, theta: Array, output_weights: Array | None = None) -> Model:
        """The network of a vector (D,): hidden layers and output weights, biases of 0 if none."""
        net = self.topology
        hidden, weights = divided(check_theta(theta, net.dim), net)
        return Model(
            replace(net, outputs="solved", biases=True),
            "regression",
            hidden,
            weights if net.biases else weights[:-1],
            self._inputs,
            self._outputs,
        )

    def network_error(self, model: Model, *, with_ridge: bool = True) -> float:
        """The error that a network of a run was found with."""
        return float(model.origin["error"])


def networks_for(
    name: str,
    usual: tuple[int, ...],
    hidden: Sequence[int] | None,
    topology: Topology | None,
    **net: Any,
) -> Topology:
    """The networks of a problem that says what goes in and out; ``usual`` are sizes of layers."""
    if topology is None:
        if not isinstance(layers := usual[1:-1] if hidden is None else hidden, Sequence):
            raise ValueError(
                f"hidden must be sizes of layers, such as (6, 4), got {shown(hidden)}."
            )
        return Topology((usual[0], *layers, usual[-1]), outputs="searched", **net)
    if hidden is not None:
        raise ValueError("either a topology or hidden layers can be given, got both.")
    check_kind("topology", topology, Topology, f"such as Topology({usual})")
    if (topology.n_inputs, topology.n_outputs) != (usual[0], usual[-1]):
        outputs = "1 output" if usual[-1] == 1 else f"{usual[-1]} outputs"
        raise ValueError(
            f"networks for {name} have {usual[0]} inputs and {outputs}, such as Topology({usual}), "
            f"got {topology}."
        )
    return topology


class _TimeIsUp(BaseException):
    """No Exception, since a simulator may catch those, and go on."""


@contextmanager
def _timed(seconds: float) -> Iterator[None]:
    """Raise a TimeoutError in what takes longer."""

    def end(number: int, frame: object) -> None:
        raise _TimeIsUp

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    except _TimeIsUp:
        raise TimeoutError(f"it took longer than {seconds:g} s") from None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
