"""Where the numbers of a report come from: methods, studies, failures, versions."""

from __future__ import annotations

import re
from typing import Any

from symbreak.analysis._numbers import records
from symbreak.analysis._results import Results
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
    commands = [f"symbreak study {source} --store {stem}.db", f"symbreak report {stem}.db"]
    return {
        "name": name,
        "file": None if built_in else source,
        "text": text,
        "commands": "\n".join(commands),
        "data": "data_file" in text,
    }


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or [""])[-1]
