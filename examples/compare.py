"""Does symmetry breaking help on my data? A study of 24 runs, its tests and one of its charts."""

import sys
import tempfile
from pathlib import Path

import numpy as np

from symbreak.analysis import Results, convergence_chart, save_chart
from symbreak.experiments import Store, run_study

OUT = Path(__file__).parent / "output" / "compare.svg"
STUDY = """
problems = ["mine"]
methods = ["DE", "DE-INV-SB", "DE-SB"]
repetitions = 8
[data_file.mine]
file = "mine.csv"
hidden = [5]
max_evaluations = {budget}
"""


def main(out=OUT, budget=30_000):
    x = np.random.default_rng(0).uniform(-3, 3, 80)
    table = np.stack([x, np.sin(3 * x) * np.exp(-(x**2) / 4)], axis=1)
    with tempfile.TemporaryDirectory() as folder:
        np.savetxt(Path(folder, "mine.csv"), table, delimiter=",", header="x,y", comments="")
        Path(folder, "study.toml").write_text(STUDY.format(budget=budget))
        run_study(Path(folder, "study.toml"), Path(folder, "study.db"), workers=1)
        with Store(Path(folder, "study.db"), create=False) as store:
            results = Results.of(store)
    print(results.pairwise[["a", "b", "p", "p_holm", "a12"]].to_string(index=False))
    styles = results.styles("DE")
    save_chart(convergence_chart(results.curves, "mine", styles), out)


if __name__ == "__main__":
    main(*sys.argv[1:2])
