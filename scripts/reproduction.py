"""Write docs/reproduction.md from the committed results of the study `paper`.

    python scripts/reproduction.py            # from studies/paper
    python scripts/reproduction.py estimate   # measure studies/paper/estimate.csv first, minutes

A test checks that the page says what the results say.
"""

import dataclasses
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from symbreak.analysis import Results
from symbreak.analysis._claims import INCOMPLETE, NOT_RUN, REPETITIONS, WORDS, paper_claims
from symbreak.analysis._paper import PAPER_METHODS, TABLE_1
from symbreak.experiments import Archive, StudySpec, seconds_per_evaluation

ROOT = Path(__file__).parent.parent
ARCHIVE = ROOT / "studies" / "paper"
ESTIMATE = ARCHIVE / "estimate.csv"
SENSITIVITY = ROOT / "studies" / "sensitivity"
PAGE = ROOT / "docs" / "reproduction.md"
SHARES = (0.4, 0.6, 0.7, 0.8, 0.9, 1.0)
METHODS = [method for three in PAPER_METHODS.values() for method in three]

HEAD = """\
# The paper, rerun

The study of the paper, Section 6: eleven problems, 50 repetitions, six methods and the two by
brute force. This page is written by `python scripts/reproduction.py` from the runs in
`studies/paper`, a row each; `symbreak report studies/paper` draws all figures
from them, and `make reference` runs the study again. How the paper is read where it leaves a
choice is in [paper-notes.md](paper-notes.md), how the numbers of evaluations were chosen in
`studies/paper/budgets.md`.
"""
TABLE_TEXT = """\
## Table 1

Means and standard deviations, divided by the largest mean of the family; training errors, test
errors for classification. The smallest mean is bold. The paper's row stands above ours.
"""
PAIRS_TEXT = """\
## Significance

Wilcoxon rank-sum tests at 0.05 after a Kruskal-Wallis test, as in the paper, and with Holm's
adjustment over the three pairs. A12 is the probability that a run of the first is better than one
of the second.
"""
CLAIMS_TEXT = """\
## The paper's sentences

What Section 6 says about results, one by one. *Fastest*: the lowest convergence curve, by rank-sum
tests of the error's mean logarithm over the evaluations of a run (shown: the median of its runs, as
an error). *Fails*: ends above twice (syn5) or ten times (sinc2d) the median of the family's best
method. *Almost identical*: the 95 % interval of the ratio of means, brute force to Algorithm 1,
lies within 0.8 and 1.25. *Undecided*: no significant difference where the sentence has one.

Until ten of the eleven problems were complete, *fastest* meant fewest evaluations to a target. On
digits that target was reached by the first generations and could tell nothing; all other sentences
are judged the same by both rules.
"""
DIFFERENCES_TEXT = """\
## Where it differs, and what makes it agree

The families whose winner or tests differ from the paper's, the budgets at which both would be the
paper's, had the same runs been stopped earlier, and the other readings of the paper (next section)
with which they are. Readings have fewer runs, so their tests find less.
"""
#: What can be said of families that no budget and no reading makes agree.
STAYS = {
    ("syn5", "CMA-ES"): """\
near the level in both, p = 0.08 in the paper; most runs of the two end at the same error, few
fail.""",
    ("sinc2d", "CMA-ES"): """\
all runs of both fail, as in the paper, but those of CMA-ES by less than the paper's. Neither the
ball, the data, the first step nor (in trials without committed runs) the first point changes that.
""",
    ("autoenc-spiral", "CMA-ES"): """\
with a first step of 0.3 the winner is the paper's; both are at the noise then, and ten runs do not
tell them apart.""",
    ("two-spirals", "CMA-ES"): """\
a small effect on 40 test samples; the winner is the paper's.""",
}
SENSITIVITY_TEXT = """\
## What the conclusions hang on

The same with another reading of the paper, from `studies/sensitivity`: *radius* rescales vectors
outside the ball to its radius instead of to unit length (paper-notes 1), *start* and *start-sphere*
let CMA-ES begin with a step size of 0.3, that of the file that comes with its C code, instead of
0.5, a quarter of the interval, which the same file advises (13), *tanh* takes the printed error of
classification (15), *redrawn* draws new data for every repetition (17), and *population* has 400
candidates of CMA-ES on autoenc-sphere instead of the paper's 1,000. Normalised means; the smallest
of a family is bold.
"""
STEPS_TEXT = """\
## Why the autoencoders differ: the first step size

The damping of CMA-ES-SB, exp(-0.05 D² ‖s‖), holds the step size as long as breaking moves
anything, and the more so the larger D. Where the first step is wide, some candidates fall into
other partitions in every generation, and that keeps it wide. Below: the share of candidates that
were modified in the first half of a run, the step size at its middle (along the widest axis) and
the error at its end, medians of the runs.
"""
COSTS_TEXT = """\
## What it cost

Core-seconds of one run, mean over the runs; in brackets what a calibration of a tenth of a second
foretells, as `symbreak study paper --dry-run` does it.
"""


