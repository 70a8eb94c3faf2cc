"""``fairbench list``: list methods, datasets or metrics."""

from __future__ import annotations

import enum
from typing import Annotated, Any

import typer

from fairbench.api.method import Method
from fairbench.cli.console import err, show_table
from fairbench.cli.plugins import load_plugins
from fairbench.errors import FairbenchError
from fairbench.store.text import describe


class Listing(enum.StrEnum):
    """Kinds of plugins that can be listed."""

    METHODS = "methods"
    DATASETS = "datasets"
    METRICS = "metrics"


def list_command(
    kind: Annotated[Listing, typer.Argument(help="Kind of plugins to list.")],
) -> None:
    """List methods, datasets or metrics, built-in and from plugins."""
    registry = load_plugins()
    rows: list[list[str]]
    if kind is Listing.METHODS:
        columns = ["method", "track", "tags", "summary"]
        rows = [
            [_with_aliases(m), m.track.value, _tags(m), m.summary]
            for m in registry.methods.classes.values()
        ]
    elif kind is Listing.DATASETS:
        columns = ["dataset", "licence", "summary"]
        rows = [
            [_with_aliases(d), d.licence, d.summary] for d in registry.datasets.classes.values()
        ]
    else:
        columns = ["metric", "level", "columns", "summary"]
        rows = [
            [m.name, m.level, " ".join(m.columns), m.summary]
            for m in registry.metrics.classes.values()
        ]
    show_table(columns, rows)


def _tags(method: type[Method]) -> str:
    """Return the tags of a method; of one that cannot be made a dash, after a warning."""
    try:
        return " ".join(method().tags)
    except (Exception, SystemExit) as error:  # one plugin must not hide the others
        why = describe(error)
    # Not at the top: it loads pandas, which lists do not need.
    from fairbench.runs.hyperparameters import validate_params

    try:
        validate_params(method, {})
    except FairbenchError as error:
        why = error.message
    err.print(f"Warning: {method.name} cannot be made: {why}", markup=False)
    return "-"


def _with_aliases(plugin: Any) -> str:
    return f"{plugin.name} ({', '.join(plugin.aliases)})" if plugin.aliases else str(plugin.name)
