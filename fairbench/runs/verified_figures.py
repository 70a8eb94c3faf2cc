"""What may differ when a point is measured again, by figure.

On a machine of the same kind nothing differs. Elsewhere training and auditors round otherwise, and
some figures are noisier than others. How much is allowed depends on the published board, and on
the submission only where it allows less: whoever submits cannot widen it.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from statistics import fmean, median

import numpy as np

from fairbench.leaderboard.board import Board
from fairbench.store.records import Figures, PointRecord, UnitRecord


class FigureKind(StrEnum):
    """Kinds of figures, by what may differ when a model is trained again."""

    INFORMATION = "information"
    CERTIFIED = "certified"
    DISTORTION = "distortion"
    ACCURACY = "accuracy"
    COUNT = "count"
    TASK_INFORMATION = "information on the task"
    OTHER_INFORMATION = "information that does not rank"
    OTHER_DISTORTION = "distortion that does not rank"
    OTHER_ACCURACY = "accuracy that does not rank"
    PAPER_INFORMATION = "information by the paper's auditors"
    PAPER_ACCURACY = "accuracy of the paper's auditors"
    GAP = "gap between groups"
    CODES = "number of codes"
    RATE = "length of codes"
    WARNING = "warning"
    OTHER = "other"


FIGURES = {
    "mutual_information": FigureKind.INFORMATION,
    "distortion": FigureKind.DISTORTION,
    "accuracy_y": FigureKind.ACCURACY,
    "mutual_information_validation": FigureKind.INFORMATION,
    "distortion_validation": FigureKind.DISTORTION,
    "accuracy_y_validation": FigureKind.ACCURACY,
    "accuracy_s_validation": FigureKind.ACCURACY,
    "mutual_information_y_validation": FigureKind.TASK_INFORMATION,
    "certified_plug_in_information": FigureKind.CERTIFIED,
    "certified_mutual_information": FigureKind.CERTIFIED,
    "certified_rows": FigureKind.COUNT,
    "certified_smallest_group": FigureKind.COUNT,
    "certified_groups": FigureKind.COUNT,
}
"""What the area of a point, its certified area and its limits are made of."""

_PREFIXES = {
    "mutual_information": FigureKind.OTHER_INFORMATION,
    "distortion": FigureKind.OTHER_DISTORTION,
    "accuracy": FigureKind.OTHER_ACCURACY,
    "balanced_accuracy": FigureKind.OTHER_ACCURACY,
    "auc": FigureKind.OTHER_ACCURACY,
    "transfer": FigureKind.OTHER_ACCURACY,
    "demographic_parity_gap": FigureKind.GAP,
    "equalized_odds_gap": FigureKind.GAP,
    "equal_opportunity_gap": FigureKind.GAP,
    "certified_parity_gap": FigureKind.GAP,
    "certified_overflow": FigureKind.GAP,
    "certificate_held": FigureKind.COUNT,
    "certified_codes": FigureKind.CODES,
    "distinct_codes": FigureKind.CODES,
    "plug_in_rate": FigureKind.RATE,
    "rate": FigureKind.RATE,
    "needs_more_rows": FigureKind.WARNING,
}
"""Kinds of all other figures, by what their names begin with."""

_PAPER = {
    "mutual_information_paper": FigureKind.PAPER_INFORMATION,
    "accuracy_s_paper": FigureKind.PAPER_ACCURACY,
}

AREA_FIGURES = (
    "mutual_information",
    "distortion",
    "mutual_information_validation",
    "distortion_validation",
)
"""What the area itself is made of."""


class Scale(StrEnum):
    """What limits are shares of."""

    I_MAX = "I(X;S)"
    D_MAX = "D_max"
    ONE = "one"
    VALUE = "the value that is measured now"


@dataclass(frozen=True)
class DifferenceLimits:
    """Differences that are allowed in any case, and never allowed however much splits differ.

    Both are shares of ``scale``; ``floor`` is allowed in any case too, in the figure's own unit.
    """

    least: float
    most: float
    scale: Scale = Scale.ONE
    floor: float = 0.0


AUDITOR_NOISE = 0.006
"""Nats by which two trainings of the same auditors may differ: twice their standard deviation."""

LIMITS = {
    FigureKind.INFORMATION: DifferenceLimits(0.05, 0.15, Scale.I_MAX, AUDITOR_NOISE),
    # It depends on the number of codes, which rounding changes.
    FigureKind.CERTIFIED: DifferenceLimits(0.15, 0.3, Scale.I_MAX, AUDITOR_NOISE),
    FigureKind.DISTORTION: DifferenceLimits(0.02, 0.06, Scale.D_MAX),
    FigureKind.ACCURACY: DifferenceLimits(0.02, 0.04),
    FigureKind.COUNT: DifferenceLimits(0.0, 0.0),
    # What follows is no part of a rank, and noisier. 37 points of two datasets were trained again
    # with the oldest vector instructions in place of the newest, for other rounding: one differed
    # by more than these limits in any figure, and its training had gone another way altogether.
    FigureKind.TASK_INFORMATION: DifferenceLimits(0.02, 0.04),
    FigureKind.OTHER_INFORMATION: DifferenceLimits(0.1, 0.2, Scale.I_MAX, 2 * AUDITOR_NOISE),
    FigureKind.OTHER_DISTORTION: DifferenceLimits(0.05, 0.2, Scale.D_MAX),
    FigureKind.OTHER_ACCURACY: DifferenceLimits(0.04, 0.08),
    # The paper's auditors are not stopped early: on small tables they fit noise.
    FigureKind.PAPER_INFORMATION: DifferenceLimits(0.3, 1.0, Scale.I_MAX, 0.05),
    FigureKind.PAPER_ACCURACY: DifferenceLimits(0.05, 0.15),
    FigureKind.GAP: DifferenceLimits(0.1, 0.15),
    FigureKind.CODES: DifferenceLimits(0.15, 0.3, Scale.VALUE, 2.0),
    FigureKind.RATE: DifferenceLimits(0.15, 0.3, Scale.VALUE, 0.1),
    FigureKind.WARNING: DifferenceLimits(0.0, 0.0),
    FigureKind.OTHER: DifferenceLimits(0.05, 0.15, Scale.VALUE),
}

_SPREADS = 2.0
"""Allowed differences in standard deviations of the same setting over splits, between the two."""


def kind_of(figure: str) -> FigureKind:
    """Return the kind of a figure of a point."""
    if (kind := FIGURES.get(figure) or _PAPER.get(figure)) is not None:
        return kind
    name = figure.removeprefix("shift_")
    return next(
        (kind for start, kind in _PREFIXES.items() if name.startswith(start)), FigureKind.OTHER
    )


def compared_figures(submitted: Figures, again: Figures) -> list[str]:
    """Return the figures to compare: those that rank, then all others that either side has.

    One of another metric is compared where the submission has it: the metrics that are installed
    here may be more than those that the row was measured with.
    """
    told = {name for name, value in submitted.items() if value is not None}
    here = {name for name, value in again.items() if value is not None}
    others = told | {name for name in here if kind_of(name) is not FigureKind.OTHER}
    return [*FIGURES, *sorted(others - set(FIGURES))]


class AllowedDifferences:
    """By how much figures of a row may differ when its points are measured again.

    Parameters
    ----------
    board : Board
        The published board, whose rows say how much a figure differs from split to split.
    points : sequence of PointRecord
        Those of the row.
    """

    def __init__(self, board: Board, points: Sequence[PointRecord]) -> None:
        references = [one.figures for one in board.references]
        self._scales = {
            Scale.I_MAX: max(one["mutual_information_max"] for one in references),
            Scale.D_MAX: max(one["distortion_max"] for one in references),
            Scale.ONE: 1.0,
        }
        self._board = board
        self._points = points
        self._spreads: dict[str, float] = {}

    @cached_property
    def _by_setting(self) -> Mapping[str, Sequence[Sequence[Figures]]]:
        """By method, figures of the same setting on all splits."""
        units = {unit.key: unit for unit in self._board.units}
        found: dict[str, dict[tuple[str, str], list[Figures]]] = defaultdict(dict)
        for point in self._board.points:
            unit = units[point.unit]
            setting = (unit.params_label, point.label)
            found[unit.method].setdefault(setting, []).append(point.figures)
        return {method: list(settings.values()) for method, settings in found.items()}

    def of_board(self, figure: str) -> float:
        """Return the standard deviation over splits of a figure: the median of the board's methods.

        0 where no setting is measured on several splits.
        """
        if figure not in self._spreads:
            methods = []
            for settings in self._by_setting.values():
                spreads = [deviation(figure, figures) for figures in settings]
                if known := [one for one in spreads if one is not None]:
                    methods.append(fmean(known))
            self._spreads[figure] = median(methods) if methods else 0.0
        return self._spreads[figure]

    def of(self, drawn: PointRecord, figure: str, again: float | None) -> float:
        """Return the difference that is allowed of a figure of a drawn point."""
        limits = LIMITS[kind_of(figure)]
        own = deviation(figure, [p.figures for p in self._points if p.label == drawn.label])
        scale = abs(again or 0.0) if limits.scale is Scale.VALUE else self._scales[limits.scale]
        # A submission whose splits are made to differ allows no more than honest ones do.
        spread = _SPREADS * min(own or 0.0, self.of_board(figure))
        return max(min(max(spread, limits.least * scale), limits.most * scale), limits.floor)


def deviation(figure: str, alike: Sequence[Figures]) -> float | None:
    """Return the standard deviation of a figure; None where fewer than two have it."""
    values = [value for one in alike if (value := one.get(figure)) is not None]
    return float(np.std(values)) if len(values) > 1 else None


@dataclass(frozen=True)
class RetrainedFigure:
    """One figure of a drawn point: as submitted, as measured now, and the difference allowed."""

    unit: UnitRecord
    point: PointRecord
    figure: str
    submitted: float | None
    again: float | None
    allowed: float

    @property
    def agrees(self) -> bool:
        """Whether the difference is allowed."""
        if self.submitted is None or self.again is None:
            return self.submitted is None and self.again is None
        if kind_of(self.figure) is FigureKind.WARNING:
            return self.submitted >= self.again  # told without need, it does not flatter
        return abs(self.submitted - self.again) <= self.allowed


@dataclass(frozen=True)
class MeanAdvantage:
    """By how much a figure of all drawn points was better as submitted, on average.

    Errors of training again have either sign, so their mean over k points is smaller than those of
    single points: ``allowed`` is that of a point over the square root of k.
    """

    figure: str
    advantage: float
    allowed: float

    @property
    def agrees(self) -> bool:
        """Whether the mean may be chance."""
        return self.advantage <= self.allowed


def mean_advantages(compared: Sequence[RetrainedFigure]) -> list[MeanAdvantage]:
    """Average what was better as submitted: of the figures that areas are made of, low is good."""
    found = []
    for figure in AREA_FIGURES:
        gaps = [
            (one.again - one.submitted, one.allowed)
            for one in compared
            if one.figure == figure and one.again is not None and one.submitted is not None
        ]
        if len(gaps) > 1:
            advantage, allowed = (fmean(values) for values in zip(*gaps, strict=True))
            found.append(MeanAdvantage(figure, advantage, allowed / math.sqrt(len(gaps))))
    return found
