import dataclasses
import hashlib
import json
import sqlite3

import numpy as np
import pytest

from symbreak import train
from symbreak.experiments import Store, StoreError, StudySpec, _columns
from symbreak.experiments._archive import export_ioh
from symbreak.experiments._frames import NAMES
from symbreak.experiments._maintenance import check_store, merge_stores

TEXT = """
problems = ["syn5", "two-circles"]
methods = ["DE-SB", "CMA-ES-SB"]
repetitions = 2
[budgets]
syn5 = 400
two-circles = 1200
"""


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
                frame[(frame[NAMES] == list(name)).all(axis=1)].drop(columns=NAMES)
                for frame in (found.curves, found.part_errors, found.traces, found.spread)
            )
            assert curves.evaluations.tolist() == record.evaluations.tolist()
            assert curves.error.tolist() == record.errors.tolist()
            assert np.array_equal(part_errors.to_numpy(), record.rates)
            assert traces.evaluations.tolist() == record.generation_evaluations.tolist()
            assert traces.modified_share.tolist() == record.modified_share.tolist()
            assert np.array_equal(spread.to_numpy(), record.spread)


def test_traces_can_be_thinned(full, records):
    with Store(full) as store:
        whole, thin = store.frames().traces, store.frames(max_points=3).traces
    keys = ["problem", "method", "repetition"]
    assert thin.groupby(keys).size().max() <= 3
    assert thin.groupby(keys).evaluations.max().equals(whole.groupby(keys).evaluations.max())
    run = whole[whole.problem == "syn5"].groupby(keys).get_group(("syn5", "DE-SB", 0))
    short = thin.groupby(keys).get_group(("syn5", "DE-SB", 0))
    n = -(-len(run) // 3)
    assert short.modified_share.iloc[0] == pytest.approx(run.modified_share.iloc[:n].mean())
    assert short.evaluations.iloc[0] == run.evaluations.iloc[n - 1]


def test_a_run_that_is_there_is_left_as_it_is(full, records):
    run, record = records[0]
    with Store(full) as store:
        before = store.runs()
        store.add(run, record)
        assert store.runs().equals(before)


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
        assert store.runs().empty
        assert store.frames().curves.empty
        assert store.frames().part_errors.empty
        assert store.frames().spread.empty
        assert store.frames().traces.empty
        assert store.failures().empty
        assert export_ioh(store, tmp_path / "ioh") == []


@pytest.mark.parametrize("damage", ["middle", "truncated", "text", "header"])
def test_a_damaged_file_is_refused_in_words_and_left_alone(full, damage):
    content = bytearray(full.read_bytes())
    if damage == "middle":
        content[4096 : len(content) - 4096] = bytes(len(content) - 8192)
    elif damage == "truncated":
        del content[len(content) // 2 :]
    elif damage == "text":
        content = bytearray(b"problem,method\nsinc,DE\n" * 1000)
    else:
        content[:16] = b"x" * 16
    full.write_bytes(content)
    with pytest.raises(StoreError, match=r"damaged|not a store|malformed"):
        Store(full)
    assert full.read_bytes() == content


def test_a_store_of_another_program_or_version_is_refused(tmp_path, full):
    other = sqlite3.connect(tmp_path / "other.db")
    other.execute("CREATE TABLE t (x)")
    other.commit()
    with pytest.raises(StoreError, match="not written by symbreak"):
        Store(tmp_path / "other.db")
    newer = sqlite3.connect(full)
    newer.execute("PRAGMA user_version = 99")
    newer.close()
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


def test_a_read_only_store_is_refused_in_words(full, records):
    with Store(full) as store:
        store._database._connection.execute("PRAGMA query_only = ON")
        with pytest.raises(StoreError, match="it is read-only"):
            store.add_failure(records[0][0], "")


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
    "damage",
    [
        "UPDATE run SET error = error * 2 WHERE repetition = 0 AND method = 'DE-SB'",
        "DELETE FROM run_array WHERE name = 'theta'",
        "UPDATE run_array SET data = x'00' WHERE name = 'errors'",
        "DELETE FROM problem WHERE name = 'syn5'",
    ],
)
def test_check_finds_what_is_wrong(full, damage):
    assert check_store(full) == []
    connection = sqlite3.connect(full)
    connection.execute(damage)
    connection.commit()
    connection.close()
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
    connection = sqlite3.connect(full)
    connection.execute("UPDATE run SET seconds = seconds + 1")
    connection.commit()
    connection.close()
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
