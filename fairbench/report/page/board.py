"""What stands in a board of the page beside plain cells: strips, families, commands, addresses."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from urllib.parse import quote

from fairbench.metrics.rows import DEFAULT, LeaderboardRow, Variant
from fairbench.report.gather import DatasetReport
from fairbench.report.identity import Identities
from fairbench.report.panels import Panel
from fairbench.report.style import Look

DIRECTIONS: Mapping[str, str] = {
    **dict.fromkeys(
        (
            *("rank", "strip", "aufdc", "aufdc_certified", "aufdc_paper"),
            *("distortion_min", "mutual_information_min", "points_missing"),
            *("shift_points_above", "shift_leakage_change", "shift_gap_change"),
            *("train_seconds_4", "train_seconds_8", "train_seconds_16"),
            *("milliseconds_per_model_step", "encode_seconds", "audit_seconds"),
            *("peak_memory_mb", "peak_device_memory_mb", "energy_joules"),
        ),
        "lower",
    ),
    **dict.fromkeys(
        (
            *("accuracy_y_at_leakage_10", "accuracy_y_at_accuracy_s_25"),
            *("transfer_at_leakage_10", "transfer_worst_at_leakage_10", "front_hypervolume"),
            *("shift_points_within", "shift_certificates_held", "shift_accuracy_y_change"),
        ),
        "higher",
    ),
}
"""Which values of a column are better."""

_MOST_LIT, _FAMILIES = 12, 6
"""Most rows of a chart that are all in colour; of more, so many families' best rows are."""

_WIDTH, _HEIGHT, _EDGE = 150, 18, 6
"""Size of a strip, and the room left and right of its scale, pixels."""


def in_order(datasets: Sequence[DatasetReport]) -> list[DatasetReport]:
    """Boards, the main one first: that with most ranked rows, then with most rows."""

    def size(dataset: DatasetReport) -> tuple[bool, int, int]:
        ranked = sum(len(panel.ranked) for panel in dataset.panels)
        rows = sum(len(panel.rows) for panel in dataset.panels)
        return "simulated" in dataset.data_source, -ranked, -rows

    return sorted(datasets, key=size)


def families(datasets: Sequence[DatasetReport], identities: Identities) -> dict[str, list[str]]:
    """Methods of all boards by family; baselines are one, and the last."""
    found: dict[str, dict[str, None]] = {}
    baselines: dict[str, None] = {}
    rows = [row for dataset in datasets for panel in dataset.panels for row in panel.rows]
    for row in sorted(rows, key=lambda row: row.method):
        if "baseline" in row.tags.split():
            baselines[row.method] = None
        else:
            found.setdefault(identities.family(row.method), {})[row.method] = None
    named = {name: list(members) for name, members in sorted(found.items())}
    return named | ({"baselines": list(baselines)} if baselines else {})


def lit_rows(panel: Panel) -> list[LeaderboardRow]:
    """Rows that charts have in colour at first, the others grey behind them; empty: all.

    Where there are many rows, the best row of each of some families, and what others are tested
    against.
    """
    own = [row for row in panel.rows if row.method in panel.highlighted]
    tested = [row for row in panel.rows if row.method in panel.identities.references]
    if own:
        return [*own, *tested]
    if len(panel.rows) <= _MOST_LIT:
        return []
    best: dict[str, LeaderboardRow] = {}
    for row in panel.rows:  # in the order of the leaderboard
        if "baseline" not in row.tags.split():
            best.setdefault(panel.identities.family(row.method), row)
    return [*list(best.values())[:_FAMILIES], *tested]


def order_of(panel: Panel) -> str:
    """How a board is sorted at first, in the words of ``aria-sort``."""
    column = panel.rows[0].ranked_by if panel.rows else None
    return "ascending" if DIRECTIONS.get(str(column), "lower") == "lower" else "descending"


def is_numeric(panel: Panel, column: str) -> bool:
    """Whether a column's cells are numbers, which stand to the right."""
    if column in ("rank", "aufdc_low"):
        return True
    values = [value for row in panel.rows if (value := row.value(column)) is not None]
    return any(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def command_of(row: LeaderboardRow) -> str:
    """Return the command that makes a row again."""
    words = ["fairbench", "run", "--methods", row.method, "--dataset", row.dataset]
    if row.budget != "full":
        words += ["--budget", row.budget]
    if row.splits.endswith("folds"):
        words += ["--splits", row.splits.split()[-2]]
    if row.seeds > 1:
        words += ["--seeds", str(row.seeds)]
    if row.params != DEFAULT:
        words += ["--params", f"{row.method}.yaml"]
    return shlex.join(words)


def address(text: str) -> str:
    """Return a text as a part of an address."""
    return quote(text, safe="/")


def make_strip(look: Mapping[Variant, Look]) -> Callable[[Panel, LeaderboardRow], str]:
    """Return what draws a row's figure with its interval on the scale of its board, as SVG."""

    def strip(panel: Panel, row: LeaderboardRow) -> str:
        column = row.ranked_by or "aufdc"
        value = row.figures.get(column)
        if value is None:
            return ""
        low, high = _scale(panel, column)

        def x(number: float) -> float:
            share = (min(max(number, low), high) - low) / (high - low)
            return round(_EDGE + share * (_WIDTH - 2 * _EDGE), 1)

        colour, middle = look[row.variant].colour, _HEIGHT / 2
        ends = row.interval(column)
        words = f"{value:.3f}"
        parts = [
            f'<line class="rail" x1="{_EDGE}" x2="{_WIDTH - _EDGE}" y1="{middle}" y2="{middle}"/>'
        ]
        if ends is not None:
            words += f", 95% interval {ends[0]:.3f} to {ends[1]:.3f}"
            parts.append(
                f'<line x1="{x(ends[0])}" x2="{x(ends[1])}" y1="{middle}" y2="{middle}" '
                f'stroke="{colour}" stroke-width="3"/>'
            )
        certified = row.figures.get("aufdc_certified")
        if certified is not None and column == "aufdc":
            at = x(certified)
            words += f", certified {certified:.3f}"
            parts.append(
                f'<path d="M{at} {middle - 5}l5 5l-5 5l-5 -5z" fill="none" stroke="{colour}"/>'
            )
        face = colour if row.complete else "none"
        parts.append(
            f'<circle cx="{x(value)}" cy="{middle}" r="4.5" fill="{face}" stroke="{colour}"/>'
        )
        return (
            f'<svg role="img" aria-label="{words}" width="{_WIDTH}" height="{_HEIGHT}" '
            f'viewBox="0 0 {_WIDTH} {_HEIGHT}"><title>{words}</title>{"".join(parts)}</svg>'
        )

    return strip


def _scale(panel: Panel, column: str) -> tuple[float, float]:
    """Ends of a board's scale: areas start at 0."""
    values = [value for row in panel.rows if (value := row.figures.get(column)) is not None]
    ends = [end for row in panel.rows for end in row.interval(column) or ()]
    if column == "aufdc":
        certified = [c for row in panel.rows if (c := row.figures.get("aufdc_certified"))]
        return 0.0, max([0.5, *values, *ends, *certified])
    known = [*values, *ends] or [0.0, 1.0]
    return min(known), max(max(known), min(known) + 1e-6)
