"""The claims of the paper and ours, at a size too large for every day: ``make test-slow``.

At each threshold stands what was seen with other seeds, in groups of as many.
"""

import numpy as np
import pytest

from symbreak import load_problem, train

pytestmark = pytest.mark.slow


def median_error(problem, method, budget, seeds=range(8)):
    return np.median([train(problem, method, max_evaluations=budget, seed=s).error for s in seeds])


def test_on_sinc_de_sb_has_at_most_a_quarter_of_the_error_of_de():
    problem = load_problem("sinc", seed=0)  # .04 to .10 in four groups
    assert median_error(problem, "DE-SB", 100_000) <= 0.25 * median_error(problem, "DE", 100_000)


def test_on_sinc2d_cma_es_fails_and_cma_es_sb_trains():
    problem = load_problem("sinc2d", seed=0)  # three groups: .33 to .40, and .0025 each
    assert median_error(problem, "CMA-ES", 100_000, range(5)) > 0.1
    assert median_error(problem, "CMA-ES-SB", 100_000, range(5)) < 0.01


def test_on_sinc_assignment_has_at_most_half_of_the_error_of_de_sb_early_on():
    problem = load_problem("sinc", seed=0)  # four groups: .07 to .39, and .05 to .21
    proximity = median_error(problem, "DE-SB", 50_000)
    assert median_error(problem, "DE-SB-LA", 50_000) <= 0.5 * proximity
    assert median_error(problem, "DE-SB-LA-W", 50_000) <= 0.5 * proximity


def test_on_inc_sinc_cma_es_by_assignment_is_ahead_early_on():
    problem = load_problem("inc-sinc", seed=0)  # three groups: .51 to .54; later up to .99
    proximity = median_error(problem, "CMA-ES-SB", 25_000, range(16))
    assert median_error(problem, "CMA-ES-SB-LA-P", 25_000, range(16)) < 0.8 * proximity
