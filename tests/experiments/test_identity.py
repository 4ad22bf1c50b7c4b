"""Runs that are not comparable are never pooled, even if they share a name."""

import dataclasses

import numpy as np
import pytest

from symbreak._support.random import stream
from symbreak.experiments import Store, StudySpec, execute, merge_stores
from symbreak.experiments._spec import problem_of

STUDY = """
problems = ["syn5"]
methods = ["DE-SB"]
repetitions = 2
[budgets]
syn5 = 400
"""
TABLE = "x,y\n" + "".join(f"{i / 10},{(i / 10) ** 2}\n" for i in range(30))
FILE = '[data_file.mine]\nfile = "mine.csv"\n'


def add(path, text, **options):
    """Do a study in this process."""
    spec = StudySpec.parse(text, **options)
    with Store(path) as store:
        for run in spec.runs():
            store.add(run, execute(run))
    return path


def problems(path):
    with Store(path) as store:
        frame = store.frame()
        assert set(store.problems()) == set(frame.problem)
        assert set(store.curves().problem) == set(frame.problem)
        assert (frame.groupby("problem").identity.nunique() == 1).all()
        return frame.groupby("problem").size().to_dict()


def test_a_name_alone_is_enough_where_there_is_one_problem_of_it(tmp_path):
    assert problems(add(tmp_path / "a.db", STUDY)) == {"syn5": 2}


@pytest.mark.parametrize(
    ("change", "labels"),
    [
        ("[problem.syn5]\nhidden = [2]", {"syn5 (1-3-1)", "syn5 (1-2-1)"}),
        ('[problem.syn5]\nrescale = "radius"', {"syn5 (rescale unit)", "syn5 (rescale radius)"}),
        (
            "[problem.syn5]\noutput_shift = true",
            {"syn5 (output shift False)", "syn5 (output shift True)"},
        ),
    ],
)
def test_problems_of_one_name_are_told_apart(tmp_path, change, labels):
    path = add(tmp_path / "a.db", STUDY)
    assert problems(add(path, STUDY + change)) == dict.fromkeys(labels, 2)


def test_budgets_are_told_apart(tmp_path):
    path = add(tmp_path / "a.db", STUDY)
    found = problems(add(path, STUDY.replace("400", "480")))
    assert found == {"syn5 (400 evaluations)": 2, "syn5 (480 evaluations)": 2}


def test_data_are_told_apart(tmp_path):
    path = add(tmp_path / "a.db", STUDY)
    found = problems(add(path, "data_seed = 1\n" + STUDY))
    assert list(found.values()) == [2, 2]
    assert all(name.startswith("syn5 (data ") for name in found)


def test_redrawn_data_are_one_problem(tmp_path):
    assert problems(add(tmp_path / "a.db", 'data = "redrawn"\n' + STUDY)) == {"syn5": 2}


def test_another_data_file_is_another_problem(tmp_path):
    text = STUDY.replace("syn5", "mine") + FILE
    (tmp_path / "mine.csv").write_text(TABLE)
    path = add(tmp_path / "a.db", text, folder=tmp_path)
    (tmp_path / "mine.csv").write_text(TABLE.replace("0.1,", "0.2,"))
    assert list(problems(add(path, text, folder=tmp_path)).values()) == [2, 2]


@pytest.mark.parametrize("data", ["fixed", "redrawn"])
def test_runs_on_a_file_that_was_divided_otherwise_are_told_apart(tmp_path, monkeypatch, data):
    """Also those that were stored before rows were divided without regard to the name."""
    (tmp_path / "mine.csv").write_text(TABLE)
    text = f'data = "{data}"\n' + STUDY.replace("syn5", "mine") + FILE + "test = 0.2\n"
    with monkeypatch.context() as before:
        for module in ("_spec", "_identity"):
            before.setattr(f"symbreak.experiments.{module}.DIVISION_VERSION", 1)
        before.setattr("symbreak.problems._division.stream", lambda seed, _: stream(seed, "before"))
        path = add(tmp_path / "a.db", text, folder=tmp_path)
    problem_of.cache_clear()
    new = StudySpec.parse(text, folder=tmp_path)
    with Store(path) as store:
        assert not any(store.has(run.key) for run in new.runs())
        (said,) = store.differences(new)
        assert said.startswith("the store has runs of mine (data ")
    assert list(problems(add(path, text, folder=tmp_path)).values()) == [2, 2]


