"""The contract: what every optimizer of every method must do, whatever it is.

A new row of ``METHODS`` is held to it at once, and so is an optimizer of a kind that the package
has none of.
"""

from typing import ClassVar

import numpy as np
import pytest

from symbreak import CMAES, DE, METHODS, Topology, load_problem, make_optimizer, methods
from symbreak.methods import Method
from symbreak.optimizers import Optimizer
from symbreak.optimizers._base import OPTIMIZERS
from symbreak.symmetry import ProximityBreaking
from symbreak.training import Run
from tests.optimizers.runs import NET, landscape
from tests.states import through_json


class Shrinking(Optimizer):
    """Random steps around the best, by ever fewer candidates; stops when four are left.

    It plans with the budget, if it is told: half of it brings the population down to its end.
    """

    default_population_size = 20
    saved: ClassVar = {"_size": int, "_step": float}

    def __init__(self, dim, **settings):
        super().__init__(dim, **settings)
        self._size, self._step = self.population_size, 1.0

    @property
    def next_size(self):
        return self._size if self._asked is None else len(self._asked)

    @property
    def stopped(self):
        return "the population has shrunk to its end" if self._size < 4 else None

    def _propose(self):
        centre = np.zeros(self.dim) if self.best.theta is None else self.best.theta
        return centre + self._step * self._rng.normal(size=(self._size, self.dim))

    def _update(self, candidates, errors):
        _, self.modified = self.breaking(candidates, candidates[errors.argmin()], self._rng)
        self._step *= 0.9
        if self.max_evaluations is None or self.n_evaluations > self.max_evaluations / 2:
            self._size -= 1


TOY = "toy-shrinking"
EVERY = pytest.mark.parametrize("method", [*METHODS, TOY])


@pytest.fixture(autouse=True)
def _with_toy(monkeypatch):
    row = Method(Shrinking, ProximityBreaking, family="toy", role="proximity")
    monkeypatch.setitem(methods._METHODS, TOY, row)


def advance(optimizer, generations, f=landscape):
    for _ in range(generations):
        candidates = optimizer.ask()
        optimizer.tell(candidates, f(candidates))
    return optimizer


def assert_same(a, b):
    """States, by their bits: NaN stands for nothing found yet."""
    assert a.keys() == b.keys()
    for name, value in a.items():
        if isinstance(value, dict):
            assert_same(value, b[name])
        elif isinstance(value, np.ndarray):
            assert value.tobytes() == b[name].tobytes(), name
        else:
            assert value == b[name], name


def test_every_optimizer_of_the_registry_is_held_to_the_contract():
    assert {row.optimizer for row in METHODS.values()} == {*OPTIMIZERS.values()}


@EVERY
def test_candidates_are_asked_and_told_as_the_protocol_says(method):
    np.random.seed(0)  # noqa: NPY002
    before = np.random.get_state()[1].tolist()  # noqa: NPY002
    optimizer = make_optimizer(method, NET, seed=7, population_size=12)
    smallest, told = np.inf, 0
    for _ in range(8):
        assert optimizer.stopped is None
        said, candidates = optimizer.next_size, optimizer.ask()
        assert len(candidates) == said == optimizer.next_size
        kept = candidates.copy()
        candidates[:] = 0  # what a caller does to its copy is its own affair
        assert np.array_equal(optimizer.ask(), kept)
        for wrong in (kept[:-1], np.vstack([kept, kept])):
            with pytest.raises(ValueError, match=rf"candidates must have shape .* = \({said}, "):
                optimizer.tell(wrong, np.zeros(len(wrong)))
        errors = landscape(kept)
        optimizer.tell(kept, errors)
        smallest, told = min(smallest, errors.min()), told + said
        assert optimizer.best.error == smallest == landscape(optimizer.best.theta)[0]
        assert optimizer.n_evaluations == told
        assert len(optimizer.modified) == said
    again, other = (
        advance(make_optimizer(method, NET, seed=seed, population_size=12), 8) for seed in (7, 8)
    )
    assert_same(optimizer.state(), again.state())
    assert not np.array_equal(optimizer.ask(), other.ask())
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002


@EVERY
def test_a_run_continued_from_its_state_at_any_generation_is_identical(method):
    whole = advance(make_optimizer(method, NET, seed=1, population_size=12), 8)
    part = make_optimizer(method, NET, seed=1, population_size=12)
    for generation in range(8):
        if generation % 2:
            part.ask()
        part = Optimizer.from_state(through_json(part.state()))
        advance(part, 1)
    assert type(part) is type(whole)
    assert_same(whole.state(), part.state())
    assert np.array_equal(whole.ask(), part.ask())


