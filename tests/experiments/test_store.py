import dataclasses
import hashlib
import json
import sqlite3
from contextlib import closing

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from symbreak import train
from symbreak.experiments import Store, StoreError, StudySpec, _columns
from symbreak.experiments._archive import export_ioh
from symbreak.experiments._columns import pack, unpack
from symbreak.experiments._frames import NAMES
from symbreak.experiments._store import check_store, merge_stores

TEXT = """
problems = ["syn5", "two-circles"]
methods = ["DE-SB", "CMA-ES-SB"]
repetitions = 2
[budgets]
syn5 = 400
two-circles = 1200
"""


LONG = ("curves", "part_errors", "traces", "spread")


@pytest.fixture(scope="module")
def spec():
    return StudySpec.parse(TEXT)


@pytest.fixture(scope="module")
def records(spec):
    """Every run of the study with its record."""
    pairs = []
    for run in spec.runs():
        options = {"max_evaluations": run.max_evaluations, "seed": run.seed}
        pairs.append((run, train(run.load_problem(), run.method, **options)))
    return pairs


def fill(path, pairs, spec=None):
    with Store(path) as store:
        for run, record in pairs:
            store.add(run, record)
        if spec is not None:
            store.add_study(spec)
    return path


def damage(path, command):
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(command)


@pytest.fixture
def full(tmp_path, records, spec):
    return fill(tmp_path / "study.db", records, spec)


def test_a_batch_is_written_whole_or_not_at_all(tmp_path, records):
    with Store(tmp_path / "a.db") as store:

        def add_all(then):
            with store.batch():
                for run, record in records:
                    store.add(run, record)
                then()

        with pytest.raises(KeyError):
            add_all({}.popitem)
        assert store.count("run") == 0
        add_all(dict)
        assert store.count("run") == len(records)
    assert check_store(tmp_path / "a.db") == []


def test_a_record_comes_back_as_it_was(full, records):
    with Store(full) as store:
        found = store.frames()
        runs = found.runs.set_index("key")
        for run, record in records:
            row, name = runs.loc[run.key], (run.problem, run.method, run.repetition)
            assert (row.problem, row.method, row.repetition) == name
            assert (row.error, row.evaluations) == (record.error, record.n_evaluations)
            assert json.loads(row.versions) == record.versions
            if run.problem == "syn5":
                assert row.table_error == record.error
                assert np.isnan(row.test_error)
            else:  # of classes Table 1 shows the test rate
                assert row.table_error == row.test_error == record.rates[-1, 3]
                assert row.validation_error == record.rates[-1, 2]
            arrays = store.arrays(run.key)
            for array in _columns.ARRAYS:
                if (value := getattr(record, array)) is not None:
                    assert np.array_equal(arrays[array], value)
            curves, part_errors, traces, spread = (
                frame[(frame[NAMES] == list(name)).all(axis=1)].drop(columns=NAMES).to_numpy().T
                for frame in (getattr(found, kind) for kind in LONG)
            )
            assert np.array_equal(curves, [record.evaluations, record.errors])
            assert np.array_equal(part_errors.T, record.rates)
            assert np.array_equal(traces[0], record.generation_evaluations)
            assert np.array_equal(traces[1], record.modified_share)
            assert np.array_equal(spread.T, record.spread)


