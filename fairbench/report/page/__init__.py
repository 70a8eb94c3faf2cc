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
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from typing import Any

import numpy as np
import numpy.typing as npt

from fairbench.api import Track
from fairbench.metrics.rows import LeaderboardRow, PointRow, Variant, p_value_column
from fairbench.report.format import format_figure
from fairbench.report.gather import Report
from fairbench.report.headings import HEADINGS, PAGE, PAGE_COST, headed
from fairbench.report.page.board import (
    DIRECTIONS,
    address,
    command_of,
    families,
    in_order,
    is_numeric,
    lit_rows,
    make_strip,
    order_of,
)
from fairbench.report.panels import Panel, looks_of
from fairbench.report.style import Look
from fairbench.report.verdicts import describe_tests

_SYMBOLS = {
    "o": "circle",
    "s": "square",
    "^": "triangle-up",
    "D": "diamond",
    "v": "triangle-down",
    "P": "cross",
    "X": "x",
    "<": "triangle-left",
    ">": "triangle-right",
}
"""Plotly's names of matplotlib's marks."""

_DASHES: Mapping[object, str] = {"-": "solid", "--": "dash", ":": "dot", "-.": "dashdot"}

SCRIPTS = ("charts.js", "board.js")
"""Of the page, in their order: the second needs the first."""

INTERVAL = ("aufdc_low", "95% confidence interval")
"""Stands right of AUFDC in the page's leaderboard."""

TRACKS = {
    Track.BLIND: "The encoder sees the features x alone.",
    Track.AWARE: "The encoder may also see s, so little leakage costs little: A_y at I<10% ranks.",
}
"""Tracks, explained."""

WORDS = {
    "auditor": "a classifier that is trained to predict s from z, after the method has finished",
    "baseline": "a simple method that every other should beat, drawn in grey",
    "nats": "unit of information: one yes-or-no answer is worth at most 0.69",
    "point": "one setting of a method's fairness parameter, and what was measured of it",
    "fold": "one of several splits of the rows; their test sets are disjoint",
    "seed": "a whole repetition of training and audit with other random numbers",
    "validation set, test set": "rows that choose among auditors and points; rows of the figures",
    "simulated": "drawn from published statistics because the real files were not there",
}
"""Terms of the glossary that are no columns."""

TERMS = (
    *("mutual_information", "distortion", "aufdc", "rank_low", "rank_high", "interval_over"),
    *("replicated", "accuracy_s"),
    *("accuracy_y", "seeds", "track", "budget"),
    *("audit", "params", "tags", "accuracy_y_at_accuracy_s_10", "complete", "data_source"),
)
"""Columns that the glossary explains beside those that the page shows."""