def page() -> str:
    """The whole page."""
    results, spec = Results.of(Archive(ARCHIVE)), StudySpec.load("paper")
    readings = {"as in the study": results}
    for file in sorted(SENSITIVITY.glob("*.toml"), key=lambda path: path.stem):
        readings[file.stem] = Results.of(Archive(file.with_suffix("")))
    parts = (
        [HEAD],
        _progress(results, spec),
        _agreement(results),
        _table(results),
        _pairs(results),
        _claims(results),
        _differences(results, readings),
        _sensitivity(readings),
        _steps(readings),
        _costs(results, spec),
    )
    return "\n".join(line for part in parts for line in part) + "\n"


def _progress(results: Results, spec: StudySpec) -> Iterator[str]:
    """Which problems are complete."""
    planned = pd.DataFrame(spec.pairs(), columns=["problem", "method"])
    total = planned.groupby("problem").size() * spec.repetitions
    done = results.runs.groupby("problem").size()
    yield "## What is done"
    yield ""
    yield "| problem | evaluations | runs | of |"
    yield "|---|---:|---:|---:|"
    budgets = {run.problem: run.max_evaluations for run in spec.first_runs()}
    for problem in spec.problems:
        n = int(done.get(problem, 0))
        yield f"| {problem} | {budgets[problem]:,} | {n:,} | {total[problem]:,} |"
    yield f"| all | | {len(results.runs):,} | {spec.n_runs:,} |"
    yield ""
    if len(results.runs) < spec.n_runs:
        yield "The study goes on. Tables show the runs that are there; agreement and sentences are"
        yield "judged where all 50 are."
        yield ""


def _agreement(results: Results) -> Iterator[str]:
    """In how many cells the paper and this study agree."""
    known, pairs = complete_families(results), results.agreement.pairs
    names = ["problem", "family"]
    judged = pairs.set_index(names).loc[known.set_index(names).index]
    proximity = known["winner_here"].isin([three[2] for three in PAPER_METHODS.values()])
    verdicts = paper_claims(results)["verdict"].value_counts()
    yield "## How far it agrees"
    yield ""
    yield "| | here | of |"
    yield "|---|---:|---:|"
    rows = [
        ("SB has the smallest mean of its family, as in the paper", proximity.sum(), len(known)),
        ("the same order of the three", sum(known["same_order"]), len(known)),
        ("the same outcome of a rank-sum test", sum(judged["agree"]), len(judged)),
    ]
    yield from (f"| {text} | {n} | {of} |" for text, n, of in rows)
    for word in (*WORDS.values(), INCOMPLETE, NOT_RUN):
        yield f"| sentences {word} | {verdicts.get(word, 0)} | {verdicts.sum()} |"
    yield ""


def complete_families(results: Results) -> pd.DataFrame:
    """The families whose three methods all have the paper's number of runs."""
    families, cells = results.agreement.families, results.agreement.cells
    runs = cells.groupby(["problem", "family"], sort=False)["n_here"].min()
    enough = [runs[row.problem, row.family] >= REPETITIONS for row in families.itertuples()]
    return families[enough]


