"""Plain files of a store: CSV tables, and the format of IOHprofiler for IOHanalyzer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from symbreak._support.checks import check_folder, check_kind
from symbreak._version import __version__
from symbreak.experiments._store import Store


def export_csv(store: Store, folder: str | Path) -> list[Path]:
    """Write runs, curves, rates, traces and spread as CSV files into a folder."""
    check_kind("store", store, Store, "Store(path)")
    folder = check_folder("folder", folder)
    folder.mkdir(parents=True, exist_ok=True)
    frames = {
        "runs": store.frame(),
        "curves": store.curves(),
        "rates": store.rates(),
        "traces": store.traces(),
        "spread": store.spread(),
    }
    for name, frame in frames.items():
        frame.to_csv(folder / f"{name}.csv", index=False)
    return [folder / f"{name}.csv" for name in frames]


def export_ioh(store: Store, folder: str | Path) -> list[Path]:
    """Write a folder per method as IOHexperimenter would; load any of them in IOHanalyzer.

    A repetition is a run on instance 1; the function is the problem, its value the error.
    """
    check_kind("store", store, Store, "Store(path)")
    folder = check_folder("folder", folder)
    facts = store.problems()
    numbers = {name: number for number, name in enumerate(facts, start=1)}
    written = []
    curves = store.curves()
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
        for _, run in runs.groupby("repetition"):
            lines.append("evaluations raw_y")
            lines += [f"{n} {y:.17g}" for n, y in zip(run.evaluations, run.error, strict=True)]
            summaries.append(_summary(run))
        (target / data).write_text("\n".join(lines) + "\n")
        description = {
            "version": __version__,
            "suite": "symbreak",
            "function_id": number,
            "function_name": problem,
            "maximization": False,
            "algorithm": {"name": method, "info": f"symbreak {__version__}"},
            "attributes": ["evaluations", "raw_y"],
            "scenarios": [{"dimension": dim, "path": data.as_posix(), "runs": summaries}],
        }
        written.append(target / f"IOHprofiler_{label}.json")
        written[-1].write_text(json.dumps(description, indent=1))
    return written


def _summary(run: Any) -> dict[str, Any]:
    best = run.error.idxmin()  # the first of equals: where it was reached
    return {
        "instance": 1,
        "evals": int(run.evaluations.iloc[-1]),
        "best": {"evals": int(run.evaluations[best]), "y": float(run.error[best]), "x": []},
    }


def file_name(name: str) -> str:
    """A name that is safe for a file or a folder."""
    return "".join(c if c.isalnum() or c in "-." else "_" for c in name).lstrip(".") or "_"