def test_data_that_differ_by_rounding_only_are_the_same(tmp_path):
    (run, *_) = StudySpec.parse(STUDY).runs()
    problem, record = run.load_problem(), execute(run)
    from symbreak.experiments._identity import facts_of

    moved = dataclasses.replace(problem.train, X=np.nextafter(problem.train.X, 9))
    other = dataclasses.replace(problem, train=moved)
    assert facts_of(run, problem) == facts_of(run, other)
    with Store(tmp_path / "a.db") as store:
        store.add(run, record, facts_of(run, other))
        assert list(store.problems()) == ["syn5"]


def test_settings_of_a_method_are_told_apart_and_one_keeps_the_role(tmp_path):
    path = add(tmp_path / "a.db", STUDY)
    add(path, STUDY + "[method.DE-SB]\nF = 0.6")
    add(path, STUDY + "[problem.syn5.population_size]\nDE = 40")
    with Store(path) as store:
        frame = store.frame()
    roles = frame.groupby("method").role.agg(["unique", "size"])
    assert {name: (list(role), n) for name, (role, n) in roles.iterrows()} == {
        "DE-SB (F=0.6)": (["variant"], 2),
        "DE-SB (population_size=40)": (["proximity"], 2),
        "DE-SB (population_size=80)": (["variant"], 2),
    }


def test_runs_with_other_seeds_are_pooled_as_further_repetitions(tmp_path):
    path = add(tmp_path / "a.db", STUDY)
    add(path, "seed = 1\n" + STUDY)
    with Store(path) as store:
        assert store.frame().repetition.tolist() == [0, 1, 2, 3]
        ends = store.curves().groupby(["problem", "method", "repetition"]).error.last()
        assert ends.tolist() == store.frame().error.tolist()


def test_runs_of_another_version_of_the_numerics_are_told_apart(tmp_path, monkeypatch):
    path = add(tmp_path / "a.db", STUDY)
    for module in ("_spec", "_columns", "_identity"):
        monkeypatch.setattr(f"symbreak.experiments.{module}.NUMERICS_VERSION", 99)
    found = problems(add(path, STUDY))
    assert list(found.values()) == [2, 2]
    assert "syn5 (numerics 99)" in found


def test_labels_are_the_same_after_a_merge(tmp_path):
    a = add(tmp_path / "a.db", STUDY)
    b = add(tmp_path / "b.db", STUDY + "[problem.syn5]\nhidden = [2]")
    both = add(add(tmp_path / "both.db", STUDY), STUDY + "[problem.syn5]\nhidden = [2]")
    merge_stores(tmp_path / "all.db", [b, a])
    with Store(both) as one, Store(tmp_path / "all.db") as other:
        columns = ["problem", "method", "identity", "fingerprint"]
        assert one.frame()[columns].equals(other.frame()[columns])


def test_a_study_says_what_it_is_kept_apart_from(tmp_path):
    with Store(add(tmp_path / "a.db", STUDY)) as store:
        assert store.differences(StudySpec.parse(STUDY)) == []
        (said,) = store.differences(StudySpec.parse(STUDY + "[problem.syn5]\nhidden = [2]"))
        assert said == "the store has runs of syn5 (1-3-1); this is syn5 (1-2-1)"
        (said,) = store.differences(StudySpec.parse(STUDY + "[method.DE-SB]\nF = 0.6"))
        assert said == "the store has runs of DE-SB with other settings"
