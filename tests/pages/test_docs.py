"""The documentation tells the truth: its code and commands run, its pages are all in the site."""

import re
import subprocess

import pytest
import yaml

from symbreak.experiments import StudySpec
from tests.pages.blocks import ROOT, fenced, prepare, run_page

#: A program around the lines of C that a page shows.
PROGRAM = """#include <stdio.h>
#include "sensor.c"
int main(void) {
%s
printf("%%.9g\\n", y[0]);
return 0;
}
"""

DOCS = ROOT / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md"))
WITH_CODE = [p for p in PAGES if re.search(r"^```(python|sh|)$", p.read_text("utf-8"), re.M)]


@pytest.mark.parametrize("path", WITH_CODE, ids=lambda path: path.stem)
def test_the_code_of_a_page_runs(path, tmp_path, monkeypatch):
    page = path.read_text(encoding="utf-8")
    prepare(tmp_path, page)
    monkeypatch.chdir(tmp_path)
    run_page(page)


def test_the_c_of_the_page_on_exports_compiles_and_agrees_with_python(tmp_path, monkeypatch):
    page = (DOCS / "exports.md").read_text(encoding="utf-8")
    prepare(tmp_path)
    monkeypatch.chdir(tmp_path)
    names = run_page(page)
    (lines,) = (content for language, content in fenced(page) if language == "c")
    (tmp_path / "main.c").write_text(PROGRAM % lines)
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic"]
    subprocess.run(["gcc", *flags, "main.c", "-o", "main", "-lm"], check=True, timeout=300)
    done = subprocess.run(["./main"], capture_output=True, text=True, check=True, timeout=300)
    expected = names["model"].predict([[2.5, 40.0]])[0]
    assert float(done.stdout) == pytest.approx(float(expected), rel=1e-5)


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
