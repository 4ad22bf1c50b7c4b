"""The paper's qualitative claims, at a size that takes minutes: ``make test-slow``."""

import numpy as np
import pytest

from symbreak import load_problem, train

pytestmark = pytest.mark.slow


def median_error(problem, method, budget, seeds=range(8)):
    return np.median([train(problem, method, max_evaluations=budget, seed=s).error for s in seeds])


def test_on_sinc_de_sb_has_at_most_a_quarter_of_the_error_of_de():
    problem = load_problem("sinc", seed=0)
    assert median_error(problem, "DE-SB", 100_000) <= 0.25 * median_error(problem, "DE", 100_000)


def test_on_sinc2d_cma_es_fails_and_cma_es_sb_trains():
    problem = load_problem("sinc2d", seed=0)
    assert median_error(problem, "CMA-ES", 100_000, range(5)) > 0.1
    assert median_error(problem, "CMA-ES-SB", 100_000, range(5)) < 0.01
