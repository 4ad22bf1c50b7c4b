"""Stores of every format so far can be read, continued and checked."""

import dataclasses
import json
import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from symbreak.experiments import (
    Store,
    StoreError,
    StudySpec,
    _columns,
    _database,
    _migrations,
    _rows,
    _schema,
    check_store,
    execute,
    merge_stores,
    run_study,
)

GOLDEN = Path(__file__).parent.parent / "golden"


TEXT = """
problems = ["syn5"]
methods = ["DE-SB"]
repetitions = 2
[budgets]
syn5 = 400
"""


def to_format_1(path):
    """Make a store what the first version would have written, with today's keys."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        execute = connection.execute
        execute("DELETE FROM run_array WHERE name = 'generation_evaluations'")
        for row in list(_rows.read_rows(connection, "run")):
            arrays = _rows.read_rows(connection, "run_array", "WHERE key = ?", (row["key"],))
            packed = {array["name"]: _columns.packed_of(array) for array in arrays}
            found = (_columns.fingerprint(row | {"format": 1}, packed), row["key"])
            execute("UPDATE run SET fingerprint = ? WHERE key = ?", found)
        for name in _columns.OLD_COUNTERS:
            execute(f"ALTER TABLE run ADD COLUMN n_{name} INTEGER NOT NULL DEFAULT 0")
            execute(f"UPDATE run SET n_{name} = coalesce(json_extract(counters, '$.{name}'), 0)")
        for number, facts in execute("SELECT id, facts FROM problem").fetchall():
            old = {k: v for k, v in json.loads(facts).items() if k not in ("alpha", "data")}
            text = json.dumps(old, sort_keys=True)
            execute("UPDATE problem SET facts = ? WHERE id = ?", (text, number))
        for name in ("train", "validation"):
            execute(f"ALTER TABLE run RENAME COLUMN {name}_error TO {name}_rate")
        for column in ("format", "numerics", "role", "counters"):
            execute(f"ALTER TABLE run DROP COLUMN {column}")
        execute("DROP TABLE run_model")
        for table in _schema.TABLES.keys() - {"run_model"}:
            execute(f"ALTER TABLE {table} DROP COLUMN checksum")
        execute("PRAGMA user_version = 1")


@pytest.fixture
def old(tmp_path):
    return Path(shutil.copy(GOLDEN / "small.db", tmp_path / "old.db"))


def columns_of(path, columns):
    """Columns of the first format, straight from the file."""
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(f"SELECT {columns} FROM run ORDER BY key").fetchall()


def test_the_committed_store_has_the_first_format():
    with closing(sqlite3.connect(f"file:{GOLDEN / 'small.db'}?mode=ro", uri=True)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (1,)


def test_an_old_store_says_what_it_said(old):
    before = columns_of(old, "key, error, test_error, n_repairs, fingerprint")
    with Store(old) as store:
        frame = store.frame().sort_values("key")
        names = ["key", "error", "test_error", "n_repairs", "fingerprint"]
        found = [tuple(None if v != v else v for v in row) for row in frame[names].to_numpy()]
        assert found == before
        assert dict(zip(frame.method, frame.role, strict=True)).items() <= (
            _columns.OLD_ROLES.items()
        )
        traces = store.traces()
        assert (traces.evaluations > 0).all()
        with pytest.raises(StoreError, match="before stores kept models"):
            store.model(frame.key.iloc[0])
    assert check_store(old) == []


def test_an_old_store_is_continued(tmp_path):
    spec = StudySpec.parse(TEXT)
    first, *others = spec.runs()
    path = tmp_path / "a.db"
    with Store(path) as store:
        store.add(first, execute(first))
        store.add_study(spec)
        store.save_checkpoint(others[0].key, {"seconds": 1.0, "theta": np.zeros(3)})
    to_format_1(path)
    result = run_study(spec, path, workers=1)
    assert (result.finished, result.failed) == (len(others), 0)  # the first is there
    with Store(path) as store:
        assert list(store.problems()) == ["syn5"]  # and not another of that name
        assert store.frame().repetition.tolist() == [0, 1]
    assert check_store(path) == []


def test_reading_an_old_store_where_nothing_can_be_written(old):
    content = old.read_bytes()
    with Store(old, read_only=True) as store:
        frame = store.frame()
        with pytest.raises(StoreError, match="it is read-only"):
            store.add_study(StudySpec.load("smoke"))
    assert check_store(old) == []
    assert old.read_bytes() == content
    assert os.listdir(old.parent) == [old.name]
    with Store(old) as store:
        assert store.frame().equals(frame)


def test_read_only_media_can_be_read(old, monkeypatch):
    with Store(old) as store:
        frame = store.frame()
    denied = {os.fspath(old), os.fspath(old.parent)}
    monkeypatch.setattr(os, "access", lambda path, mode: os.fspath(path) not in denied)
    with Store(old) as store:
        assert store.frame().equals(frame)
        with pytest.raises(StoreError, match="it is read-only"):
            store.add_study(StudySpec.load("smoke"))
    assert os.listdir(old.parent) == [old.name]


def test_a_migration_that_is_cut_short_changes_nothing(old, monkeypatch):
    content = old.read_bytes()

    def fail(connection):
        raise KeyboardInterrupt

    monkeypatch.setattr(_migrations, "_check_fingerprints", fail)
    with pytest.raises(KeyboardInterrupt):
        Store(old)
    monkeypatch.undo()
    assert check_store(old) == []
    assert columns_of(old, "n_repairs")
    assert len(old.read_bytes()) == len(content)
    Store(old).close()
    assert check_store(old) == []


def test_damage_of_an_old_store_is_found_and_not_sealed_in(old):
    with closing(sqlite3.connect(old, isolation_level=None)) as connection:
        connection.execute("UPDATE run SET error = error * 2 WHERE repetition = 0")
    with pytest.raises(StoreError, match="is not what was written"):
        Store(old)
    assert "is not what was written" in check_store(old)[0]


@pytest.mark.parametrize("old_first", [True, False])
def test_stores_of_two_formats_are_merged(tmp_path, old_first):
    runs = list(StudySpec.parse(TEXT).runs())
    for name, part in (("old.db", runs[:1]), ("new.db", runs)):
        with Store(tmp_path / name) as store:
            for run in part:
                store.add(run, execute(run))
    to_format_1(tmp_path / "old.db")
    sources = [tmp_path / name for name in ("old.db", "new.db")]
    added = merge_stores(tmp_path / "all.db", sources if old_first else sources[::-1])
    assert added == len(runs)
    with Store(tmp_path / "all.db") as store:
        assert list(store.problems()) == ["syn5"]
    assert check_store(tmp_path / "all.db") == []


def test_a_new_column_is_one_line(tmp_path, monkeypatch):
    """A store of today in a version with one more column of runs."""
    run = next(iter(StudySpec.load(GOLDEN / "small.toml").runs()))
    path = tmp_path / "a.db"
    with Store(path) as store:
        store.add(run, execute(run))
    line = _columns.Column(
        "generations", "INTEGER", lambda run, record: len(record.modified_share), "generations",
        since=3, in_result=True,
    )  # fmt: skip
    new = (*_columns.RUN, line)
    for module in (_columns, _schema, _migrations, _database):
        monkeypatch.setattr(module, "FORMAT", 3)
    monkeypatch.setattr(_columns, "RUN", new)
    monkeypatch.setattr("symbreak.experiments._frames.RUN", new)
    monkeypatch.setitem(_schema.TABLES, "run", _schema.Table(new))
    again = dataclasses.replace(run, seed=run.seed + 1)
    with Store(path) as store:
        store.add(again, execute(again))
        frame = store.frame()
        assert np.isnan(frame.generations[0])
        assert frame.generations[1] == len(store.arrays(again.key)["modified_share"])
    assert check_store(path) == []
    assert json.loads(frame.settings[0]) == {}
