"""The short form of ``kill_study.py``, whose long form takes a quarter of an hour."""

from pathlib import Path

import pytest

from tests.experiments.processes import results
from tests.reliability.kill_study import TEXT, killed, left_alone


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finds workers through /proc")
def test_a_study_under_random_kills_equals_one_that_is_left_alone(tmp_path):
    study, whole, broken = (tmp_path / name for name in ("s.toml", "whole.db", "killed.db"))
    study.write_text(TEXT.format(repetitions=40))
    left_alone(study, whole, 2)
    kills = killed(study, broken, 2, 160, pauses=(0.5, 2.0), max_kills=3, seed=3)
    assert kills.total() >= 2
    assert results(broken) == results(whole)
    assert len(results(broken)) == 160
