"""Rows of earlier versions of the store, brought to the present one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairbench.data.splits import OFFICIAL
from fairbench.metrics.earlier_names import present_name, rename
from fairbench.stats.bootstrap import rename_replicates

ADDED: Mapping[int, Mapping[str, Sequence[str]]] = {
    2: {"points": ("audit_version", "replicates"), "references": ("audit_version", "replicates")},
    3: {"units": ("encoder",)},
    5: {"units": ("split",)},
    6: dict.fromkeys(("units", "points", "references"), ("origin",)),
    7: {"units": ("label",)},
    8: {"points": ("processor_seconds",)},
}
"""Columns that came with a schema version, by table; rows from before have none of them."""

_ONE_SPLIT = 4
"""Last schema version without folds: all its units are of the official split."""

NAMES_SINCE = 4
"""Schema version since which figures have their present names."""


def present_row(table: str, row: Mapping[str, Any], version: int) -> dict[str, Any]:
    """Return a row of a table as the present schema has it; ``version`` is the one that wrote it.

    Columns that came later may be missing.
    """
    present = dict(row)
    for later, added in ADDED.items():
        if later > version:
            present = dict.fromkeys(added.get(table, ())) | present
    if table == "units" and version <= _ONE_SPLIT:
        present["split"] = OFFICIAL.name
    if version >= NAMES_SINCE:
        return present
    for column in ("values", "costs"):
        if isinstance(present.get(column), dict):
            present[column] = rename(present[column])
    if isinstance(present.get("auditors"), list):
        present["auditors"] = [
            rename(reading) if isinstance(reading, dict) else reading
            for reading in present["auditors"]
        ]
    if isinstance(present.get("replicates"), str):
        present["replicates"] = rename_replicates(present["replicates"], present_name)
    return present
