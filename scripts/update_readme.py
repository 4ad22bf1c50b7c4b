"""Write the numbers of committed results into README.md and docs/performance.md.

    python scripts/update_readme.py

Speed comes from benchmarks/results, errors from the reference study in studies/paper. A test checks
that both pages say what the results say.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd
from _differences import complete_families
from _pages import filled

from symbreak.analysis import Results
from symbreak.analysis._paper import PAPER_METHODS, TABLE_1
from symbreak.experiments import Archive

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results"
STUDY = ROOT / "studies" / "paper"


def load(name: str) -> dict:
    """Tables of one benchmark."""
    return json.loads((RESULTS / f"{name}.json").read_text())


def machine() -> str:
    """Where and when the benchmarks ran."""
    about = load("kernel")
    return f"one thread of an {about['cpu']}, {about['date']}"


def sinc_rows() -> list[dict]:
    """Training sinc with every package."""
    tables = load("peers")["tables"]
    return next(rows for title, rows in tables.items() if title.startswith("sinc"))


def times_ours(package: str, family: str, objective: str) -> float:
    """How many times our seconds another package takes."""
    wanted = {"package": package, "family": family, "objective": objective}
    return next(r["x ours"] for r in sinc_rows() if wanted.items() <= r.items())


def kernel_lines() -> list[str]:
    """Evaluations per second, against naive NumPy and the floor."""
    lines = ["| network | evaluations a second | times naive NumPy | share of the floor |"]
    lines.append("|---|---:|---:|---:|")
    for row in load("kernel")["tables"]["Evaluation"]:
        name, rate = f"{row['network']}, {row['layers']}", row["evaluations/s"]
        lines.append(f"| {name} | {rate:,.0f} | {row['x naive']:.1f} | {row['of floor']:.2f} |")
    return lines


def peer_lines() -> list[str]:
    """Training sinc, against other packages."""
    lines = ["| package | objective | seconds | times ours |", "|---|---|---:|---:|"]
    for row in sinc_rows():
        ours = "symbreak" in row["package"]
        name = row["package"] if ours else f"{row['package']} {row['family']}"
        numbers = f"{row['seconds']:.2f} | {row['x ours']:.1f}"
        lines.append(f"| {name} | {row['objective']} | {numbers} |")
    return lines


def polish_lines() -> list[str]:
    """Iterations of the polish per second."""
    what = "iterations a second | times NumPy | share of the floor | cost in evaluations"
    lines = [f"| network | {what} |", "|---|---:|---:|---:|---:|"]
    for row in load("polish")["tables"]["One iteration"]:
        name, rate = f"{row['network']}, {row['layers']}", row["iterations/s"]
        shares = f"{row['x NumPy']:.1f} | {row['of floor']:.2f}"
        lines.append(f"| {name} | {rate:,.0f} | {shares} | {row['cost']:.0f} |")
    return lines


def size_lines() -> list[str]:
    """Seconds to scikit-learn's training error, as shares of its own, by rows and neurons."""
    rows = pd.DataFrame(load("size")["rows"])
    is_alone, keys = rows["who"] == "scikit-learn", ["task", "rows", "neurons"]
    alone, neurons = rows[is_alone], rows["neurons"].unique().tolist()
    both = rows[~is_alone].merge(alone[[*keys, "seconds"]], on=keys, suffixes=("", "_alone"))
    both["share"] = both["seconds"] / both["seconds_alone"]
    lines = [f"| data | rows | who | {' | '.join(map(str, neurons))} | power |"]
    lines.append("|---|---:|---|" + "---:|" * (len(neurons) + 1))
    for (task, n_rows, who), part in both.groupby(["task", "rows", "who"], sort=False):
        cells = dict.fromkeys(neurons, "")
        for row in part.itertuples():
            cells[row.neurons] = f"{'' if row.reached else '> '}{row.share:.2g}"
        numbers = " | ".join([*cells.values(), _power(part[part["reached"].astype(bool)])])
        lines.append(f"| {task} | {n_rows:,} | {who} | {numbers} |")
    cut = np.count_nonzero(alone["cut"])
    return [
        *lines,
        "",
        f"In {cut} of {len(alone)} cases a start of scikit-learn reached its limit.",
    ]


def _power(rows: pd.DataFrame) -> str:
    """That of the number of neurons with which seconds grow."""
    if len(rows) < 2:
        return ""
    return f"{np.polyfit(np.log(rows['neurons']), np.log(rows['seconds']), 1)[0]:.1f}"


def times_of_sklearn() -> float:
    """Its expected running time over that of the trainer, in the median."""
    targets = load("time_to_target")["tables"]["Targets"]
    return next(row["measured"] for row in targets if "median of all: scikit" in row["what"])


