"""Columns that are no plain numbers: how levels, dates and missing values become inputs."""

from __future__ import annotations

import itertools
import math
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from symbreak._support.checks import Array, check_width, shown
from symbreak._support.frames import choose_columns, column_labels
from symbreak._support.words import few
from symbreak.problems._tables import (
    PATTERNS,
    SHOWN,
    Column,
    MixedZonesError,
    days_of,
    numbers_of,
    plain,
    text_of,
    texts_of,
)

Kind = Literal["number", "category", "ordered", "date"]

#: Levels with an input of their own; others, and those in fewer rows, are taken together.
MAX_LEVELS, MIN_ROWS = 20, 3
#: Cycles in days, with the span of dates from which they can be told from the days themselves.
YEAR, SPANS = 365.2425, {365.2425: 2 * 365.2425, 1.0: 2.0}


@dataclass(frozen=True)
class Coded:
    """How the cells of one column become a number, its code; NaN says that there is none.

    Attributes:
        name: Of the column.
        kind: ``"number"``; ``"category"``, whose code is the place of its level, the number of
            levels for any other; ``"ordered"``, likewise, but without others; or ``"date"``, in
            days since 1970.
        levels: Of a category the most frequent first, which has no input: all others are 0 there.
        fill: The code where there is none: median, or most frequent.
        missing: Whether an input says so.
        rare: Whether an input says that the level is another one.
        pattern: How text writes dates.
        periods: Cycles of dates in days; each has a sine and a cosine as inputs.
    """

    name: str
    kind: Kind = "number"
    levels: tuple[str, ...] = ()
    fill: float = 0.0
    missing: bool = False
    rare: bool = False
    pattern: str = ""
    periods: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        texts = (self.name, self.pattern, *self.levels)
        numbers = (self.fill, *self.periods)
        if (
            self.kind not in get_args(Kind)
            or not all(isinstance(text, str) for text in texts)
            or not all(type(x) in (int, float) and math.isfinite(x) for x in numbers)
            or len(set(self.levels)) < len(self.levels)
            or (self.kind in ("category", "ordered")) != bool(self.levels)
            or min(self.periods, default=1) <= 0
            or (self.kind == "date" and self.pattern not in PATTERNS)
        ):
            raise ValueError(f"{shown(self.name)} is encoded in a way that is unknown.")

    def codes(self, cells: Column) -> tuple[Array, list[str]]:
        """Codes (K,) of cells, and the levels among them that training had not seen.

        Raises:
            ValueError: if numbers or dates are expected, and there is something else.
        """
        if self.kind in ("category", "ordered"):
            known = {level: float(i) for i, level in enumerate(self.levels)}
            texts = texts_of(cells)
            new = sorted({text for text in texts if text is not None and text not in known})
            other = float(len(known)) if self.rare else self.fill
            return np.array([math.nan if t is None else known.get(t, other) for t in texts]), new
        some = cells.tolist()
        found = shown(next((cell for cell in some if isinstance(cell, str)), some[0]))
        try:
            values = days_of(cells, self.pattern) if self.kind == "date" else numbers_of(cells)
        except MixedZonesError as error:
            values, found = None, str(error)
        if values is None or np.isinf(values).any():
            said = f"dates like {self.pattern}" if self.kind == "date" else "finite numbers"
            raise ValueError(f"column {shown(self.name)} must hold {said}, got {found}.")
        return values, []

    @property
    def in_words(self) -> str:
        """What becomes of it; empty of a plain number."""
        words = []
        if self.kind == "category":
            others = ", others together" if self.rare else ""
            words.append(f"{len(self.levels)} levels{others}")
        elif self.kind == "ordered":
            words.append(f"{few(self.levels, SHOWN, ' < ')} as 0, 1, ...")
        elif self.kind == "date":
            cycles = ["year" if period == YEAR else "day" for period in self.periods]
            words.append(" and ".join(["days since 1970", *(f"time of {c}" for c in cycles)]))
        if self.missing:
            filled = self.levels[int(self.fill)] if self.levels else f"{self.fill:g}"
            words.append(f"missing values as {filled}, marked by an input of their own")
        return f"{self.name}: {', '.join(words)}" if words else ""


class Feature(NamedTuple):
    """An input of the network: a ``kind`` of function of the code of a ``column``.

    ``"value"`` is the code itself; ``"level"`` whether it equals ``number``; ``"missing"`` whether
    there is none; ``"sin"`` and ``"cos"`` have the period ``number``.
    """

    column: int
    kind: Literal["value", "level", "missing", "sin", "cos"]
    number: float
    name: str


