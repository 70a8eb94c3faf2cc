"""What a job that fits gives back of each of its units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fairbench.api import Point
from fairbench.store.status import Status


@dataclass(frozen=True)
class UnitResult:
    """What became of one unit of a fit.

    Parameters
    ----------
    points : sequence of Point
        The points that were read or fitted.
    arrays : mapping of str to ndarray
        Of all points, by the keys of :mod:`fairbench.runs.point_arrays`.
    encoder : bytes or None
        File of the trained encoder, see fairbench.store.encoders; None where there is none.
    not_stored : str, optional
        What went wrong where it could have been stored.
    """

    key: str
    status: Status
    error: str | None = None
    traceback: str | None = None
    points: Sequence[Point] = ()
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)
    costs: Mapping[str, float] = field(default_factory=dict)
    hardware: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    encoder: bytes | None = None
    not_stored: str | None = None
