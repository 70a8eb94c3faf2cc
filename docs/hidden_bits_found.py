"""What audits of arrays read of bits that hide in z, from further-channels.csv."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from fairbench.auditing.tolerance import tolerance
from fairbench.report.format import format_share
from markdown_parts import make_paragraph, make_table

MEASURED = Path(__file__).parent.parent / "benchmarks/measured/further-channels.csv"
_AUDITS = ("as_boards", "wide")
_LISTS = {
    "known": "missed, or nearly, by earlier auditors of boards; the search was made with them",
    "first": "by somebody who had not seen the auditors; some kinds were added after a look at it",
    "second": "by somebody else who had not seen them; a few kinds were added after a look at it, "
    "before which the wide search read 16",
}


def format_hidden_bits() -> str:
    """Format how many bits are read, and each that is not."""
    table = pd.read_csv(MEASURED)
    by_list = make_table(
        ["list", "bits", "read by the auditors of boards", "read by the wide search"],
        (
            (f"`{name}`: {what}", str(len(mine)), *(str(_read(mine, one).sum()) for one in _AUDITS))
            for name, what in _LISTS.items()
            for mine in [table[table["list"] == name]]
        ),
    )
    missed = table[~_read(table, "wide")].sort_values("wide")
    rows = make_table(
        ["missed by the wide search", "true", "auditors of boards", "wide search"],
        (
            (rule, *(format_share(figure) for figure in figures))
            for rule, *figures in missed[["rule", "truth", *_AUDITS]].itertuples(index=False)
        ),
    )
    slower = round(float(table["seconds_wide"].sum() / table["seconds_as_boards"].sum()), 1)
    text = make_paragraph(
        f"Over all {len(table)}, an audit with the wide search took {slower} times as long as one",
        f"without, beside other work (median {table['seconds_wide'].median():.0f} s,",
        f"{table['seconds_as_boards'].median():.0f} s without).",
    )
    return f"{by_list}\n\n{text}\n\n{rows}"


def _read(table: pd.DataFrame, audit: str) -> pd.Series:
    """Whether each bit is read within the tolerance of calibration."""
    return table[audit] >= table["truth"] - table["truth"].map(tolerance)
