"""Frames for tests of charts, as stores and statistics give them, and what a chart holds."""

import pandas as pd
import vl_convert

from symbreak.analysis._lineup import Lineup, Member, styles_of

DE = ("DE", "DE-INV-SB", "DE-SB")
CMA = ("CMA-ES", "CMA-ES-INV-SB", "CMA-ES-SB")
ROLES = ("plain", "invariant", "proximity", "variant")
#: By what the name of a method has after that of its family.
ROLE_OF = {"": "plain", "-INV-SB": "invariant", "-SB": "proximity", "-SB-BF": "exhaustive"}


def runs_of(samples, problem="sinc"):
    """A frame of runs from the errors of each method."""
    rows = [
        {"problem": problem, "method": method, "family": family, "repetition": repetition}
        | {"role": ROLE_OF[method.removeprefix(family)], "table_error": error}
        for method, errors in samples.items()
        for family in [method.split("-SB")[0].removesuffix("-INV")]
        for repetition, error in enumerate(errors)
    ]
    columns = ["problem", "method", "family", "role", "repetition", "table_error"]
    return pd.DataFrame(rows, columns=columns)


def row_of(frame, **names):
    """The only row with these values."""
    for name, value in names.items():
        frame = frame[frame[name] == value]
    assert len(frame) == 1
    return frame.iloc[0]


def lineup_of(methods=DE):
    """Families of three or four, each with its roles in order."""
    pairs = [(m, "CMA-ES" if m in CMA else "DE") for m in methods]
    places = {m: [n for n, f in pairs if f == family].index(m) for m, family in pairs}
    return Lineup.sorted(Member(m, family, ROLES[places[m]]) for m, family in pairs)


def styles(methods=DE):
    return styles_of(lineup_of(methods))


STYLES = styles((*DE, *CMA))


def curves_frame(problem="sinc", methods=DE, repetitions=5, end=10_000):
    """Errors that halve again and again: method m, repetition r starts at (m + 1) (r + 1)."""
    evaluations = [1, 10, 100, 1_000, end]
    rows = [
        (problem, method, r, at, (m + 1) * (r + 1) * 0.5**i)
        for m, method in enumerate(methods)
        for r in range(repetitions)
        for i, at in enumerate(evaluations)
    ]
    return pd.DataFrame(rows, columns=["problem", "method", "repetition", "evaluations", "error"])


def runs_frame(problem="sinc", methods=DE, repetitions=5):
    rows = [
        {"problem": problem, "method": method, "repetition": r, "evaluations": 10_000}
        | dict.fromkeys(("error", "table_error"), (m + 1) * 10.0**-r)
        | {"train_error": 0.1 * r, "validation_error": 0.1}
        | {"test_error": 0.2 * m}
        for m, method in enumerate(methods)
        for r in range(repetitions)
    ]
    return pd.DataFrame(rows)


def rates_frame(problem="sinc", methods=DE):
    frame = curves_frame(problem, methods, end=5_000).rename(columns={"error": "train_error"})
    return frame.assign(validation_error=frame["train_error"] / 2, test_error=0.25)


def summary_frame(problems=("sinc", "syn5"), methods=(*DE, *CMA)):
    rows = [
        {"problem": p, "method": m, "family": "CMA-ES" if m in CMA else "DE", "mean": 1.0 + i}
        | {"normalised_mean": 0.25 * (1 + i % 3), "best": i % 3 == 0}
        for p in problems
        for i, m in enumerate(methods)
    ]
    return pd.DataFrame(rows)


def rows_of(chart, *columns):
    """The rows of the data with all these columns, as a frame."""
    sets = chart.to_dict()["datasets"].values()
    found = [pd.DataFrame(rows) for rows in sets if rows and set(columns) <= set(rows[0])]
    return pd.concat(found)


def nodes(spec):
    """Every object inside a chart."""
    if isinstance(spec, dict):
        yield spec
    values = spec.values() if isinstance(spec, dict) else spec if isinstance(spec, list) else ()
    for value in values:
        yield from nodes(value)


def svg(chart):
    return vl_convert.vegalite_to_svg(chart.to_dict())
