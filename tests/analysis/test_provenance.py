"""The commands of a report that do its studies again."""

import shlex

import pytest

from symbreak import methods
from symbreak.analysis import Results
from symbreak.analysis._words import _study, provenance
from symbreak.experiments import Store, StudySpec
from symbreak.experiments._study import BUILT_IN

OWN = 'problems = ["syn5"]\nmethods = ["DE-SB-LA-W"]\nrepetitions = 2\n[budgets]\nsyn5 = 800\n'


def provenance_of(tmp_path, *specs):
    with Store(tmp_path / "a.db") as store:
        for spec in specs:
            store.add_study(spec)
        return provenance(Results.of(store))


def test_built_in_studies_are_named_and_others_printed_as_files(tmp_path, monkeypatch):
    own = StudySpec.parse(OWN, name="my own; rm -rf /")
    studies = provenance_of(tmp_path, own, *map(StudySpec.load, BUILT_IN))["studies"]
    assert len(studies) == 1 + len(BUILT_IN)  # each of a merged store
    monkeypatch.chdir(tmp_path)
    for study in studies:
        again, report = map(shlex.split, study["commands"].splitlines())
        if study["file"]:
            (tmp_path / study["file"]).write_text(study["text"])
        assert again[:2] == ["symbreak", "study"]
        assert StudySpec.load(again[2]).text == study["text"]
        assert again[3:] == ["--store", report[2]]
        assert report[:2] == ["symbreak", "report"]
    assert [study["file"] for study in studies if study["file"]] == ["my-own-rm-rf.toml"]


def test_a_study_with_a_built_in_name_but_another_text_is_printed(tmp_path):
    (study,) = provenance_of(tmp_path, StudySpec.parse(OWN, name="quick"))["studies"]
    assert study["file"] == "quick.toml"
    assert study["text"] == OWN


def test_only_what_a_study_changed_is_called_a_setting(tmp_path):
    from symbreak.experiments import run_study

    text = OWN.replace('"DE-SB-LA-W"', '"DE-SB-LA-W", "DE"') + "[method.DE]\nF = 0.7\n"
    run_study(StudySpec.parse(text), tmp_path / "a.db", workers=1)
    with Store(tmp_path / "a.db") as store:
        rows = provenance(Results.of(store))["settings"]
    changes = {method: changes for method, *_, changes in rows}
    assert changes == {"DE": '{"F": 0.7}', "DE-SB-LA-W": "none"}


def test_a_study_of_the_users_own_methods_names_their_module(tmp_path, monkeypatch):
    monkeypatch.setitem(methods._METHODS, "mine", methods.METHODS["DE"])
    text = OWN.replace('"DE-SB-LA-W"', '"DE", "mine"')
    spec = StudySpec.parse(text, name="own")
    monkeypatch.delitem(
        methods._METHODS, "mine"
    )  # a report is made by a process that does not know it
    (study,) = provenance_of(tmp_path, spec)["studies"]
    assert study["own"] == ["method mine"]
    assert study["commands"].startswith("symbreak study own.toml --store own.db --import my_module")


@pytest.mark.parametrize("text", ["no = toml = file", "methods = 3\nproblems = [3]\ndata_file = 3"])
def test_a_study_file_may_be_anything(text):
    assert _study("own", text)["own"] == []