def page(report: Report) -> str:
    """The report as HTML: tables, charts and script in one file, nothing fetched.

    All text that comes from plugins and data is escaped: by the template where it is HTML, by the
    script where it is a chart's label.
    """
    import jinja2
    from plotly.offline import get_plotlyjs  # type: ignore[import-untyped]

    here = files("fairbench.report.page")
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["number"] = format_number
    environment.filters["address"] = address
    environment.filters["moment"] = lambda text: text.replace("T", " ").replace("+00:00", " UTC")
    report = replace(report, datasets=tuple(in_order(report.datasets)))
    shown = [p for dataset in report.datasets for p in dataset.panels]
    look = looks_of(shown)
    charts = [[_panel_charts(p, look) for p in dataset.panels] for dataset in report.datasets]
    named = {*PAGE, *PAGE_COST, *TERMS}
    css, *scripts = ((here / name).read_text("utf-8") for name in ("page.css", *SCRIPTS))
    plotly = get_plotlyjs()
    columns = _board(report.tested)
    return environment.from_string((here / "page.html.j2").read_text("utf-8")).render(
        report=report,
        columns=columns,
        card_columns=[*columns.items(), *headed(PAGE_COST).items()],
        strip=make_strip(look),
        directions=DIRECTIONS,
        numeric=is_numeric,
        order_of=order_of,
        command=command_of,
        families=families(report.datasets, report.identities),
        methods=report.methods,
        tests=lambda panel: describe_tests(panel.ranked),
        costs=headed(PAGE_COST),
        present=_present,
        terms=WORDS | {name: text for name, text in report.glossary.items() if name in named},
        others={name: text for name, text in report.glossary.items() if name not in named},
        tracks=TRACKS,
        headings=HEADINGS,
        measures=lambda column: HEADINGS.get(column, column),
        name_of=lambda panel, row: panel.names[row.variant],
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


def _board(tested: Sequence[str]) -> dict[str, str]:
    """The leaderboard's columns and headings, intervals and tests right of what they are of."""
    found: dict[str, str] = {}
    for column, heading in headed(PAGE).items():
        if column == "aufdc":
            found["strip"] = "plot"
        found[column] = heading
        if column == "rank":
            found |= {p_value_column(name): f"p, {name}" for name in tested}
        if column == "aufdc":
            found.update([INTERVAL])
    return found


def _present(columns: Mapping[str, str], panel: Panel) -> list[tuple[str, str]]:
    """Of the columns those in which a row of the panel has a value."""

    def has_value(column: str) -> bool:
        if column == "rank":
            return bool(panel.ranked)
        if column == "strip":
            return True
        return any(row.value(column) is not None for row in panel.rows)

    return [(column, heading) for column, heading in columns.items() if has_value(column)]


def _packed(text: str) -> str:
    """Gzip in base64, the same bytes every time; such text cannot end a script element."""
    return base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()


def _panel_charts(panel: Panel, look: Mapping[Variant, Look]) -> dict[str, Any]:
    curves = panel.curves()
    names = panel.names
    drawn = []
    for row in panel.rows:
        name = names[row.variant]
        seeds = [points for points in curves[name] if points]
        if seeds:
            x, low, high = panel.front_band(row)
            lines = {
                "hull": _curve_line(panel.surface(row, 50)),
                "hull_band": _outline(
                    _curve_line(panel.surface(row, 25)), _curve_line(panel.surface(row, 75))
                ),
                "front": _shorts(panel.front(row, 50)),
                "front_band": _outline(_shorts(_steps(x, high)), _shorts(_steps(x, low))),
            }
            drawn.append({**_curve(name, row, seeds, look[row.variant]), **lines})
    lit = [names[row.variant] for row in lit_rows(panel)]
    return {"curves": drawn, "ends": panel.ends, "lit": lit}


def _curve(
    name: str, row: LeaderboardRow, seeds: Sequence[Sequence[PointRow]], look: Look
) -> dict[str, Any]:
    measured = [point for points in seeds for point in points]
    return {
        "name": name,
        "whole": row.complete,
        "colour": look.colour,
        "symbol": _SYMBOLS[look.marker],
        "dash": _DASHES.get(look.line, "dash"),
        "d": [_short(p.figures["distortion"]) for p in measured],
        "i": [_short(p.figures["mutual_information"]) for p in measured],
        "a_s": [_short(p.figures["accuracy_s"]) for p in measured],
        "a_y": [_short(p.figures.get("accuracy_y")) for p in measured],
        "bound": [_bound(p.figures.get("certified_mutual_information")) for p in measured],
        "curve": [f"{p.split}, seed {p.seed}" for p in measured],
        "knob": [p.point for p in measured],
    }


def _bound(value: float | str | None) -> float | str | None:
    """A certificate's bound, or the word that stands for it."""
    return value if isinstance(value, str) else _short(value)


Line = tuple[Sequence[float], Sequence[float]]
Shorts = list[list[float | None]]


def _shorts(line: Line) -> Shorts:
    return [[_short(value) for value in values] for values in line]


def _curve_line(line: Line) -> Shorts:
    """A curve without the corners that nobody would see."""
    x, y = (np.array(values, dtype=np.float64) for values in line)
    kept = corners(x, y)
    return _shorts((x[kept].tolist(), y[kept].tolist()))


def _outline(there: Shorts, back: Shorts) -> Shorts:
    """What lies between two lines: along one and back along the other."""
    if not there[0] or not back[0]:
        return [[], []]
    return [there[k] + back[k][::-1] for k in (0, 1)]


def _steps(x: Sequence[float], y: Sequence[float]) -> Line:
    """Corners of a staircase with what lies between them: as high as the corner to the left."""
    xs = [value for value in x for _ in range(2)][1:]
    ys = [value for value in y for _ in range(2)][:-1]
    return xs, ys


def corners(
    x: npt.NDArray[np.float64], y: npt.NDArray[np.float64], *, apart: float = 1e-3
) -> list[int]:
    """Indices of the points that a line needs to stay as it looks (Douglas and Peucker).

    Parameters
    ----------
    x, y : ndarray, shape (n,)
    apart : float
        How far the line may move, as a share of the range of y.
    """
    if len(x) < 3:
        return list(range(len(x)))
    limit = apart * float(np.ptp(y))
    kept, open_ = {0, len(x) - 1}, [(0, len(x) - 1)]
    while open_:
        a, b = open_.pop()
        if b - a < 2:
            continue
        inner = slice(a + 1, b)
        rise, run = y[b] - y[a], x[b] - x[a]
        chord = y[a] + rise * (x[inner] - x[a]) / run if run else np.full(b - a - 1, np.inf)
        off = np.abs(y[inner] - chord)
        furthest = a + 1 + int(off.argmax())
        if off.max() > limit:
            kept.add(furthest)
            open_ += [(a, furthest), (furthest, b)]
    return sorted(kept)


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.4g}")
