"""The figure of a verdict over tables: mean ranks, profiles of areas, and families told apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fairbench.leaderboard.across import Verdict
from fairbench.metrics.rows import AcrossRow, Variant
from fairbench.report.format import format_count
from fairbench.report.headings import name_measure
from fairbench.report.identity import Identities
from fairbench.report.style import GREY, QUIET, Look, new_figure, styled
from fairbench.stats.across import indistinguishable_runs, least_adjusted_p, profile
from fairbench.stats.intervals import LEVEL

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDTH = 7.3
_LINE = 0.26
"""Height of a row, inches."""

_GRID = 200
_MAX_TICKS = 8
_HALF = 0.6
"""Height of the first and of the last row to the edge of a panel, in rows: no mark is cut."""
_MAX_LINES = 8
"""Rows in the panel of profiles: the best of the best families, and the reference."""


def across_figure(verdict: Verdict, identities: Identities) -> Figure:
    """Draw three panels: ranks of all rows, profiles and the ranks of the best of each family.

    In the last, a critical-difference diagram, a bar joins families that no pair of which is told
    apart at 5% (signed ranks over sources, adjusted over all pairs); where so few sources could
    tell no pair apart, there are no bars.
    """
    best = [verdict.rows[k] for k in verdict.families]
    look = identities.looks([row.variant for row in verdict.rows])
    heights = [1.2 + _LINE * len(verdict.rows), 2.8, 0.9 + _LINE * (len(best) + 2)]
    with styled():
        figure = new_figure(_WIDTH, sum(heights), rows=3, heights=heights)
        ranks, profiles, families = figure.axes
        _draw_ranks(ranks, verdict, look)
        _draw_profiles(profiles, verdict, look)
        _draw_families(families, verdict, best)
    return figure


def _draw_ranks(axes: Axes, verdict: Verdict, look: dict[Variant, Look]) -> None:
    for place, row in enumerate(verdict.rows):
        colour = GREY if row.method == verdict.reference else look[row.variant].colour
        if row.mean_rank_low is not None and row.mean_rank_high is not None:
            axes.plot([row.mean_rank_low, row.mean_rank_high], [place, place], color=colour)
        axes.plot(row.mean_rank, place, marker="o", color=colour)
    known = any(row.mean_rank_low is not None for row in verdict.rows)
    intervals = ", with its 95% interval" if known else ""
    axes.set_yticks(range(len(verdict.rows)), [row.name for row in verdict.rows])
    axes.set(
        title=f"{verdict.collection} · {verdict.group.track} · {verdict.group.budget} budget · "
        f"{verdict.group.audit} audit: {name_measure(verdict.measure)}",
        xlabel=f"mean rank over {_tables(verdict)}{intervals} (1 is best)",
        ylim=(len(verdict.rows) - _HALF, -_HALF),
        xticks=_rank_ticks(len(verdict.rows)),
        xlim=(0.7, len(verdict.rows) + 0.3),
    )


def _draw_profiles(axes: Axes, verdict: Verdict, look: dict[Variant, Look]) -> None:
    shown = list(verdict.families[:_MAX_LINES])
    reference = [k for k, row in enumerate(verdict.rows) if row.method == verdict.reference]
    shown += [k for k in reference[:1] if k not in shown]
    runs = [of_table[shown] for of_table in verdict.runs]
    sign = 1.0 if verdict.lower_is_better else -1.0
    low, high = min(r.min() for r in runs), max(r.max() for r in runs)
    grid = np.linspace(low, high, _GRID) if high > low else np.array([low])
    # Tables may have different numbers of folds: each is a profile of its own, then averaged.
    of_tables = np.stack(
        [profile(sign * r[:, None, :], np.ones(1), np.sort(sign * grid)) for r in runs]
    )
    shares = np.average(of_tables, axis=0, weights=verdict.weights)
    thresholds = np.sort(sign * grid) * sign
    for k, share in zip(shown, shares, strict=True):
        row = verdict.rows[k]
        style = look[row.variant]
        colour = GREY if row.method == verdict.reference else style.colour
        axes.step(
            thresholds,
            share,
            where="post",
            color=colour,
            linestyle=style.line,
            label=row.name,
        )
    better = "at most" if verdict.lower_is_better else "at least"
    axes.set(
        xlabel=f"threshold of {name_measure(verdict.measure)}",
        ylabel=f"share of folds {better} that",
        ylim=(-0.02, 1.02),
    )
    whole = len(verdict.families) <= _MAX_LINES
    title = "best of each family" if whole else f"best of the {_MAX_LINES} best families"
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), title=title)


def _draw_families(axes: Axes, verdict: Verdict, best: list[AcrossRow]) -> None:
    ranks = np.array([row.mean_rank for row in best])
    order = np.argsort(ranks, kind="stable")
    for place, k in enumerate(order):
        axes.plot(ranks[k], place, marker="o", color="black")
        axes.annotate(
            _family(best[k]),
            (ranks[k], place),
            (8, 0),
            textcoords="offset points",
            va="center",
        )
    sources = verdict.source_count
    least = least_adjusted_p(len(best), sources)
    bars = indistinguishable_runs(ranks, verdict.p_families) if least <= 1 - LEVEL else []
    what = (
        "; a bar joins families that are not told apart at 5%"
        if least <= 1 - LEVEL
        else f"\nfrom {format_count(sources, 'source')} no two of {len(best)} families can be told "
        f"apart at 5%: no adjusted p-value could be below {least:.2g}"
    )
    wide = float(np.ptp(ranks)) or 1.0
    for number, (first, last) in enumerate(bars):
        x = ranks[order[0]] - wide * (0.04 + 0.02 * number)
        axes.plot([x, x], [first - 0.25, last + 0.25], color=QUIET, linewidth=3)
    axes.set_yticks([])
    axes.set(
        xlabel=f"mean rank of the best row of each family{what}",
        xticks=_rank_ticks(len(verdict.rows)),
        ylim=(len(best) - _HALF, -_HALF),
        xlim=(ranks.min() - wide * (0.06 + 0.02 * len(bars)), ranks.max() + 0.45 * wide + 1),
    )


def _tables(verdict: Verdict) -> str:
    """The tables of a verdict, and of how many where some are missing."""
    known, missing = len(verdict.tables), len(verdict.missing)
    return format_count(known, "table") if not missing else f"{known} of {known + missing} tables"


def _rank_ticks(count: int) -> list[float]:
    """Whole ranks from 1 to a number of rows, few enough to be read."""
    from matplotlib.ticker import MaxNLocator

    ticks = MaxNLocator(_MAX_TICKS, integer=True).tick_values(1, count)
    return [float(tick) for tick in ticks if 1 <= tick <= count]


def _family(row: AcrossRow) -> str:
    label = row.name
    return label if row.family == label else f"{label} (family {row.family})"