def _table(results: Results) -> Iterator[str]:
    """Table 1, the paper's numbers above ours."""
    cells = results.agreement.cells.set_index(["problem", "method"])
    yield TABLE_TEXT
    yield "| problem | | " + " | ".join(METHODS) + " |"
    yield "|---|---|" + "---:|" * len(METHODS)
    for problem in TABLE_1:
        for where in ("paper", "here"):
            texts = [_cell(cells.loc[(problem, method)], where) for method in METHODS]
            if any(texts):
                name = problem if where == "paper" else ""
                yield f"| {name} | {where} | {' | '.join(texts)} |"
    yield ""
    yield "| problem | family | order in the paper | order here | same |"
    yield "|---|---|---|---|---|"
    for row in results.agreement.families.itertuples():
        if row.same_order is not None and not pd.isna(row.same_order):
            same = "yes" if row.same_order else "winner" if row.same_winner else "no"
            orders = f"{row.order_paper} | {row.order_here}"
            yield f"| {row.problem} | {row.family} | {orders} | {same} |"
    yield ""


def _cell(cell: pd.Series, where: str) -> str:
    mean, std, best = (cell[f"{name}_{where}"] for name in ("mean", "std", "best"))
    if np.isnan(mean):
        return ""
    text = f"{mean:.3f} ± {std:.3f}"
    return f"**{text}**" if best else text


def _pairs(results: Results) -> Iterator[str]:
    """Every pair of a family: significant in the paper, here raw and with Holm's adjustment."""
    yield PAIRS_TEXT
    yield "| problem | pair | paper | here | p | p (Holm) | A12 | agree |"
    yield "|---|---|---|---|---:|---:|---:|---|"
    tests = results.pairwise.set_index(["problem", "a", "b"])
    for pair in results.agreement.pairs.itertuples():
        if pair.agree is None or pd.isna(pair.agree):
            continue
        test = tests.loc[(pair.problem, pair.a, pair.b)]
        words = [_sign(pair.significant_paper), _sign(test.significant)]
        if test.significant != test.significant_holm:
            words[1] += " (not with Holm)"
        numbers = f"{test.p:.2g} | {test.p_holm:.2g} | {test.a12:.2f}"
        agree = "yes" if pair.agree else "**no**"
        if min(test.n_a, test.n_b) < REPETITIONS:
            agree = INCOMPLETE
        yield f"| {pair.problem} | {pair.a}, {pair.b} | {' | '.join(words)} | {numbers} | {agree} |"
    yield ""


def _sign(significant: bool) -> str:
    return "differ" if significant else "do not differ"


def _claims(results: Results) -> Iterator[str]:
    """The sentences of the paper."""
    yield CLAIMS_TEXT
    yield "| problem | the paper | verdict | numbers here |"
    yield "|---|---|---|---|"
    for row in paper_claims(results).itertuples():
        word = f"**{row.verdict}**" if row.verdict == WORDS[False] else row.verdict
        yield f"| {row.problem} | {row.claim} | {word} | {row.numbers} |"
    yield ""


def _differences(results: Results, readings: dict[str, Results]) -> Iterator[str]:
    """Families that disagree: in what, at which budgets and readings they would not."""
    known = complete_families(results)
    differing = known[~known.apply(_as_in_the_paper, axis=1)]
    names = list(zip(differing["problem"], differing["family"], strict=True))
    budgets = {name: _by_budget(results, *name) for name in names}
    yield DIFFERENCES_TEXT
    yield "| problem and family | differs in | agrees at | agrees with |"
    yield "|---|---|---|---|"
    stays = []
    for name in names:
        at = [evaluations for evaluations, _, agrees in budgets[name] if agrees]
        with_ = [reading for reading, found in readings.items() if _agrees(found, *name)]
        cells = (_difference(results, *name), ", ".join(at), ", ".join(with_))
        yield f"| {', '.join(name)} | {' | '.join(cell or 'none' for cell in cells)} |"
        stays += [name] if not at and not with_ else []
    yield ""
    yield "Those that stay:"
    yield ""
    for name in stays:
        text = STAYS.get(name, "not looked into yet.").strip().replace("\n", " ")
        yield f"- {', '.join(name)}: {text}"
    yield ""
    yield "By budget:"
    yield ""
    yield "| problem and family | evaluations | plain | INV-SB | SB | tests as in the paper |"
    yield "|---|---:|---:|---:|---:|---:|"
    for name in names:
        yield from (f"| {', '.join(name)} | {at} | {cells} |" for at, cells, _ in budgets[name])
    yield ""


