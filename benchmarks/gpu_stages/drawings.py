"""Figures of the stages: share of the peak, the curve of losses, the board's curves."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fairbench.files import write_atomically
from fairbench.registry import load_registry
from fairbench.report.figures import curves_figure
from fairbench.report.gather import gather
from fairbench.report.style import COLOURS, new_figure, styled
from fairbench.store.database import Store
from gpu_stages.board import results_folder
from gpu_stages.images import LossPoint, folder, read_losses
from gpu_stages.records import StageRecord
from gpu_stages.settings import Settings, counted
from gpu_stages.speed import StackSpeed

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(records: Sequence[StageRecord], settings: Settings) -> list[Path]:
    """Write the figures of what has been measured so far; return their paths."""
    speeds = [
        row
        for record in records
        for part in record.parts
        if part.name.startswith("speed of ")
        for row in part.rows_as(StackSpeed)
    ]
    losses = read_losses(folder(settings))
    written = []
    if speeds:
        written.append(_write(settings.out / "speed.png", speed_figure(speeds)))
    if losses:
        written.append(_write(settings.out / "losses.png", losses_figure(losses)))
    for number, figure in enumerate(_board_figures(results_folder(settings)), start=1):
        name = "board.png" if number == 1 else f"board-{number}.png"
        written.append(_write(settings.out / name, figure))
    return written


def speed_figure(speeds: Sequence[StackSpeed]) -> Figure:
    """Draw each stack's FLOP/s as a share of what its matrix products alone reach."""
    replicates = sorted({one.replicates for one in speeds})
    methods = sorted({one.method for one in speeds}, reverse=True)
    height = 0.8 / len(replicates)
    with styled():
        figure = new_figure(8.6, 1.4 + 0.4 * len(methods), columns=2)
        titles = ("products of the same sizes, measured", "large products, measured")
        for axes, title, column in zip(
            figure.axes, titles, ("share_of_same_sizes", "share_of_large"), strict=True
        ):
            for number, seeds in enumerate(replicates):
                mine = [one for one in speeds if one.replicates == seeds]
                places = [methods.index(one.method) - number * height for one in mine]
                shares = [100 * getattr(one, column) for one in mine]
                label = "one replicate" if seeds == 1 else f"{seeds} replicates in one stack"
                axes.barh(places, shares, 0.9 * height, color=COLOURS[number], label=label)
                for one, place, share in zip(mine, places, shares, strict=True):
                    text = f" {share:.2g}%, {counted(one.models)}"
                    axes.text(share, place, text, va="center", fontsize=6.5)
            axes.set_yticks(range(len(methods)), methods)
            axes.set(title=f"Share of {title}", xlabel="FLOP/s of training, % of the peak")
            axes.set_xlim(0, 1.35 * axes.get_xlim()[1])
            axes.grid(visible=False, axis="y")
        figure.axes[1].legend(loc="best")
    return figure


def losses_figure(losses: Sequence[LossPoint]) -> Figure:
    """Draw SoFaiR's loss on images against steps."""
    with styled():
        figure = new_figure(5.4, 3.2)
        (axes,) = figure.axes
        axes.plot([one.step for one in losses], [one.loss for one in losses], color=COLOURS[0])
        axes.set(title="SoFaiR on images", xlabel="step", ylabel="loss, mean of some steps, nats")
        axes.xaxis.set_major_formatter("{x:,.0f}")
    return figure


def _board_figures(results: Path) -> Iterator[Figure]:
    """Draw the curves of each dataset of a results folder."""
    if (results / "fairbench.sqlite").exists():
        for dataset in gather(Store.in_folder(results, create=False), load_registry()).datasets:
            if dataset.panels:
                yield curves_figure(dataset.panels)


def _write(path: Path, figure: Figure) -> Path:
    content = io.BytesIO()
    with styled():
        figure.savefig(content, format="png", metadata={"Software": None})
    write_atomically(path, content.getvalue())
    return path
