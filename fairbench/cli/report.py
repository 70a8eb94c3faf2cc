"""``fairbench report`` and ``fairbench plot``: the page, and figures for papers."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fairbench.cli.console import err, out
from fairbench.cli.results import existing_store
from fairbench.config import DEFAULT_RESULTS
from fairbench.errors import ConfigError, StoreError, UnknownNameError
from fairbench.files import write_atomically
from fairbench.registry import Registry

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fairbench.report.gather import DatasetReport

FORMATS = ("png", "pdf", "svg")


def report_command(
    registry: Registry, results: Path | None, url: str | None, output: Path | None
) -> None:
    """Write the page and print its path."""
    from fairbench.report.gather import gather
    from fairbench.report.page import page

    store = existing_store(results, url)
    target = output or (results or DEFAULT_RESULTS) / "report.html"
    content = page(gather(store, registry)).encode()
    write(target, content)
    out.print(f"{target} ({len(content) / 1e6:.1f} MB): open it in a browser.", markup=False)


def plot_command(
    registry: Registry,
    kind: str,
    *,
    results: Path | None,
    url: str | None,
    dataset: str | None,
    formats: Sequence[str],
    output: Path | None,
) -> None:
    """Draw figures of one kind, or all of them, for every dataset of a store or for one."""
    from fairbench.report.gather import gather

    kinds = list(_KINDS) if kind == "all" else [kind]
    if kinds[0] not in _KINDS:
        raise UnknownNameError("kind of figure", kind, ["all", *_KINDS])
    for name in formats:
        if name not in FORMATS:
            raise UnknownNameError("format", name, FORMATS)
    report = gather(existing_store(results, url), registry)
    known = {one.name: one for one in report.datasets}
    if not known:
        raise StoreError("Nothing has been measured yet.", "Run something first.")
    if dataset is not None and dataset not in known and dataset in registry.datasets:
        dataset = registry.datasets.resolve(dataset)
    if dataset is not None and dataset not in known:
        raise UnknownNameError("dataset with results", dataset, known)
    folder = output or (results or DEFAULT_RESULTS) / "figures"
    for one in report.datasets if dataset is None else [known[dataset]]:
        for each in kinds:
            figure = _KINDS[each](one)
            for extension in formats:
                path = folder / f"{one.name}-{each}.{extension}"
                write(path, drawn(figure, extension))
                err.print(str(path), markup=False)


def drawn(figure: Figure, extension: str) -> bytes:
    """Return the figure's bytes; equal figures give equal bytes."""
    from fairbench.report.style import styled

    metadata: Mapping[str, None] = {
        "png": {"Software": None},
        "pdf": {"CreationDate": None, "Producer": None, "Creator": None},
        "svg": {"Date": None, "Creator": None},
    }[extension]
    buffer = io.BytesIO()
    with styled():
        figure.savefig(buffer, format=extension, metadata=metadata)
    return buffer.getvalue()


def write(path: Path, content: bytes) -> None:
    """Write a file whole, making its folder."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, content)
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}.") from None


def _draw_curves(dataset: DatasetReport) -> Figure:
    from fairbench.report.figures import curves_figure

    return curves_figure(dataset.panels)


def _draw_fronts(dataset: DatasetReport) -> Figure:
    from fairbench.report.figures import fronts_figure

    return fronts_figure(dataset.panels)


def _draw_cost(dataset: DatasetReport) -> Figure:
    from fairbench.report.figures import cost_figure

    return cost_figure(dataset.panels)


def _draw_auditors(dataset: DatasetReport) -> Figure:
    from fairbench.report.figures import auditors_figure

    return auditors_figure(dataset.panels, dataset.auditors)


_KINDS: dict[str, Callable[[DatasetReport], Figure]] = {
    "curves": _draw_curves,
    "fronts": _draw_fronts,
    "cost": _draw_cost,
    "auditors": _draw_auditors,
}