@EVERY
def test_non_finite_errors_count_as_worst_and_do_not_stop_the_search(method):
    optimizer = make_optimizer(method, NET, seed=0, population_size=12)
    for bad in (np.nan, np.inf, -np.inf):  # the first generations are lost altogether
        candidates = optimizer.ask()
        optimizer.tell(candidates, np.full(len(candidates), bad))
    assert optimizer.best.theta is None
    assert optimizer.best.error == np.inf
    assert optimizer.counters["nonfinite"] == optimizer.n_evaluations

    def sometimes(population):
        errors = landscape(population)
        errors[::6] = np.nan
        errors[1::6] = -np.inf
        return errors

    advance(optimizer, 1, sometimes)
    first = optimizer.best.error
    for _ in range(100):
        if optimizer.stopped is None:
            advance(optimizer, 1, sometimes)
    assert optimizer.best.error < first / (1.1 if method == TOY else 2)
    assert landscape(optimizer.best.theta)[0] == pytest.approx(optimizer.best.error)
    assert np.isfinite(optimizer.ask()).all()


@EVERY
def test_a_training_keeps_to_its_budget_and_goes_on_from_its_state(method):
    problem = load_problem("syn5")
    options = {"max_evaluations": 400, "population_size": 20, "polish": "none"}
    whole, run = (Run(problem, method, **options) for _ in range(2))
    optimizer = whole.search
    assert optimizer.max_evaluations == 400
    while not whole.finished:
        whole.step()
        run = Run.from_state(problem, through_json(run.state()))
        run.step()
    record = whole.record()
    assert record.role == (METHODS[method].role if METHODS[method].polish == "none" else "variant")
    assert record.n_evaluations == record.generation_evaluations[-1] <= 400
    if record.stopped == "budget":
        assert record.n_evaluations + optimizer.next_size > 400
    else:
        assert record.stopped == optimizer.stopped
    assert run.record().model.to_json() == record.model.to_json()
    assert_same(run.state()["history"], whole.state()["history"])


@EVERY
def test_an_initial_population_is_asked_first(method):
    initial = np.random.default_rng(0).normal(size=(9, NET.dim))
    optimizer = make_optimizer(method, NET, initial_population=initial)
    assert optimizer.population_size == 9
    assert np.array_equal(optimizer.ask(), initial)
    advance(optimizer, 2)
    assert not np.array_equal(optimizer.ask(), initial)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"population_size": 3}, "population_size must be an integer of at least 4"),
        ({"population_size": 9.5}, "population_size .* got 9.5"),
        ({"seed": -1}, "seed must be an integer of at least 0"),
        ({"seed": None}, "seed .* got None"),
        ({"seed": np.random.Generator(np.random.MT19937(0))}, "of PCG64 or PCG64DXSM"),
        ({"initial_population": np.zeros((7, 3))}, r"\(8, 3\), got \(7, 3\)"),
        ({"initial_population": np.full((8, 3), np.nan)}, "must be finite"),
        ({"initial_population": np.full((8, 3), 1e200)}, "below 1e.100"),
        ({"breaking": ProximityBreaking(Topology.parse("1-5-1"))}, "dim must be 10, got 3"),
    ],
)
@pytest.mark.parametrize("kind", [DE, CMAES])
def test_bad_arguments_are_refused_in_words(kind, arguments, message):
    with pytest.raises(ValueError, match=message):
        kind(3, **{"population_size": 8, **arguments})


@pytest.mark.parametrize("kind", [DE, CMAES])
def test_wrong_shapes_are_refused_in_letters_and_numbers(kind):
    optimizer = kind(3, population_size=8)
    candidates = optimizer.ask()
    with pytest.raises(ValueError, match=r"errors must have shape \(n,\) = \(8,\), got \(7,\)"):
        optimizer.tell(candidates, np.zeros(7))
    candidates[5, 2] = np.nan
    with pytest.raises(ValueError, match=r"candidates must be finite, .* index \(5, 2\)"):
        optimizer.tell(candidates, np.zeros(8))


def test_a_state_of_something_else_is_refused():
    state = DE(3, population_size=8).state()
    with pytest.raises(ValueError, match="must be one of CMAES, got one of 'DE'"):
        CMAES.from_state(state)
    del state["errors"]
    with pytest.raises(ValueError, match="lacks 'errors'"):
        DE.from_state(state)
    with pytest.raises(ValueError, match="unknown bit generator 'MT19937'"):
        DE.from_state(DE(3, population_size=8).state() | {"rng": {"bit_generator": "MT19937"}})


@pytest.mark.parametrize("kind", [np.ndarray, list, "N, D", "", "N 2", 3, [1], None])
def test_what_cannot_be_saved_is_refused_when_the_class_is_made(kind):
    with pytest.raises(TypeError, match=r"Mine\.saved\['_m'\] must be float, int, .* \"N D\""):
        type("Mine", (Optimizer,), {"saved": {"_m": kind}})
    assert "Mine" not in OPTIMIZERS


@pytest.mark.parametrize(("kind", "value"), [(float, np.zeros(3)), ("D", 1.0)])
def test_what_is_not_as_declared_is_refused_before_a_state_is_written(kind, value):
    optimizer = DE(6, population_size=8)
    optimizer._m = value
    optimizer._all_saved = lambda: {"_m": kind}
    with pytest.raises(TypeError, match=r"DE\.saved declares _m as (float|'D'), but it is"):
        optimizer.state()
