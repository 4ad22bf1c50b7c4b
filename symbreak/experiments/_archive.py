"""Results as small plain files that can be committed: CSV tables of a store, thinned, compressed.

An archive is a folder with ``archive.json`` (study files, facts about the problems, kinds of
columns) and a folder per problem with a table per frame of the store. Tables of a problem that is
complete never change again. Rows of runs are exact; curves, traces and spread are thinned and
rounded, networks are left out.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np

from symbreak._support.checks import check_folder, check_kind, check_path
from symbreak.experiments._errors import StoreError
from symbreak.experiments._export import file_name
from symbreak.experiments._schema import ARCHIVE_HEAD as HEAD
from symbreak.experiments._store import Store

if TYPE_CHECKING:
    import pandas as pd

FORMAT = 1
#: The frames of a store that are kept, and the digits of their numbers; None keeps all.
TABLES = {"runs": None, "curves": 6, "rates": 6, "traces": 4, "spread": 4}
#: Of the points of a curve whose evaluations lie within this factor the last is kept.
CURVE_STEP = 1.02
TRACE_POINTS = 100
#: What names a run in every table; an archive holds one run of each name.
RUN = ["problem", "method", "repetition"]
_KINDS = {"i": "int64", "f": "float64"}  # all else is text


def write_archive(store: Store, folder: str | Path) -> list[Path]:
    """Add the runs of a store to an archive, or make one; equal results give equal bytes.

    Returns:
        The files that were written; those that say the same already are left alone.

    Raises:
        ValueError: if there are different runs of the same problem, method and repetition.
    """
    check_kind("store", store, Store, "Store(path)")
    folder = check_folder("folder", folder)
    old = read_archive(folder) if (folder / HEAD).exists() else None
    new = _frames(store)
    _check_names(new["runs"], old.frame() if old else new["runs"], folder)
    if old is not None:
        new = {name: _joined(old.table(name), frame) for name, frame in new.items()}
    head = {
        "format": FORMAT,
        "columns": {n: _kinds(f) for n, f in (*new.items(), ("failures", store.failures()))},
        "problems": {**(old.problems() if old else {}), **store.problems()},
        "studies": sorted({**dict(old.studies() if old else ()), **dict(store.studies())}.items()),
    }
    files = {folder / HEAD: (json.dumps(head, indent=1) + "\n").encode()}
    for name, frame in new.items():
        parts = frame.groupby(frame["problem"].map(file_name)) if len(frame) else ()
        for subfolder, part in parts:
            path = folder / str(subfolder) / f"{name}.csv.gz"
            files[path] = _rounded(part, TABLES[name]).to_csv(index=False).encode()
    return [path for path, content in files.items() if _write_if_new(path, content)]


def read_archive(folder: str | Path) -> Archive:
    """The results that ``write_archive`` wrote."""
    return Archive(folder)


def open_results(path: str | Path) -> Store | Archive:
    """A store to read from, or an archive if the path is a folder."""
    path = check_path("path", path)
    return Archive(path) if path.is_dir() else Store(path, create=False, read_only=True)


class Archive:
    """Results of an archive, in the frames of ``Store``.

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

    def close(self) -> None:
        """Do nothing; it is here so that an archive can be used like a store."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @cached_property
    def keys(self) -> frozenset[str]:
        """Keys of its runs."""
        return frozenset(self.frame()["key"])

    def count(self, table: str) -> int:
        """Number of rows of ``run``, ``failure`` or ``checkpoint``."""
        return {"run": len(self.frame()), "failure": len(self.failures())}.get(table, 0)

    def studies(self) -> list[tuple[str, str]]:
        """Name and text of the study files whose runs are here."""
        return [(name, text) for name, text in self._head["studies"]]

    def problems(self) -> dict[str, dict[str, Any]]:
        """Facts about the problems of finished runs, by name."""
        return dict(self._head["problems"])

    def frame(self) -> pd.DataFrame:
        """``Store.frame``, exactly."""
        return self.table("runs")

    def curves(self) -> pd.DataFrame:
        """``Store.curves``, thinned: an error is never earlier, and at most 2 % later."""
        return self.table("curves")

    def rates(self) -> pd.DataFrame:
        """``Store.rates``."""
        return self.table("rates")

    def traces(self, max_points: int | None = None) -> pd.DataFrame:
        """``Store.traces`` with at most a hundred points, whatever ``max_points`` says."""
        return self.table("traces")

    def spread(self) -> pd.DataFrame:
        """``Store.spread``."""
        return self.table("spread")

    def failures(self) -> pd.DataFrame:
        """None: an archive has finished runs only."""
        return self.table("failures")

    def model(self, key: str) -> NoReturn:
        """An archive has no networks."""
        raise StoreError(f"archive {self.path} has no networks; those of a store can be loaded.")

    def table(self, name: str) -> pd.DataFrame:
        """One of ``TABLES`` over all problems."""
        import pandas as pd

        kinds = self._head["columns"][name]
        parts = [_read(path, kinds) for path in sorted(self.path.glob(f"*/{name}.csv.gz"))]
        if not parts:
            return pd.DataFrame({column: pd.Series(dtype=kind) for column, kind in kinds.items()})
        return _sorted(pd.concat(parts, ignore_index=True))


def _frames(store: Store) -> dict[str, pd.DataFrame]:
    """What is kept of a store, before rounding."""
    return {
        "runs": store.frame(),
        "curves": _thinned(store.curves()),
        "rates": store.rates(),
        "traces": store.traces(max_points=TRACE_POINTS),
        "spread": store.spread(),
    }


def _thinned(curves: pd.DataFrame) -> pd.DataFrame:
    """The first point of every run, and the last within every factor of ``CURVE_STEP``."""
    if curves.empty:
        return curves
    step = np.floor(np.log(curves["evaluations"]) / np.log(CURVE_STEP))
    run = curves.groupby(RUN, sort=False).ngroup()
    first = run != run.shift()
    last = (run != run.shift(-1)) | (step != step.shift(-1))
    return curves[first | last]


def _check_names(new: pd.DataFrame, old: pd.DataFrame, folder: Path) -> None:
    """Runs of one name must be one run: those with other settings are another study."""
    import pandas as pd

    runs = pd.concat([old, new])[[*RUN, "key"]].drop_duplicates()
    other = runs[runs.duplicated(RUN)]
    if len(other):
        names = " ".join(str(value) for value in other.iloc[0][RUN])
        raise ValueError(
            f"{len(other)} runs have the names of others in {folder}, such as {names}, but other "
            "settings; write other studies or settings into a folder of their own."
        )


def _joined(old: pd.DataFrame, new: pd.DataFrame) -> pd.DataFrame:
    """Rows of both; runs that are in both are taken from the new."""
    import pandas as pd

    if old.empty or new.empty:
        return new if old.empty else old
    again = pd.MultiIndex.from_frame(old[RUN]).isin(pd.MultiIndex.from_frame(new[RUN]))
    return _sorted(pd.concat([old[~again], new], ignore_index=True))


def _sorted(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.sort_values(RUN, kind="stable", ignore_index=True)


def _kinds(frame: pd.DataFrame) -> dict[str, str]:
    return {str(name): _KINDS.get(kind.kind, "str") for name, kind in frame.dtypes.items()}


def _rounded(frame: pd.DataFrame, digits: int | None) -> pd.DataFrame:
    if digits is None:
        return frame
    numbers = frame.select_dtypes("float")
    texts = {
        str(name): ["" if np.isnan(value) else f"{value:.{digits}g}" for value in column]
        for name, column in numbers.items()
    }
    return frame.assign(**texts)


def _read(path: Path, kinds: Mapping[str, str]) -> pd.DataFrame:
    import pandas as pd

    try:
        text = gzip.decompress(path.read_bytes())
        frame = pd.read_csv(BytesIO(text), dtype=str, keep_default_na=False)
        # Python's float is exact, that of read_csv depends on its version
        numbers = {
            name: [float(value) if value else np.nan for value in frame[name]]
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
