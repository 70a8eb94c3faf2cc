"""A page for each published board that ships."""

from __future__ import annotations

import multiprocessing
from pathlib import Path
from typing import Any

from board_files import make_board_files
from mkdocs.structure.files import File, Files

_FOLDER = "boards"


def on_config(config: Any) -> Any:
    """Put the pages below the published leaderboards."""
    pages = [{name: f"{_FOLDER}/{name}.md"} for name in _boards()]
    for section in config.nav:
        for entries in section.values():
            if isinstance(entries, list):
                at = next((i for i, e in enumerate(entries) if "Published leaderboards" in e), None)
                if at is not None:
                    entries[at] = {"Published leaderboards": [{"All": "published.md"}, *pages]}
    return config


def on_files(files: Files, *, config: Any) -> Files:
    """Add the pages and what they show."""
    paths = _boards().values()
    # It takes most of the time of the site: on Linux all cores do it. A copy of this process
    # has what it imported from this folder; another one would not find it.
    if "fork" in multiprocessing.get_all_start_methods():
        with multiprocessing.get_context("fork").Pool() as pool:
            contents = pool.map(make_board_files, paths, chunksize=1)
    else:
        contents = [make_board_files(path) for path in paths]
    for of_board in contents:
        for name, content in of_board.items():
            files.append(File.generated(config, f"{_FOLDER}/{name}", content=content))
    return files


def _boards() -> dict[str, Path]:
    """Files of the published boards that ship, by name."""
    from fairbench.registry import load_registry

    boards = load_registry().boards.items()
    return {name: one.path for name, one in boards if one.path is not None}
