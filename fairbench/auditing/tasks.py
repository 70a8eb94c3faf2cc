"""What z is good for: classifiers of a dataset's tasks, and of tasks nobody had named."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from fairbench.api import AUDIT_ROLES, Floats, Ints, Role
from fairbench.api.metric import TransferAccuracy
from fairbench.auditing.auditors.views import standardised
from fairbench.auditing.config import AuditConfig
from fairbench.auditing.ensemble import EnsembleAudit, audit
from fairbench.auditing.sample import AuditSample
from fairbench.data.prepared import Prepared, Rows
from fairbench.stats.scores import accuracy
from fairbench.stats.seeds import derive_seed


def classify_tasks(
    z: Mapping[Role, Floats], roles: Mapping[Role, Rows], config: AuditConfig, seed: int, draws: int
) -> dict[str, EnsembleAudit]:
    """Fit the downstream classifier of each task; results by task, empty without tasks.

    ``z``: ``(draws n, k)`` by audit role, draw after draw.
    """
    return {
        task: classify_task(
            z,
            {role: np.tile(roles[role].y[task], draws) for role in AUDIT_ROLES},
            config=config,
            seed=derive_seed(seed, task),
            draws=draws,
        )
        for task in roles[Role.TEST].y
    }


def classify_unseen_tasks(
    z: Mapping[Role, Floats], data: Prepared, *, config: AuditConfig, seed: int, draws: int = 1
) -> dict[str, TransferAccuracy]:
    """Fit the downstream classifiers of each unseen task; accuracies by task.

    ``z``: ``(draws n, k)`` by audit role, draw after draw.
    """
    found = {}
    for task in data.roles[Role.TEST].transfer:
        result = classify_task(
            z,
            {role: np.tile(data.roles[role].transfer[task], draws) for role in AUDIT_ROLES},
            config=config,
            seed=derive_seed(seed, task),
            draws=draws,
        )
        found[task] = TransferAccuracy(
            accuracy(result.strict.test), accuracy(result.strict.validation)
        )
    return found


def classify_task(
    z: Mapping[Role, Floats],
    labels: Mapping[Role, Ints],
    *,
    config: AuditConfig,
    seed: int,
    draws: int = 1,
) -> EnsembleAudit:
    """Fit the downstream classifiers of a task, and choose one on the validation set.

    ``z``, ``labels``: of the three audit roles; classes are 0, 1, ... ``draws``: draws of each row
    in z and labels, draw after draw.
    """
    classes = 1 + max(int(label.max()) for label in labels.values())
    return audit(
        AuditSample(z, labels, classes, draws),
        config=replace(
            config.with_fast_trees(),
            members=config.downstream,
            interactions=False,
            strict_mlps=1,
        ),
        seed=seed,
        views=lambda rows: [standardised(rows)],
    )
