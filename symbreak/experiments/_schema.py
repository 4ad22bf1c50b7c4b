"""The tables of a store."""

from __future__ import annotations

from dataclasses import dataclass

from symbreak.experiments._columns import FORMAT, RUN, Column

APPLICATION_ID = 0x53594D42  # "SYMB"
ARCHIVE_HEAD = "archive.json"  # what tells an archive from other folders

#: In every table: a hash of all the rest of the row, verified whenever it is read.
CHECKSUM = Column("checksum", "TEXT NOT NULL", since=2, before="''")

_KEY, _TEXT = "TEXT PRIMARY KEY", "TEXT NOT NULL"


@dataclass(frozen=True)
class Table:
    """Columns, what holds between them, and the first format that has the table."""

    columns: tuple[Column, ...]
    constraint: str = ""
    since: int = 1

    def names(self, version: int | None = None) -> list[str]:
        """Names of the columns that a format has, by default this one's; the checksum apart."""
        return [c.name for c in self.columns if c.since <= (version or FORMAT)]

    def sql(self, name: str) -> str:
        """The statement that makes it."""
        columns = [f"{column.name} {column.sql}" for column in (*self.columns, CHECKSUM)]
        constraint = [self.constraint] if self.constraint else []
        return f"CREATE TABLE {name} ({', '.join([*columns, *constraint])}) STRICT"


def _arrays_of(table: str) -> Table:
    owner = Column("key", f"TEXT NOT NULL REFERENCES {table} (key) ON DELETE CASCADE")
    texts = [Column(name, _TEXT) for name in ("name", "dtype", "shape")]
    return Table((owner, *texts, Column("data", "BLOB NOT NULL")), "PRIMARY KEY (key, name)")


TABLES = {
    "study": Table((Column("digest", _KEY), Column("name", _TEXT), Column("text", _TEXT))),
    "problem": Table(
        (
            Column("id", "INTEGER PRIMARY KEY"),
            Column("name", _TEXT),
            Column("facts", "TEXT NOT NULL UNIQUE"),  # JSON
        )
    ),
    "run": Table(RUN),
    "run_array": _arrays_of("run"),
    "run_model": Table(
        (
            Column("key", "TEXT PRIMARY KEY REFERENCES run (key) ON DELETE CASCADE"),
            Column("data", "BLOB NOT NULL"),  # JSON, zlib
        ),
        since=2,
    ),
    "checkpoint": Table((Column("key", _KEY), Column("state", _TEXT))),
    "checkpoint_array": _arrays_of("checkpoint"),
    "failure": Table(
        (
            Column("key", _KEY),
            Column("problem", _TEXT),
            Column("method", _TEXT),
            Column("repetition", "INTEGER NOT NULL"),
            Column("traceback", _TEXT),
            Column("failed_at", _TEXT),
        )
    ),
}
