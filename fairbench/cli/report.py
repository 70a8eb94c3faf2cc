"""``fairbench report``: one page of all results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairbench.cli.against import need_own_rows
from fairbench.cli.console import out
from fairbench.cli.nothing import nothing_measured
from fairbench.cli.options import Against, Results, StoreUrl, complete_datasets
from fairbench.cli.outputs import keep_other_kinds
from fairbench.cli.plugins import load_plugins
from fairbench.errors import ConfigError
from fairbench.files import write_file
from fairbench.leaderboard.boards import find_board
from fairbench.models.query import ResultsLocation
from fairbench.report.gather import gather
from fairbench.report.page import page


def report(
    results: Results = None,
    store: StoreUrl = None,
    against: Against = None,
    dataset: Annotated[
        str | None,
        typer.Option(
            help="Dataset of the published board to rank in.", autocompletion=complete_datasets
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="File to write [default: report.html in the results].")
    ] = None,
) -> None:
    """Write one HTML page of all results; it opens offline."""
    if dataset is not None and against is None:
        raise ConfigError(
            "--dataset names the board of --against; the page has all datasets.",
            "Leave --dataset out, or add --against published.",
        )
    keep_other_kinds(output, ".html", ".htm")
    registry, location = load_plugins(), ResultsLocation(results, store)
    target = output or location.folder / "report.html"
    board = None
    if against is not None:
        board = find_board(against, registry, dataset)
        need_own_rows(location, board, against, "page")
    gathered = gather(location.open_store(), registry, board, location.folder)
    if not gathered.datasets and not gathered.provenance:
        raise nothing_measured()
    content = page(gathered).encode()
    write_file(target, content)
    out.print(f"{target} ({len(content) / 1e6:.1f} MB): open it in a browser.", markup=False)