def _as_in_the_paper(family: pd.Series) -> bool:
    """Whether the winner and all three tests of a family are those of the paper."""
    return bool(family.winner_here == family.winner_paper and family.pairs_agreeing == 3)


def _agrees(results: Results, problem: str, family: str) -> bool:
    families = results.agreement.families
    found = families[(families["problem"] == problem) & (families["family"] == family)]
    return any(_as_in_the_paper(row) for row in found.itertuples())


def _difference(results: Results, problem: str, family: str) -> str:
    """What differs from the paper in a family."""
    families, pairs = results.agreement.families, results.agreement.pairs
    found = families[(families["problem"] == problem) & (families["family"] == family)].iloc[0]
    words = [] if found.same_winner else [f"winner ({found.winner_here})"]
    here = pairs[(pairs["problem"] == problem) & pairs["a"].isin(PAPER_METHODS[family])]
    for pair in here.itertuples():
        if pair.agree is False:
            numbers = f"p = {pair.p:.2g}, A12 {pair.a12:.2f}"
            words.append(f"{pair.a} and {pair.b} {_sign(pair.significant_here)} ({numbers})")
    return "; ".join(words)


def _by_budget(results: Results, problem: str, family: str) -> list[tuple[str, str, bool]]:
    """Evaluations, means with tests that agree, and whether all does, at shares of the budget."""
    rows = []
    for share in SHARES:
        cut = _stopped_earlier(results, problem, share)
        cells = cut.agreement.cells.set_index(["problem", "method"])
        texts = [_cell(cells.loc[(problem, m)], "here") for m in PAPER_METHODS[family]]
        found = cut.agreement.families.set_index(["problem", "family"]).loc[(problem, family)]
        texts.append(f"{found.pairs_agreeing} of {found.pairs_compared}")
        evaluations = f"{share * cut.runs['max_evaluations'].max():,.0f}"
        rows.append((evaluations, " | ".join(texts), _as_in_the_paper(found)))
    return rows


def _stopped_earlier(results: Results, problem: str, share: float) -> Results:
    """The runs of a problem as they were at a share of their budget."""
    runs = results.runs[results.runs["problem"] == problem]
    rates = results.rates[results.rates["problem"] == problem] if len(results.rates) else ()
    curves = rates if len(rates) else results.curves[results.curves["problem"] == problem]
    until = curves[curves["evaluations"] <= share * runs["max_evaluations"].max()]
    names = ["problem", "method", "repetition"]
    last = until.groupby(names)[until.columns[-1]].last().rename("until")
    runs = runs.join(last, on=names)
    return dataclasses.replace(results, runs=runs.assign(table_error=runs["until"]))


def _sensitivity(readings: dict[str, Results]) -> Iterator[str]:
    """Normalised means under other readings, beside those of the study."""
    yield SENSITIVITY_TEXT
    yield "| problem | reading | runs | " + " | ".join(METHODS) + " |"
    yield "|---|---|---:|" + "---:|" * len(METHODS)
    tables = {reading: results.summary for reading, results in readings.items()}
    changed = {name for table in list(tables.values())[1:] for name in table["problem"]}
    best: dict[str, list[bool]] = {}  # whether SB is, by reading
    for problem in TABLE_1:
        for reading, table in tables.items():
            rows = table[table["problem"] == problem].set_index("method")
            families = [three for three in PAPER_METHODS.values() if set(three) <= set(rows.index)]
            if problem in changed and families:
                known = [method for three in families for method in three]
                cells = [_mean(rows.loc[m]) if m in known else "" for m in METHODS]
                n = int(rows.loc[known, "n"].sum())
                yield f"| {problem} | {reading} | {n} | {' | '.join(cells)} |"
                winners = [bool(rows.loc[three[2], "best"]) for three in families]
                best.setdefault(reading, []).extend(winners)
    yield ""
    counts = [f"{reading}, {sum(found)} of {len(found)}" for reading, found in best.items()]
    yield f"SB has the smallest mean of its family: {'; '.join(counts)}."
    yield ""


