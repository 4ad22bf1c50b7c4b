"""From records to statistics, charts and a report; needs the extra ``symbreak[report]``."""

from symbreak._support.extras import how_to_install

try:
    import altair as _altair  # noqa: F401
    import jinja2 as _jinja2  # noqa: F401
    import vl_convert as _vl_convert  # noqa: F401
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"charts and reports need {error.name}: {how_to_install('report')}", name=error.name
    ) from None

from symbreak.analysis._agreement import agreement
from symbreak.analysis._alignment_charts import draws_chart, match_chart
from symbreak.analysis._charts import (
    box_chart,
    convergence_chart,
    ecdf_chart,
    modified_chart,
    part_box_charts,
    part_convergence_charts,
    spread_chart,
)
from symbreak.analysis._fit_chart import fit_chart
from symbreak.analysis._idea_chart import breaking_chart, separation_chart
from symbreak.analysis._lineup import Lineup
from symbreak.analysis._matrix_charts import heat_map, significance_chart
from symbreak.analysis._network_chart import network_chart
from symbreak.analysis._paper import paper_significance, paper_table
from symbreak.analysis._problem_chart import problem_chart
from symbreak.analysis._relative_chart import relative_chart
from symbreak.analysis._report import Report, write_report
from symbreak.analysis._results import Results
from symbreak.analysis._statistics import (
    ideal_against_approximate,
    kruskal_wallis,
    pairwise,
    summary,
)
from symbreak.analysis._style import looks_of, save_chart
from symbreak.analysis._targets import (
    ecdf,
    evaluations_to_targets,
    expected_running_time,
    speed_up,
    target_table,
)
from symbreak.analysis._training_chart import training_chart
from symbreak.analysis._words import conclusions, summary_sentences

__all__ = [
    "Lineup",
    "Report",
    "Results",
    "agreement",
    "box_chart",
    "breaking_chart",
    "conclusions",
    "convergence_chart",
    "draws_chart",
    "ecdf",
    "ecdf_chart",
    "evaluations_to_targets",
    "expected_running_time",
    "fit_chart",
    "heat_map",
    "ideal_against_approximate",
    "kruskal_wallis",
    "looks_of",
    "match_chart",
    "modified_chart",
    "network_chart",
    "pairwise",
    "paper_significance",
    "paper_table",
    "part_box_charts",
    "part_convergence_charts",
    "problem_chart",
    "relative_chart",
    "save_chart",
    "separation_chart",
    "significance_chart",
    "speed_up",
    "spread_chart",
    "summary",
    "summary_sentences",
    "target_table",
    "training_chart",
    "write_report",
]
