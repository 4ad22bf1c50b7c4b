"""Both readings of the first step size of CMA-ES, side by side: a part of the page.

The study `paper` begins with 0.5, `paper-sigma-0.3` with 0.3 and is else the same.
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd
from _agreement import agreement
from _claims import NOT_RUN, WORDS, paper_claims
from _differences import cell_text, complete_families

from symbreak.analysis import Results
from symbreak.analysis._paper import PAPER_METHODS, TABLE_1
from symbreak.experiments import StudySpec

FAMILY = "CMA-ES"
READINGS = ("0.5", "0.3")

TEXT = """\
## Two readings of the first step

The paper does not say with which step size CMA-ES begins (paper-notes 13). The study above reads
0.5, a quarter of the interval, as the settings file of the C code that it names advises; that file
itself has 0.3. So the CMA-ES family was run a second time with 0.3, all else equal
(`symbreak study studies/paper-sigma-0.3.toml`, kept in `studies/paper-sigma-0.3`). Compared are all
problems that are complete in both readings.
"""
NEAR_TEXT = """\
How near each reading comes to the paper. *Distance*: the mean absolute difference of the natural
logarithms of the normalised means to the paper's, over the three methods of each problem (0.69 is a
factor of two). *Pairs*: tests with the paper's verdict, and not the other way round. *Statements*:
those on the CMA-ES family that are confirmed.
"""


def both_readings(results: Results, other: Results, spec: StudySpec) -> Iterator[str]:
    """What is done, the table, and which reading is nearer."""
    readings = dict(zip(READINGS, (results, other), strict=True))
    yield TEXT
    missing = spec.n_runs - len(other.runs)
    if missing:
        yield f"It is still running: {len(other.runs):,} of {spec.n_runs:,} runs are there."
        yield ""
    problems = compared_problems(readings)
    if not problems:
        return
    yield from _table(readings, problems)
    yield from _nearness(readings, problems)


def compared_problems(readings: dict[str, Results]) -> list[str]:
    """Problems whose CMA-ES family is complete in all readings."""
    complete = []
    for found in readings.values():
        families = complete_families(found)
        complete.append(set(families[families["family"] == FAMILY]["problem"]))
    return [problem for problem in TABLE_1 if all(problem in each for each in complete)]


def verdicts(results: Results) -> dict[tuple[str, str], str]:
    """What becomes of each statement on the CMA-ES family alone, by problem and sentence."""
    return {
        (row.problem, row.claim): row.verdict
        for row in paper_claims(results, family=FAMILY).itertuples()
        if row.verdict != NOT_RUN
    }


def _table(readings: dict[str, Results], problems: list[str]) -> Iterator[str]:
    """The CMA-ES columns of Table 1, and the order of the three."""
    methods = PAPER_METHODS[FAMILY]
    yield f"| problem | | {' | '.join(methods)} | order |"
    yield f"|---|---|{'---:|' * len(methods)}---|"
    for problem in problems:
        for name, where, found in (
            ("paper", "paper", readings[READINGS[0]]),
            *((f"first step {step}", "here", found) for step, found in readings.items()),
        ):
            cells = agreement(found).cells.set_index(["problem", "method"])
            texts = [cell_text(cells.loc[(problem, method)], where) for method in methods]
            order = _family(found, problem)[f"order_{where}"].replace("CMA-ES-", "")
            first = problem if name == "paper" else ""
            yield f"| {first} | {name} | {' | '.join(texts)} | {order} |"
    yield ""


def _nearness(readings: dict[str, Results], problems: list[str]) -> Iterator[str]:
    yield NEAR_TEXT
    heads = [f"{what}, {step}" for what in ("distance", "pairs", "statements") for step in READINGS]
    yield f"| problem | {' | '.join(heads)} | nearer |"
    yield f"|---|{'---:|' * len(heads)}---|"
    said = {step: verdicts(found) for step, found in readings.items()}
    rows = {p: [_numbers(found, said[s], p) for s, found in readings.items()] for p in problems}
    for problem, numbers in rows.items():
        yield _row(problem, numbers)
    sums = [pd.DataFrame([pair[i] for pair in rows.values()]).sum() for i in range(len(READINGS))]
    for total in sums:
        total["distance"] /= len(problems)
    yield _row("**all**", sums)
    yield ""
    counts = [
        (
            sum(bool(_family(found, p)["same_winner"]) for p in problems),
            sum(bool(_family(found, p)["same_order"]) for p in problems),
        )
        for found in readings.values()
    ]
    words = [
        f"{winners} winners and {orders} orders with {step}"
        for step, (winners, orders) in zip(READINGS, counts, strict=True)
    ]
    nearer = READINGS[int(np.argmin([total["distance"] for total in sums]))]
    yield f"As in the paper are, of {len(problems)} problems, {' and '.join(words)}."
    yield f"By distance over all of them the reading {nearer} is the nearer one."
    yield ""


def _row(name: str, numbers: list) -> str:
    distances = [each["distance"] for each in numbers]
    cells = [f"{distance:.2f}" for distance in distances]
    cells += [f"{each['agreeing']:.0f} of {each['pairs']:.0f}" for each in numbers]
    cells += [f"{each['confirmed']:.0f} of {each['claims']:.0f}" for each in numbers]
    return f"| {name} | {' | '.join(cells)} | {READINGS[int(np.argmin(distances))]} |"


def _numbers(results: Results, said: dict[tuple[str, str], str], problem: str) -> dict[str, float]:
    """How near a reading comes to the paper on a problem."""
    cells = agreement(results).cells
    cells = cells[(cells["problem"] == problem) & (cells["family"] == FAMILY)]
    away = np.log(cells["mean_here"].astype(float)) - np.log(cells["mean_paper"].astype(float))
    family = _family(results, problem)
    claims = [verdict for (where, _), verdict in said.items() if where == problem]
    return {
        "distance": float(away.abs().mean()),
        "agreeing": family["pairs_agreeing"] - family["pairs_reversed"],
        "pairs": family["pairs_compared"],
        "confirmed": sum(verdict == WORDS[True] for verdict in claims),
        "claims": len(claims),
    }


def _family(results: Results, problem: str) -> pd.Series:
    return agreement(results).families.set_index(["problem", "family"]).loc[(problem, FAMILY)]
