"""Runs that are not comparable are never pooled, even if they share a name."""

import dataclasses

import numpy as np
import pytest

from symbreak._support.random import stream
from symbreak.analysis import Results
from symbreak.experiments import Store, StoreError, StudySpec
from symbreak.experiments._spec import problem_facts, problem_of
from symbreak.experiments._store import merge_stores
from tests.experiments.processes import store_of

STUDY = """
problems = ["syn5"]
methods = ["DE-SB"]
repetitions = 2
[budgets]
syn5 = 400
"""
TABLE = "x,y\n" + "".join(f"{i / 10},{(i / 10) ** 2}\n" for i in range(30))
FILE = '[data_file.mine]\nfile = "mine.csv"\n'
#: Other studies of the same names, and what is said of them.
OTHERS = {
    STUDY + "[problem.syn5]\nhidden = [2]": "syn5 with net 1-2-1 instead of 1-3-1",
    STUDY + '[problem.syn5]\nrescale = "radius"': "rescale radius instead of unit",
    STUDY + "[problem.syn5]\noutput_shift = true": "output shift True instead of False",
    STUDY.replace("400", "480"): "max evaluations 480 instead of 400",
    "data_seed = 1\n" + STUDY: "syn5 with data ",
    'data = "redrawn"\n' + STUDY: "data redrawn instead of ",
    STUDY + "[method.DE-SB]\nF = 0.6": 'DE-SB on syn5 with the settings {"F": 0.6} instead of {}',
    STUDY + "[problem.syn5.population_size]\nDE = 40": "another seed or population size",
    "seed = 1\n" + STUDY: "another seed or population size",
    STUDY.replace("DE-SB", "DE").replace("400", "480"): "max evaluations 480 instead of 400",
}


def add(path, text, **options):
    """Do a study in this process; without its file in the store nobody asks what is there."""
    return store_of(path, StudySpec.parse(text, **options), study=False)


@pytest.mark.parametrize(("text", "words"), OTHERS.items())
def test_a_study_that_could_not_be_compared_is_refused(tmp_path, text, words):
    with Store(add(tmp_path / "a.db", STUDY)) as store:
        store.add_study(StudySpec.parse(STUDY))
        with pytest.raises(ValueError, match="Use another --store") as refused:
            store.add_study(StudySpec.parse(text))
        assert words in str(refused.value)
        assert len(store.frames().studies) == 1


@pytest.mark.parametrize("data", ["fixed", "redrawn"])
def test_more_of_the_same_study_is_welcome_and_one_problem(tmp_path, data):
    text = f'data = "{data}"\n{STUDY}'
    with Store(add(tmp_path / "a.db", text)) as store:
        store.add_study(
            StudySpec.parse(text.replace("= 2", "= 3").replace('"DE-SB"', '"DE-SB", "DE"'))
        )
        assert len(store.frames().studies) == 1
        assert list(Results.of(store).facts) == ["syn5"]


def test_stores_that_could_not_be_compared_are_neither_merged_nor_reported(tmp_path):
    text, words = next(iter(OTHERS.items()))
    a, b = add(tmp_path / "a.db", STUDY), add(tmp_path / "b.db", text)
    with pytest.raises(StoreError, match=words):
        merge_stores(a, [b])
    with Store(a) as one, Store(b) as other, pytest.raises(ValueError, match=words):
        Results.of(one, other)
    add(a, text)
    with Store(a) as mixed, pytest.raises(ValueError, match="syn5 with net"):
        Results.of(mixed)


@pytest.mark.parametrize("data", ["fixed", "redrawn"])
def test_runs_on_a_file_that_was_divided_otherwise_are_refused(tmp_path, monkeypatch, data):
    """Also those that were stored before rows were divided without regard to the name."""
    (tmp_path / "mine.csv").write_text(TABLE)
    text = f'data = "{data}"\n' + STUDY.replace("syn5", "mine") + FILE + "test = 0.2\n"
    with monkeypatch.context() as before:
        before.setattr("symbreak.experiments._spec.DIVISION_VERSION", 1)
        before.setattr("symbreak.problems._files.stream", lambda seed, _: stream(seed, "before"))
        path = add(tmp_path / "a.db", text, folder=tmp_path)
    problem_of.cache_clear()
    new = StudySpec.parse(text, folder=tmp_path)
    with Store(path) as store:
        assert not any(store.has(run.key) for run in new.runs())
        with pytest.raises(ValueError, match="mine with data"):
            store.add_study(new)


def test_data_that_differ_by_rounding_only_are_the_same():
    (run, *_) = StudySpec.parse(STUDY).runs()
    problem = run.load_problem()
    moved = dataclasses.replace(problem.train, X=np.nextafter(problem.train.X, 9))
    other = dataclasses.replace(problem, train=moved)
    assert problem_facts(problem) == problem_facts(other)


def test_runs_of_another_version_of_the_numerics_are_refused(tmp_path, monkeypatch):
    path = add(tmp_path / "a.db", STUDY)
    for module in ("_spec", "_columns"):
        monkeypatch.setattr(f"symbreak.experiments.{module}.NUMERICS_VERSION", 99)
    with Store(path) as store, pytest.raises(ValueError, match="numerics 99 instead of 2"):
        store.add_study(StudySpec.parse(STUDY))
