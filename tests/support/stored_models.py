"""Stores with fitted models and made-up figures, for tests of what is done with them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fairbench.api import AUDIT_ROLES, FitContext, Point, Role, TrainingRows, Unit
from fairbench.api.method import Curve
from fairbench.auditing.config import PRESETS, AuditPreset
from fairbench.data.prepared import Prepared
from fairbench.registry import load_registry
from fairbench.runs.plan import Budget, PlannedUnit, point_key
from fairbench.store import encoders
from fairbench.store import files as artefacts
from fairbench.store.database import Store
from fairbench.store.encoders import Encoder
from fairbench.store.records import AuditorReading, PointRecord, ReadPoint
from fairbench.store.status import Status
from fairbench.training.neural_method import NeuralMethod
from fairbench.versions import AUDIT_VERSION

REGISTRY = load_registry()

FIGURES = {
    "mutual_information": 0.01,
    "mutual_information_low": 0.0,
    "mutual_information_high": 0.02,
    "mutual_information_validation": 0.01,
    "distortion": 1.0,
    "distortion_validation": 1.0,
    "accuracy_s": 0.6,
    "accuracy_s_validation": 0.6,
    "accuracy_y": 0.8,
    "accuracy_y_validation": 0.8,
    "mutual_information_y_validation": 0.1,
}
"""Of a point, where a test does not say."""


def store_model(
    results: Path,
    data: Prepared,
    name: str,
    points: Mapping[str, Mapping[str, float | None]],
    *,
    seed: int = 0,
    point: Point | None = None,
    audit: AuditPreset = AuditPreset.QUICK,
    params: Mapping[str, Any] | None = None,
    read: Sequence[Point] | None = None,
) -> str:
    """Fit a small model, and store it with its representations and the figures of an audit.

    Parameters
    ----------
    points : mapping of str to mapping of str to float
        By label, the figures of the points that were audited, beside FIGURES.
    point : Point, optional
        Of a multi-shot method.
    read : sequence of Point, optional
        Where a curve was read, if those are not the points audited.

    Returns
    -------
    str
        The unit's key.
    """
    cls: Any = REGISTRY.methods[name]
    small = {"hidden": (16,), "latent": 3} if issubclass(cls, NeuralMethod) else {}
    method = cls(cls.Params(**small, **(params or {})))
    unit = Unit(seed, point)
    rows = data.roles[Role.ENCODER_TRAIN]
    train = TrainingRows(rows.x, rows.s, data.info)
    (fitted,) = method.fit(train, [unit], FitContext(iterations=20))
    labels = [_point(label) for label in points]
    curve = isinstance(fitted, Curve)
    arrays = {
        f"{i}/z/{role}": (fitted.at(one) if curve else fitted).encode(data.roles[role].x)
        for i, one in enumerate(labels)
        for role in AUDIT_ROLES
    }
    budget = Budget("quick", 20, PRESETS[audit])
    identity = (name, seed, point, sorted((params or {}).items()))
    key = hashlib.sha256(repr(identity).encode()).hexdigest()
    planned = PlannedUnit(key, cls, method.params, data, unit, budget, 16 if curve else None, None)
    content = encoders.pack(Encoder(method, unit, data.info, fitted, data.preprocessing))
    store = Store.in_folder(results)
    trained = planned.record("run").replace(
        status=Status.DONE,
        read_points=tuple(
            ReadPoint(p.label, dict(p.values)) for p in dict.fromkeys(read or labels)
        ),
        costs={"train_seconds": 1.0},
        hardware={"device": "cpu", "processor": "a processor"},
        versions={"torch": "2"},
        artefact=artefacts.save(results, arrays),
        encoder=None if content is None else encoders.save(results, content),
        finished="2026-01-01T00:00:00+00:00",
    )
    measured = [
        PointRecord(
            key=point_key(key, one.label, PRESETS[audit]),
            unit=key,
            number=number,
            status=Status.DONE,
            label=one.label,
            knobs=dict(one.values),
            audit=audit.value,
            audit_config={},
            values={**FIGURES, **points[label]},
            auditors=(AuditorReading("mlp", "raw", 0.01, 0.02, True),),
            seconds=1.0,
            finished="2026-01-01T00:00:00+00:00",
            audit_version=AUDIT_VERSION,
        )
        for number, (label, one) in enumerate(zip(points, labels, strict=True))
    ]
    store.put([trained, *measured])
    return key


def _point(label: str) -> Point:
    parts = (part.split("=") for part in label.split(",")) if label != "-" else ()
    return Point.of(**{name: float(value) for name, value in parts})
