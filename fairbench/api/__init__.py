"""The public interfaces for plugin authors: methods, datasets, metrics, and the types they use.

A *method* learns an encoder, a *dataset* loads a table, a *metric* turns an evaluated
representation, or a whole curve of them, into numbers. Nothing here imports torch or pandas, so
that listing plugins is quick.
"""

from __future__ import annotations

from fairbench.api.collection import Collection, CollectionTable
from fairbench.api.dataset import DataFile, Dataset, Images, Table
from fairbench.api.method import Curve, Diverged, Fitted, Method, Params, Representation
from fairbench.api.metric import (
    Access,
    AuditorResult,
    Certificate,
    CurveEvaluation,
    Distortions,
    Metric,
    PointEvaluation,
    Prediction,
    SampleSize,
    ShiftEvaluation,
    TransferAccuracy,
    ValidationFigures,
)
from fairbench.api.published import BoardFile
from fairbench.api.row_cache import RowCache
from fairbench.api.types import (
    AUDIT_ROLES,
    NO_KNOBS,
    Architecture,
    Coding,
    DatasetInfo,
    DataSource,
    Feature,
    FitContext,
    Floats,
    Ints,
    Knob,
    Point,
    Role,
    Shots,
    Track,
    TrainingRows,
    Unit,
    Workload,
    iterate_points,
)

__all__ = [
    "AUDIT_ROLES",
    "NO_KNOBS",
    "Access",
    "Architecture",
    "AuditorResult",
    "BoardFile",
    "Certificate",
    "Coding",
    "Collection",
    "CollectionTable",
    "Curve",
    "CurveEvaluation",
    "DataFile",
    "DataSource",
    "Dataset",
    "DatasetInfo",
    "Distortions",
    "Diverged",
    "Feature",
    "FitContext",
    "Fitted",
    "Floats",
    "Images",
    "Ints",
    "Knob",
    "Method",
    "Metric",
    "Params",
    "Point",
    "PointEvaluation",
    "Prediction",
    "Representation",
    "Role",
    "RowCache",
    "SampleSize",
    "ShiftEvaluation",
    "Shots",
    "Table",
    "Track",
    "TrainingRows",
    "TransferAccuracy",
    "Unit",
    "ValidationFigures",
    "Workload",
    "iterate_points",
]
