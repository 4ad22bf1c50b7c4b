"""Who is compared with whom, the methods of some runs by family and role; and how each is drawn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import count, cycle
from typing import NamedTuple

import pandas as pd

#: Families in the order of the paper's table.
FAMILIES = ("DE", "CMA-ES")
#: What a method is in its family, in the order of tables and legends.
ROLES = ("plain", "invariant", "proximity", "exhaustive", "variant")
#: Those that Table 1 compares.
COMPARED = ROLES[:3]


class Member(NamedTuple):
    """A method with its place."""

    method: str
    family: str
    role: str


@dataclass(frozen=True)
class Lineup:
    """Methods, family by family, in each of them by role and then by name.

    Families come in the order of the paper's table, then others as they are found.
    """

    members: tuple[Member, ...]

    @classmethod
    def of(cls, runs: pd.DataFrame) -> Lineup:
        """The methods of a frame with the columns method, family and role."""
        found = runs.drop_duplicates("method")[list(Member._fields)]
        return cls.sorted(Member(*map(str, row)) for row in found.itertuples(index=False))

    @classmethod
    def sorted(cls, members: Iterable[Member]) -> Lineup:
        """Put methods in order."""
        found = list(members)
        families = [*dict.fromkeys([*FAMILIES, *(member.family for member in found)])]

        def place(member: Member) -> tuple[int, int, str]:
            role = ROLES.index(member.role) if member.role in ROLES else len(ROLES)
            return families.index(member.family), role, member.method

        return cls(tuple(sorted(found, key=place)))

    @cached_property
    def families(self) -> tuple[str, ...]:
        """Each family once."""
        return tuple(dict.fromkeys(member.family for member in self.members))

    def methods(self, family: str, *roles: str) -> tuple[str, ...]:
        """The methods of a family, or those with some roles."""
        of_family = (member for member in self.members if member.family == family)
        return tuple(each.method for each in of_family if each.role in (roles or (each.role,)))

    def first(self, family: str, role: str) -> str | None:
        """The method with a role, the first by name if there are several."""
        return next(iter(self.methods(family, role)), None)


class Style(NamedTuple):
    """How a method is drawn: a colour, and for those who do not see it a dash and a shape."""

    color: str
    dash: tuple[int, ...]
    shape: str


#: Methods in the order of a chart, and how each is drawn.
Styles = Mapping[str, Style]

#: By role. A grey and Okabe and Ito's colours, safe for the colour-blind; the blue is a little
#: lighter, so that all have a contrast of 3 or more on white and on black alike.
ROLE_STYLES = {
    "plain": Style("#7f868d", (1, 0), "circle"),
    "invariant": Style("#d55e00", (2, 2), "triangle-up"),
    "proximity": Style("#1a7fc1", (6, 2), "square"),
    "exhaustive": Style("#cc79a7", (10, 3), "cross"),
}
#: For variants, and for whatever comes second in its role, in the order of the lineup.
VARIANT_STYLES = (
    Style("#009e73", (6, 2, 2, 2), "diamond"),
    Style("#b8860b", (4, 4), "triangle-down"),
    Style("#a9746e", (12, 2), "triangle-right"),
    Style("#8c7b00", (2, 4), "triangle-left"),
    Style("#7a6fd0", (8, 2, 2, 2, 2, 2), "wedge"),
)


def styles_of(lineup: Lineup) -> dict[str, Style]:
    """How each method is drawn, in the order of legends; those of a role are alike in all families.

    With more variants than styles, colours come again with the dash and shape of another.
    """
    styles, n = {}, len(VARIANT_STYLES)
    for family in lineup.families:
        free, variants = {**ROLE_STYLES}, count()
        for member in (each for each in lineup.members if each.family == family):
            if member.role in free:
                styles[member.method] = free.pop(member.role)
                continue
            turn, first = divmod(next(variants), n)
            _, dash, shape = VARIANT_STYLES[(first + turn) % n]
            styles[member.method] = Style(VARIANT_STYLES[first].color, dash, shape)
    return styles


def distinct_styles(methods: Iterable[str]) -> dict[str, Style]:
    """A style of its own for each method, whatever its family and role."""
    return dict(zip(methods, cycle([*VARIANT_STYLES, *ROLE_STYLES.values()]), strict=False))


def drawn(styles: Styles, methods: Iterable[str]) -> dict[str, Style]:
    """The styles of some methods, in the order of ``styles``."""
    there = set(methods)
    return {method: style for method, style in styles.items() if method in there}
