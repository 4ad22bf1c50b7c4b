"""Argument checks of the analysis: frames with their columns, lineups and looks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from symbreak._support.checks import check_count, check_kind, check_text, shown
from symbreak.analysis._lineup import Lineup
from symbreak.analysis._style import Look, Looks

#: More resamples change no digit that is shown.
MAX_BOOTSTRAP = 100_000
#: Columns that say to which problem and method a row belongs.
WHOSE = ("problem", "method")


def check_frame(
    name: str, frame: object, texts: Sequence[str] = WHOSE, numbers: Sequence[str] = ()
) -> pd.DataFrame:
    """Return a frame if it has these columns of texts and of numbers.

    A frame without rows needs no columns: a store without runs gives such frames. Gaps among
    numbers become NaN.
    """
    checked = check_kind(name, frame, pd.DataFrame, "as stores and the statistics give them")
    if checked.empty:
        return checked
    missing = [column for column in (*texts, *numbers) if column not in checked]
    if missing:
        raise ValueError(
            f"{name} must have the columns {', '.join((*texts, *numbers))}; there is no "
            f"{' and no '.join(missing)}."
        )
    for column in texts:
        if pd.api.types.infer_dtype(checked[column], skipna=False) != "string":
            raise ValueError(f"column {column!r} of {name} must hold texts, without gaps.")
    others = [column for column in numbers if checked[column].dtype.kind not in "biuf"]
    found = {column: _numbers(name, checked[column]) for column in others}
    return checked.assign(**found) if found else checked


def _numbers(name: str, values: pd.Series) -> pd.Series:
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"column {str(values.name)!r} of {name} must hold numbers.") from None


def check_counted(name: str, frame: pd.DataFrame, columns: Sequence[str]) -> None:
    """Raise unless columns, which ``check_frame`` found to be numbers, are finite ones from 0."""
    for column in columns if len(frame) else ():
        values = frame[column].to_numpy(np.float64)
        if not (np.isfinite(values).all() and values.min() >= 0):
            raise ValueError(f"column {column!r} of {name} must hold integers from 0 on.")


def check_bootstrap(n: object) -> int:
    """Return a number of resamples."""
    if check_count("n_bootstrap", n, 2) > MAX_BOOTSTRAP:
        raise ValueError(f"n_bootstrap must be at most {MAX_BOOTSTRAP:,}, got {shown(n)}.")
    return check_count("n_bootstrap", n, 2)


def check_lineup(lineup: object) -> Lineup:
    """Return a lineup."""
    return check_kind("lineup", lineup, Lineup, "such as Lineup.of(runs)")


def check_looks(looks: object) -> Looks:
    """Return looks by method."""
    if not isinstance(looks, Mapping) or not all(
        isinstance(method, str) and isinstance(look, Look) for method, look in looks.items()
    ):
        raise ValueError(
            f"looks must be a dictionary from methods to how they are drawn, such as "
            f"looks_of(lineup), got {shown(looks)}."
        )
    return looks


def check_names(problem: object, looks: object) -> None:
    """Raise unless these are a problem's name and the looks of methods."""
    check_text("problem", problem)
    check_looks(looks)
