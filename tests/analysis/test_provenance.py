"""The commands of a report that do its studies again."""

import shlex

from symbreak.analysis import Results
from symbreak.analysis._words import provenance
from symbreak.experiments import Store, StudySpec, run_study
from symbreak.experiments._study import BUILT_IN

OWN = 'problems = ["syn5"]\nmethods = ["DE-SB-LA-W"]\nrepetitions = 2\n[budgets]\nsyn5 = 800\n'


def provenance_of(tmp_path, *specs):
    with Store(tmp_path / "a.db") as store:
        for spec in specs:
            store.add_study(spec)
        return provenance(Results.of(store))


def test_built_in_studies_are_named_and_others_printed_as_files(tmp_path, monkeypatch):
    own = [StudySpec.parse(OWN, name="my own; rm -rf /"), StudySpec.parse(OWN + "#", name="quick")]
    studies = provenance_of(tmp_path, *own, *map(StudySpec.load, BUILT_IN))["studies"]
    assert len(studies) == 2 + len(BUILT_IN)  # each of a merged store
    monkeypatch.chdir(tmp_path)
    for study in studies:
        again, report = map(shlex.split, study["commands"].splitlines())
        if study["file"]:
            (tmp_path / study["file"]).write_text(study["text"])
        assert again[:2] == ["symbreak", "study"]
        assert StudySpec.load(again[2]).text == study["text"]
        assert again[3:] == ["--store", report[2]]
        assert report[:2] == ["symbreak", "report"]
    files = [study["file"] for study in studies if study["file"]]
    assert files == ["my-own-rm-rf.toml", "quick.toml"]  # another study of that name


def test_only_what_a_study_changed_is_called_a_setting(tmp_path):
    text = OWN.replace('"DE-SB-LA-W"', '"DE-SB-LA-W", "DE"') + "[method.DE]\nF = 0.7\n"
    run_study(StudySpec.parse(text), tmp_path / "a.db", workers=1)
    with Store(tmp_path / "a.db") as store:
        rows = provenance(Results.of(store))["settings"]
    changes = {method: changes for method, *_, changes in rows}
    assert changes == {"DE": '{"F": 0.7}', "DE-SB-LA-W": "none"}
