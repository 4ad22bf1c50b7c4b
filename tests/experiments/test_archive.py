import gzip
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from symbreak.analysis import Results
from symbreak.analysis._statistics import evaluations_to_targets, target_table
from symbreak.experiments import Archive, Store, StoreError, StudySpec, open_results
from symbreak.experiments._archive import CURVE_STEP, write_archive
from tests.cli.shell import symbreak_here
from tests.experiments.processes import store_of

GOLDEN = Path(__file__).parent.parent / "golden"


@pytest.fixture(scope="module")
def store():
    with Store(GOLDEN / "small.db", create=False, read_only=True) as opened:
        yield opened


@pytest.fixture(scope="module")
def whole(tmp_path_factory, store):
    folder = tmp_path_factory.mktemp("archives") / "archive"
    write_archive(store, folder)
    return folder


@pytest.fixture
def folder(tmp_path, whole):
    """A copy, to be written to."""
    return shutil.copytree(whole, tmp_path / "archive")


def test_rows_of_runs_come_back_exactly(store, whole):
    pd.testing.assert_frame_equal(Archive(whole).runs(), store.runs())


def test_statistics_of_an_archive_are_those_of_its_store(store, whole):
    here, there = Results.of(store), Results.of(Archive(whole))
    for name in ("summary", "kruskal_wallis", "pairwise"):
        pd.testing.assert_frame_equal(getattr(there, name), getattr(here, name))
    assert there.facts == here.facts
    assert [study[:2] for study in there.studies] == [study[:2] for study in here.studies]
    assert list(there.failures.columns) == list(here.failures.columns)


def test_thinned_curves_reach_their_targets_never_earlier_and_at_most_two_percent_later(
    store, whole
):
    runs, archive = store.runs(), Archive(whole)
    targets = target_table(runs)
    exact, thin = (
        evaluations_to_targets(runs, curves, targets)
        for curves in (store.frames().curves, archive.frames().curves)
    )
    solved = exact["solved"]
    assert solved.any()
    assert (thin["solved"] == solved).all()
    late = (thin["hit"] / exact["hit"])[solved]
    # errors are rounded to six digits, so a run may just miss or meet its own target
    assert late.between(1 - 1e-9, CURVE_STEP + 1e-9).mean() > 0.98
    assert len(archive.frames().curves) < len(store.frames().curves)


def test_thinned_curves_keep_the_first_and_the_last_point_of_every_run(store, whole):
    names = ["problem", "method", "repetition"]
    for end in ("first", "last"):
        full, thin = (
            getattr(frame.groupby(names), end)()
            for frame in (store.frames().curves, Archive(whole).frames().curves)
        )
        assert (full["evaluations"] == thin["evaluations"]).all()
        np.testing.assert_allclose(thin["error"], full["error"], rtol=1e-5)


def test_writing_again_changes_no_byte(store, folder):
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert write_archive(store, folder) == []
    shutil.rmtree(folder)
    write_archive(store, folder)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


SMALL = """
problems = ["syn5", "sinc"]
methods = ["DE"]
repetitions = 2
[budgets]
syn5 = 160
sinc = 240
"""


def test_an_archive_grows_by_stores_and_files_of_finished_problems_stay(tmp_path):
    folder = tmp_path / "archive"
    for problem in ("syn5", "sinc"):
        path = store_of(tmp_path / f"{problem}.db", SMALL, lambda run: run.problem == problem)  # noqa: B023
        with Store(path) as opened:
            written = write_archive(opened, folder)
        assert {path.parent.name for path in written} == {"archive", problem}
    archive = Archive(folder)
    assert set(archive.runs()["key"]) == {run.key for run in StudySpec.parse(SMALL).runs()}
    assert archive.frames().studies == [("small", SMALL)]
    assert set(archive.frames().facts()) == {"syn5", "sinc"}


def test_other_results_under_the_same_names_are_refused(tmp_path, folder):
    with (
        Store(store_of(tmp_path / "other.db", SMALL.replace("160", "240"))) as opened,
        pytest.raises(ValueError, match=r"max evaluations 240 instead of 3000.* of their own"),
    ):
        write_archive(opened, folder)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("archive.json", None, r"no archive at .*archive\.json"),
        ("archive.json", b'{"format": 99}', "format 99"),
        ("archive.json", b"[]", "damaged"),
        (
            "syn5/runs.csv.gz",
            gzip.compress(b"problem,error\nsyn5,low\n", mtime=0),
            r"runs\.csv\.gz is dam",
        ),
        (
            "syn5/runs.csv.gz",
            gzip.compress(b"problem,error\n", mtime=0)[:-9],
            r"runs\.csv\.gz is damaged",
        ),
    ],
)
def test_what_is_no_archive_or_damaged_is_refused_in_words(folder, name, content, words):
    (folder / name).unlink()
    if content is not None:
        (folder / name).write_bytes(content)
    with pytest.raises(StoreError, match=words):
        Archive(folder).runs()


def test_the_command_line_archives_a_store_and_leaves_out_what_is_archived(tmp_path):
    study, store, folder = tmp_path / "small.toml", tmp_path / "a.db", tmp_path / "archive"
    study.write_text(SMALL)
    store_of(store, StudySpec.load(study), lambda run: run.problem == "syn5")
    for step in (
        ["store", "archive", store, folder],
        ["study", study, "--store", tmp_path / "b.db", "--archive", folder, "--workers", 1],
    ):
        result = symbreak_here(*step)
        assert result.returncode == 0, result.stderr
    with open_results(folder) as archive:
        assert set(archive.runs()["problem"]) == {"syn5"}
    with Store(tmp_path / "b.db") as opened:
        assert set(opened.runs()["problem"]) == {"sinc"}
