"""Everything that the page shows, gathered from a store: plain data, nothing drawn yet."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from fairbench.api import Metric
from fairbench.data.card_dataset import CardDataset
from fairbench.errors import ConfigError, FairbenchError
from fairbench.files.paths import TWIN_ENDING
from fairbench.leaderboard import build as leaderboard
from fairbench.leaderboard.across import Verdict, compare_across
from fairbench.leaderboard.against import compare_with
from fairbench.leaderboard.board import Board
from fairbench.leaderboard.collections import find_collection
from fairbench.leaderboard.select import read
from fairbench.metrics.columns import COLUMNS, POINT_COLUMNS, PROVENANCE
from fairbench.metrics.rows import (
    AuditorRow,
    FailureRow,
    RankingGroup,
    TableRow,
    Variant,
    describe_p_value,
    p_value_column,
)
from fairbench.models.commands import TrainingCommand, command_of_row
from fairbench.models.reconstructions import Reconstructed, image_shape, read_reconstructions
from fairbench.models.stored_data import Cards
from fairbench.registry import Registry
from fairbench.report.about_data import describe_data
from fairbench.report.identity import Identities
from fairbench.report.panels import Panel, panels
from fairbench.store.database import Store
from fairbench.store.records import PointRecord, RunRecord


@dataclass(frozen=True, kw_only=True)
class AuditorSummary(TableRow):
    """Estimates of one auditor and view, over the points and seeds of one method.

    ``mutual_information`` is the mean on the test set, nats; ``chosen`` counts the points at which
    it is the strict auditor.
    """

    method: str
    params: str
    track: str
    budget: str
    audit: str
    auditor: str
    view: str
    points: int
    mutual_information: float
    chosen: int


@dataclass(frozen=True)
class AboutMethod:
    """What an installed method says of itself: one line, the paper that it is from, and whether
    its code is made of bits."""

    summary: str
    reference: str
    has_bits: bool = False


@dataclass(frozen=True)
class DatasetReport:
    """One dataset's part of the page: its rankings, auditors, failures, and errors of metrics.

    ``edition``: which published board it is, in words; empty for results of one's own. ``about``:
    what its rows are made of, as :func:`fairbench.report.about_data.describe_data` says.
    ``reconstructions``: of images, by the models of the results folder. ``commands`` make a row
    again, where it is known of what data it is.
    """

    name: str
    data_source: str
    panels: tuple[Panel, ...]
    auditors: tuple[AuditorSummary, ...]
    failures: tuple[FailureRow, ...]
    problems: tuple[str, ...]
    edition: str = ""
    about: tuple[tuple[str, str], ...] = ()
    reconstructions: tuple[Reconstructed, ...] = ()
    commands: Mapping[tuple[Variant, RankingGroup], TrainingCommand] = field(default_factory=dict)


@dataclass(frozen=True)
class Report:
    """The whole page: ``made`` is the time of the last measurement, and its only time.

    ``provenance`` is by time; ``glossary`` has a line for each column; ``tested`` are the methods
    that others are tested against; ``verdicts`` are over the tables of the newest collection.
    ``directions``: of columns of metrics, which values are better, ``lower`` or ``higher``;
    ``plugin_columns``: leaderboard columns of metrics that are not the core's.
    """

    datasets: tuple[DatasetReport, ...]
    provenance: tuple[RunRecord, ...]
    made: str
    glossary: Mapping[str, str]
    directions: Mapping[str, str] = field(default_factory=dict)
    plugin_columns: tuple[str, ...] = ()
    tested: tuple[str, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    identities: Identities = field(default_factory=Identities)
    methods: Mapping[str, AboutMethod] = field(default_factory=dict)
    title: str = "fairbench report"


def gather(
    store: Store, registry: Registry, board: Board | None = None, results: Path | None = None
) -> Report:
    """Build the report of everything in a store; with a board, of own rows among its rows.

    ``results``: folder of the store's models, for reconstructions of images.
    """
    compared = None if board is None else compare_with(read(store), board, registry)
    report = _report(
        leaderboard.build(store, registry) if compared is None else [compared.table],
        registry,
        provenance=sorted(store.runs(), key=lambda run: run.started),
        points=store.records(PointRecord),
        highlighted=()
        if compared is None
        else tuple(dict.fromkeys(r.method for r in compared.own)),
    )
    if results is None:
        return report
    datasets = (_with_reconstructions(one, store, registry, results) for one in report.datasets)
    return replace(report, datasets=tuple(datasets))


def _with_reconstructions(
    dataset: DatasetReport, store: Store, registry: Registry, results: Path
) -> DatasetReport:
    # Those of leaderboards: a model trained again, or read at other points, is another curve.
    units = [unit for unit in read(store).units if unit.table == dataset.name and unit.done]
    image = image_shape(units[0].dataset, registry) if units else None
    if image is None:
        return dataset
    return replace(dataset, reconstructions=tuple(read_reconstructions(results, units, image)))


def gather_boards(boards: Sequence[Board], registry: Registry) -> Report:
    """Build the report of published boards; ConfigError for two editions of one dataset."""
    datasets = [board.info.dataset for board in boards]
    for name in datasets:
        if datasets.count(name) > 1:
            raise ConfigError(
                f"There are two editions of the board of {name}: choose one.",
                "How rows moved between editions: fairbench board changes BEFORE NOW",
            )
    tables = [
        table for board in boards for table in leaderboard.build_tables(board.records(), registry)
    ]
    report = _report(
        tables,
        registry,
        points=[point for board in boards for point in board.points],
        editions={
            board.info.dataset: f"published board, edition {board.info.version}, {board.info.made}"
            for board in boards
        },
    )
    return replace(report, title="fairbench: published boards")


def _report(
    tables: Sequence[leaderboard.Tables],
    registry: Registry,
    *,
    points: Iterable[PointRecord],
    provenance: Sequence[RunRecord] = (),
    highlighted: tuple[str, ...] = (),
    editions: Mapping[str, str] | None = None,
) -> Report:
    # Where both tables have a column, the leaderboard's meaning counts.
    glossary = POINT_COLUMNS | COLUMNS
    metrics = registry.metrics.classes.values()
    for metric in metrics:
        glossary.update(metric.columns)
    tested = sorted({name for t in tables for row in t.leaderboard for name in row.p_values})
    glossary |= {p_value_column(name): describe_p_value(name) for name in tested}
    identities = Identities.of(registry)
    return Report(
        datasets=tuple(
            DatasetReport(
                name=table.dataset,
                data_source=" ".join(sorted({row.data_source for row in table.leaderboard})),
                panels=tuple(
                    replace(p, highlighted=highlighted) for p in panels(table, identities)
                ),
                auditors=tuple(summarise_auditors(table.auditors)),
                failures=tuple(table.failures),
                problems=tuple(dict.fromkeys(table.problems)),
                edition=(editions or {}).get(table.dataset, ""),
                about=_about(table.dataset, provenance, registry),
                commands=_commands(table, provenance, registry),
            )
            for table in tables
        ),
        provenance=tuple(provenance),
        made=max((point.finished for point in points if point.finished), default=""),
        glossary=glossary | PROVENANCE,
        directions={
            column: metric.direction
            for metric in metrics
            if metric.direction != "none"
            for column in metric.columns
        },
        plugin_columns=_plugin_columns(metrics),
        tested=tuple(tested),
        verdicts=_verdicts(tables, registry),
        identities=identities,
        methods={
            name: AboutMethod(method.summary, method.reference, method.has_bits)
            for name, method in registry.methods.classes.items()
        },
    )


def _plugin_columns(metrics: Iterable[type[Metric]]) -> tuple[str, ...]:
    """Leaderboard columns of metrics from outside of fairbench, without ends of intervals."""
    found = [
        column
        for metric in metrics
        if metric.level == "curve" and metric.__module__.partition(".")[0] != "fairbench"
        for column in metric.columns
    ]
    ends = {f"{column}_{end}" for column in found for end in ("low", "high")}
    return tuple(column for column in found if column not in ends)


def _commands(
    table: leaderboard.Tables, runs: Sequence[RunRecord], registry: Registry
) -> dict[tuple[Variant, RankingGroup], TrainingCommand]:
    """Return the commands that make rows again."""
    configs = {run.id: run.config for run in runs}
    found = {
        (entry.row.variant, entry.row.group): command_of_row(entry.units, configs, registry)
        for entry in table.entries
    }
    return {row: command for row, command in found.items() if command is not None}


def _about(
    table: str, runs: Sequence[RunRecord], registry: Registry
) -> tuple[tuple[str, str], ...]:
    """Describe the data of a table, by the newest run that named them."""
    for config in (*(run.config for run in reversed(runs)), {}):
        with suppress(FairbenchError):  # of another dataset, or its card is gone
            dataset = Cards(registry, ()).find(table.removesuffix(TWIN_ENDING), config)
            about = [(name, text) for name, text in describe_data(dataset) if text]
            if issubclass(dataset, CardDataset):
                about.append(("source of this line", "the dataset card, as it is now"))
            return tuple(about)
    return ()


def _verdicts(tables: Sequence[leaderboard.Tables], registry: Registry) -> tuple[Verdict, ...]:
    """Return verdicts over at least two tables; fewer are no verdict across tables."""
    if not registry.collections:
        return ()
    verdicts, _ = compare_across(tables, find_collection(None, registry), registry)
    return tuple(verdict for verdict in verdicts if len(verdict.tables) > 1)


def summarise_auditors(rows: Sequence[AuditorRow]) -> list[AuditorSummary]:
    """Sum up the estimates of each auditor and view, over the points and seeds of each method."""
    readings: dict[tuple[str, ...], list[AuditorRow]] = defaultdict(list)
    for row in rows:
        readings[(*row.variant, *row.group, row.auditor, row.view)].append(row)
    return [
        AuditorSummary(
            method=own[0].method,
            params=own[0].params,
            track=own[0].track,
            budget=own[0].budget,
            audit=own[0].audit,
            auditor=own[0].auditor,
            view=own[0].view,
            points=len(own),
            mutual_information=sum(row.mutual_information for row in own) / len(own),
            chosen=sum(row.chosen for row in own),
        )
        for _, own in sorted(readings.items())
    ]
