"""What a wide search reads of the methods' own representations, from wide-on-methods.csv."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from fairbench.auditing.tolerance import tolerance
from fairbench.report.format import format_share
from markdown_parts import list_names, make_paragraph, make_table

MEASURED = Path(__file__).parent.parent / "benchmarks/measured/wide-on-methods.csv"


def format_wide_on_methods() -> str:
    """Format the figures of one point of each method, the largest difference first."""
    table = pd.read_csv(MEASURED)
    table["more"] = table["wide"] - table["plain"]
    table = table.sort_values("more", ascending=False)
    rows = make_table(
        ["method", "point", "as boards, stored", "labels of s alone", "with the wide search"],
        (
            (f"`{method}`", point, *(format_share(figure) for figure in figures))
            for method, point, *figures in table[
                ["method", "point", "stored", "plain", "wide"]
            ].itertuples(index=False)
        ),
        rule="---:",
    )
    over = table[table["wide"] - table["stored"] > table["stored"].map(tolerance)]
    adds = int((table["more"] > 0.01).sum())
    text = make_paragraph(
        f"On {len(table)} points the wide search adds {format_share(table['more'].max())} nats at",
        f"most to the same auditors without it, and more than .01 on {adds}. What boards store of",
        "a point is mostly more, because their auditors also have soft labels, several draws, and",
        "what decoders make of z.",
        f"The wide search exceeds it by more than max(.02 nats, 8%) on {len(over)}"
        + (f": {list_names(over['method'])}." if len(over) else "."),
    )
    return f"{text}\n\n{rows}"