def _steps(readings: dict[str, Results]) -> Iterator[str]:
    """What step sizes did in the networks with the most weights."""
    yield STEPS_TEXT
    yield "| problem | reading | runs | method | modified | step size | error |"
    yield "|---|---|---:|---|---:|---:|---:|"
    for problem in ("autoenc-spiral", "autoenc-sphere"):
        for reading, results in readings.items():
            runs, traces = (f[f["problem"] == problem] for f in (results.runs, results.traces))
            for method in PAPER_METHODS["CMA-ES"]:
                found, trace = runs[runs["method"] == method], traces[traces["method"] == method]
                if len(found):
                    half = trace[trace["evaluations"] <= found["max_evaluations"].max() / 2]
                    share = half.groupby("repetition")["modified_share"].mean().median()
                    step = half.groupby("repetition")["step_size"].last().median()
                    numbers = f"{share:.1%} | {step:.3f} | {found['error'].median():.2g}"
                    yield f"| {problem} | {reading} | {len(found)} | {method} | {numbers} |"
    yield ""


def _mean(row: pd.Series) -> str:
    text = f"{row['normalised_mean']:.3f}"
    return f"**{text}**" if row["best"] else text


def _costs(results: Results, spec: StudySpec) -> Iterator[str]:
    """Core-seconds per run, measured and as a plan."""
    seconds = results.runs.pivot_table(
        index="problem", columns="method", values="seconds", aggfunc="mean"
    )
    estimate = pd.read_csv(ESTIMATE).pivot(index="problem", columns="method", values="seconds")
    yield COSTS_TEXT
    yield "| problem | " + " | ".join(spec.methods) + " | all, hours |"
    yield "|---|" + "---:|" * (len(spec.methods) + 1)
    hours = {}
    for problem in spec.problems:
        texts = []
        for method in spec.methods:
            plan = estimate.loc[problem].get(method, np.nan)
            found = seconds[method].get(problem, np.nan) if method in seconds else np.nan
            texts.append(_cost(found, plan))
            each = plan if np.isnan(found) else found
            hours[problem, method] = 0 if np.isnan(each) else each * spec.repetitions / 3600
        total = sum(hours[problem, method] for method in spec.methods)
        yield f"| {problem} | {' | '.join(texts)} | {total:.2f} |"
    yield ""
    yield f"In all {sum(hours.values()):.1f} core-hours, by the plan where nothing was run yet."


def _cost(found: float, plan: float) -> str:
    if np.isnan(plan):
        return ""
    return f"({plan:.2g})" if np.isnan(found) else f"{found:.2g} ({plan:.2g})"


def write_estimate() -> None:
    """Calibrate every pair of the study, as a dry run does."""
    rows = []
    for run in StudySpec.load("paper").first_runs():
        seconds_per_evaluation(run, at_least=0)  # loads compiled code
        seconds = seconds_per_evaluation(run) * run.max_evaluations
        row = {"problem": run.problem, "method": run.method, "evaluations": run.max_evaluations}
        rows.append(row | {"seconds": f"{seconds:.3g}"})
    pd.DataFrame(rows).to_csv(ESTIMATE, index=False)


if __name__ == "__main__":
    if sys.argv[1:] == ["estimate"]:
        write_estimate()
    elif sys.argv[1:]:
        sys.exit(__doc__)
    PAGE.write_text(page(), encoding="utf-8")
