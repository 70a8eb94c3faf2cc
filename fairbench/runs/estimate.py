"""How long jobs will take: from past records where there are any, else from rules of thumb.

The rules are of two cores of an AMD EPYC (Zen 4), and are corrected by the pace of this machine.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from fairbench.api.method import Method
from fairbench.api.types import AUDIT_ROLES, Role
from fairbench.auditing.config import AuditConfig, AuditPreset
from fairbench.runs.pace import slowness
from fairbench.store.records import UnitRecord
from fairbench.versions import AUDIT_VERSION

if TYPE_CHECKING:
    from fairbench.data.prepared import Prepared
    from fairbench.runs.plan import Budget
    from fairbench.store.database import Store

_STEP_MS = 2.0
"""Milliseconds of a step whatever the stack: launches, optimizer, random numbers."""
_MODEL_STEP_MS = 1.0
"""Milliseconds per model and step on top of that, on one core."""
_IMAGE_MODEL_STEP_MS, _IMAGE_MODEL_FAST_STEP_MS = 150.0, 70.0
"""The same for convolutions, for each 64 x 64 pixels: in float32, and in faster products."""
_SHARE_WITHOUT_CONVOLUTIONS = 0.25
"""Of that, where the network of images has no convolutions."""
_IMAGE_ROW_MS = 0.25
"""Milliseconds to encode an image of 64 x 64 pixels, or to decode it for one group."""
_PLAIN_FIT = 8.0
"""Seconds to fit a method that is not trained in steps."""
_AUDIT = {AuditPreset.STRICT: 10.0, AuditPreset.QUICK: 2.0}
"""Seconds to audit a point, for each ten thousand rows that auditors learn from, on one core."""
_MIN_AUDIT = 0.2
"""Share of that which even the smallest dataset takes."""
_STOCHASTIC = 2.0
"""Times as long where z is a sample, of which auditors read several draws."""
_AUDIT_OF_IMAGES = 8.0
"""Times as long where x is an image: auditors read axes of it, and decoders learn all pixels."""
_PER_GROUP = 0.1
"""What each group of s after two adds, as a share (benchmarks/growth.py)."""


def fit_seconds(
    method: Method,
    units: int,
    budget: Budget,
    data: Prepared,
    past: Iterable[UnitRecord],
    *,
    points: int,
) -> float:
    """Estimated seconds of a fit job on one core, by what the same fits of ``past`` took here.

    ``points``: those of all units, which are encoded and decoded for audits.
    """
    work = method.workload(data.info)
    if work is None:
        return 0.5 if method.baseline and not method.knobs else _PLAIN_FIT * slowness()
    models = units * work.models_per_unit
    encoding = points * _encode_seconds(budget.audit, data)
    known = [
        unit.costs["milliseconds_per_model_step"]
        for unit in past
        if unit.method == method.name
        and unit.dataset == data.info.name
        and unit.done
        and unit.origin is None  # others' machines are not this one
        and unit.costs
        and "milliseconds_per_model_step" in unit.costs
    ]
    if known:
        return float(budget.iterations * models * sum(known) / len(known) / 1e3) + encoding
    image = data.info.architecture.image
    if image is None:
        return budget.iterations * (_STEP_MS + models * _MODEL_STEP_MS) / 1e3 * slowness()
    each = _IMAGE_MODEL_FAST_STEP_MS if _multiplies_fast() else _IMAGE_MODEL_STEP_MS
    step = each * _image_work(data) / 1e3
    return budget.iterations * models * step * slowness() + encoding


def _multiplies_fast() -> bool:
    import torch

    from fairbench.training.layers import fastest_products

    return fastest_products() is torch.bfloat16


def _encode_seconds(config: AuditConfig, data: Prepared) -> float:
    """Seconds to encode what audits of a point see; next to nothing where x is not an image."""
    if data.info.architecture.image is None:
        return 0.0
    sizes = [len(data.roles[role].s) for role in AUDIT_ROLES]
    rows = sum(size if config.rows is None else min(size, config.rows) for size in sizes)
    each = _IMAGE_ROW_MS * _image_work(data) / 1e3 * (1 + len(data.info.groups))
    return rows * each * slowness()


def _image_work(data: Prepared) -> float:
    """Return the work on an image, in that of convolutions of 64 x 64 pixels."""
    architecture = data.info.architecture
    share = math.prod(architecture.image or ()) / 64**2
    return share if architecture.channels else share * _SHARE_WITHOUT_CONVOLUTIONS


def audit_seconds(
    config: AuditConfig,
    data: Prepared,
    store: Store,
    method: str | None = None,
    *,
    stochastic: bool = False,
) -> float:
    """Estimated seconds to audit one point on one core.

    What points of the method took on the dataset so far, else points of all methods. ``method``:
    None for x itself; ``stochastic``: whether its z is a sample.
    """
    asked = (data.fingerprint, config.preset.value, AUDIT_VERSION)
    if method is not None and (own := store.mean_audit_seconds(*asked, method)) is not None:
        return own
    times = _STOCHASTIC if stochastic else 1.0
    if (past := store.mean_audit_seconds(*asked)) is not None:
        return past * times
    rows = len(data.roles[Role.AUDITOR_TRAIN].s)
    if config.rows is not None:
        rows = min(rows, config.rows)
    if data.info.architecture.image is not None:
        times *= _AUDIT_OF_IMAGES
    for_groups = 1 + _PER_GROUP * (len(data.info.groups) - 2)
    return _AUDIT[config.preset] * max(_MIN_AUDIT, rows / 10_000) * for_groups * times * slowness()
