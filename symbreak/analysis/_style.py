"""What all charts share: colours, sizes, and saving to any format."""

from __future__ import annotations

from pathlib import Path

import altair as alt

#: Okabe and Ito's colours, safe for the colour-blind; the same for a role in both families.
COLORS = {
    "plain": "#56646e",
    "invariant": "#e69f00",
    "proximity": "#0072b2",
    "exhaustive": "#cc79a7",
    "assignment": "#009e73",
}
FORMATS = (".svg", ".png", ".pdf", ".html")


def save_chart(chart: alt.TopLevelMixin, path: Path) -> None:
    """Write a chart in the format that the file's name ends with."""
    if path.suffix not in FORMATS:
        raise ValueError(f"a chart is saved as {', '.join(FORMATS)}, got {str(path)!r}.")
    if not path.resolve().parent.is_dir():
        raise ValueError(f"the folder of {str(path)!r} must exist; create it first.")
    if path.suffix == ".html":
        chart.save(path, inline=True)
    elif path.suffix == ".png":
        chart.save(path, scale_factor=2)
    else:
        chart.save(path)
