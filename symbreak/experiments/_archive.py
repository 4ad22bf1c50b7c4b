"""Results as plain files: archives that can be committed, CSV tables, the format of IOHprofiler.

An archive is a folder with ``archive.json`` (study files, facts about the problems, kinds of
columns) and a folder per problem with a table per frame, thinned and compressed. Tables of a
problem that is complete never change again. Rows of runs are exact; curves, traces and spread are
thinned and rounded, networks are left out.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np

from symbreak._support.checks import check_folder, check_path
from symbreak._version import __version__
from symbreak.experiments._database import ARCHIVE_HEAD as HEAD
from symbreak.experiments._database import StoreError
from symbreak.experiments._frames import NAMES, TABLE_OF, Frames, joined
from symbreak.experiments._spec import differences
from symbreak.experiments._store import Store

if TYPE_CHECKING:
    import pandas as pd

FORMAT = 1
#: Digits of the numbers of each frame; those of runs are exact.
DIGITS = {"curves": "%.6g", "part_errors": "%.6g", "traces": "%.4g", "spread": "%.4g"}
#: Of the points of a curve whose evaluations lie within this factor the last is kept.
CURVE_STEP = 1.02
TRACE_POINTS = 100
_KINDS = {"i": "int64", "f": "float64"}  # all else is text


def write_archive(store: Store, folder: str | Path) -> list[Path]:
    """Add the runs of a store to an archive, or make one; equal results give equal bytes.

    Files that say the same already are left alone; those that were written are returned.
    """
    folder = check_folder("folder", folder)
    old = Archive(folder).frames() if (folder / HEAD).exists() else None
    new = store.frames(max_points=TRACE_POINTS)
    here = new.conditions()
    if found := differences([*(old.conditions() if old else ()), *here], here):
        raise ValueError(
            f"the runs of {store.path} cannot be archived together in {folder}: there would be "
            f"{'; '.join(found)}. Write them into a folder of their own."
        )
    frames = {name: getattr(new, name) for name in TABLE_OF}
    frames["curves"] = _thinned(new.curves)
    if old is not None:
        frames = {name: joined([frame, getattr(old, name)]) for name, frame in frames.items()}
    kinds = {TABLE_OF.get(n, n): f for n, f in (*frames.items(), ("failures", new.failures))}
    head = {
        "format": FORMAT,
        "columns": {
            name: {str(n): _KINDS.get(kind.kind, "str") for n, kind in frame.dtypes.items()}
            for name, frame in kinds.items()
        },
        "problems": {**(old.facts() if old else {}), **new.facts()},
        "studies": sorted({**dict(old.studies if old else ()), **dict(new.studies)}.items()),
    }
    files = {folder / HEAD: (json.dumps(head, indent=1) + "\n").encode()}
    for name, frame in frames.items():
        parts = frame.groupby(frame["problem"].map(file_name)) if len(frame) else ()
        for subfolder, part in parts:
            path = folder / str(subfolder) / f"{TABLE_OF[name]}.csv.gz"
            files[path] = part.to_csv(index=False, float_format=DIGITS.get(name)).encode()
    return [path for path, content in files.items() if _write_if_new(path, content)]


class Archive:
    """Results that ``write_archive`` wrote.

    Raises:
        StoreError: if the folder is no archive, another version's, or damaged.
    """

    def __init__(self, folder: str | Path) -> None:
        self.path = check_path("folder", folder)
        try:
            self._head = json.loads((self.path / HEAD).read_text(encoding="utf-8"))
            found = self._head["format"]
        except FileNotFoundError:
            raise StoreError(f"no archive at {self.path}: it has no {HEAD}.") from None
        except (ValueError, KeyError, TypeError):
            raise StoreError(f"archive {self.path}: its {HEAD} is damaged.") from None
        if found != FORMAT:
            raise StoreError(
                f"archive {self.path} has format {found}, this symbreak reads {FORMAT}."
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is open; an archive can be used like a store."""

    def runs(self) -> pd.DataFrame:
        """``Store.runs``, exactly."""
        return self._table("runs")

    def frames(self, max_points: int | None = None) -> Frames:
        """``Store.frames``, thinned, without failures.

        An error of a curve is never earlier, and at most 2 % later; traces have at most a hundred
        points, whatever ``max_points`` says.
        """
        frames = {name: self._table(table) for name, table in TABLE_OF.items()}
        # stores that knew less of a problem gave its runs another identity
        pairs = frames["runs"][["problem", "identity"]].drop_duplicates()
        facts = self._head["problems"]
        problems = {identity: facts[name] for name, identity in pairs.itertuples(index=False)}
        studies = [(name, text) for name, text in self._head["studies"]]
        failures = self._table("failures")
        return Frames(**frames, failures=failures, problems=problems, studies=studies)

    def model(self, key: str) -> NoReturn:
        """An archive has no networks."""
        raise StoreError(f"archive {self.path} has no networks; those of a store can be loaded.")

    def _table(self, name: str) -> pd.DataFrame:
        """A table over all problems."""
        import pandas as pd

        kinds = self._head["columns"][name]
        parts = [_read(path, kinds) for path in sorted(self.path.glob(f"*/{name}.csv.gz"))]
        if not parts:
            return pd.DataFrame({column: pd.Series(dtype=kind) for column, kind in kinds.items()})
        return pd.concat(parts).sort_values(NAMES, kind="stable", ignore_index=True)


