"""The site builds without a warning and needs no network; its page can be played with."""

import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

from tests.pages.blocks import ROOT, load_module

PLAY = ROOT / "docs" / "play.html"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    shutil.copy(ROOT / "mkdocs.yml", folder)
    shutil.copytree(ROOT / "docs", folder / "docs")
    (folder / "symbreak").symlink_to(ROOT / "symbreak")
    command = [sys.executable, "-m", "zensical", "build", "--strict"]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stdout + result.stderr
    return folder / "site"


def test_the_site_needs_nothing_from_elsewhere_and_has_what_it_shows(site):
    pages = list(site.rglob("*.html"))
    assert len(pages) >= 18
    for path in pages:
        text = path.read_text(encoding="utf-8")
        for tag in re.findall(r"<(?:script|img|iframe|link)\b[^>]*>", text):
            for address in re.findall(r'(?:src|href)="([^"#?]+)', tag):
                assert ":" not in address, tag
                assert (path.parent / address.removeprefix("/")).exists(), tag


#: Addresses of what a search found; the list is drawn in a tree of its own.
FOUND = """return [...document.querySelectorAll("*")].filter(e => e.shadowRoot)
.flatMap(e => [...e.shadowRoot.querySelectorAll("a")]).map(a => a.href)"""


def test_search_works_in_a_site_opened_from_a_folder(site, page):
    from selenium.webdriver.support.wait import WebDriverWait

    page.open(site / "tutorials" / "fit-my-data.html")
    page.driver.find_element("css selector", ".md-search__button").click()
    wait = WebDriverWait(page.driver, 300)
    wait.until(lambda _: page.run("return document.activeElement.shadowRoot !== null"))
    page.driver.switch_to.active_element.send_keys("replica")
    found = wait.until(lambda _: page.run(FOUND))
    assert any(address.startswith((site / "idea.html").as_uri()) for address in found)
    assert page.complaints() == []
    assert page.requests() == []


def test_pages_of_the_site_open_without_complaints(site, page):
    for name in ("index.html", "idea.html", "api.html"):
        page.open(site / name, width=375)
        assert page.complaints() == []
        assert page.requests() == []
        assert page.run("return [...document.images].every(i => i.complete && i.naturalWidth > 0)")
    assert "EvolvedMLPRegressor" in page.driver.page_source


def test_the_page_to_play_with_is_in_the_page_on_the_idea(site, page):
    page.open(site / "idea.html")
    page.driver.switch_to.frame(page.driver.find_element("tag name", "iframe"))
    assert "generation 0" in facts(page)


def test_the_map_of_errors_has_the_symmetries_that_the_page_speaks_of():
    figures = load_module("scripts", "idea_figures")
    errors = figures.grid().pivot(index="w2", columns="w1", values="log error").to_numpy()
    for replica in (errors[::-1], errors[:, ::-1], errors.T):
        np.testing.assert_allclose(replica, errors, atol=0.05)


def facts(page):
    return page.run("return document.getElementById('facts').textContent")


def click(page, name, times=1):
    for _ in range(times):
        page.run("document.getElementById(arguments[0]).click()", name)


def test_breaking_brings_the_candidates_to_one_partition(page):
    page.open(PLAY)
    assert page.complaints() == []
    assert "generation 0" in facts(page)
    assert "in 8 of 8 partitions" in facts(page)
    click(page, "breaking")
    assert "in 8 of 8" not in facts(page)
    click(page, "step", times=25)
    assert "generation 25" in facts(page)
    assert "in 1 of 8 partitions: they agree" in facts(page)
    click(page, "reset")
    assert "generation 0" in facts(page)


def test_without_breaking_they_stay_apart_for_long(page):
    page.open(PLAY)
    click(page, "step", times=25)
    assert "they agree" not in facts(page)


def test_breaking_changes_no_error(page):
    page.open(PLAY)
    errors = "const y = target(); return state.population.map(c => error(c, y))"
    before = page.run(errors)
    click(page, "breaking")
    assert page.run(errors) == pytest.approx(before, rel=1e-9)


def test_the_optimum_can_be_dragged_and_moved_by_keys(page):
    from selenium.webdriver import ActionChains, Keys

    page.open(PLAY, width=375)
    canvas = page.driver.find_element("id", "plane")
    ActionChains(page.driver).move_to_element(canvas).click_and_hold().move_by_offset(
        40, 60
    ).release().perform()
    dragged = page.run("return state.optimum")
    edge = canvas.size["width"] / 8  # pixels of a unit
    assert dragged == pytest.approx([40 / edge, -60 / edge], abs=0.1)
    canvas.send_keys(Keys.ARROW_RIGHT)
    assert page.run("return state.optimum[0]") == pytest.approx(dragged[0] + 0.1)
    assert page.run("return document.documentElement.scrollWidth <= innerWidth")
