"""One representation in another domain: leakage, distortion and accuracy on rows from elsewhere.

Leakage and distortion of the target are read by auditors and decoders that are fitted there:
whoever has the released rows can fit them. Downstream classifiers are also carried over from the
source, as they would be in use.
"""

from __future__ import annotations

import numpy as np

from fairbench.api import AUDIT_ROLES, Floats, Role
from fairbench.api.metric import ShiftEvaluation
from fairbench.auditing.config import AuditConfig
from fairbench.auditing.encoded import EncodedPoint
from fairbench.auditing.evaluate import evaluate
from fairbench.auditing.tasks import classify_task
from fairbench.data.prepared import Prepared
from fairbench.stats.seeds import derive_seed


def evaluate_shift(
    source: EncodedPoint,
    target: EncodedPoint,
    data: Prepared,
    *,
    config: AuditConfig,
    seed: int,
    soft: Floats | None = None,
) -> ShiftEvaluation:
    """Measure a representation in the target of ``data``; ``soft``: soft labels there.

    Raises ValueError: the data have no target.
    """
    if data.target is None:
        raise ValueError("the dataset has no target domain")
    there, _ = evaluate(
        target, data.target, config=config, seed=derive_seed(seed, "target"), soft=soft
    )
    rows = {**data.roles, Role.TEST: data.target.roles[Role.TEST]}
    z = {**source.z, Role.TEST: target.z[Role.TEST]}
    # Of a larger domain a stochastic encoder is drawn from fewer times.
    draws = min(len(z[role]) // len(rows[role].s) for role in AUDIT_ROLES)
    moved = {
        task: classify_task(
            {role: z[role][: draws * len(rows[role].s)] for role in AUDIT_ROLES},
            {role: np.tile(rows[role].y[task], draws) for role in AUDIT_ROLES},
            config=config,
            seed=derive_seed(seed, "moved", task),
            draws=draws,
        ).strict.test
        for task in rows[Role.TEST].y
    }
    return ShiftEvaluation(there, moved)