@dataclass(frozen=True)
class Encoding:
    """How the columns of a table become the inputs of a network; learned from training rows.

    Attributes:
        columns: What becomes of each column that is read.
        left_out: Columns that are not, with the reason.
    """

    columns: tuple[Coded, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.features or len(set(self.names)) < len(self.columns):
            raise ValueError("an encoding must have different columns, at least one.")

    @classmethod
    def learn(
        cls,
        columns: Mapping[str, Any],
        categories: Sequence[str] = (),
        numbers: Sequence[str] = (),
        like: Encoding | None = None,
    ) -> Encoding:
        """The encoding of training rows.

        Args:
            columns: A frame, or cells (K,) by name.
            categories: Columns to take for categories, whatever they hold.
            numbers: Columns to take for numbers.
            like: An earlier encoding, whose levels keep their places before new ones.

        Raises:
            ValueError: if nothing is left, or a name is none of a column.
        """
        labels = _labels_of(columns)
        names = [str(label) for label in labels]
        for name in (*categories, *numbers):
            choose_columns("the table", names, [name])
        if both := set(categories) & set(numbers):
            raise ValueError(f"{both.pop()!r} cannot be a category and a number at once.")
        wanted = dict.fromkeys(categories, "category") | dict.fromkeys(numbers, "number")
        before = {one.name: one.levels for one in like.columns} if like else {}
        learned, left_out = [], {}
        for label, name in zip(labels, names, strict=True):
            found = _learned(name, columns[label], wanted.get(name, ""), before.get(name, ()))
            if isinstance(found, Coded):
                learned.append(found)
            else:
                left_out[name] = found
        if not learned:
            said = few([f"{name} {why}" for name, why in left_out.items()], SHOWN, "; ")
            raise ValueError(f"no column is left for the inputs: {said}.")
        made = cls(tuple(learned), left_out)
        check_width("the encoded table", len(made.features))
        return made

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns that are read."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def features(self) -> tuple[Feature, ...]:
        """All inputs of the network, in their order; a level may be called other, too."""
        found: dict[str, Feature] = {}
        for i, column in enumerate(self.columns):
            for one in _features(i, column):
                same = (f"{one.name} ({n})" for n in itertools.count(2))
                names = itertools.chain([one.name], same)
                name = next(name for name in names if name not in found)
                found[name] = one._replace(name=name)
        return tuple(found.values())

    @property
    def in_words(self) -> list[str]:
        """What becomes of columns that are no plain numbers."""
        left = [f"{name}: left out, it {why}" for name, why in self.left_out.items()]
        return [column.in_words for column in self.columns if column.in_words] + left

    def __call__(self, table: Any) -> Array:
        """Inputs (K, d) of a frame, of columns by name, or of rows with the cells of ``names``.

        A level that training had not seen counts as one of the others, or, if it had none, as the
        most frequent one; a warning names it, and columns with gaps where training had none.

        Raises:
            ValueError: if a column is missing, or holds what it did not in training.
        """
        return self.inputs(self.codes(table))

    def codes(self, table: Any) -> Array:
        """Codes (K, n) of the columns, as exported code takes them."""
        pairs = zip(self.columns, self._cells(table), strict=True)
        found, new = zip(*(column.codes(cells) for column, cells in pairs), strict=True)
        codes = np.column_stack(found)
        lost = np.isnan(codes).any(axis=0)
        levels = zip(self.columns, new, strict=True)
        unseen = [f"{column.name} {few(some, SHOWN)}" for column, some in levels if some]
        gaps = [c.name for c, gap in zip(self.columns, lost, strict=True) if gap and not c.missing]
        if unseen:
            warnings.warn(
                f"Rare, or not seen in training: {'; '.join(unseen)}; counted with the other "
                "levels, or as the most frequent one where training had no others.",
                stacklevel=4,
            )
        if gaps:
            warnings.warn(
                f"Missing values where training had none: {few(gaps, SHOWN)}; filled with the "
                "median, or the most frequent level.",
                stacklevel=4,
            )
        return codes

    def inputs(self, codes: Array) -> Array:
        """Inputs (K, d) for codes (K, n)."""
        lost = np.isnan(codes)
        filled = np.where(lost, [column.fill for column in self.columns], codes)
        inputs = np.empty((len(codes), len(self.features)))
        for j, (i, kind, number, _) in enumerate(self.features):
            x = filled[:, i]
            if kind in ("sin", "cos"):
                inputs[:, j] = getattr(np, kind)(x % number * (2 * math.pi / number))
            else:
                inputs[:, j] = {"value": x, "level": x == number, "missing": lost[:, i]}[kind]
        return inputs

    def _cells(self, table: Any) -> list[Column]:
        """The columns that are read."""
        n = len(self.columns)
        if labels := _labels_of(table):
            chosen = choose_columns("the table", labels, self.names) or labels
            columns = [plain(table[label]) for label in chosen]
        else:
            rows = [list(row) for row in table] if isinstance(table, Iterable) else []
            whole = bool(rows) and {len(row) for row in rows} == {n}
            columns = [np.fromiter(cells, object) for cells in zip(*rows, strict=False)] * whole
        if len(columns) != n:
            raise ValueError(
                f"X must be a frame, columns by name, or rows with the {n} cells of "
                f"{few(self.names, SHOWN)}."
            )
        return columns

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {"columns": [asdict(one) for one in self.columns], "left_out": dict(self.left_out)}

    @classmethod
    def from_json(cls, facts: Any) -> Encoding:
        """What ``to_json`` says.

        Raises:
            ValueError: if it says anything else.
        """
        try:
            columns = [
                Coded(**dict(one, levels=tuple(one["levels"]), periods=tuple(one["periods"])))
                for one in facts["columns"]
            ]
            return cls(tuple(columns), {str(k): str(v) for k, v in facts["left_out"].items()})
        except (TypeError, KeyError, AttributeError, RecursionError):
            raise ValueError("its encoding is not what save writes.") from None


def _labels_of(table: Any) -> list[Any]:
    """Names of the columns, if there are any."""
    return list(table) if isinstance(table, Mapping) else column_labels(table)


def _features(i: int, column: Coded) -> Iterator[Feature]:
    name = column.name
    if column.kind != "category":
        yield Feature(i, "value", 0.0, name)
    else:
        for number, level in enumerate(
            (*column.levels, "other")[: len(column.levels) + column.rare]
        ):
            if number:
                yield Feature(i, "level", float(number), f"{name} = {level}")
    if column.missing:
        yield Feature(i, "missing", 0.0, f"{name} is missing")
    for period in column.periods:
        cycle = "year" if period == YEAR else "day"
        yield Feature(i, "sin", period, f"sine of the {cycle} of {name}")
        yield Feature(i, "cos", period, f"cosine of the {cycle} of {name}")


def _learned(name: str, values: Any, wanted: str, before: tuple[str, ...]) -> Coded | str:
    """What becomes of a column, or why it is left out."""
    order = getattr(getattr(values, "dtype", None), "ordered", False) is True and not wanted
    cells = plain(values)
    if cells.dtype.kind == "O" and all(text is None for text in texts_of(cells)):
        return "is empty"
    if order:
        levels = tuple(text_of(level) for level in values.dtype.categories)
        ordered = Coded(name, "ordered", levels)
        return _with_fill(ordered, ordered.codes(cells)[0])
    numbers = None if wanted == "category" else numbers_of(cells)
    if numbers is not None or wanted == "number":
        number = Coded(name)
        codes = number.codes(cells)[0]
        return "is empty" if np.isnan(codes).all() else _with_fill(number, codes)
    try:
        for pattern in PATTERNS if wanted != "category" else ():
            if (days := days_of(cells, pattern)) is not None:
                return _dates(name, pattern, cells, days)
    except MixedZonesError as error:
        return f"holds {error}; give all of them one"
    return _category(name, texts_of(cells), before)


def _with_fill(column: Coded, codes: Array) -> Coded:
    lost = np.isnan(codes)
    fill = float(np.median(codes[~lost]))
    if column.kind == "ordered" or set(np.unique(codes[~lost])) <= {0.0, 1.0}:
        fill = float(np.floor(fill))
    return replace(column, fill=fill, missing=bool(lost.any()))


def _dates(name: str, pattern: str, cells: Column, days: Array) -> Coded | str:
    if "/%Y" in pattern:
        other = pattern.replace("%m/%d", "%d/%m")
        if other != pattern and days_of(cells, other) is not None:
            return "holds dates in which day and month cannot be told apart; write 2024-12-31"
    some = days[~np.isnan(days)]
    span = float(np.ptp(some))
    same = bool(np.ptp(some % 1) == 0)  # time of day
    periods = tuple(p for p, least in SPANS.items() if span >= least and not (same and p == 1.0))
    return _with_fill(Coded(name, "date", pattern=pattern, periods=periods), days)


def _category(name: str, texts: list[str | None], before: tuple[str, ...]) -> Coded | str:
    counts = Counter(text for text in texts if text is not None)
    ordered = sorted(counts, key=lambda text: (-counts[text], text))
    new = [text for text in ordered if counts[text] >= MIN_ROWS and text not in before]
    levels = (*before, *new[: max(MAX_LEVELS - len(before), 0)])
    missing, rare = None in texts, not set(levels).issuperset(ordered)
    if not levels or (len(ordered) > MAX_LEVELS and 2 * len(ordered) > len(texts)):
        return f"has {len(ordered):,} levels that hardly repeat"
    if len(levels) + rare + missing == 1:
        return "is the same in all rows"
    return Coded(name, "category", levels, missing=missing, rare=rare)
