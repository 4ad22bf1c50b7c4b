"""From records to statistics, charts and a report; charts need the extra ``symbreak[report]``."""

from typing import Any

from symbreak._support.extras import how_to_install
from symbreak.analysis._lineup import Lineup, styles_of
from symbreak.analysis._paper import agreement, paper_significance, paper_table
from symbreak.analysis._results import Results
from symbreak.analysis._statistics import (
    ideal_against_approximate,
    kruskal_wallis,
    overall_ranks,
    pairwise,
    summary,
)
from symbreak.analysis._targets import (
    ecdf,
    evaluations_to_targets,
    expected_running_time,
    speed_up,
    target_table,
)
from symbreak.analysis._words import conclusions, summary_sentences

try:
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
    from symbreak.analysis._data_charts import (
        fit_chart,
        network_chart,
        problem_chart,
        training_chart,
    )
    from symbreak.analysis._model_page import write_model_page
    from symbreak.analysis._overview_charts import (
        heat_map,
        rank_chart,
        relative_chart,
        significance_chart,
    )
    from symbreak.analysis._report import Report, write_report
    from symbreak.analysis._style import save_chart
except ModuleNotFoundError as error:
    _missing = error.name

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        raise ModuleNotFoundError(
            f"charts and reports need {_missing}: {how_to_install('report')}", name=_missing
        )


__all__ = [
    "Lineup",
    "Report",
    "Results",
    "agreement",
    "box_chart",
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
    "match_chart",
    "modified_chart",
    "network_chart",
    "overall_ranks",
    "pairwise",
    "paper_significance",
    "paper_table",
    "part_box_charts",
    "part_convergence_charts",
    "problem_chart",
    "rank_chart",
    "relative_chart",
    "save_chart",
    "significance_chart",
    "speed_up",
    "spread_chart",
    "styles_of",
    "summary",
    "summary_sentences",
    "target_table",
    "training_chart",
    "write_model_page",
    "write_report",
]
