"""The store of a study: one SQLite file, one transaction per run, nothing lost when killed."""

from __future__ import annotations

import datetime
import hashlib
import json
import os
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from symbreak.experiments._codec import PackedArray, join_state, pack, split_state, unpack
from symbreak.experiments._schema import StoreError, connect, explained
from symbreak.experiments._spec import RunSpec, StudySpec
from symbreak.methods import find_method
from symbreak.problems import Problem
from symbreak.records import RunRecord

if TYPE_CHECKING:
    import pandas as pd

#: What of a record is kept as arrays; the rest are columns.
ARRAYS = (
    "evaluations",
    "errors",
    "theta",
    "output_weights",
    "modified_share",
    "step_size",
    "spread",
    "rates",
)
#: Columns that the result determines, or that determine it; times and versions apart.
RESULT_COLUMNS = (
    *("key", "method", "family", "repetition", "seed", "data_seed", "population_size"),
    *("max_evaluations", "settings", "error", "penalty", "network_error", "train_rate"),
    *("validation_rate", "test_error", "n_evaluations", "n_nonfinite", "n_repairs", "n_bounded"),
)


class Store:
    """Finished runs, failures and checkpoints of a study.

    Every process opens its own. A run is written whole or not at all, and a run that is
    there already is left as it is.

    Args:
        path: The file.
        create: Make it if it is missing.

    Raises:
        StoreError: if it cannot be opened, is damaged, or another version's.
    """

    def __init__(self, path: str | Path, *, create: bool = True) -> None:
        self.path = Path(path)
        self._connection = connect(self.path, create=create)
        self._identity = os.stat(self.path)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def remember(self, spec: StudySpec) -> None:
        """Keep the study file, so that a report can say how to reproduce it."""
        digest = hashlib.sha256(spec.text.encode()).hexdigest()
        with self._transaction() as execute:
            execute("INSERT OR IGNORE INTO study VALUES (?, ?, ?)", (digest, spec.name, spec.text))

    def add(self, run: RunSpec, record: RunRecord) -> None:
        """Write one finished run; its checkpoint and earlier failure go."""
        arrays = {name: getattr(record, name) for name in ARRAYS}
        packed = {name: pack(value) for name, value in arrays.items() if value is not None}
        last_rates = record.rates[-1, 1:].tolist() if len(record.rates) else [None] * 3
        rates = [None if rate is None or np.isnan(rate) else rate for rate in last_rates]
        row = {
            "key": run.key,
            "method": run.method,
            "family": find_method(run.method).family,
            "repetition": run.repetition,
            "seed": run.seed,
            "data_seed": run.data_seed,
            "population_size": record.population_size,
            "max_evaluations": run.max_evaluations,
            "settings": json.dumps(dict(run.method_settings), sort_keys=True),
            "error": record.error,
            "penalty": record.penalty,
            "network_error": record.network_error,
            **dict(zip(("train_rate", "validation_rate", "test_error"), rates, strict=True)),
            "n_evaluations": record.n_evaluations,
            "n_nonfinite": record.n_nonfinite,
            "n_repairs": record.counters.get("repairs", 0),
            "n_bounded": record.counters.get("bounded", 0),
        }
        row["fingerprint"] = _fingerprint({name: row[name] for name in RESULT_COLUMNS}, packed)
        row |= {
            "seconds": record.seconds,
            "versions": json.dumps(record.versions, sort_keys=True),
            "finished_at": _now(),
        }
        facts = json.dumps(problem_facts(run.load_problem()), sort_keys=True)
        with self._transaction() as execute:
            execute(
                "INSERT OR IGNORE INTO problem (name, facts) VALUES (?, ?)", (run.problem, facts)
            )
            (row["problem_id"],) = execute(
                "SELECT id FROM problem WHERE facts = ?", (facts,)
            ).fetchone()
            inserted = execute(
                f"INSERT OR IGNORE INTO run ({', '.join(row)}) "
                f"VALUES ({', '.join(':' + name for name in row)})",
                row,
            ).rowcount
            if inserted:
                _insert_arrays(execute, "run_array", run.key, packed)
            execute("DELETE FROM checkpoint WHERE key = ?", (run.key,))
            execute("DELETE FROM failure WHERE key = ?", (run.key,))

    def add_failure(self, run: RunSpec, traceback: str) -> None:
        """Record that a run raised; it is left out until a retry is asked for."""
        row = (run.key, run.problem, run.method, run.repetition, traceback, _now())
        with self._transaction() as execute:
            execute("INSERT OR REPLACE INTO failure VALUES (?, ?, ?, ?, ?, ?)", row)
            execute("DELETE FROM checkpoint WHERE key = ?", (run.key,))

    def has(self, key: str) -> bool:
        """Whether a run is finished."""
        return self._exists("run", key)

    def has_failed(self, key: str) -> bool:
        """Whether a run has failed."""
        return self._exists("failure", key)

    def save_checkpoint(self, key: str, state: Mapping[str, Any]) -> None:
        """Replace the checkpoint of a run under way, unless it is finished elsewhere."""
        plain, arrays = split_state(state)
        packed = {name: pack(array) for name, array in arrays.items()}
        with self._transaction() as execute:
            if self.has(key):
                return
            execute("DELETE FROM checkpoint WHERE key = ?", (key,))
            execute("INSERT INTO checkpoint VALUES (?, ?)", (key, json.dumps(plain)))
            _insert_arrays(execute, "checkpoint_array", key, packed)

    def load_checkpoint(self, key: str) -> dict[str, Any] | None:
        """The state that a killed run can go on from, or None."""
        with explained(self.path):
            query = "SELECT state FROM checkpoint WHERE key = ?"
            row = self._connection.execute(query, (key,)).fetchone()
        if row is None:
            return None
        return join_state(json.loads(row[0]), self._arrays("checkpoint_array", key))

    def count(self, table: str) -> int:
        """Number of rows of ``run``, ``failure`` or ``checkpoint``."""
        with explained(self.path):
            return int(self._connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])

    def studies(self) -> list[tuple[str, str]]:
        """Name and text of the study files whose runs are here."""
        with explained(self.path):
            return self._connection.execute("SELECT name, text FROM study ORDER BY name").fetchall()

    def problems(self) -> dict[str, dict[str, Any]]:
        """Facts about the problems of finished runs, by name."""
        with explained(self.path):
            rows = self._connection.execute(
                "SELECT name, facts FROM problem ORDER BY id"
            ).fetchall()
        return {name: json.loads(facts) for name, facts in rows}

    def failures(self) -> pd.DataFrame:
        """Runs that raised, with their tracebacks."""
        return self._query("SELECT * FROM failure ORDER BY problem, method, repetition")

    def frame(self) -> pd.DataFrame:
        """Finished runs, a row each.

        ``error`` is the training error of the record, ``test_error`` the test rate of
        classification, ``table_error`` whichever of them the paper's Table 1 uses.
        """
        frame = self._query(
            "SELECT problem.name AS problem, method, family, repetition, error, network_error, "
            "penalty, train_rate, validation_rate, test_error, "
            "coalesce(test_error, error) AS table_error, n_evaluations AS evaluations, "
            "max_evaluations, population_size, seconds, n_nonfinite, n_repairs, n_bounded, seed, "
            "data_seed, settings, versions, fingerprint, key "
            "FROM run JOIN problem ON problem.id = problem_id "
            "ORDER BY problem.name, method, repetition"
        )
        rates = ["train_rate", "validation_rate", "test_error"]
        return frame.astype(dict.fromkeys(rates, float))  # None where there is none

    def curves(self) -> pd.DataFrame:
        """Best error so far of every run, a row per improvement and one at the end."""
        return self._long_frame(
            ("evaluations", "errors"),
            lambda size, arrays: {"evaluations": arrays["evaluations"], "error": arrays["errors"]},
        )

    def rates(self) -> pd.DataFrame:
        """Error rates of classification runs, a row per improvement of the validation rate."""
        columns = ("evaluations", "train_rate", "validation_rate", "test_rate")
        return self._long_frame(
            ("rates",), lambda size, arrays: dict(zip(columns, arrays["rates"].T, strict=True))
        )

    def traces(self, max_points: int | None = None) -> pd.DataFrame:
        """Share of modified candidates, and step size of CMA-ES, after every generation.

        With ``max_points`` equal numbers of generations are averaged, so that no run has more
        rows than that; the evaluations are those at the last of them.
        """

        def columns(size: int, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
            shares = arrays["modified_share"]
            steps = arrays.get("step_size", np.full(len(shares), np.nan))
            group = -(-len(shares) // max_points) if max_points else 1
            starts = np.arange(0, len(shares), group)
            lengths = np.diff(np.append(starts, len(shares)))
            return {
                "evaluations": size * (starts + lengths),
                "modified_share": np.add.reduceat(shares, starts) / lengths,
                "step_size": np.add.reduceat(steps, starts) / lengths,
            }

        return self._long_frame(("modified_share", "step_size"), columns)

    def spread(self) -> pd.DataFrame:
        """How the candidates of every run were spread over partitions, a row per measurement."""
        columns = ("evaluations", "partition_share", "conventions")
        return self._long_frame(
            ("spread",),
            lambda size, arrays: dict(
                zip(columns, arrays.get("spread", np.empty((0, 3))).T, strict=True)
            ),
        )

    def network(self, key: str) -> dict[str, NDArray[Any]]:
        """Everything stored of a run as arrays: theta, output_weights, curve and traces."""
        return self._arrays("run_array", key)

    def _long_frame(
        self,
        names: tuple[str, ...],
        columns: Callable[[int, Mapping[str, NDArray[Any]]], dict[str, NDArray[Any]]],
    ) -> pd.DataFrame:
        """Columns made of some arrays of every run, below each other, with the run's names."""
        import pandas as pd

        query = (
            "SELECT run.key, population_size, problem.name, method, repetition FROM run "
            "JOIN problem ON problem.id = problem_id ORDER BY problem.name, method, repetition"
        )
        with explained(self.path):
            runs = self._connection.execute(query).fetchall()
        parts = [columns(size, self._arrays("run_array", key, names)) for key, size, *_ in runs]
        lengths = [len(part["evaluations"]) for part in parts]
        frame = {
            label: np.repeat([run[column] for run in runs], lengths)
            for column, label in enumerate(("problem", "method", "repetition"), start=2)
        }
        for name in parts[0] if parts else ():
            frame[name] = np.concatenate([part[name] for part in parts])
        return pd.DataFrame(frame)

    def _arrays(self, table: str, key: str, names: tuple[str, ...] = ()) -> dict[str, NDArray[Any]]:
        with explained(self.path):
            query = f"SELECT name, dtype, shape, data FROM {table} WHERE key = ?"
            if names:
                query += f" AND name IN ({', '.join('?' * len(names))})"
            rows = self._connection.execute(query, (key, *names)).fetchall()
        try:
            return {name: unpack(PackedArray(*packed)) for name, *packed in rows}
        except ValueError as error:
            raise StoreError(f"store {self.path}, run {key}: {error}.") from None

    def _query(self, sql: str) -> pd.DataFrame:
        import pandas as pd

        with explained(self.path):
            cursor = self._connection.execute(sql)
            columns = [column[0] for column in cursor.description]
            return pd.DataFrame(cursor.fetchall(), columns=columns)

    def _exists(self, table: str, key: str) -> bool:
        with explained(self.path):
            query = f"SELECT 1 FROM {table} WHERE key = ?"
            return self._connection.execute(query, (key,)).fetchone() is not None

    def _check_presence(self) -> None:
        """SQLite would go on writing into a file that was deleted, and all of it would be lost."""
        if not self.path.exists() or not os.path.samestat(os.stat(self.path), self._identity):
            raise StoreError(f"store {self.path} was removed or replaced while it was in use.")

    @contextmanager
    def _transaction(self) -> Iterator[Any]:
        """All of it or nothing, also when the process is killed inside."""
        with explained(self.path):
            self._check_presence()
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection.execute
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:  # a full disk rolls back by itself
                    self._connection.execute("ROLLBACK")
                raise


def problem_facts(problem: Problem) -> dict[str, Any]:
    """What a report says about a problem."""
    topology = problem.topology
    parts = (problem.train, problem.validation, problem.test)
    return {
        "name": problem.name,
        "net": str(topology),
        "dim": topology.dim,
        "n_replicas": str(topology.n_replicas),  # beyond what JSON numbers hold everywhere
        "task": problem.task,
        "samples": [len(part) for part in parts if part is not None],
        "rescale": problem.rescale,
        "output_error": problem.output_error,
        "output_shift": problem.output_shift,
        "description": problem.description,
    }


def fingerprint_of(store: Store, key: str) -> str:
    """The fingerprint of a run as it is in the store now."""
    columns = ", ".join(RESULT_COLUMNS)
    with explained(store.path):
        query = f"SELECT {columns} FROM run WHERE key = ?"
        values = store._connection.execute(query, (key,)).fetchone()
    row = dict(zip(RESULT_COLUMNS, values, strict=True))
    return _fingerprint(row, {name: pack(array) for name, array in store.network(key).items()})


def _insert_arrays(
    execute: Callable[..., Any], table: str, key: str, arrays: Mapping[str, PackedArray]
) -> None:
    for name, packed in arrays.items():
        execute(f"INSERT INTO {table} VALUES (?, ?, ?, ?, ?)", (key, name, *packed))


def _fingerprint(row: Mapping[str, Any], arrays: Mapping[str, PackedArray]) -> str:
    """A hash of a result, times and versions apart: equal for equal results, bit by bit."""
    digest = hashlib.sha256(json.dumps(row, sort_keys=True).encode())
    for name in sorted(arrays):
        digest.update(f"{name} {arrays[name].dtype} {arrays[name].shape}".encode())
        digest.update(zlib.decompress(arrays[name].data))  # compressors differ, data do not
    return digest.hexdigest()[:32]


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
