"""``fairbench plugin code``: the hash of its source by which stored results are found."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

import typer

from fairbench.cli.console import out
from fairbench.cli.options import Results, StoreUrl
from fairbench.cli.plugins import load_plugins
from fairbench.models.query import ResultsLocation
from fairbench.report.format import format_count
from fairbench.runs.plan import code_of
from fairbench.store.records import UnitRecord


def plugin_code_command(
    method: Annotated[str, typer.Argument(help="Name of a method.")],
    results: Results = None,
    store: StoreUrl = None,
) -> None:
    """Print the hash of a method's source, and those that its stored models have."""
    registry, location = load_plugins(), ResultsLocation(results, store)
    cls = registry.methods[method]
    present = code_of(cls)
    out.print(f"{present}  the installed source of {cls.name}", markup=False)
    if not location.has_results:
        return
    units = location.open_store().records(UnitRecord)
    stored = Counter(unit.code for unit in units if unit.method == cls.name and unit.done)
    for code, count in stored.most_common():
        of = "this source" if code == present else "another source"
        out.print(f"{code}  {format_count(count, 'stored model')} of {of}", markup=False)
