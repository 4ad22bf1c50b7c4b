"""Scores that are kept one by one, so that a run may be stopped, or several share the work."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from _timing import Row, environment
from filelock import FileLock


def read(path: Path) -> list[Row]:
    return json.loads(path.read_text())["rows"] if path.exists() else []


def has(path: Path, job: dict[str, Any]) -> bool:
    """Whether there is a score of this job."""
    return any(all(row[key] == value for key, value in job.items()) for row in read(path))


def add(path: Path, row: Row, order: Callable[[Row], Any]) -> None:
    """Keep a row, beside those that other processes have added."""
    with FileLock(path.with_suffix(".lock")):
        rows = sorted([*read(path), row], key=order)
        lines = ",\n".join(json.dumps(r) for r in rows)
        text = f'{{"environment": {json.dumps(environment())},\n"rows": [\n{lines}\n]}}\n'
        new = path.with_suffix(".new")
        new.write_text(text)
        new.replace(path)
