"""Files that are written whole or not at all: a full disk or a kill leaves what was there."""

from __future__ import annotations

import os
from pathlib import Path

from symbreak._support.checks import check_path, check_text


def write_text(path: Path, text: str, *, follow_links: bool = True) -> None:
    """Write a text file; for ``follow_links`` see ``write_bytes``."""
    write_bytes(path, check_text("text", text).encode(), follow_links=follow_links)


def write_bytes(path: Path, content: bytes, *, follow_links: bool = True) -> None:
    """Write a file.

    Where the path is a link, ``follow_links`` writes what it points to; else the link itself is
    replaced.
    """
    path = check_path("path", path)
    if path.is_dir():
        raise ValueError(f"{path} is a folder; give the name of a file.")
    if path.exists() and not path.is_file():  # a terminal, a pipe, /dev/null
        path.write_bytes(content)
        return
    if follow_links:
        path = path.resolve()
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with draft.open("xb") as file:  # never through somebody's link
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    except BaseException as error:
        draft.unlink(missing_ok=True)
        if isinstance(error, OSError):
            error.filename = str(path)  # nobody knows the draft
        raise
