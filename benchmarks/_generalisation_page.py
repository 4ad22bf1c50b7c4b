"""Tables of docs/comparison.md, and claims of docs/when-to-use.md, from committed scores."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "generalisation.json"
PAGES = (ROOT / "docs" / "when-to-use.md", ROOT / "docs" / "comparison.md")

OURS = "symbreak"
MLPS = ("MLP lbfgs", "MLP adam")
OTHERS = ("linear", "neighbours", "boosting")  # without a net


def read() -> pd.DataFrame:
    """Scores, a row for each estimator and outer fold; without a net that is still under way."""
    runs = pd.DataFrame(json.loads(RESULTS.read_text())["rows"])
    n_scores = runs.groupby("net")["score"].transform("size")
    return runs[n_scores == n_scores.max()].reset_index(drop=True)


def summary(runs: pd.DataFrame, column: str) -> pd.DataFrame:
    """Mean and standard error over the outer folds, by data set, net and method."""
    values = runs.dropna(subset=[column]).groupby(["data", "net", "method"], sort=False)[column]
    table = pd.DataFrame({"mean": values.mean(), "error": values.sem()})
    return table.sort_index()  # pandas warns of lookups in an unsorted one


def comparison(runs: pd.DataFrame, net: str) -> pd.DataFrame:
    """Ours and the better of scikit-learn's networks, by data set.

    ``difference`` is of mean scores, above 0 if ours is better; ``paired`` its standard error over
    the folds, ``allowed`` that of the score of scikit-learn's.
    """
    table, found = summary(runs, "score"), {}
    for data in runs["data"].unique():
        scores = table.loc[data, net]
        best = str(scores.loc[list(MLPS), "mean"].idxmax())
        part = runs[(runs["data"] == data) & (runs["net"] == net)]
        folds = part.pivot(index="fold", columns="method", values="score")
        differences = folds[OURS] - folds[best]
        found[data] = {
            "best": best,
            "difference": differences.mean(),
            "paired": differences.std(ddof=1) / len(differences) ** 0.5,
            "allowed": scores.loc[best, "error"],
        }
    return pd.DataFrame.from_dict(found, orient="index")


def verdict(row: pd.Series) -> str:
    """Ours is at least as good, within one standard error, or worse."""
    if row["difference"] >= 0:
        return "as good or better"
    return "within one error" if row["difference"] >= -row["allowed"] else "**worse**"


def score_table(runs: pd.DataFrame, task: str) -> list[str]:
    """Scores of all that compete, for each data set and net."""
    runs = runs[runs["log_loss"].isna() == (task == "regression")]
    methods = [OURS, *MLPS, *OTHERS]
    table, lines = summary(runs, "score"), _head("data set", "hidden", *methods)
    for net in nets(runs):
        for data in runs["data"].unique():
            scores = [table.loc[data, "" if m in OTHERS else net, m] for m in methods]
            top = max(round(score["mean"], 3) for score in scores)
            cells = [_bold(f"{s['mean']:.3f}", round(s["mean"], 3) == top) for s in scores]
            cells = [f"{c} ± {s['error']:.3f}" for c, s in zip(cells, scores, strict=True)]
            lines.append(_line(data, net, *cells))
    return lines


def comparison_table(runs: pd.DataFrame) -> list[str]:
    """The claim, data set by data set."""
    lines = _head("data set", "hidden", "best MLP", "symbreak minus it", "allowed", "symbreak is")
    for net in nets(runs):
        for data, row in comparison(runs, net).iterrows():
            difference = f"{row['difference']:+.3f} ± {row['paired']:.3f}"
            allowed = f"{-row['allowed']:.3f}"
            lines.append(_line(data, net, row["best"], difference, allowed, verdict(row)))
    return lines


def claim(runs: pd.DataFrame) -> list[str]:
    """How often each verdict was given, and where the claim fails."""
    found = [comparison(runs, net).assign(net=net) for net in nets(runs)]
    rows = pd.concat(found)
    verdicts = rows.apply(verdict, axis=1)
    failed = [
        f"{data} ({net} hidden)" for data, net in rows["net"][verdicts == "**worse**"].items()
    ]
    return [
        f"Of {len(rows)} comparisons, {rows.index.nunique()} tables and "
        f"{' and '.join(nets(runs))} hidden neurons, symbreak is at least as "
        f"good as the better of scikit-learn's networks in "
        f"{(verdicts == 'as good or better').sum()}, within one standard error of it in "
        f"{(verdicts == 'within one error').sum()}, and worse by more than that in "
        + (f"{len(failed)}: {', '.join(failed)}." if failed else "none.")
    ]


def loss_table(runs: pd.DataFrame) -> list[str]:
    """Log-losses of classifiers, lower is better."""
    methods = [OURS, *MLPS, "linear", "boosting"]
    table, lines = summary(runs, "log_loss"), _head("data set", "hidden", *methods)
    for net in nets(runs):
        for data in table.index.unique("data"):
            losses = [table.loc[data, "" if m in OTHERS else net, m] for m in methods]
            least = min(round(loss["mean"], 3) for loss in losses)
            cells = [_bold(f"{s['mean']:.3f}", round(s["mean"], 3) == least) for s in losses]
            lines.append(_line(data, net, *cells))
    return lines


def seconds_table(runs: pd.DataFrame) -> list[str]:
    """Seconds of one core for a fit with its search, median and longest."""
    lines = _head("estimator", "hidden", "median", "longest")
    for (net, method), part in runs.groupby(["net", "method"], sort=False)["seconds"]:
        lines.append(_line(method, net, f"{part.median():.2g}", f"{part.max():.2g}"))
    return lines


TABLES: dict[str, Callable[[pd.DataFrame], list[str]]] = {
    "claim": claim,
    "regression": lambda runs: score_table(runs, "regression"),
    "classification": lambda runs: score_table(runs, "classification"),
    "comparison": comparison_table,
    "log-loss": loss_table,
    "seconds": seconds_table,
}


def filled(
    runs: pd.DataFrame | None = None,
    tables: Mapping[str, Callable[[pd.DataFrame], list[str]]] = TABLES,
    pages: Sequence[Path] = PAGES,
) -> dict[Path, str]:
    """The pages with their tables written from the results."""
    runs = read() if runs is None else runs
    texts = {path: path.read_text(encoding="utf-8") for path in pages}
    for name, write in tables.items():
        begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->"
        places = [path for path, text in texts.items() for _ in range(text.count(begin))]
        if len(places) != 1:
            raise ValueError(f"the pages must have one place for {name!r}, have {len(places)}.")
        new = begin + "\n".join(write(runs)) + "\n" + end
        (path,) = places
        texts[path] = re.sub(f"{begin}.*?{end}", lambda _, new=new: new, texts[path], flags=re.S)
    return texts


def nets(runs: pd.DataFrame) -> list[str]:
    """Hidden layers that were compared."""
    return [net for net in sorted(runs["net"].unique()) if net]


def _bold(text: str, best: bool) -> str:
    return f"**{text}**" if best else text


def _line(*cells: object) -> str:
    return "| " + " | ".join(map(str, cells)) + " |"


def _head(*columns: str) -> list[str]:
    return [_line(*columns), "|" + "---|" * len(columns)]
