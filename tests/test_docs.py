"""The documentation tells the truth: its code and commands run, its pages are all in the site."""

import re
import shutil

import pytest
import yaml

from symbreak.experiments import StudySpec
from tests.pages import ROOT, prepare, run_page

DOCS = ROOT / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md"))
WITH_CODE = [p for p in PAGES if re.search(r"^```(python|sh|)$", p.read_text("utf-8"), re.M)]


@pytest.mark.parametrize("path", WITH_CODE, ids=lambda path: path.stem)
def test_the_code_of_a_page_runs(path, tmp_path, monkeypatch):
    prepare(tmp_path)
    shutil.copy(ROOT / "tests" / "golden" / "small.db", tmp_path / "study.db")
    monkeypatch.chdir(tmp_path)
    run_page(path.read_text(encoding="utf-8"))


def test_the_study_file_of_the_page_on_studies_can_be_read(tmp_path):
    (text,) = re.findall(
        r"^```toml\n(.*?)^```", (DOCS / "studies.md").read_text("utf-8"), re.S | re.M
    )
    prepare(tmp_path)
    (tmp_path / "mine.csv").write_text("x,y\n" + "".join(f"{i},{i * i}\n" for i in range(40)))
    (tmp_path / "study.toml").write_text(text)
    assert "mine" in StudySpec.load(tmp_path / "study.toml").problems


def test_every_page_is_in_the_navigation():
    nav = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]
    listed = re.findall(r"[\w/-]+\.md", str(nav))
    assert sorted(listed) == sorted(str(path.relative_to(DOCS)) for path in PAGES)
