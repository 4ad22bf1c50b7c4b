"""What every optimizer shares: the ask/tell protocol, the best so far, and its saved state."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from symbreak._support.checks import (
    Array,
    Mask,
    check_choice,
    check_count,
    check_finite,
    check_magnitude,
    check_memory,
    check_population,
    check_text,
    check_vectors,
    shown,
)
from symbreak._support.compile import compiled
from symbreak._support.state import (
    State,
    check_declared,
    check_saved,
    generator_from,
    reading_state,
    restored,
    saved_value,
    taken,
)
from symbreak.symmetry import BREAKINGS, Breaking, NoBreaking
from symbreak.topology import Topology

#: Generators whose state is a few numbers.
BIT_GENERATORS = ("PCG64", "PCG64DXSM")

#: Every optimizer there is, by the name of its class: what a saved state is restored by.
OPTIMIZERS: dict[str, type[Optimizer]] = {}


class Best(NamedTuple):
    """The best candidate told so far; before any finite error ``theta`` is None."""

    theta: Array | None
    error: float


class Optimizer(ABC):
    """A population search with ``ask`` and ``tell``; symmetry breaking happens inside ``tell``.

    A new optimizer gives ``default_population_size``, ``saved``, ``_propose`` and ``_update``.
    ``_propose`` may return any number of candidates, which ``next_size`` says beforehand;
    ``stopped`` may say that there is no use in going on.

    Args:
        dim: Number of parameters D.
        population_size: Candidates per generation, N_p, at least 4; at first, for an optimizer
            that shrinks its population.
        max_evaluations: The budget, for optimizers that plan with it; None if it is not known.
        breaking: How symmetries are broken; not at all by default.
        initial_population: The candidates of the first generation, (N_p, D), or None.
        seed: An integer, or a generator to draw from.

    Attributes:
        best: Best candidate so far, with its true error.
        generation: Generations told so far.
        n_evaluations: Candidates told so far.
        population: Candidates (n, D) that are kept from one generation to the next; None before the
            first tell, and for searches that keep none.
        errors: Their true errors (n,).
        modified: Which candidates the last breaking modified, (n,).
        counters: How often something happened that a reader of results should know of, such as
            ``nonfinite`` errors.
    """

    default_population_size: ClassVar[int] = 100
    #: Whether errors are noisy: who runs the search says so, and judges ``parents`` again.
    noisy = False
    population: Any = None
    errors: Any = None
    #: What ``counters`` count.
    counted: ClassVar[tuple[str, ...]] = ("nonfinite",)
    #: Attributes that make up the state, besides what this class saves itself, each with float,
    #: int, bool, str or dict, or for an array its shape in letters: N candidates, D parameters, a
    #: lower-case letter for any size, and "?" at the end if it may be None, such as "N D" or "n?".
    saved: ClassVar[Mapping[str, type | str]] = {}
    #: What to do where there is not enough memory.
    _less_memory = "use a smaller population or network"
    _saved_by_all: ClassVar[Mapping[str, type | str]] = {
        "generation": int,
        "n_evaluations": int,
        "counters": dict,
        "modified": "n",
        "_asked": "n D?",
    }

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        check_declared(cls.__name__, cls.saved)
        OPTIMIZERS[cls.__name__] = cls

    def __init__(
        self,
        dim: int,
        *,
        population_size: int | None = None,
        max_evaluations: int | None = None,
        breaking: Breaking | None = None,
        initial_population: ArrayLike | None = None,
        seed: int | Generator = 0,
    ) -> None:
        self.dim = check_count("dim", dim, 1)
        self.population_size = check_count(
            "population_size",
            self.usual_population_size(dim) if population_size is None else population_size,
            4,
            "a candidate and three others",
        )
        who, size = type(self).__name__, self.population_size
        what = f"{who} with {size:,} candidates of {dim:,} parameters"
        check_memory(what, 8 * self._n_numbers, self._less_memory)
        self.max_evaluations = max_evaluations
        if max_evaluations is not None:
            least = self.population_size
            self.max_evaluations = check_count(
                "max_evaluations", max_evaluations, least, "one generation"
            )
        self.breaking = _checked_breaking(breaking, self.dim)
        self.best = Best(None, np.inf)
        self.generation = self.n_evaluations = 0
        self.modified: Mask = np.zeros(self.population_size, dtype=np.bool_)
        self.counters = dict.fromkeys(self.counted, 0)
        self._rng = _checked_generator(seed)
        self._asked: Array | None = None
        if initial_population is not None:
            name = "initial_population"
            self._asked = self._checked(initial_population, name, self.population_size).copy()
            check_magnitude(name, self._asked)

    def _checked(self, candidates: ArrayLike, name: str, n: int) -> Array:
        array = check_population(candidates, self.dim, name)
        if len(array) != n:
            raise ValueError(
                f"{name} must have shape (n, D) = ({n}, {self.dim}), got {array.shape}."
            )
        return array

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(dim={self.dim}, population_size={self.population_size}, "
            f"breaking={self.breaking.name!r}, generation={self.generation}, "
            f"error={self.best.error:.6g})"
        )

    @classmethod
    def usual_population_size(cls, dim: int) -> int:
        """Candidates per generation for D parameters."""
        return cls.default_population_size

    @property
    def _n_numbers(self) -> int:
        """What is held at a time: candidates, copies of them, what they are drawn from."""
        return 6 * self.population_size * (self.dim + 4)

    @property
    def step_size(self) -> float | None:
        """Standard deviation of the search along its widest axis, where there is one."""
        return None

    @property
    def stopped(self) -> str | None:
        """Why there is no use in going on, or None."""
        return None

    @property
    def next_size(self) -> int:
        """How many candidates the next ``ask`` returns: for budgets."""
        return self.population_size if self._asked is None else len(self._asked)

    @property
    def parents(self) -> Array | None:
        """Candidates (m, D) with whose errors those of the next ones are compared; None if none."""
        return self.population

    def renew(self, errors: Array) -> None:
        """Take in errors (m,) of the parents that were judged again: luck must not last."""
        self.n_evaluations += len(errors)
        self.errors = errors.copy()

    @property
    def finalists(self) -> Array:
        """Where errors are noisy: candidates (k, D) that may be better than the luckiest."""
        parents = self.parents
        return np.empty((0, self.dim)) if parents is None else parents.mean(axis=0)[None]

    def ask(self) -> Array:
        """Candidates (n, D) to evaluate; the same ones until they are told."""
        if self._asked is None:
            self._asked = self._propose()
        return self._asked.copy()  # the caller may do with it what it likes

    def tell(self, candidates: ArrayLike, errors: ArrayLike) -> None:
        """Take in the errors (n,) of the candidates that were asked.

        An error that is NaN or infinite counts as worst.
        """
        n = self.next_size
        candidates = self._checked(candidates, "candidates", n)
        errors = check_vectors(errors, f"({n},)", "errors").copy()
        if errors.shape != (n,):
            raise ValueError(f"errors must have shape (n,) = ({n},), got {errors.shape}.")
        leader, n_finite, finite = _settle_errors(candidates, errors)
        if not finite:
            check_finite("candidates", candidates)  # says where
        if errors[leader] < self.best.error:
            self.best = Best(candidates[leader].copy(), float(errors[leader]))
        self.counters["nonfinite"] += n - n_finite
        self.n_evaluations += n
        self._update(candidates, errors)
        self.generation += 1
        self._asked = None

    @abstractmethod
    def _propose(self) -> Array:
        """Draw the next candidates (n, D)."""

    @abstractmethod
    def _update(self, candidates: Array, errors: Array) -> None:
        """Learn from evaluated candidates; errors are finite or +inf, ``best`` is up to date."""

    def state(self) -> State:
        """Everything that determines the rest of the run: arrays and JSON-able values."""
        return {
            "optimizer": type(self).__name__,
            "dim": self.dim,
            "population_size": self.population_size,
            "max_evaluations": self.max_evaluations,
            "breaking": self.breaking.name,
            "topology": str(self.breaking.topology or ""),
            "rng": self._rng.bit_generator.state,
            "best_theta": saved_value(self.best.theta),
            "best_error": None if self.best.theta is None else self.best.error,
            **taken(self, self._all_saved()),
        }

    @classmethod
    def from_state(cls, state: State) -> Self:
        """An optimizer that goes on exactly where ``state()`` was taken.

        Called on ``Optimizer`` it makes whichever optimizer the state is of.

        Raises:
            ValueError: if the state is another optimizer's, lacks something or has a wrong shape.
        """
        name = state.get("optimizer") if isinstance(state, Mapping) else None
        kind = OPTIMIZERS.get(name) if isinstance(name, str) else None
        if kind is None or not issubclass(kind, cls):
            raise ValueError(f"the state must be one of {cls.__name__}, got one of {shown(name)}.")
        with reading_state():
            return kind._restored(state)

    @classmethod
    def _restored(cls, state: State) -> Self:
        """Checked, since compiled code does not look at shapes again."""
        name = check_choice("breaking", state["breaking"], BREAKINGS)
        topology = check_text("the state's topology", state["topology"])
        self = cls(
            state["dim"],
            population_size=state["population_size"],
            max_evaluations=state["max_evaluations"],
            breaking=BREAKINGS[name](Topology.parse(topology) if topology else None),
            seed=generator_from(state["rng"], BIT_GENERATORS),
            **cls._settings_in(state),
        )
        sizes = {"D": self.dim, "N": self.population_size}
        if state["best_error"] is not None:
            theta = check_saved("best_theta", state["best_theta"], "D", sizes)
            self.best = Best(theta, check_saved("best_error", state["best_error"], float, sizes))
        for name, value in restored(state, cls._all_saved(), sizes).items():
            setattr(self, name, value)
        self.counters = dict.fromkeys(cls.counted, 0) | self.counters
        for counter, n in self.counters.items():
            check_count(f"the state's {counter}", n, 0)
        asked, self._asked = self._asked, None
        if asked is not None:
            self._asked = self._checked(asked, "the state's _asked", self.next_size)
            check_finite("the state's _asked", asked)
        self._check_state()
        return self

    @classmethod
    def _settings_in(cls, state: State) -> dict[str, Any]:
        """Arguments of the constructor in a state, which it checks."""
        return {
            name: state[name]
            for name in cls.setting_names()
            if cls.saved.get(name) in (float, int, bool, str)
        }

    def _check_state(self) -> None:  # noqa: B027  (most have nothing to add)
        """Refuse a restored state whose parts do not fit each other."""

    @classmethod
    def setting_names(cls) -> tuple[str, ...]:
        """Arguments of the constructor, besides those that all optimizers have."""
        own = cls.__mro__[: cls.__mro__.index(Optimizer)]
        every = [p for kind in own for p in inspect.signature(kind).parameters.values()]
        shared = inspect.signature(Optimizer).parameters
        names = [p.name for p in every if p.kind is not p.VAR_KEYWORD and p.name not in shared]
        return tuple(dict.fromkeys(names))

    @classmethod
    def _all_saved(cls) -> dict[str, type | str]:
        return {**cls._saved_by_all, **cls.saved}


def _checked_breaking(breaking: Breaking | None, dim: int) -> Breaking:
    if breaking is None:
        return NoBreaking()
    topology = getattr(breaking, "topology", False)
    is_one = callable(breaking) and isinstance(topology, Topology | None)
    if isinstance(breaking, type) or not is_one:
        raise ValueError(
            f"breaking must be one of symbreak.symmetry, such as ProximityBreaking(topology), "
            f"got {shown(breaking)}."
        )
    if breaking.topology is not None and breaking.topology.dim != dim:
        raise ValueError(
            f"breaking is for a {topology} network, so dim must be {breaking.topology.dim}, got "
            f"{dim}."
        )
    return breaking


def _checked_generator(seed: int | Generator) -> Generator:
    if not isinstance(seed, Generator):
        return np.random.default_rng(check_count("seed", seed, 0))
    if type(seed.bit_generator).__name__ not in BIT_GENERATORS:
        raise ValueError(
            f"seed must be an integer or a generator of {' or '.join(BIT_GENERATORS)}, "
            f"whose state can be saved, got {seed!r}."
        )
    return seed


@compiled()
def _settle_errors(candidates: Array, errors: Array) -> tuple[int, int, bool]:
    """Make NaN and infinite errors +inf, in place.

    Returns where the smallest error is, how many are finite, and whether all candidates are.
    """
    leader, n_finite, finite = 0, 0, True
    for i in range(len(errors)):
        if -np.inf < errors[i] < np.inf:
            n_finite += 1
        else:
            errors[i] = np.inf
        if errors[i] < errors[leader]:
            leader = i
        for d in range(candidates.shape[1]):
            finite &= np.isfinite(candidates[i, d])
    return leader, n_finite, finite