def open_results(path: str | Path) -> Store | Archive:
    """A store to read from, or an archive if the path is a folder."""
    path = check_path("path", path)
    return Archive(path) if path.is_dir() else Store(path, create=False, read_only=True)


def export_ioh(store: Store, folder: str | Path) -> list[Path]:
    """Write a folder per method as IOHexperimenter would; load any of them in IOHanalyzer.

    A repetition is a run on instance 1; the function is the problem, its value the error.
    """
    folder = check_folder("folder", folder)
    frames = store.frames()
    facts, curves, written = frames.facts(), frames.curves, []
    numbers = {name: number for number, name in enumerate(facts, start=1)}
    if curves.empty:
        return []
    for names, runs in curves.groupby(["method", "problem"], sort=False):
        method, problem = map(str, names)
        number, dim = numbers[problem], facts[problem]["dim"]
        target = folder / file_name(method)
        label = f"f{number}_{file_name(problem)}"
        data = Path(f"data_{label}") / f"IOHprofiler_f{number}_DIM{dim}.dat"
        (target / data.parent).mkdir(parents=True, exist_ok=True)
        lines, summaries = [], []
        repetitions: Any = runs.groupby("repetition")
        for _, run in repetitions:
            lines += ["evaluations raw_y"]
            lines += [f"{n} {y:.17g}" for n, y in zip(run.evaluations, run.error, strict=True)]
            best = run.loc[run.error.idxmin()]  # the first of equals
            reached = {"evals": int(best.evaluations), "y": float(best.error), "x": []}
            evals = int(run.evaluations.iloc[-1])
            summaries.append({"instance": 1, "evals": evals, "best": reached})
        (target / data).write_text("\n".join(lines) + "\n")
        scenario = {"dimension": dim, "path": data.as_posix(), "runs": summaries}
        description = {
            **{"version": __version__, "suite": "symbreak", "maximization": False},
            **{"function_id": number, "function_name": problem},
            "algorithm": {"name": method, "info": f"symbreak {__version__}"},
            "attributes": ["evaluations", "raw_y"],
            "scenarios": [scenario],
        }
        written.append(target / f"IOHprofiler_{label}.json")
        written[-1].write_text(json.dumps(description, indent=1))
    return written


def file_name(name: str) -> str:
    """A name that is safe for a file or a folder."""
    return "".join(c if c.isalnum() or c in "-." else "_" for c in name).lstrip(".") or "_"


def _thinned(curves: pd.DataFrame) -> pd.DataFrame:
    """The first point of every run, and the last within every factor of ``CURVE_STEP``."""
    if curves.empty:
        return curves
    step = np.floor(np.log(curves["evaluations"]) / np.log(CURVE_STEP))
    run = curves.groupby(NAMES, sort=False).ngroup()
    first = run != run.shift()
    last = (run != run.shift(-1)) | (step != step.shift(-1))
    return curves[first | last]


def _read(path: Path, kinds: Mapping[str, str]) -> pd.DataFrame:
    import pandas as pd

    try:
        frame = pd.read_csv(path, dtype=object, keep_default_na=False)
        # Python's float is exact, that of read_csv depends on its version
        numbers = {
            name: [float(value or "nan") for value in frame[name]]
            for name, kind in kinds.items()
            if kind == "float64"
        }
        return frame.assign(**numbers).astype(dict(kinds))
    except (OSError, EOFError, ValueError, KeyError) as error:
        raise StoreError(f"archive file {path} is damaged: {error}.") from None


def _write_if_new(path: Path, content: bytes) -> bool:
    """Write a file, compressed without a date, unless it says the same already."""
    compressed = path.suffix == ".gz"
    if path.exists():
        there = path.read_bytes()
        if content == (gzip.decompress(there) if compressed else there):
            return False
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(content, 9, mtime=0) if compressed else content)
    return True
