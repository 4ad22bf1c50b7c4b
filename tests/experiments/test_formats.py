"""Stores of earlier formats become stores of this one, and those of unreleased ones are refused."""

import dataclasses
import json
import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from symbreak.experiments import Store, StoreError, StudySpec, _columns, _database, execute
from symbreak.experiments._maintenance import check_store

GOLDEN = Path(__file__).parent.parent / "golden"


@pytest.fixture
def old(tmp_path):
    return Path(shutil.copy(GOLDEN / "small.db", tmp_path / "old.db"))


def test_a_committed_store_of_this_format_is_read_and_sound(old):
    assert check_store(old) == []
    with Store(old) as store:
        frames = store.frames()
        assert len(frames.runs) == 60
        assert (frames.traces.evaluations > 0).all()
        assert store.model(frames.runs.key.iloc[0]).topology.n_inputs == 1


def test_a_store_of_an_unreleased_format_is_refused_in_words(old):
    with closing(sqlite3.connect(old, isolation_level=None)) as connection:
        connection.execute("PRAGMA user_version = 1")
    with pytest.raises(StoreError, match=r"format 1, .* reads formats from 2 on\. Run the study"):
        Store(old)


def test_read_only_media_can_be_read(old, monkeypatch):
    with Store(old) as store:
        frame = store.runs()
    denied = {os.fspath(old), os.fspath(old.parent)}
    monkeypatch.setattr(os, "access", lambda path, mode: os.fspath(path) not in denied)
    with Store(old) as store:
        assert store.runs().equals(frame)
        with pytest.raises(StoreError, match="it is read-only"):
            store.add_study(StudySpec.load(GOLDEN / "small.toml"))
    assert os.listdir(old.parent) == [old.name]


@pytest.fixture
def next_version(monkeypatch):
    """A version with one more column of runs."""
    line = _columns.Column(
        "generations", "INTEGER", lambda run, record: len(record.modified_share), "generations",
        since=3, in_result=True,
    )  # fmt: skip
    new = (*_columns.RUN, line)
    for module in (_columns, _database):
        monkeypatch.setattr(module, "FORMAT", 3)
    monkeypatch.setattr(_columns, "RUN", new)
    monkeypatch.setattr("symbreak.experiments._frames.RUN", new)
    monkeypatch.setitem(_columns.TABLES, "run", _columns.Table(new))


@pytest.fixture
def small(tmp_path):
    run = next(iter(StudySpec.load(GOLDEN / "small.toml").runs()))
    with Store(tmp_path / "a.db") as store:
        store.add(run, execute(run))
    return tmp_path / "a.db", run


def test_a_new_column_is_one_line(small, request):
    path, run = small
    request.getfixturevalue("next_version")
    again = dataclasses.replace(run, repetition=1, seed=run.seed + 1)
    with Store(path) as store:
        store.add(again, execute(again))
        frame = store.runs()
        assert np.isnan(frame.generations[0])
        assert frame.generations[1] == len(store.arrays(again.key)["modified_share"])
    assert check_store(path) == []
    assert json.loads(frame.settings[0]) == {}


def test_a_migration_that_is_cut_short_changes_nothing(small, request, monkeypatch):
    path, _ = small
    request.getfixturevalue("next_version")

    def fail(connection, table):
        raise KeyboardInterrupt

    with monkeypatch.context() as cut:
        cut.setattr(_database.Database, "_seal_rows", fail)
        with pytest.raises(KeyboardInterrupt):
            Store(path)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (2,)
    Store(path).close()
    assert check_store(path) == []


def test_damage_is_found_and_not_sealed_in_by_a_migration(small, request):
    path, _ = small
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE run SET error = error * 2")
    request.getfixturevalue("next_version")
    with pytest.raises(StoreError, match="is not what was written"):
        Store(path)
