"""Stores of earlier formats are read, and joined into those of this one."""

import dataclasses
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from symbreak.experiments import Store, StoreError, StudySpec, _columns, _database, execute
from symbreak.experiments._store import check_store, merge_stores

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
    """What makes this a version with one more column of runs."""

    def upgrade():
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

    return upgrade


def test_a_new_column_is_one_line_and_older_stores_are_read_and_joined(tmp_path, next_version):
    (run, *_) = StudySpec.load(GOLDEN / "small.toml").runs()
    path, other = tmp_path / "a.db", tmp_path / "b.db"
    with Store(path) as store:
        store.add(run, execute(run))
    next_version()
    again = dataclasses.replace(run, repetition=1, seed=run.seed + 1)
    content = path.read_bytes()
    with Store(path) as store:
        assert store.runs().generations.isna().all()
        with pytest.raises(StoreError, match=r"format 2.*: symbreak store merge NEW\.db a\.db"):
            store.add(again, execute(again))
    assert path.read_bytes() == content
    assert merge_stores(other, [path]) == 1
    with Store(other) as store:
        store.add(again, execute(again))
        frame = store.runs()
        assert np.isnan(frame.generations[0])
        assert frame.generations[1] == len(store.arrays(again.key)["modified_share"])
    assert check_store(path) == check_store(other) == []
