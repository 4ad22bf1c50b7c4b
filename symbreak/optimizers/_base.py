"""What every optimiser shares: the ask/tell protocol, the best so far, and its saved state."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from symbreak._checks import (
    Array,
    Mask,
    check_count,
    check_finite,
    check_magnitude,
    check_population,
    unknown,
)
from symbreak._compile import compiled
from symbreak.symmetry import BREAKINGS, Breaking, NoBreaking
from symbreak.topology import Topology

State = dict[str, Any]

#: Generators whose state is a few numbers.
BIT_GENERATORS = {"PCG64": np.random.PCG64, "PCG64DXSM": np.random.PCG64DXSM}


class Best(NamedTuple):
    """The best candidate told so far; before any finite error ``theta`` is None."""

    theta: Array | None
    error: float


class Optimizer(ABC):
    """A population search with ``ask`` and ``tell``; symmetry breaking happens inside ``tell``.

    Args:
        dim: Number of parameters D.
        population_size: Candidates per generation, N_p, at least 4.
        breaking: How symmetries are broken; not at all by default.
        initial_population: The candidates of the first generation, (N_p, D), or None.
        seed: A whole number, or a generator to draw from.

    Attributes:
        best: Best candidate so far, with its true error.
        generation: Generations told so far.
        modified: Which candidates the last breaking modified, (N_p,).
        n_repairs: How often a covariance had to be repaired; 0 for optimisers without one.
        n_bounded: How often the step size had to be bounded.
    """

    #: Methods of one family are compared with each other, and share a population size.
    family: ClassVar[str]
    #: Attributes that make up the state, besides what this class saves itself.
    _saved: ClassVar[tuple[str, ...]]
    _saved_by_base: ClassVar = ("generation", "modified", "n_repairs", "n_bounded", "_asked")

    def __init__(
        self,
        dim: int,
        *,
        population_size: int,
        breaking: Breaking | None = None,
        initial_population: ArrayLike | None = None,
        seed: int | Generator = 0,
    ) -> None:
        self.dim = check_count("dim", dim, 1)
        self.population_size = check_count(
            "population_size", population_size, 4, "a candidate and three others"
        )
        self.breaking = breaking or NoBreaking()
        topology = self.breaking.topology
        if topology is not None and topology.dim != dim:
            raise ValueError(
                f"breaking is for a {topology} network, so dim must be {topology.dim}, got {dim}."
            )
        self.best = Best(None, np.inf)
        self.generation = 0
        self.modified: Mask = np.zeros(self.population_size, dtype=np.bool_)
        self.n_repairs = 0
        self.n_bounded = 0
        if not isinstance(seed, Generator):
            seed = np.random.default_rng(check_count("seed", seed, 0))
        self._rng = seed
        if type(seed.bit_generator).__name__ not in BIT_GENERATORS:
            raise ValueError(
                f"seed must be a whole number or a generator of {' or '.join(BIT_GENERATORS)}, "
                f"whose state can be saved, got {seed!r}."
            )
        self._asked: Array | None = None
        if initial_population is not None:
            name = "initial_population"
            self._asked = self._check_shape(initial_population, name).copy()
            check_magnitude(name, self._asked)

    @property
    def step_size(self) -> float | None:
        """Standard deviation of the search along its widest axis, where there is one."""
        return None

    def ask(self) -> Array:
        """Candidates (N_p, D) to evaluate; the same ones until they are told."""
        if self._asked is None:
            self._asked = self._propose()
        return self._asked.copy()  # the caller may do with it what it likes

    def tell(self, candidates: ArrayLike, errors: ArrayLike) -> None:
        """Take in the errors (N_p,) of the candidates that were asked.

        An error that is NaN or infinite counts as worst.
        """
        candidates = self._check_shape(candidates, "candidates")
        try:
            errors = np.array(errors, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"errors must be {self.population_size} numbers.") from None
        if errors.shape != (self.population_size,):
            raise ValueError(
                f"errors must have shape (N_p,) = ({self.population_size},), got {errors.shape}."
            )
        leader, finite = _look_through(candidates, errors)
        if not finite:
            check_finite("candidates", candidates)  # says where
        if errors[leader] < self.best.error:
            self.best = Best(candidates[leader].copy(), float(errors[leader]))
        self._update(candidates, errors)
        self.generation += 1
        self._asked = None

    @abstractmethod
    def _propose(self) -> Array:
        """Draw the next candidates (N_p, D)."""

    @abstractmethod
    def _update(self, candidates: Array, errors: Array) -> None:
        """Learn from evaluated candidates; errors are finite or +inf, ``best`` is up to date."""

    def state(self) -> State:
        """Everything that determines the rest of the run: arrays and JSON-able values."""
        return {
            "optimizer": type(self).__name__,
            "dim": self.dim,
            "population_size": self.population_size,
            "breaking": self.breaking.name,
            "topology": str(self.breaking.topology or ""),
            "rng": self._rng.bit_generator.state,
            "best_theta": _copied(self.best.theta),
            "best_error": None if self.best.theta is None else self.best.error,
            **{name: _copied(getattr(self, name)) for name in self._saved_by_base + self._saved},
        }

    @classmethod
    def from_state(cls, state: State) -> Self:
        """An optimiser that goes on exactly where ``state()`` was taken.

        Raises:
            ValueError: if the state is another optimiser's or lacks something.
        """
        if state.get("optimizer") != cls.__name__:
            raise ValueError(
                f"the state must be one of {cls.__name__}, got one of {state.get('optimizer')!r}."
            )
        try:
            breaking = _breaking_from(state["breaking"], state["topology"])
            optimizer = cls(
                state["dim"], population_size=state["population_size"], breaking=breaking
            )
            optimizer._rng = _generator_from(state["rng"])
            if state["best_error"] is not None:
                optimizer.best = Best(state["best_theta"].copy(), state["best_error"])
            for name in cls._saved_by_base + cls._saved:
                setattr(optimizer, name, _copied(state[name]))
        except KeyError as missing:
            raise ValueError(f"the state lacks {missing}; it was not written by state().") from None
        return optimizer

    def _check_shape(self, values: ArrayLike, name: str) -> Array:
        candidates = check_population(values, self.dim, name)
        if len(candidates) != self.population_size:
            raise ValueError(
                f"{name} must have shape (N_p, D) = ({self.population_size}, {self.dim}), "
                f"got {candidates.shape}."
            )
        return candidates


@compiled()
def _look_through(candidates: Array, errors: Array) -> tuple[int, bool]:
    """Make NaN and infinite errors +inf, in place.

    Answers where the smallest error is, and whether all candidates are finite.
    """
    leader, finite = 0, True
    for i in range(len(errors)):
        if not (-np.inf < errors[i] < np.inf):
            errors[i] = np.inf
        if errors[i] < errors[leader]:
            leader = i
        for d in range(candidates.shape[1]):
            finite &= np.isfinite(candidates[i, d])
    return leader, finite


def _copied(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray) else value


def _breaking_from(name: str, topology: str) -> Breaking:
    if name not in BREAKINGS:
        raise unknown("breaking", name, BREAKINGS)
    return BREAKINGS[name](Topology.parse(topology) if topology else None)


def _generator_from(state: State) -> Generator:
    """A generator in a saved state; only NumPy's own bit generators are made."""
    kind = state["bit_generator"]
    if kind not in BIT_GENERATORS:
        raise unknown("bit generator", kind, BIT_GENERATORS)
    bits = BIT_GENERATORS[kind]()
    bits.state = state
    return np.random.Generator(bits)
