"""All that the page shows, gathered from a store: plain data, nothing drawn yet."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairbench.leaderboard import build as leaderboard
from fairbench.metrics.columns import COLUMNS, POINT_COLUMNS, PROVENANCE
from fairbench.registry import Registry
from fairbench.report.panels import Panel, panels
from fairbench.store.database import Row, Store
from fairbench.store.records import PointRecord


@dataclass(frozen=True)
class DatasetReport:
    """One dataset's part of the page.

    Parameters
    ----------
    name, data_source : str
    panels : tuple of Panel
        Rankings, each with its points.
    auditors : tuple of dict
        Who found the leak: a row a method, auditor and view, with the mean I it read and the
        number of points at which it was chosen.
    failures : tuple of dict
        Models and points without figures, and why.
    problems : tuple of str
        What metrics raised.
    """

    name: str
    data_source: str
    panels: tuple[Panel, ...]
    auditors: tuple[Row, ...]
    failures: tuple[Row, ...]
    problems: tuple[str, ...]


@dataclass(frozen=True)
class Report:
    """The whole page.

    Parameters
    ----------
    datasets : tuple of DatasetReport
    provenance : tuple of dict
        A row a run: when, the command, versions.
    made : str
        When the last figure was measured; the page itself has no other time.
    glossary : mapping of str to str
        Columns and what they mean, a line each.
    """

    datasets: tuple[DatasetReport, ...]
    provenance: tuple[Row, ...]
    made: str
    glossary: Mapping[str, str]


def gather(store: Store, registry: Registry) -> Report:
    """Build the report of everything in a store."""
    tables = leaderboard.build(store, registry)
    finished = [row["finished"] for row in store.records(PointRecord) if row["finished"]]
    # Where both tables have a column, the leaderboard's says more.
    glossary = POINT_COLUMNS | COLUMNS
    for metric in registry.metrics.classes.values():
        glossary.update(metric.columns)
    return Report(
        datasets=tuple(_dataset(table) for table in tables),
        provenance=tuple(_runs(store)),
        made=max(finished, default=""),
        glossary=glossary | PROVENANCE,
    )


def _dataset(table: leaderboard.Tables) -> DatasetReport:
    sources = {row["data_source"] for row in table.leaderboard}
    return DatasetReport(
        name=table.dataset,
        data_source=" ".join(sorted(sources)),
        panels=tuple(panels(table)),
        auditors=tuple(found_by(table.auditors)),
        failures=tuple(table.failures),
        problems=tuple(dict.fromkeys(table.problems)),
    )


def found_by(auditors: Sequence[Row]) -> list[Row]:
    """Sum up what each auditor found, over the points and seeds of each method.

    Returns
    -------
    list of dict
        ``method``, ``params``, ``track``, ``budget``, ``audit``, ``auditor``, ``view``; ``points``,
        over which the figures are; ``i``, the mean reading on test, nats; ``chosen``, points at
        which it was the strict auditor.
    """
    heads = ("method", "params", "track", "budget", "audit", "auditor", "view")
    readings: dict[tuple[Any, ...], list[float]] = defaultdict(list)
    chosen: Counter[tuple[Any, ...]] = Counter()
    for row in auditors:
        key = tuple(row[name] for name in heads)
        readings[key].append(row["mutual_information"])
        chosen[key] += bool(row["chosen"])
    return [
        {
            **dict(zip(heads, key, strict=True)),
            "points": len(values),
            "mutual_information": sum(values) / len(values),
            "chosen": chosen[key],
        }
        for key, values in sorted(readings.items())
    ]


def _runs(store: Store) -> list[Row]:
    return sorted(store.runs(), key=lambda row: str(row["started"]))