def test_traces_can_be_thinned(full, records):
    with Store(full) as store:
        whole, thin = store.frames().traces, store.frames(max_points=3).traces
    whole, thin = whole.groupby(NAMES), thin.groupby(NAMES)
    assert thin.size().max() <= 3
    assert thin.evaluations.max().equals(whole.evaluations.max())
    run, short = (each.get_group(("syn5", "DE-SB", 0)) for each in (whole, thin))
    n = -(-len(run) // 3)
    assert short.modified_share.iloc[0] == pytest.approx(run.modified_share.iloc[:n].mean())
    assert short.evaluations.iloc[0] == run.evaluations.iloc[n - 1]


def test_a_finished_run_takes_its_checkpoint_and_failure_with_it(tmp_path, records):
    run, record = records[0]
    with Store(tmp_path / "a.db") as store:
        training = run.start()
        training.step()
        store.save_checkpoint(run.key, training.state())
        store.add_failure(run, "Traceback: oh")
        assert store.has_failed(run.key)
        assert store.load_checkpoint(run.key) is None  # a failed run starts again
        store.save_checkpoint(run.key, training.state())
        store.add(run, record)
        assert store.has(run.key)
        assert not store.has_failed(run.key)
        assert store.load_checkpoint(run.key) is None
        store.save_checkpoint(run.key, training.state())  # by a worker that comes late
        assert store.count("checkpoint") == 0


def test_an_empty_store_gives_empty_frames(tmp_path):
    with Store(tmp_path / "a.db") as store:
        found = store.frames()
        for frame in (found.runs, found.failures, *(getattr(found, name) for name in LONG)):
            assert frame.empty
        assert export_ioh(store, tmp_path / "ioh") == []


@pytest.mark.parametrize("damage", ["middle", "truncated", "text", "header"])
def test_a_damaged_file_is_refused_in_words_and_left_alone(full, damage):
    content = full.read_bytes()
    content = {
        "middle": content[:4096] + bytes(len(content) - 8192) + content[-4096:],
        "truncated": content[: len(content) // 2],
        "text": b"problem,method\nsinc,DE\n" * 1000,
        "header": b"x" * 16 + content[16:],
    }[damage]
    full.write_bytes(content)
    with pytest.raises(StoreError, match=r"damaged|not a store|malformed"):
        Store(full)
    assert full.read_bytes() == content


def test_a_store_of_another_program_or_version_is_refused(tmp_path, full):
    damage(tmp_path / "other.db", "CREATE TABLE t (x)")
    with pytest.raises(StoreError, match="not written by symbreak"):
        Store(tmp_path / "other.db")
    damage(full, "PRAGMA user_version = 99")
    with pytest.raises(StoreError, match=r"has format 99, of a newer version; .* up to 2; up"):
        Store(full)


def test_a_missing_store_a_folder_and_a_missing_folder_are_refused(tmp_path):
    with pytest.raises(StoreError, match="no store at"):
        Store(tmp_path / "a.db", create=False)
    with pytest.raises(StoreError, match="that is a folder"):
        Store(tmp_path)
    (tmp_path / "archive.json").touch()
    with pytest.raises(StoreError, match="that is an archive"):
        Store(tmp_path)
    with pytest.raises(StoreError, match="Does its folder exist"):
        Store(tmp_path / "no" / "a.db")


def test_a_full_disk_loses_nothing_that_was_written(tmp_path, records):
    path = fill(tmp_path / "a.db", records[:2])
    with Store(path) as store:
        connection = store._database._connection
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")
        big = dataclasses.replace(records[2][1], theta=np.random.default_rng(0).random(10**6))
        with pytest.raises(StoreError, match="the disk is full"):
            store.add(records[2][0], big)
    assert check_store(path) == []
    fill(path, records)
    with Store(path) as store:
        assert store.count("run") == len(records)


def test_merged_shards_equal_the_whole(tmp_path, records, spec, full):
    a = fill(tmp_path / "a.db", records[::2], spec)
    b = fill(tmp_path / "b.db", records[1::2], spec)
    assert merge_stores(tmp_path / "all.db", [a, b]) == len(records)
    assert merge_stores(tmp_path / "all.db", [a, b]) == 0
    with Store(tmp_path / "all.db") as merged, Store(full) as whole:
        columns = ["key", "fingerprint", "problem", "method"]
        assert merged.runs()[columns].equals(whole.runs()[columns])
        assert merged.frames().curves.equals(whole.frames().curves)
        assert merged.frames().studies == whole.frames().studies
    assert check_store(tmp_path / "all.db") == []


def test_conflicting_results_are_refused_with_the_versions_and_nothing_is_taken(tmp_path, records):
    a = fill(tmp_path / "a.db", records[:2])
    run, record = records[1]
    versions = {**record.versions, "numpy": "0.1", "cpu": "unknown to the other"}
    other = dataclasses.replace(record, theta=record.theta + 1, versions=versions)
    b = fill(tmp_path / "b.db", [(run, other), *records[2:]])
    words = r"1 runs of .* have other results.* version: numpy 0\.1 instead of .*\. Nothing"
    with pytest.raises(StoreError, match=words):
        merge_stores(a, [b])
    with Store(a) as store:
        assert store.count("run") == 2


@pytest.mark.parametrize(
    "command",
    [
        "UPDATE run SET error = error * 2 WHERE repetition = 0 AND method = 'DE-SB'",
        "DELETE FROM run_array WHERE name = 'theta'",
        "UPDATE run_array SET data = x'00' WHERE name = 'errors'",
        "DELETE FROM problem WHERE name = 'syn5'",
    ],
)
def test_check_finds_what_is_wrong(full, command):
    assert check_store(full) == []
    damage(full, command)
    assert check_store(full) != []


def test_a_store_is_not_merged_with_itself(full, tmp_path):
    (tmp_path / "link.db").symlink_to(full)
    assert merge_stores(full, [full, tmp_path / "link.db"]) == 0
    assert check_store(full) == []


def test_failures_are_merged_unless_the_run_is_finished(tmp_path, records):
    (first, record), (second, _) = records[:2]
    a = fill(tmp_path / "a.db", [(first, record)])
    b = fill(tmp_path / "b.db", [])
    with Store(b) as store:
        store.add_failure(first, "Traceback: oh")
        store.add_failure(second, "Traceback: no")
    merge_stores(a, [b])
    with Store(a) as store:
        assert store.failures().traceback.tolist() == ["Traceback: no"]
    merge_stores(b, [a])
    with Store(b) as store:
        assert store.failures().traceback.tolist() == ["Traceback: no"]
        assert store.has(first.key)


def test_a_damaged_source_is_not_merged(full, tmp_path):
    damage(full, "UPDATE run SET seconds = seconds + 1")
    with pytest.raises(StoreError, match="is not what was written"):
        merge_stores(tmp_path / "all.db", [full])
    with Store(tmp_path / "all.db") as store:
        assert store.count("run") == store.count("study") == 0


def test_numbers_come_back_as_they_were_written(tmp_path, records):
    """SQLite has no NaN and no negative zero, which a checksum would tell from others."""
    run, record = records[2]
    assert run.problem == "two-circles"
    rates = np.array(record.rates)
    rates[-1, 3] = np.nan
    odd = dataclasses.replace(record, penalty=-0.0, network_error=np.inf, rates=rates)
    with Store(tmp_path / "a.db") as store:
        store.add(run, odd)
        (row,) = store.runs().itertuples()
        assert (row.penalty, row.network_error) == (0.0, np.inf)
        assert np.isnan(row.test_error)
    assert check_store(tmp_path / "a.db") == []


def test_the_model_of_a_run_comes_back(tmp_path, records):
    run, record = records[0]
    with Store(tmp_path / "a.db") as store:
        store.add(run, record)
        assert store.model(run.key).to_json() == record.model.to_json()
        with pytest.raises(StoreError, match="there is no such run"):
            store.model("no")
    assert check_store(tmp_path / "a.db") == []


def test_ioh_files_have_the_format_of_ioh_experimenter(full, tmp_path, records):
    with Store(full) as store:
        files = export_ioh(store, tmp_path / "ioh")
    assert len(files) == 4
    for file in files:
        description = json.loads(file.read_text())
        assert description["maximization"] is False
        (scenario,) = description["scenarios"]
        lines = (file.parent / scenario["path"]).read_text().splitlines()
        assert lines.count("evaluations raw_y") == len(scenario["runs"]) == 2
        starts = [i for i, line in enumerate(lines) if line.startswith("eval")] + [len(lines)]
        for run, first, last in zip(scenario["runs"], starts, starts[1:], strict=False):
            points = [line.split() for line in lines[first + 1 : last]]
            assert int(points[-1][0]) == run["evals"]
            assert float(points[-1][1]) == run["best"]["y"]
    names = {(r.method, r.error) for _, r in records}
    assert {(file.parent.name) for file in files} == {method for method, _ in names}


def test_the_tables_of_a_format_never_change():
    """What is new in a table has the next format in ``since``; what was there stays."""
    tables = {
        name: dataclasses.replace(table, columns=[c for c in table.columns if c.since <= 2])
        for name, table in _columns.TABLES.items()
    }
    text = " ".join(table.sql(name) for name, table in tables.items())
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == "321235bca36baddf"
    newest = max(c.since for table in _columns.TABLES.values() for c in table.columns)
    assert newest == _columns.FORMAT


arrays = st.sampled_from(["float64", "int64", "bool"]).flatmap(
    lambda dtype: npst.arrays(dtype, npst.array_shapes(min_dims=0, max_dims=3, min_side=0))
)


@given(arrays)
def test_an_array_comes_back_bit_by_bit(array):
    back = unpack(pack(array))
    assert back.dtype == array.dtype
    assert back.shape == array.shape
    assert back.tobytes() == array.tobytes()


def test_only_plain_numbers_are_packed_or_unpacked():
    with pytest.raises(TypeError, match="arrays are stored as"):
        pack(np.array([{"an": "object"}], dtype=object))
    good = pack(np.arange(3.0))
    for bad in (
        {**good, "dtype": "object"},
        {**good, "data": b"not compressed"},
        {**good, "shape": "[4]"},
    ):
        with pytest.raises(ValueError, match=r"unknown kind|damaged|reshape"):
            unpack(bad)
