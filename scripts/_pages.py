"""Pages with parts that scripts write, each between two marks that name it."""

import re
from collections.abc import Mapping


def filled(page: str, parts: Mapping[str, str]) -> str:
    """A page with the text between the marks of each part renewed."""
    for name, text in parts.items():
        begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
        new = f"{begin}\n{text}\n{end}"
        between = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.S)
        page, n = between.subn(lambda _, new=new: new, page)
        if n != 1:
            raise ValueError(f"the page must have {begin} and {end} once, has them {n} times.")
    return page
