"""One row of a leaderboard: figures of a method's curves, their intervals, where they are from."""

from __future__ import annotations

import hashlib
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fairbench.api import NO_KNOBS
from fairbench.api.metric import CurveEvaluation, Metric
from fairbench.data.splits import OFFICIAL
from fairbench.leaderboard.ranking import LOWER, RankedRow, test_over_train
from fairbench.leaderboard.replicates import RowCurves
from fairbench.leaderboard.select import CurveRecords, SelectedRecords
from fairbench.metrics.rows import LeaderboardRow
from fairbench.stats.bootstrap import from_text
from fairbench.stats.intervals import Array, Sample, estimate
from fairbench.stats.ranks import estimate_over_splits
from fairbench.store.records import ReferenceRecord
from fairbench.store.text import describe

AUDITOR_SD = 0.01
"""Standard deviation of an area over trainings of the same auditors, as a share of it: on Adults,
.003 of I for x itself and .012 for random projections of it."""


@dataclass(frozen=True)
class MeasuredCurve:
    """A curve, as metrics take it."""

    method: str
    split: str
    evaluation: CurveEvaluation
    # Bootstrap replicates of its figures by column, where its points came without their own
    areas: Mapping[str, Array] = field(default_factory=dict)

    @property
    def reference(self) -> Mapping[str, float]:
        """What it is normalised by."""
        return self.evaluation.reference


def evaluate_curves(
    curves: Sequence[CurveRecords], records: SelectedRecords
) -> list[MeasuredCurve]:
    """Evaluations of the curves that have points and a reference."""
    # Costs on cpu and cuda are never summed or averaged: a mixed row has none.
    one_device = len({hardware["device"] for hardware in _hardware(curves)}) == 1
    return [
        MeasuredCurve(
            curve.units[0].method,
            curve.split,
            _evaluation(curve, reference, one_device),
            records.areas.get(curve.key, {}),
        )
        for curve in curves
        if curve.done and (reference := records.reference(curve)) is not None
    ]


def _evaluation(
    curve: CurveRecords, reference: ReferenceRecord, one_device: bool
) -> CurveEvaluation:
    seconds = {unit.key: 0.0 for unit in curve.units}
    for point in curve.done:
        seconds[point.unit] += point.seconds or 0.0
    costs = [
        {**unit.costs, "audit_seconds": seconds[unit.key]} for unit in curve.units if unit.costs
    ]
    replicates = [from_text(point.replicates) for point in curve.done]
    return CurveEvaluation(
        points=[point.figures for point in curve.done],
        reference=reference.figures,
        costs=costs if one_device else (),
        single_shot=curve.units[0].point in (None, NO_KNOBS),
        replicates=replicates if all(replicates) else (),
        reference_replicates=from_text(reference.replicates),
    )


def make_entry(
    of_row: RowCurves,
    measured: Sequence[MeasuredCurve],
    records: SelectedRecords,
    metrics: Sequence[type[Metric]],
    problems: list[str],
) -> RankedRow:
    """Make the row of a method from its measured curves; metrics that raise go to ``problems``."""
    curves = of_row.curves
    first = curves[0].units[0]
    hardware = _hardware(curves)
    versions = [unit.versions for curve in curves for unit in curve.units if unit.versions]
    done = [point for curve in curves for point in curve.done]
    missing = sum(curve.missing for curve in curves)
    splits = list(dict.fromkeys(one.split for one in measured))
    figures: dict[str, float | None] = {}
    samples: dict[str, Sample] = {}
    folds: dict[str, Array] = {}
    for metric in metrics:
        values = [_compute(metric, one.evaluation, first.method, problems) for one in measured]
        for column in metric.columns:
            # Several seeds of a split count as one.
            of_split = [
                mean_of(
                    v.get(column) for v, one in zip(values, measured, strict=True) if one.split == s
                )
                for s in splits
            ]
            known = [value for value in of_split if value is not None]
            # A mean over some of the folds would be a figure of other data than the row's.
            whole = not of_row.folds or len(known) == of_row.folds
            figures[column] = mean_of(known) if whole else None
            if of_row.folds and whole:
                folds[column] = np.array(known)
        if len(splits) == 1 and not of_row.folds:
            samples |= _make_samples(metric, values, measured, problems)
    declared = {column for metric in metrics for column in metric.columns}
    for column, sample in samples.items():
        figures[f"{column}_low"], figures[f"{column}_high"] = _interval(column, sample)
    for column, values_of_folds in folds.items():
        if f"{column}_low" in declared:
            ends = estimate_over_splits(
                values_of_folds, test_over_train=test_over_train(of_row.folds)
            ).interval()
            figures[f"{column}_low"], figures[f"{column}_high"] = _clipped(column, *ends)
    seeds = {curve.seed for curve in curves}
    with_points = {curve.seed for curve in curves if curve.done}
    over = "rows" if len(measured) == 1 else "rows and seeds"
    row = LeaderboardRow(
        interval_over="splits" if of_row.folds else over if samples else None,
        method=first.method,
        params=first.params_label,
        track=first.track,
        tags=" ".join(first.tags),
        budget=first.budget,
        audit=curves[0].audit,
        dataset=first.dataset,
        data_source=first.data_source,
        splits=of_row.words,
        complete=missing == 0 and len(measured) == len(curves),
        seeds=len(with_points),
        seeds_missing=len(seeds - with_points),
        points=len(done),
        points_missing=missing,
        figures=figures,
        aufdc_official=(
            figures.get("aufdc")
            if splits == [OFFICIAL.name]
            else _official_area(of_row, records, metrics, problems)
        ),
        mutual_information_max=mean_of(e.reference["mutual_information_max"] for e in measured),
        distortion_max=mean_of(e.reference["distortion_max"] for e in measured),
        device=_one_or_mixed(h["device"] for h in hardware),
        processor=_one_or_mixed(h.get("accelerator", h["processor"]) for h in hardware),
        iterations=first.iterations,
        protocol=first.protocol,
        audit_version=max((point.version for point in done), default=None),
        plugin=first.plugin,
        fairbench=_version("fairbench-frl", versions),
        python=_version("python", versions),
        torch=_version("torch", versions),
        scikit_learn=_version("scikit-learn", versions),
        fingerprint=_fingerprint(curves),
        origin=_origin(curves, records),
        label=next((unit.label for curve in curves for unit in curve.units if unit.label), None),
    )
    return RankedRow(row, samples, folds)


