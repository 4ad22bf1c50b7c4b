"""From records to tables and pictures; needs the extra ``symbreak[report]``."""

from symbreak.analysis._problem_chart import problem_chart
from symbreak.analysis._style import save_chart

__all__ = ["problem_chart", "save_chart"]
