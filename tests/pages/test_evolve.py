"""The numbers of the pages on evolution are those of the committed results."""

from tests.pages.blocks import load_module


def test_the_pages_say_what_the_results_say():
    for path, text in load_module("scripts", "control").pages().items():
        assert path.read_text(encoding="utf-8") == text, "run: python scripts/control.py"


def test_auto_solves_two_poles_every_time():
    control = load_module("scripts", "control")
    runs = control.read(control.STUDIES / "control-auto")
    assert len(runs) == 150
    assert runs["solved"].all()
    few = runs[runs["problem"] == "double-pole-6"]["evaluations"]
    assert few.mean() <= 450
