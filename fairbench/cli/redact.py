"""``fairbench results redact``: passwords out of stores that hold them."""

from __future__ import annotations

from fairbench.cli.console import out
from fairbench.cli.options import Results, StoreUrl
from fairbench.models.query import ResultsLocation
from fairbench.store.redaction import redact_store


def results_redact(results: Results = None, store: StoreUrl = None) -> None:
    """Take the passwords of URLs out of commands and errors that earlier versions stored."""
    changed = redact_store(ResultsLocation(results, store).open_store())
    out.print(f"{changed} rows changed.")
    if changed:
        out.print(
            "Change the password too. Reports, model cards and search results that were written "
            "before still have it: write them again."
        )
