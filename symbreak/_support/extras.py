"""What to install where an extra is missing; it imports nothing, so that a start stays quick."""

#: What a chart can be saved as.
CHART_FORMATS = (".svg", ".png", ".pdf", ".html")


def how_to_install(extra: str) -> str:
    """The command that brings an extra, from an index or from the folder of the source."""
    here = f"in the folder of its source: pip install '.[{extra}]'"
    return f"pip install 'symbreak[{extra}]' ({here})"
