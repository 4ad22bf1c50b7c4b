"""Who is compared with whom: the methods of some runs by family and role, as the runs say it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import pandas as pd

from symbreak._support.checks import check_kind, shown
from symbreak.analysis._paper import PAPER_METHODS

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

    def __post_init__(self) -> None:
        members = check_kind("members", self.members, tuple, "of Member(method, family, role)")
        for member in members:
            if not isinstance(member, Member) or not all(isinstance(part, str) for part in member):
                raise ValueError(
                    f"members must be Member(method, family, role), three texts, got "
                    f"{shown(member)}."
                )

    @classmethod
    def of(cls, runs: pd.DataFrame) -> Lineup:
        """The methods of a frame with the columns method, family and role."""
        columns = list(Member._fields)
        check_kind("runs", runs, pd.DataFrame, "such as Store.frame()")
        if missing := [column for column in columns if column not in runs]:
            raise ValueError(f"runs must have the columns {', '.join(columns)}; no {missing[0]!r}.")
        found = runs.drop_duplicates("method")[columns] if len(runs) else runs[columns]
        return cls.sorted(Member(*map(str, row)) for row in found.itertuples(index=False))

    @classmethod
    def sorted(cls, members: Iterable[Member]) -> Lineup:
        """Put methods in order."""
        try:
            found = list(cls(tuple(members)).members)
        except TypeError:
            raise ValueError(f"members must be some Members, got {shown(members)}.") from None
        families = dict.fromkeys([*PAPER_METHODS, *(member.family for member in found)])
        place = {family: i for i, family in enumerate(families)}
        return cls(tuple(sorted(found, key=lambda m: (place[m.family], _rank(m.role), m.method))))

    @cached_property
    def families(self) -> tuple[str, ...]:
        """Each family once."""
        return tuple(dict.fromkeys(member.family for member in self.members))

    def methods(self, family: str, *roles: str) -> tuple[str, ...]:
        """The methods of a family, or those with some roles."""
        return tuple(
            m.method for m in self.members if m.family == family and m.role in (roles or (m.role,))
        )

    def compared(self, family: str) -> tuple[str, ...]:
        """The plain, invariant and proximity methods of a family, as far as there are any."""
        return self.methods(family, *COMPARED)

    def first(self, family: str, role: str) -> str | None:
        """The method with a role, the first by name if there are several."""
        return next(iter(self.methods(family, role)), None)

    def short_names(self, family: str) -> dict[str, str]:
        """Names for charts that name the family elsewhere: without its name, if they differ."""
        names = {m: m.removeprefix(f"{family}-") for m in self.methods(family)}
        return names if len(set(names.values())) == len(names) else {m: m for m in names}


def _rank(role: str) -> int:
    return ROLES.index(role) if role in ROLES else len(ROLES)
