"""Figures of a search: its history, the importance of parameters, the Pareto set."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from fairbench.report.style import COLOURS, GREY, new_figure, styled
from fairbench.search.study import Search
from fairbench.search.trials import Trial, TrialOutcome

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, ORANGE, BLACK = COLOURS[0], COLOURS[1], COLOURS[6]

_MARKS = {TrialOutcome.DIVERGED: ("x", "diverged"), TrialOutcome.FAILED: ("+", "failed")}


@styled()
def draw_history(search: Search) -> bytes:
    """Area of each trial and the best so far, by number; PNG."""
    from matplotlib.ticker import MaxNLocator

    figure, axes = _figure(search, "every trial, and the best so far")
    complete = _complete(search)
    numbers = [trial.number for trial in complete]
    areas = [trial.values[0] for trial in complete]
    axes.scatter(numbers, areas, s=26, color=BLUE, zorder=3, label="a trial")
    best = [min(areas[: i + 1]) for i in range(len(areas))]
    last = search.trials[-1].number
    axes.step(
        [*numbers, last],
        [*best, best[-1]],
        where="post",
        color=ORANGE,
        linewidth=2,
        label="best so far",
    )
    if search.defaults and search.trials[0].values:
        value = search.trials[0].values[0]
        axes.axhline(value, color=BLACK, linewidth=1, linestyle="--", label="defaults (trial 0)")
    for outcome, (marker, label) in _MARKS.items():
        ended = [trial.number for trial in search.trials if trial.outcome is outcome]
        if ended:
            axes.scatter(
                ended,
                [0.03] * len(ended),
                marker=marker,
                color=GREY,
                transform=axes.get_xaxis_transform(),
                label=label,
            )
    axes.set_xlabel("trial")
    axes.set_ylabel("AUFDC on the validation set (lower is better)")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.margins(y=0.12)
    _legend(figure)
    return _png(figure)


@styled()
def draw_importance(search: Search, table: pd.DataFrame) -> bytes:
    """One bar per parameter and objective; PNG."""
    objectives = [name for name in table.columns if name != "parameter"]
    height = 1.3 + 0.36 * len(table) * len(objectives)
    title = f"what the {len(_complete(search))} complete trials say matters (fANOVA)"
    figure, axes = _figure(search, title, height=height)
    thick = 0.8 / len(objectives)
    for i, name in enumerate(objectives):
        places = [row + (i - (len(objectives) - 1) / 2) * thick for row in range(len(table))]
        bars = axes.barh(places, table[name], height=thick * 0.92, color=(BLUE, ORANGE)[i])
        bars.set_label(name)
        axes.bar_label(bars, fmt="%.2f", padding=3)
    axes.set_yticks(range(len(table)), table["parameter"])
    axes.invert_yaxis()
    axes.set_xlim(0, 1.08)
    axes.set_xlabel("share of the objective's variance")
    if len(objectives) > 1:
        _legend(figure)
    return _png(figure)


@styled()
def draw_front(search: Search) -> bytes:
    """Both objectives of each trial, and the Pareto set; PNG."""
    figure, axes = _figure(search, "all trials, and those that no other beats in both")
    complete, front = _complete(search), search.front
    if len({trial.values[1] for trial in complete}) > 1:
        axes.set_xscale("log")
    axes.scatter(*_both(complete), s=26, color=GREY, label="a trial")
    axes.step(*_both(front), where="pre", color=ORANGE, linewidth=1)
    axes.scatter(*_both(front), s=44, marker="D", color=ORANGE, zorder=3, label="Pareto set")
    for (area, cost), numbers in _by_values(front).items():
        label = ", ".join(str(number) for number in numbers)
        axes.annotate(label, (cost, area), textcoords="offset points", xytext=(5, 5))
    if search.defaults and search.trials[0].values:
        axes.scatter(
            *_both(search.trials[:1]),
            s=110,
            facecolors="none",
            edgecolors=BLACK,
            zorder=4,
            label="defaults (trial 0)",
        )
    axes.set_xlabel("floating-point operations to train a curve of 16 points")
    axes.set_ylabel("AUFDC on the validation set (lower is better)")
    axes.margins(y=0.12)
    _legend(figure)
    return _png(figure)


def _complete(search: Search) -> list[Trial]:
    return [trial for trial in search.trials if trial.outcome is TrialOutcome.COMPLETE]


def _both(trials: list[Trial]) -> tuple[list[float], list[float]]:
    return [trial.values[1] for trial in trials], [trial.values[0] for trial in trials]


def _by_values(trials: list[Trial]) -> dict[tuple[float, ...], list[int]]:
    """Numbers of trials with equal values, which stand on one spot."""
    table: dict[tuple[float, ...], list[int]] = {}
    for trial in trials:
        table.setdefault(trial.values, []).append(trial.number)
    return table


def _legend(figure: Figure) -> None:
    """Beside the plot, where it hides nothing."""
    figure.legend(loc="outside right upper")


def _figure(search: Search, what: str, *, height: float = 4.2) -> tuple[Figure, Axes]:
    """An empty plot, titled with method, dataset and budget."""
    figure = new_figure(8.4, height)
    (axes,) = figure.axes
    source = " (SIMULATED)" if search.data.simulated else ""
    head = f"{search.method.name} on {search.data.info.name}{source}, budget {search.budget.label}"
    axes.set_title(f"{head}\n{what}", loc="left")
    return figure, axes


def _png(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    # No date and no version in the file: the same trials give the same bytes.
    figure.savefig(buffer, format="png", metadata={"Software": None})
    return buffer.getvalue()
