"""Where the numbers of a report come from: methods, studies, failures, versions."""

from __future__ import annotations

import re
import tomllib
from typing import Any

from symbreak.analysis._numbers import records
from symbreak.analysis._results import Results
from symbreak.experiments._imports import own_names
from symbreak.experiments._study import BUILT_IN, built_in_text


def provenance(results: Results) -> dict[str, Any]:
    """What the last section of a page shows."""
    failures = records(results.failures)
    return {
        "settings": _settings(results),
        "failures": [row | {"reason": _last_line(row["traceback"])} for row in failures],
        "missing": records(results.missing),
        "studies": [_study(name, text) for name, text in results.studies],
        "versions": [
            ", ".join(f"{name} {value}" for name, value in row.items()) for row in results.versions
        ],
    }


def _settings(results: Results) -> list[dict[str, str]]:
    """Population sizes, and what a study changed of a method's own settings."""
    rows = []
    for member in results.lineup.members:
        runs = results.runs[results.runs["method"] == member.method]
        sizes = ", ".join(f"{n:,}" for n in sorted(set(runs["population_size"])))
        changes = [text for text in dict.fromkeys(runs["settings"]) if text != "{}"]
        words = "; ".join(changes) or "none"
        rows.append({**member._asdict(), "sizes": sizes, "changes": words})
    return rows


def _study(name: str, text: str) -> dict[str, Any]:
    """The commands that do a study again, and the file that they need if it is not built in."""
    built_in = next((known for known in BUILT_IN if built_in_text(known) == text), None)
    stem = built_in or re.sub(r"[^A-Za-z0-9._]+", "-", name).strip("-.") or "study"
    source = built_in or f"{stem}.toml"
    own = [] if built_in else _own_names(text)
    option = " --import my_module" if own else ""
    commands = [f"symbreak study {source} --store {stem}.db{option}", f"symbreak report {stem}.db"]
    return {
        "name": name,
        "file": None if built_in else source,
        "text": text,
        "commands": "\n".join(commands),
        "data": "data_file" in text,
        "own": own,
    }


def _own_names(text: str) -> list[str]:
    """Methods and problems of a study file that are not symbreak's own, such as ``method RS``."""
    try:
        file = tomllib.loads(text)
    except tomllib.TOMLDecodeError:  # a store may hold any text
        return []
    files = file.get("data_file")
    known = files if isinstance(files, dict) else {}
    names = [[n for n in _list(file.get(key)) if n not in known] for key in ("methods", "problems")]
    return [" ".join(pair) for pair in own_names(*names)]


def _list(value: Any) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or [""])[-1]
