"""``symbreak store``: join, check and export stores."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from symbreak._support.words import counted
from symbreak.cli._console import argument, fail, say
from symbreak.experiments import Store
from symbreak.experiments._archive import export_ioh, write_archive
from symbreak.experiments._store import check_store, merge_stores

app = typer.Typer(
    help="Join, check and export the stores of studies.",
    no_args_is_help=True,
    add_completion=False,
)

StorePath = Annotated[Path, argument("STORE", "A store, such as study.db.")]


@app.command()
def merge(
    target: Annotated[Path, argument("STORE", "Where to; made if it is missing.")],
    sources: Annotated[list[Path], argument("STORES", "The stores to join.")],
) -> None:
    """Join stores, such as those of shards; conflicting results are refused."""
    added = merge_stores(target, sources)
    say(f"{counted(added, 'run')} added to {target}")


@app.command()
def check(store: StorePath) -> None:
    """Check a store to the last byte, and say in words what is wrong."""
    faults = check_store(store)
    if faults:
        fail("\n  ".join([f"{store} is not sound:", *faults]), code=1)
    with Store(store, create=False, read_only=True) as opened:
        say(
            f"{store} is sound: {counted(opened.count('run'), 'finished run')}, "
            f"{opened.count('failure'):,} failed, {opened.count('checkpoint'):,} under way"
        )


@app.command()
def archive(
    store: StorePath,
    folder: Annotated[Path, argument("FOLDER", "Where to; made if missing, else added to.")],
) -> None:
    """Keep the results as small plain files that can be committed; a report reads them too."""
    with Store(store, create=False) as opened:
        written = write_archive(opened, folder)
    say(f"{counted(len(written), 'file')} written in {folder}")


@app.command()
def export(
    store: StorePath,
    ioh: Annotated[Path, typer.Option(help="Folder in IOHprofiler's format.")],
) -> None:
    """Write the runs for IOHanalyzer; an archive has them as plain CSV."""
    with Store(store, create=False, read_only=True) as opened:
        say(f"{len(export_ioh(opened, ioh))} data sets for IOHanalyzer in {ioh}")
