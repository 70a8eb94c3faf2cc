"""``fairbench clean``: delete the large files of a results folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairbench.cli.console import confirm, out
from fairbench.cli.options import Results, StoreUrl
from fairbench.config import DEFAULT_RESULTS
from fairbench.errors import BusyStoreError, StoreError
from fairbench.files import remove_file, size_of
from fairbench.models.query import ResultsLocation
from fairbench.runs import job_logs
from fairbench.store import encoders
from fairbench.store import files as artefacts
from fairbench.store.claims import Claims
from fairbench.store.database import Store
from fairbench.training import checkpoint_files as checkpoints


def clean(
    results: Results = None,
    store: StoreUrl = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would be deleted, and exit.")
    ] = False,
) -> None:
    """Delete stored representations, encoders, checkpoints and logs; results stay.

    Where runs keep their results in a database (--store), name it, so that the files of a running
    one are not deleted.
    """
    folder = results or DEFAULT_RESULTS
    stored = artefacts.files(folder / artefacts.FOLDER)
    trained = artefacts.files(folder / encoders.FOLDER)
    unfinished = checkpoints.files(folder)
    logs = job_logs.files(folder)
    files = [*stored, *trained, *unfinished, *logs]
    if not files:  # of a store elsewhere, files are all that is here
        Store.in_folder(folder, create=False)
    size = sum(size_of(path) for path in files)
    if not dry_run:
        _check_idle(folder, store)
    out.print(
        f"Representations: {len(stored)} files in {folder / artefacts.FOLDER}; encoders: "
        f"{len(trained)}; checkpoints of unfinished training: {len(unfinished)}; logs of jobs: "
        f"{len(logs)}. {size / 1e6:.1f} MB.\n"
        "Records and leaderboards stay. Without these files, auditing more points or encoding new "
        "rows needs the models trained again.",
        markup=False,
    )
    if dry_run or not files:
        return
    if not yes:
        confirm("Delete them?")
        _check_idle(folder, store)
    for path in files:
        remove_file(path)
    out.print(f"{size / 1e6:.1f} MB freed.")


def _check_idle(folder: Path, store: str | None) -> None:
    """Raise StoreError where a living run uses the files of a results folder.

    ``store``: URL of the database of its runs, where that is not in the folder.
    """
    running = None
    if store is not None:
        running = Claims(ResultsLocation(folder, store).open_store(), "clean").living_holder()
    try:
        running = running or Claims(Store.in_folder(folder, create=False), "clean").living_holder()
    except BusyStoreError:  # by a run, very likely
        raise
    except StoreError:
        pass  # files beside a store that cannot be read, or that is elsewhere, can be deleted
    if running is not None:
        raise StoreError(
            f"A run uses these files: {running}. Nothing was deleted.",
            "Wait for it to end (fairbench status), or stop it with Ctrl-C.",
        )
