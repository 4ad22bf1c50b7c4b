"""Every example runs, stays short and ends in a picture."""

import runpy

import pytest

from tests.pages.blocks import ROOT

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
#: Evaluations that show that it works, and other arguments; the pictures need more.
SMALL = {
    "compare": {"budget": 400},
    "spirals": {"budget": 3_000},
    "with_pycma": {"budget": 1_000, "repetitions": 1},
}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_an_example_ends_in_a_picture(path, tmp_path):
    if path.stem == "merging":
        pytest.importorskip("torch")
    main = runpy.run_path(str(path))["main"]
    main(tmp_path / "picture.svg", **SMALL.get(path.stem, {"budget": 3_000}))
    assert "<svg" in (tmp_path / "picture.svg").read_text(encoding="utf-8")


def test_examples_are_short_and_listed():
    listed = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    assert 6 <= len(EXAMPLES) <= 12
    for path in EXAMPLES:
        assert len(path.read_text(encoding="utf-8").splitlines()) < 45, path
        assert f"({path.name})" in listed


def test_the_average_of_aligned_networks_is_as_good_as_they_are(tmp_path, capsys):
    runpy.run_path(str(ROOT / "examples" / "averaging.py"))["main"](tmp_path / "picture.svg")
    naive, aligned = (line.split() for line in capsys.readouterr().out.splitlines())
    assert float(naive[-1]) > 5 * float(naive[-4].strip(","))
    assert float(aligned[-1]) < 1.5 * float(aligned[-4].strip(","))
