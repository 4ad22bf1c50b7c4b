"""The page about scaling says what the committed results say."""

import json
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_runs_a_second_are_those_of_the_committed_results():
    text = (ROOT / "docs" / "scaling.md").read_text(encoding="utf-8")
    results = json.loads((ROOT / "benchmarks" / "results" / "cluster.json").read_text())
    cells = {}
    for row in results["rows"]:
        rate, share = row["runs a second"], row["of what is possible"]
        number = f"{rate:.0f}" if rate >= 100 else f"{rate:.2g}"
        cells.setdefault(row["workers"], []).append(f"{number} a second, {100 * share:.0f} %")
    assert sorted(cells) == [64, 256, 1000]
    for workers, said in cells.items():
        assert f"| {workers:,} | {' | '.join(said)} |" in text
    assert f"without the wait for the disk | {results['storing_ms']:.1f} |" in text
    costs = [row["driver ms a run"] for row in results["rows"]]
    assert f"driver, all in all | {min(costs):.1f} to {max(costs):.1f} |" in text
