import numpy as np
import pytest

from symbreak import DE, make_optimizer
from symbreak.optimizers import _de
from tests import reference_de
from tests.optimizers.runs import NET, family, landscape, twin_breaking

INFLATING = ["DE-SB", "DE-SB-LA", "DE-SB-LA-W"]


@pytest.mark.parametrize("method", family("DE"))
def test_generations_are_those_of_the_slow_twin(method):
    n, generations = 10, 12
    optimizer = make_optimizer(method, NET, seed=5, population_size=n)
    for _ in range(generations):
        candidates = optimizer.ask()
        optimizer.tell(candidates, landscape(candidates))

    rng = np.random.default_rng(5)
    break_all = twin_breaking(method, rng)
    population = rng.uniform(-1, 1, size=(n, NET.dim))
    errors = landscape(population)
    to_beat = errors.copy()
    better = n // 2 if method == "DE-SB-LA-W" else n

    def anchor():
        return population[np.argsort(errors, kind="stable")[:better]].mean(axis=0)

    population, modified = break_all(population, anchor())
    n_modified = 0
    for _ in range(generations - 1):
        uniforms, F, CR = rng.random((n, 4 + NET.dim)), 0.5, 0.9
        if method == "DE-SB-LA-W":
            F = 0.55 + 0.25 * rng.uniform(-1, 1, size=n)
            CR = np.where(rng.random(n) < 0.5, 1.0, 0.9)
        trials = reference_de.de_trials(population, uniforms, F, CR)
        population, errors, to_beat = reference_de.de_select(
            population, errors, to_beat, trials, landscape(trials)
        )
        population, modified = break_all(population, anchor())
        n_modified += modified.sum()
        if method in INFLATING:
            to_beat = reference_de.inflate(to_beat, modified)

    assert (n_modified > 0) == (method != "DE")
    assert optimizer.population == pytest.approx(population, rel=1e-12)
    assert optimizer.errors == pytest.approx(errors, rel=1e-12)
    assert optimizer._to_beat == pytest.approx(to_beat, rel=1e-12)
    assert optimizer.modified.tolist() == modified.tolist()


def test_more_trials_are_whole_where_the_population_spans_the_space():
    assert DE(10, population_size=39, full_crossover_share="auto").full_crossover_share == 0.5
    assert DE(10, population_size=40, full_crossover_share="auto").full_crossover_share == 0.75
    with pytest.raises(ValueError, match="full_crossover_share"):
        DE(10, population_size=40, full_crossover_share="all")


def test_the_inflation_compounds_but_stays_finite():
    to_beat, modified = np.ones(4), np.array([True, False, True, True])
    for _ in range(1000):
        _de._inflate(to_beat, modified)
    assert to_beat.tolist() == [1e300, 1.0, 1.0, 1.0]
    huge = np.array([1e305, np.inf, 1.0, 1.0, 1.0])
    _de._inflate(huge, np.ones(5, dtype=bool))
    assert huge.tolist() == [1e305, np.inf, 1.0, 1.0, 1.0]  # never lowered; 5 // 2 of them
    negative = np.array([-5.0, -3.0, -4.0, -1.0])  # measured from the smallest one
    _de._inflate(negative, np.ones(4, dtype=bool))
    assert negative.tolist() == [-5.0, -5.0 + 100 * 2.0, -4.0, -1.0]


def test_a_trial_wins_a_tie_but_a_non_finite_one_never_wins():
    optimizer = DE(2, population_size=4, initial_population=np.zeros((4, 2)), seed=0)
    optimizer.tell(optimizer.ask(), [1.0, 2.0, np.inf, np.nan])
    trials = np.arange(1.0, 9).reshape(4, 2)
    optimizer.tell(trials, [1.0, np.nan, np.inf, 7.0])
    assert optimizer.population.tolist() == [[1, 2], [0, 0], [0, 0], [7, 8]]
    assert optimizer.errors.tolist() == [1.0, 2.0, np.inf, 7.0]
    assert optimizer.best.error == 1.0
