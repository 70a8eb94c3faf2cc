"""Evaluations to try metrics on: drawn at random, with all fields of real ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from fairbench.api import Ints
from fairbench.api.metric import (
    AuditorResult,
    CurveEvaluation,
    Distortions,
    Metric,
    PointEvaluation,
    Prediction,
    ValidationFigures,
)
from fairbench.auditing.certificate import certify
from fairbench.stats.bootstrap import bootstrap_figures
from fairbench.stats.scores import log_loss
from fairbench.store.returned_values import checked_columns

ROWS = 400

LEAKS = (0.9, 0.6, 0.3, 0.05)
"""Leakage of s at each point of the sample curve, from its informative to its fair end."""

_COST = {
    "train_seconds": 3.0,
    "stack_seconds": 12.0,
    "stack_models": 4.0,
    "steps": 100.0,
    "milliseconds_per_step": 30.0,
    "milliseconds_per_model_step": 7.5,
    "encode_seconds": 0.2,
    "audit_seconds": 5.0,
    "trainable_parameters": 1_000.0,
    "flops": 1e9,
    "peak_memory_mb": 300.0,
}


def point_evaluations() -> dict[str, PointEvaluation]:
    """Return evaluations of a point by their special feature; ``whole`` first."""
    whole = _point(LEAKS[1], draws=1)
    return {
        "whole": whole,
        "of several draws": _point(LEAKS[1], draws=3),
        "without a decoder, rate or certificate": replace(
            whole,
            distortion=replace(whole.distortion, own=None),
            permuted_distortion=None,
            rate=None,
            certificate=None,
        ),
        "of a representation without information": _point(0.0, draws=1),
        "without a task": _without_task(whole),
        "with one task": replace(
            whole, y={"task": whole.y["task"]}, downstream={"task": whole.downstream["task"]}
        ),
    }


def _without_task(point: PointEvaluation) -> PointEvaluation:
    return replace(
        point,
        y={},
        downstream={},
        validation=replace(point.validation, mutual_information_y=None, accuracy_y=None),
        replicates={k: v for k, v in point.replicates.items() if k != "accuracy_y"},
    )


def _point(leak: float, *, draws: int) -> PointEvaluation:
    rng = np.random.default_rng(int(100 * leak))
    groups = rng.integers(0, 2, ROWS)
    s = np.tile(groups, draws)
    codes = np.where(rng.random(len(s)) < leak, s, rng.integers(0, 2, len(s)))
    z = np.column_stack([codes, rng.integers(0, 4, len(s))]).astype(np.float32)
    tasks = {"task": np.tile(rng.integers(0, 2, ROWS), draws)}
    tasks["other"] = np.tile(rng.integers(0, 3, ROWS), draws)
    audit = _predicted(s, 2, leak, rng)
    downstream = {
        task: _predicted(labels, 2 + i, leak, rng) for i, (task, labels) in enumerate(tasks.items())
    }
    errors = (rng.gamma(2.0, 1.5 * (1.05 - leak), ROWS)).astype(np.float32)
    losses = log_loss(audit.probabilities, s).reshape(draws, ROWS).mean(axis=0)
    main = downstream["task"]
    right = (main.probabilities.argmax(axis=1) == main.labels).reshape(draws, ROWS).mean(axis=0)
    return PointEvaluation(
        z=z,
        s=s,
        y=tasks,
        x=rng.normal(size=(ROWS, 3)).astype(np.float32),
        audits=(AuditorResult("logistic", "raw", 0.5 * leak, 0.5 * leak),),
        audit=audit,
        paper_audits=tuple(_predicted(s, 2, 0.9 * leak, rng) for _ in range(5)),
        downstream=downstream,
        distortion=Distortions(refitted=errors, own=1.1 * errors, strict=errors),
        validation=ValidationFigures(
            mutual_information=0.5 * leak,
            accuracy_s=0.5 + 0.4 * leak,
            distortion=float(errors.mean()),
            mutual_information_y=0.4 * leak,
            accuracy_y=0.55 + 0.3 * leak,
        ),
        permuted_distortion=6.0,
        rate=2.0 * leak,
        draws=draws,
        certificate=certify(z[:ROWS], z[:ROWS], groups, groups=2),
        replicates=bootstrap_figures(losses, groups, errors, right),
    )


def _predicted(labels: Ints, classes: int, skill: float, rng: np.random.Generator) -> Prediction:
    scores = rng.normal(size=(len(labels), classes)) + 3 * skill * np.eye(classes)[labels]
    p = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    return Prediction(p.astype(np.float32), labels)


def curve_evaluations(metrics: Sequence[type[Metric]]) -> dict[str, CurveEvaluation]:
    """Return evaluations of a curve by their special feature; ``whole`` first.

    ``metrics``: metrics whose point-level columns the points have.
    """
    points = [_point(leak, draws=1) for leak in LEAKS]
    rng = np.random.default_rng(0)
    reference = {
        "mutual_information_max": 0.5,
        "mutual_information_max_validation": 0.5,
        "mutual_information_max_paper": 0.45,
        "distortion_max": 4.0,
        "distortion_max_validation": 4.0,
        "accuracy_y_constant": 0.55,
        "accuracy_s": 0.9,
        "accuracy_s_constant": 0.5,
    }
    whole = CurveEvaluation(
        points=[_columns(point, metrics) for point in points],
        reference=reference,
        costs=[dict(_COST) for _ in points],
        replicates=[point.replicates for point in points],
        reference_replicates={
            name: reference[name]
            + 0.02 * rng.normal(size=len(points[0].replicates["mutual_information"]))
            for name in ("mutual_information_max", "distortion_max", "accuracy_y_constant")
        },
    )
    bare = {name: value for name, value in reference.items() if name != "accuracy_y_constant"}
    no_task = [_columns(_without_task(point), metrics) for point in points]
    return {
        "whole": whole,
        "of a single-shot method": replace(whole, single_shot=True, costs=whole.costs[:1]),
        "of one point": replace(
            whole, points=whole.points[:1], replicates=whole.replicates[:1], costs=whole.costs[:1]
        ),
        "without costs and replicates": replace(
            whole, costs=(), replicates=(), reference_replicates={}
        ),
        "without a task": replace(
            whole, points=no_task, reference=bare, replicates=(), reference_replicates={}
        ),
        "where x has no information on s": replace(
            whole,
            reference=reference
            | {"mutual_information_max": -0.001, "mutual_information_max_paper": -0.001},
        ),
    }


def _columns(point: PointEvaluation, metrics: Sequence[type[Metric]]) -> Mapping[str, float]:
    columns: dict[str, float] = {}
    for metric in metrics:
        if metric.level != "point":
            continue
        try:
            values = checked_columns(metric, metric().compute(point))
        except (Exception, SystemExit):  # a fault of another metric, for its own check
            continue
        columns.update({name: value for name, value in values.items() if value is not None})
    return columns
