"""The page: one self-contained HTML file that opens offline, from disk."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from fairbench.report.gather import DatasetReport, Report
from fairbench.report.panels import Panel, all_names
from fairbench.report.style import Look, looks
from fairbench.store import Row

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

LEADERBOARD = (
    ("rank", "rank"),
    ("method", "method"),
    ("aufdc", "AUFDC"),
    ("aufdc_low", "from"),
    ("aufdc_high", "to"),
    ("aufdc_paper", "paper's"),
    ("a_y_at_i10", "A_y, 10% of I"),
    ("i_at_d25", "I at 25% D"),
    ("d_min", "D min"),
    ("i_min", "I min"),
    ("front_hypervolume", "front"),
    ("seeds", "seeds"),
    ("points", "points"),
    ("points_missing", "missing"),
)
"""Columns of the page's leaderboard, and what they are headed; those no row has are left out."""

COST = (
    ("method", "method"),
    ("ms_model_step", "ms a model-step"),
    ("train_seconds_4", "train s, 4 points"),
    ("train_seconds_8", "8 points"),
    ("train_seconds_16", "16 points"),
    ("encode_seconds", "encode s"),
    ("audit_seconds", "audit s"),
    ("parameters", "parameters"),
    ("peak_memory_mb", "peak MB"),
    ("peak_device_memory_mb", "device MB"),
    ("energy_j", "energy J"),
    ("device", "device"),
    ("processor", "processor"),
)
"""Columns of the page's cost table."""


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
    environment.filters["number"] = number
    names = [p for dataset in report.datasets for p in dataset.panels]
    baselines = [name for panel in names for name in panel.baselines]
    look = looks(all_names(names), baselines)
    return environment.from_string((here / "page.html.j2").read_text("utf-8")).render(
        report=report,
        columns=LEADERBOARD,
        costs=COST,
        present=_present,
        name_of=lambda panel, row: panel.names[(row["method"], row["params"])],
        charts=_json([_charts(dataset, look) for dataset in report.datasets]),
        css=(here / "page.css").read_text("utf-8"),
        script=(here / "page.js").read_text("utf-8"),
        plotly=get_plotlyjs(),
    )


def number(value: Any) -> str:
    """A cell's text: whole numbers whole, others with three decimals, nothing for None."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int) or (isinstance(value, float) and abs(value) >= 1000):
        return f"{value:,.0f}"
    if isinstance(value, float):
        return f"{value + 0.0:.3f}".replace("-0.000", "0.000")
    return str(value)


def _present(columns: Sequence[tuple[str, str]], panel: Panel) -> list[tuple[str, str]]:
    """Of the columns those in which a row of the panel has a value."""
    return [c for c in columns if any(row.get(c[0]) is not None for row in panel.rows)]


def _json(value: Any) -> str:
    """JSON that cannot end the script element it stands in."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _charts(dataset: DatasetReport, look: Mapping[str, Look]) -> list[dict[str, Any]]:
    return [_panel_charts(panel, look) for panel in dataset.panels]


def _panel_charts(panel: Panel, look: Mapping[str, Look]) -> dict[str, Any]:
    curves = panel.curves()
    names = panel.names
    found = []
    for row in panel.rows:
        name = names[(row["method"], row["params"])]
        seeds = [points for points in curves[name] if points]
        if seeds:
            line = panel.surface(row, 50)
            found.append(_curve(name, line, seeds, look[name]))
    ends = next((row for row in panel.rows if row["d_max"] is not None), None)
    return {"curves": found, "ends": [ends["d_max"], ends["i_max"]] if ends else None}


def _curve(
    name: str,
    line: tuple[Sequence[float], Sequence[float]],
    seeds: Sequence[Sequence[Row]],
    look: Look,
) -> dict[str, Any]:
    measured = [point for points in seeds for point in points]
    fronts: tuple[list[float | None], list[float | None]] = ([], [])
    for points in seeds:
        front = sorted((p["a_s"], p["a_y"]) for p in points if p["front"])
        fronts[0].extend([*(_short(a) for a, _ in front), None])
        fronts[1].extend([*(_short(a) for _, a in front), None])
    return {
        "name": name,
        "colour": look.colour,
        "symbol": _SYMBOLS[look.marker],
        "dash": _DASHES.get(look.line, "dash"),
        "hull": [[_short(value) for value in values] for values in line],
        "front": fronts,
        "d": [_short(p["d"]) for p in measured],
        "i": [_short(p["i"]) for p in measured],
        "a_s": [_short(p["a_s"]) for p in measured],
        "a_y": [_short(p.get("a_y")) for p in measured],
        "seed": [p["seed"] for p in measured],
        "knob": [p["point"] for p in measured],
    }


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.4g}")
