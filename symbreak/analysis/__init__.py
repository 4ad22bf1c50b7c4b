"""From records to statistics, charts and a report; needs the extra ``symbreak[report]``."""

from symbreak.analysis._charts import (
    box_chart,
    convergence_chart,
    ecdf_chart,
    heat_map,
    modified_chart,
    rate_box_charts,
    rate_convergence_charts,
    significance_chart,
    spread_chart,
)
from symbreak.analysis._fit_chart import fit_chart
from symbreak.analysis._idea_chart import idea_chart
from symbreak.analysis._network_chart import network_chart
from symbreak.analysis._paper import agreement, paper_significance, paper_table
from symbreak.analysis._problem_chart import problem_chart
from symbreak.analysis._report import write_report
from symbreak.analysis._results import Results
from symbreak.analysis._statistics import (
    ideal_against_approximate,
    kruskal_wallis,
    pairwise,
    summary,
)
from symbreak.analysis._style import save_chart
from symbreak.analysis._targets import (
    ecdf,
    evaluations_to_targets,
    expected_running_time,
    speed_up,
    target_table,
)

__all__ = [
    "Results",
    "agreement",
    "box_chart",
    "convergence_chart",
    "ecdf",
    "ecdf_chart",
    "evaluations_to_targets",
    "expected_running_time",
    "fit_chart",
    "heat_map",
    "idea_chart",
    "ideal_against_approximate",
    "kruskal_wallis",
    "modified_chart",
    "network_chart",
    "pairwise",
    "paper_significance",
    "paper_table",
    "problem_chart",
    "rate_box_charts",
    "rate_convergence_charts",
    "save_chart",
    "significance_chart",
    "speed_up",
    "spread_chart",
    "summary",
    "target_table",
    "write_report",
]
