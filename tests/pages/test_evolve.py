"""The numbers of the page on evolution are those of its studies."""

from tests.pages.blocks import load_module


def test_the_page_says_what_its_studies_say():
    control = load_module("scripts", "control")
    page = control.PAGE.read_text(encoding="utf-8")
    assert control.filled(page, control.parts()) == page, "run: python scripts/control.py"


def test_auto_solves_two_poles_every_time():
    control = load_module("scripts", "control")
    runs = control.read(control.STUDIES / "control-auto")
    assert len(runs) == 150
    assert runs["solved"].all()
    few = runs[runs["problem"] == "double-pole-6"]["evaluations"]
    assert few.mean() <= 450
