"""The promises of each kind of plugin, as ``fairbench check`` tries them, in a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fairbench.report.format import format_count
from fairbench.testing.contracts import DATASET, METHOD, METRIC
from fairbench.testing.promises import Promise
from markdown_parts import make_paragraph, make_table

CONTRACTS: Mapping[str, Sequence[Promise]] = {
    "method": METHOD,
    "dataset": DATASET,
    "metric": METRIC,
}
"""The promises of a kind of plugin, in the order of their checks."""


def format_promises(kinds: Sequence[str]) -> str:
    """Format the promises of one kind of plugin, and why each matters."""
    (kind,) = kinds
    promises = CONTRACTS[kind]
    count = make_paragraph(f"A {kind} makes {format_count(len(promises), 'promise')}:")
    rows = ((promise.text, promise.why) for promise in promises)
    return f"{count}\n\n{make_table(['promise', 'why'], rows)}"