def speed_section() -> str:
    """Three lines for the README, and their source."""
    first, *_, last = load("kernel")["tables"]["Evaluation"]
    rates = f"{first['evaluations/s']:,.0f} ({first['layers']})"
    rates += f" to {last['evaluations/s']:,.0f} ({last['layers']})"
    scipy = times_ours("SciPy", "DE", "NumPy")
    pycma = times_ours("pycma", "CMA-ES", "NumPy")
    return "\n".join(
        [
            f"- {rates} networks evaluated a second, {last['x naive']:.2g} to "
            f"{first['x naive']:.2g} times naive NumPy.",
            f"- SciPy's DE takes {scipy:.0f} times as long for the same evaluations, pycma "
            f"{pycma:.0f} times; with our evaluator "
            f"{times_ours('SciPy', 'DE', 'LeastSquares'):.0f} and "
            f"{times_ours('pycma', 'CMA-ES', 'LeastSquares'):.0f} times.",
            f"- To within a tenth of the best error known, restarts of scikit-learn's MLP take "
            f"{times_of_sklearn():.0f} times as long as `train` in the median of all problems "
            "([measured](docs/trainer-measurements.md)).",
            f"- Measured on {machine()}; `make bench` measures yours "
            "([docs/performance.md](docs/performance.md)).",
        ]
    )


def study_section() -> str:
    """Errors with and without breaking on every complete problem, for the README."""
    results = Results.of(Archive(STUDY))
    families = complete_families(results)
    medians = results.runs.groupby(["problem", "method"])["table_error"].median()
    lines = [
        "| problem | DE | fixed rules | towards the optimum | CMA-ES | fixed rules | towards the "
        "optimum |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for problem in dict.fromkeys(families["problem"]):
        cells = [
            cell for three in PAPER_METHODS.values() for cell in _cells(medians[problem][[*three]])
        ]
        lines.append(f"| {problem} | {' | '.join(cells)} |")
    best = families["winner_here"].isin([three[2] for three in PAPER_METHODS.values()])
    text = f"By mean, breaking towards the optimum is the best of its family in {best.sum()} of "
    lines += ["", f"{text}{len(best)} cases; the others are [looked into](docs/reproduction.md)."]
    if missing := [name for name in TABLE_1 if name not in set(families["problem"])]:
        lines[-1] += f" Still being run: {', '.join(missing)}."
    return "\n".join(lines)


def _cells(medians: pd.Series) -> list[str]:
    """The medians of a family, the smallest in bold."""
    texts = [f"{value:.2g}" for value in medians]
    return [f"**{t}**" if v == medians.min() else t for t, v in zip(texts, medians, strict=True)]


def performance_section() -> str:
    """All tables of speed, for the docs."""
    lines = [
        f"On {machine()}; `make bench` measures it on yours.",
        "",
        "## Evaluating a population",
        "",
        "Relative to a NumPy loop with `lstsq`, and to the time that the tanh and multiply-add",
        "operations alone would take at the machine's peak rates:",
        "",
        *kernel_lines(),
        "",
        "## Training, against other packages",
        "",
        "Training sinc for 60,000 evaluations, relative to plain DE or CMA-ES here.",
        "*LeastSquares* is the other package's optimizer on our compiled objective, *NumPy* on the",
        "best batched one that we could write in NumPy:",
        "",
        *peer_lines(),
        "",
        "## Polishing",
        "",
        "One iteration of variable projection and Levenberg-Marquardt:",
        "",
        *polish_lines(),
        "",
        "## From 5 to 500 neurons",
        "",
        "Seconds of one core until the training error is that of scikit-learn's `lbfgs`, the best",
        "of five starts, to within a thousandth; as a share of the seconds of its starts, each of",
        "which may take 1, 2 or 5 s. *Power* is that of the number of neurons with which seconds",
        "grow; `>` was not there in the time of five starts; what is empty was not measured. The",
        "aims are 0.1 up to 100 neurons and 0.5 with 500 (`benchmarks/size.py`, a busy machine):",
        "",
        *size_lines(),
    ]
    return "\n".join(lines)


def updated(readme: str) -> str:
    """The README with its numbers."""
    return filled(readme, {"study": study_section(), "speed": speed_section()})


def updated_performance(page: str) -> str:
    """The page on speed with its tables."""
    return filled(page, {"tables": performance_section()})


if __name__ == "__main__":
    for path, update in (
        (ROOT / "README.md", updated),
        (ROOT / "docs" / "performance.md", updated_performance),
    ):
        path.write_text(update(path.read_text(encoding="utf-8")), encoding="utf-8")
