"""Problems from data files: the task, the columns and the division."""

import math

import numpy as np
import pytest

from symbreak.problems import read_problem, read_table
from tests.problems.test_tables import written


def flowers(folder, labels):
    rows = "\n".join(f"{i}.5,{i % 7},{label}" for i, label in enumerate(labels))
    return written(folder, f"a,b,kind\n{rows}\n")


@pytest.mark.parametrize(
    ("labels", "task"),
    [
        (["red", "blue"] * 10, "classification"),
        (["True", "False"] * 10, "classification"),
        (["0", "1"] * 5, "classification"),
        (["0", "1", "2"] * 10, "classification"),
        (["0", "1", "2"] * 3, "regression"),  # too few rows to be sure
        ([str(i % 21) for i in range(210)], "regression"),
        (["0.5", "1"] * 20, "regression"),
    ],
)
def test_the_task_is_recognised(tmp_path, labels, task):
    assert read_problem(flowers(tmp_path, labels), name="a", task="auto").task == task


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([f"name {i}" for i in range(20)], "20 different strings in 20 rows, such as 'name 0'"),
        ([f"2020-01-{i % 5 + 10}" for i in range(50)], "neither numbers nor classes"),
        (["1", "2", "3", "x"] * 10, r"column 'kind' has text in row 5 \('x'\)"),
        ([""] * 12, "column 'kind' has missing values in row 2"),
        (["7"] * 12, "the target 'kind' is the same in all 12 rows, '7'.* Name another target"),
    ],
)
def test_a_target_that_is_neither_numbers_nor_classes_is_refused(tmp_path, labels, message):
    with pytest.raises(ValueError, match=message):
        read_problem(flowers(tmp_path, labels), name="a", task="auto")


@pytest.mark.parametrize("lost", ["", "NA", "?"])
def test_rows_without_a_target_are_left_out_and_counted(tmp_path, lost):
    path = flowers(tmp_path, ["none", "-", lost] * 10)  # which classes may be called
    problem = read_problem(path, name="a", task="auto")
    assert problem.classes == ("-", "none")
    assert problem.description == "10 rows without a target are left out"


def test_columns_are_chosen_by_name_and_names_are_kept(tmp_path):
    path = written(tmp_path, "ab,a,b,day\n" + "".join(f"{i},{i + 1},2,monday\n" for i in range(30)))
    problem = read_problem(path, name="p", targets="ab", ignore=["day"], task="auto")
    assert problem.feature_names == ("a", "b")
    assert problem.target_names == ("ab",)
    assert problem.targets.undo(problem.train.y).ravel() == pytest.approx(
        problem.inputs.undo(problem.train.X)[:, 0] - 1
    )
    assert read_problem(path, name="p", targets=["ab", "b"], ignore="day").topology.n_outputs == 2
    assert read_problem(path, name="p", ignore="day").target_names == ("b",)  # the last one left


def test_a_table_that_was_read_makes_the_same_problem(tmp_path):
    path = flowers(tmp_path, ["x", "y"] * 20)
    table = read_table(path)
    assert (
        read_problem(table, name="a", task="auto").digest
        == read_problem(path, name="a", task="auto").digest
    )
    with pytest.raises(ValueError, match="header and encoding are for files"):
        read_problem(table, name="a", header=True)


def test_an_archive_of_inputs_alone_needs_a_target(tmp_path):
    np.savez(tmp_path / "a.npz", X=np.arange(24.0).reshape(8, 3))
    with pytest.raises(ValueError, match=r"has no y; name the column to predict"):
        read_problem(tmp_path / "a.npz", name="a")
    problem = read_problem(tmp_path / "a.npz", name="a", targets="x2")
    assert problem.feature_names == ("x1", "x3")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"targets": ["a", "kind"], "task": "classification"}, "classification has one target"),
        ({"targets": ["a", "a"]}, "names a column twice"),
        ({"targets": "a", "ignore": ["a"]}, "'a' is a target, so it cannot be ignored"),
        ({"targets": "a", "categories": ["a"]}, "'a' is no input; for a target there is task"),
        ({"targets": [3]}, "targets must be names of columns"),
        ({"targets": "knd"}, "unknown column of a.csv 'knd'. Did you mean 'kind'"),
        ({"ignore": ["a", "b"]}, "no columns left for the inputs"),
        ({"ignore": ["a", "b", "kind"]}, "has no columns left; it was read as text"),
        ({"header": 0}, "header must be True or False, got 0"),
        ({"test": 1}, "at least 5 rows for training, but .* leave 0"),
        ({"validation": math.nan}, "validation must be a finite number"),
    ],
)
def test_a_bad_choice_of_columns_or_shares_is_refused(tmp_path, settings, message):
    with pytest.raises(ValueError, match=message):
        read_problem(flowers(tmp_path, ["1", "2"] * 9), name="a", **settings)


def test_data_files_are_divided_as_ever(tmp_path):
    """Studies in stores stay comparable; if this must change, raise ``DIVISION_VERSION``."""
    path = flowers(tmp_path, ["x", "y"] * 20)
    shares = {"validation": 0.25, "test": 0.1}
    problem = read_problem(path, name="mine", task="classification", **shares, seed=3)
    assert problem.classes == ("x", "y")
    assert [len(part) for part in (problem.train, problem.validation, problem.test)] == [26, 10, 4]
    assert problem.digest == "95f6ba9cfd05ac19e7326995346f182d"


@pytest.mark.parametrize("task", ["auto", "regression"])
def test_a_table_of_a_few_rows_is_refused(tmp_path, task):
    path = flowers(tmp_path, ["1.5", "2.5", "3.5"])
    with pytest.raises(ValueError, match="at least 5 rows for training, got 3"):
        read_problem(path, name="a", task=task)
    with pytest.raises(ValueError, match=r"test must be a share .* got 0.1 of 3"):
        read_problem(path, name="a", task=task, test=0.1)


def test_a_class_that_would_not_be_trained_on_is_named(tmp_path):
    path = flowers(tmp_path, ["x"] * 20 + ["y", "z"])
    with pytest.raises(ValueError, match=r"test y has labels that the training set lacks: [yz]"):
        read_problem(path, name="a", task="classification", test=0.75)