def _official_area(
    of_row: RowCurves,
    records: SelectedRecords,
    metrics: Sequence[type[Metric]],
    problems: list[str],
) -> float | None:
    """AUFDC on the official split, mean over seeds."""
    areas = [
        _compute(metric, one.evaluation, one.method, problems).get("aufdc")
        for metric in metrics
        if "aufdc" in metric.columns
        for one in evaluate_curves(of_row.official, records)
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


def _hardware(curves: Sequence[CurveRecords]) -> list[Mapping[str, Any]]:
    return [unit.hardware for curve in curves for unit in curve.units if unit.hardware]


def _interval(column: str, sample: Sample) -> tuple[float, float] | tuple[None, None]:
    """The 95% confidence interval of a figure; none where a replicate is not defined."""
    if not np.isfinite(sample.replicates).all():
        return None, None
    return _clipped(column, *estimate(sample).interval())


def _clipped(column: str, low: float, high: float) -> tuple[float, float]:
    if column in LOWER or column.startswith("accuracy_y"):  # areas and accuracies are shares
        return max(low, 0.0), min(high, 1.0)
    return low, high


def _compute(
    metric: type[Metric], evaluation: CurveEvaluation, method: str, problems: list[str]
) -> Mapping[str, float | None]:
    try:
        return metric().compute(evaluation)
    # A third party's metric must not take the leaderboard along.
    except (Exception, SystemExit) as error:
        problems.append(f"The metric {metric.name} raised {describe(error)} on {method}.")
        return {}


def _make_samples(
    metric: type[Metric],
    values: Sequence[Mapping[str, float | None]],
    measured: Sequence[MeasuredCurve],
    problems: list[str],
) -> dict[str, Sample]:
    """Columns of a metric with replicates of every seed."""
    resampled: list[Mapping[str, Array]] = []
    for one in measured:
        try:
            resampled.append(area_replicates(metric, one))
        except (Exception, SystemExit) as error:
            problems.append(f"The metric {metric.name} raised {describe(error)} on {one.method}.")
            return {}
    samples = {}
    for column in metric.columns:
        figures = [value.get(column) for value in values]
        rows = [replicates[column] for replicates in resampled if column in replicates]
        known = [figure for figure in figures if figure is not None]
        same = len({len(replicates) for replicates in rows}) == 1
        if same and len(known) == len(rows) == len(measured):
            auditor_sd = AUDITOR_SD * known[0] if column == "aufdc" else 0.0
            samples[column] = Sample(np.array(known), np.stack(rows), auditor_sd)
    return samples


def area_replicates(metric: type[Metric], curve: MeasuredCurve) -> Mapping[str, Array]:
    """Bootstrap replicates of a metric's columns: those that came with the curve, or computed."""
    if curve.areas:
        return {name: values for name, values in curve.areas.items() if name in metric.columns}
    return metric().resampled(curve.evaluation)


def mean_of(values: Iterable[float | None]) -> float | None:
    """Return the mean of the values that are known; None where none is."""
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None


def _version(package: str, versions: Sequence[Mapping[str, str]]) -> str | None:
    return _one_or_mixed(known[package] for known in versions if package in known)


def _one_or_mixed(values: Iterable[str]) -> str | None:
    different = sorted(set(values))
    return None if not different else different[0] if len(different) == 1 else "mixed"
