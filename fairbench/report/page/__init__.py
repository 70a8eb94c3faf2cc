"""The page: one self-contained HTML file that opens offline, from disk.

The chart library and the charts' data stand in it compressed (gzip, base64), which every browser
since 2023 unpacks by itself: plotly alone is 4.8 MB plain and 2.0 MB packed.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
import shlex
from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import files
from typing import Any

from fairbench.metrics.rows import p_value_column
from fairbench.report.format import format_figure, format_p
from fairbench.report.gather import Report
from fairbench.report.headings import HEADINGS, NO_POINT, PAGE, PAGE_COST, headed, name_measure
from fairbench.report.page.board import MAX_LIT, address, families, in_order, name_rows
from fairbench.report.page.colours import colour_rules
from fairbench.report.page.columns import (
    DIRECTIONS,
    FIRST,
    TERMS,
    TRACKS,
    WORDS,
    board_columns,
    is_numeric,
    order_of,
    present,
)
from fairbench.report.page.curves import panel_charts
from fairbench.report.page.ranking import draw_ranking
from fairbench.report.panels import looks_of
from fairbench.report.reconstructions import as_png
from fairbench.report.verdicts import describe_tests, note_intervals, note_limits

SCRIPTS = ("charts.js", "choice.js", "tables.js", "board.js")
"""Of the page, in their order: the last needs the others."""


def page(report: Report) -> str:
    """The report as HTML: tables, charts and script in one file, nothing fetched.

    All text that comes from plugins and data is escaped: by the template where it is HTML, by the
    script where it is a chart's label.
    """
    import jinja2
    from plotly.offline import get_plotlyjs  # type: ignore[import-untyped]

    here = files("fairbench.report.page")
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("fairbench.report", "page"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = format_number
    environment.filters["p"] = format_p
    environment.filters["address"] = address
    environment.filters["moment"] = lambda text: text.replace("T", " ").replace("+00:00", " UTC")
    report = replace(report, datasets=tuple(in_order(report.datasets)))
    looks = looks_of([p for dataset in report.datasets for p in dataset.panels])
    charts = [[panel_charts(p, looks) for p in dataset.panels] for dataset in report.datasets]
    named = {*PAGE, *PAGE_COST, *TERMS, *report.plugin_columns}
    css, *scripts = ((here / name).read_text("utf-8") for name in ("page.css", *SCRIPTS))
    css += colour_rules(looks)
    plotly = get_plotlyjs()
    columns = board_columns(report.tested, report.plugin_columns)
    directions = {**report.directions, **DIRECTIONS}
    return environment.get_template("page.html.j2").render(
        report=report,
        columns=columns,
        first=FIRST,
        card_columns=columns | headed(PAGE_COST),
        ranking=lambda panel: draw_ranking(panel, looks, directions),
        directions=directions,
        numeric=is_numeric,
        most_lit=MAX_LIT,
        order_of=lambda panel: order_of(panel, directions),
        join=shlex.join,
        families=families(report.datasets, report.identities),
        methods=report.methods,
        tests=lambda panel: describe_tests(panel.ranked),
        intervals=lambda panel: note_intervals(panel.ranked, panel.not_replicated),
        limits=lambda panel: note_limits(panel.rows, columns),
        no_point=NO_POINT,
        costs=headed(PAGE_COST),
        p_columns=frozenset(map(p_value_column, report.tested)),
        present=present,
        terms=WORDS | {name: text for name, text in report.glossary.items() if name in named},
        others={name: text for name, text in report.glossary.items() if name not in named},
        tracks=TRACKS,
        headings=HEADINGS,
        measures=name_measure,
        name_of=lambda panel, row: panel.names[row.variant],
        rows_of=name_rows,
        png=as_png,
        charts=_packed(json.dumps(charts, separators=(",", ":"), allow_nan=False)),
        css=css,
        scripts=scripts,
        plotly=_packed(plotly),
        unneeded=_OWN_STYLE.findall(plotly),
        policy=_policy(scripts=(*scripts, plotly), styles=(css, "")),
    )


_OWN_STYLE = re.compile(r'document\.getElementById\("([0-9a-f]{64})"\)')
"""Where plotly adds a style of its maps, which the policy would block and the page has no use for,
unless there is an element of this id."""


def _policy(*, scripts: Sequence[str], styles: Sequence[str]) -> str:
    """The page's content security policy: these elements run, nothing else does or is fetched.

    The empty style is one that plotly makes and then fills by rules, not by text.
    """
    allowed = {
        "script-src": " ".join(map(_hash, scripts)),
        "style-src": " ".join(map(_hash, styles)),
        "img-src": "data: blob:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return "; ".join(["default-src 'none'", *(f"{name} {it}" for name, it in allowed.items())])


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def format_number(value: Any) -> str:
    """A cell's text: whole numbers whole, others with three digits or decimals, None empty."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int) or (isinstance(value, float) and abs(value) >= 100):
        return f"{value:,.0f}"
    if isinstance(value, float):
        return format_figure(value, decimals=1 if abs(value) >= 10 else 3)
    return str(value)


def _packed(text: str) -> str:
    """Gzip in base64, the same bytes every time; such text cannot end a script element."""
    return base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()
