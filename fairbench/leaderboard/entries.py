"""One row of a leaderboard: figures of a method's curves, their intervals, where they are from."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence

from fairbench.api.metric import Metric
from fairbench.data.splits import OFFICIAL
from fairbench.leaderboard.measured import (
    MeasuredCurve,
    MetricProblems,
    compute,
    evaluate_curves,
    hardware_of,
    mean_of,
)
from fairbench.leaderboard.ranking import LeaderboardEntry
from fairbench.leaderboard.row_curves import RowCurves, missing_seeds
from fairbench.leaderboard.row_figures import compute_figures
from fairbench.leaderboard.select import CurveRecords, SelectedRecords
from fairbench.metrics.rows import LeaderboardRow
from fairbench.registry import DISTRIBUTION, declared_columns


def make_entry(
    of_row: RowCurves,
    measured: Sequence[MeasuredCurve],
    records: SelectedRecords,
    metrics: Sequence[type[Metric]],
    problems: MetricProblems,
) -> LeaderboardEntry:
    """Make the row of a method from its measured curves; metrics that raise go to ``problems``."""
    curves = of_row.curves
    first = curves[0].units[0]
    hardware = hardware_of(curves)
    versions = [unit.versions for curve in curves for unit in curve.units if unit.versions]
    done = [point for curve in curves for point in curve.done]
    missing = sum(curve.missing for curve in curves)
    splits = list(dict.fromkeys(one.split for one in measured))
    found = compute_figures(of_row, measured, metrics, problems)
    seeds = {curve.seed for curve in curves}
    with_points = {curve.seed for curve in curves if curve.done}
    over = "rows" if len(measured) == 1 else "rows and seeds"
    row = LeaderboardRow(
        interval_over="splits" if of_row.folds else over if found.samples else None,
        method=first.method,
        params=first.params_label,
        track=first.track,
        tags=" ".join(first.tags),
        budget=first.budget,
        audit=curves[0].audit,
        dataset=first.dataset,
        data_source=first.data_source,
        splits=of_row.words,
        complete=missing == 0 and len(measured) == len(curves) and not missing_seeds(curves),
        seeds=len(with_points),
        seeds_missing=len(seeds - with_points),
        points=len(done),
        points_missing=missing,
        figures=found.values,
        aufdc_official=(
            found.values.get("aufdc")
            if splits == [OFFICIAL.name]
            else _official_area(of_row, records, metrics, problems)
        ),
        mutual_information_max=mean_of(e.reference["mutual_information_max"] for e in measured),
        distortion_max=mean_of(e.reference["distortion_max"] for e in measured),
        device=_one_or_mixed(h["device"] for h in hardware),
        processor=_one_or_mixed(h.get("accelerator", h["processor"]) for h in hardware),
        iterations=first.iterations,
        protocol=first.protocol,
        audit_version=of_row.audit_version,
        plugin=first.plugin,
        fairbench=_version(DISTRIBUTION, versions),
        python=_version("python", versions),
        torch=_version("torch", versions),
        scikit_learn=_version("scikit-learn", versions),
        fingerprint=_fingerprint(curves),
        origin=_origin(curves, records),
        label=next((unit.label for curve in curves for unit in curve.units if unit.label), None),
    )
    units = [unit for curve in curves for unit in curve.units]
    return LeaderboardEntry(row, found.samples, found.folds, units)


def _official_area(
    of_row: RowCurves,
    records: SelectedRecords,
    metrics: Sequence[type[Metric]],
    problems: MetricProblems,
) -> float | None:
    """AUFDC on the official split, mean over the seeds whose curves are complete."""
    complete = [curve for curve in of_row.official if records.is_complete(curve)]
    areas = [
        compute(metric, one.evaluation, one.method, problems).get("aufdc")
        for metric in metrics
        if declared_columns(metric).declares("aufdc")
        for one in evaluate_curves(complete, records)
    ]
    return mean_of(areas)


def _fingerprint(curves: Sequence[CurveRecords]) -> str:
    """Of several splits, a hash of their fingerprints."""
    known = sorted({curve.units[0].fingerprint for curve in curves})
    if len(known) == 1:
        return known[0][:12]
    return hashlib.sha256("".join(known).encode()).hexdigest()[:12]


def _origin(curves: Sequence[CurveRecords], records: SelectedRecords) -> str | None:
    """What its records were imported from, those that it is normalised by included."""
    known = {origin for curve in curves for origin in curve.origins}
    used = [records.reference(curve) for curve in curves]
    known |= {one.origin for one in used if one is not None and one.origin is not None}
    return ", ".join(sorted(known)) or None


def _version(package: str, versions: Sequence[Mapping[str, str]]) -> str | None:
    return _one_or_mixed(known[package] for known in versions if package in known)


def _one_or_mixed(values: Iterable[str]) -> str | None:
    different = sorted(set(values))
    return None if not different else different[0] if len(different) == 1 else "mixed"
