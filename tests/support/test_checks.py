import datetime

import numpy as np
import pytest

from symbreak._support.checks import as_matrix, check_population, check_theta
from tests.papers import paper_problem

HALF = np.ma.array([[1.0, 2.0], [3.0, 4.0]], mask=[[0, 1], [0, 0]])
WHOLE = np.ma.array([[1.0, 2.0], [3.0, 4.0]])
DAYS = np.array([["2024-01-01", "2024-01-02"]] * 2, dtype="datetime64[D]")
AWKWARD = {
    "a masked array": HALF,
    "complex numbers": np.ones((2, 2)) + 0j,
    "a complex number in a list": [[1.0, 2j]],
    "a complex number among objects": np.array([[1.0, np.complex128(2)]], dtype=object),
    "dates": DAYS,
    "spans of time": DAYS - DAYS[0, 0],
    "dates among objects": np.array([[1.0, np.datetime64("2024-01-01")]], dtype=object),
    "Python's dates": [[datetime.date(2024, 1, 1), 1.0]],
    "texts": [["a", "b"]],
    "a ragged list": [[1.0], [1.0, 2.0]],
    "records": np.zeros(2, dtype=[("a", float)]),
    "None": None,
    "a set": {1.0},
}


@pytest.mark.parametrize("case", AWKWARD)
@pytest.mark.parametrize("check", [as_matrix, lambda n, x: check_theta(x, 2, n)])
def test_what_is_no_array_of_numbers_is_refused(check, case):
    with pytest.raises(ValueError, match=r"^data (must|has masked entries)"):
        check("data", AWKWARD[case])


@pytest.mark.parametrize(
    "values", [[[1, 2], [3, 4]], WHOLE, [WHOLE[0], WHOLE[1]], np.array([[1, 2], [3, 4]], dtype="O")]
)
def test_numbers_of_any_kind_are_taken(values):
    assert as_matrix("data", values).tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert check_population(values, 2).tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_a_matrix_is_a_copy_and_a_population_is_not():
    values = np.ones((2, 2))
    assert not np.shares_memory(as_matrix("data", values), values)
    assert np.shares_memory(check_population(values, 2), values)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"y": np.ma.array([0, 1, 0, 1], mask=[0, 1, 0, 0])}, "train y has masked entries"),
        ({"weights": np.ma.masked_less([0, 1, 2, 3], 1)}, "train weights has masked entries"),
        ({"weights": [1.0, 2.0]}, r"train weights must have shape \(K,\) = \(4,\)"),
        ({"weights": [1.0, 2.0, 0.0, 1.0]}, "must be positive, got 0; leave out samples"),
        ({"weights": [1.0, 2.0, np.nan, 1.0]}, "train weights must be finite"),
        ({"alpha": -1}, r"alpha .* must be a finite number in"),
        ({"feature_names": ("a",)}, "feature_names must be 2 different names or none"),
        ({"feature_names": ("a", "a")}, "feature_names must be 2 different names or none"),
        ({"target_names": ["a"]}, "target_names must be a tuple of strings"),
    ],
)
def test_impossible_settings_of_a_problem_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        paper_problem(np.arange(8.0).reshape(4, 2), **{"y": np.arange(4.0), **settings})
