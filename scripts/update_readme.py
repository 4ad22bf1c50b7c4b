"""Write the numbers of the committed benchmark results into README.md.

    python scripts/update_readme.py

A test checks that the README says what the results say.
"""

import json
from pathlib import Path

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results"
BEGIN, END = "<!-- speed: begin -->", "<!-- speed: end -->"


def load(name: str) -> dict:
    """Tables of one benchmark."""
    return json.loads((RESULTS / f"{name}.json").read_text())


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
    for title, rows in load("peers")["tables"].items():
        if title.startswith("sinc"):
            for row in rows:
                ours = "symbreak" in row["package"]
                name = row["package"] if ours else f"{row['package']} {row['family']}"
                numbers = f"{row['seconds']:.2f} | {row['x ours']:.1f}"
                lines.append(f"| {name} | {row['objective']} | {numbers} |")
    return lines


def speed_section() -> str:
    """The part of the README between the markers."""
    about = load("kernel")
    lines = [
        f"One thread of an {about['cpu']}, {about['date']}; `make bench` measures it on yours.",
        "",
        "Evaluating a population, relative to a NumPy loop with `lstsq`, and to the time that the",
        "tanh and multiply-add operations alone would take at the machine's peak rates:",
        "",
        *kernel_lines(),
        "",
        "Training sinc for 60,000 evaluations, relative to plain DE or CMA-ES here. *Evaluator* is",
        "the other package's optimiser on our compiled evaluator, *NumPy* the best batched",
        "objective that we could write in NumPy:",
        "",
        *peer_lines(),
    ]
    return "\n".join(lines)


def updated(readme: str) -> str:
    """The README with the section replaced."""
    before, rest = readme.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n{speed_section()}\n{END}{after}"


if __name__ == "__main__":
    path = ROOT / "README.md"
    path.write_text(updated(path.read_text()))
