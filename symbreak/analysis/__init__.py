"""From records to statistics, charts and a report; charts need the extra ``symbreak[report]``."""

from typing import Any

from symbreak._support.words import how_to_install
from symbreak.analysis._results import Results
from symbreak.analysis._statistics import kruskal_wallis, pairwise, summary

try:
    from symbreak.analysis._charts import convergence_chart
    from symbreak.analysis._data_charts import problem_chart, training_chart
    from symbreak.analysis._model_page import write_model_page
    from symbreak.analysis._network_charts import (
        draws_chart,
        evolution_chart,
        match_chart,
        network_chart,
    )
    from symbreak.analysis._report import write_report
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
    "Results",
    "convergence_chart",
    "draws_chart",
    "evolution_chart",
    "kruskal_wallis",
    "match_chart",
    "network_chart",
    "pairwise",
    "problem_chart",
    "save_chart",
    "summary",
    "training_chart",
    "write_model_page",
    "write_report",
]
