"""What curves of a dataset are normalised by: raw x, the ceiling, and a constant, the floor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fairbench.api import AUDIT_ROLES, Floats, Role
from fairbench.auditing.axes import image_axes
from fairbench.auditing.config import DECODED_DECIMALS, MAX_COLUMNS, AuditConfig
from fairbench.auditing.ensemble import audit, paper_audit
from fairbench.auditing.largest_distortion import largest_distortions
from fairbench.auditing.sample import AuditSample
from fairbench.auditing.tasks import classify_unseen_tasks
from fairbench.data.prepared import Prepared
from fairbench.metrics.transfer import CONSTANT, TEST, VALIDATION
from fairbench.stats.bootstrap import bootstrap_figures
from fairbench.stats.scores import accuracy, information, log_loss
from fairbench.stats.seeds import derive_seed


@dataclass(frozen=True)
class Reference:
    """Figures that curves of a dataset are normalised by, for one seed of the auditors."""

    # By column. ``mutual_information_max``: I of raw x on the test set by the strict auditor, and
    # ``..._validation``, ``..._paper``: on the validation set, and by the paper's MLPs; nats.
    # ``distortion_max``: E||x - E[x|s]||^2 on the test set with the auditor training set's means,
    # and ``..._validation``; squared units of standardised x. ``accuracy_s``: accuracy of the
    # strict auditor of x; ``accuracy_s_constant``, ``accuracy_y_constant``: accuracy on the test
    # set of always predicting the largest group, or class of the main task, if any, of the auditor
    # training set; ``accuracy_s_validation``, ``accuracy_s_constant_validation`` on validation. For
    # each unseen task ``transfer_accuracy_{task}`` of x's downstream classifier and
    # ``transfer_constant_{task}`` of a constant guess; on the validation set
    # ``transfer_validation_{task}`` and ``transfer_constant_validation_{task}``.
    values: dict[str, float]
    # (resamples,): ``mutual_information_max``, ``distortion_max`` and ``accuracy_y_constant`` on
    # the same resamples as every point
    replicates: dict[str, npt.NDArray[np.float64]]


def audit_reference(
    data: Prepared, *, config: AuditConfig, seed: int, soft: Floats | None = None
) -> Reference:
    """Measure raw x, the ceiling, and a constant representation, the floor."""
    z = {role: data.roles[role].x for role in AUDIT_ROLES}
    s = {role: data.roles[role].s for role in AUDIT_ROLES}
    groups = len(data.info.groups)
    x, auditor_seed = z[Role.AUDITOR_TRAIN], derive_seed(seed, "auditors")
    # As where x is released: x is then what a decoder of its own gives, too.
    decoded = None
    if x.shape[1] <= MAX_COLUMNS:
        decoded = {role: rows.round(DECODED_DECIMALS) for role, rows in z.items()}
    elif (image := data.info.architecture.image) is not None:
        project = image_axes(x, image).project
        decoded = {role: project(rows).round(DECODED_DECIMALS) for role, rows in z.items()}
    sample = AuditSample(z, s, groups, soft=soft)
    audited = audit(sample, config=config, seed=auditor_seed, decoded=decoded)
    paper = paper_audit(sample, config=config, seed=derive_seed(seed, "paper-auditors"))
    train = data.roles[Role.AUDITOR_TRAIN]
    distances, on_validation = (
        largest_distortions(z, s, role, groups=groups) for role in (Role.TEST, Role.VALIDATION)
    )
    values = {
        "mutual_information_max": audited.chosen.test_information,
        "mutual_information_max_validation": audited.chosen.validation_information,
        "mutual_information_max_paper": float(
            np.mean([information(p.probabilities, p.labels) for p in paper])
        ),
        "distortion_max": float(distances.mean()),
        "distortion_max_validation": float(on_validation.mean()),
        "accuracy_s": accuracy(audited.strict.test),
        "accuracy_s_validation": accuracy(audited.strict.validation),
    }
    for name, role in (("", Role.TEST), ("_validation", Role.VALIDATION)):
        guess = s[role] == np.bincount(train.s).argmax()
        values[f"accuracy_s_constant{name}"] = float(guess.mean())
    right = None
    if (task := next(iter(train.y), None)) is not None:
        right = (data.roles[Role.TEST].y[task] == np.bincount(train.y[task]).argmax()).astype(float)
        values["accuracy_y_constant"] = float(right.mean())
    values |= _transfer_reference(z, data, config=config, seed=derive_seed(seed, "transfer"))
    losses = log_loss(audited.strict.test.probabilities, s[Role.TEST])
    row_numbers = data.roles[Role.TEST].numbers
    replicates = bootstrap_figures(losses, s[Role.TEST], distances, right, row_numbers=row_numbers)
    names = {
        "mutual_information": "mutual_information_max",
        "distortion": "distortion_max",
        "accuracy_y": "accuracy_y_constant",
    }
    return Reference(values, {names[name]: array for name, array in replicates.items()})


def _transfer_reference(
    x: Mapping[Role, Floats], data: Prepared, *, config: AuditConfig, seed: int
) -> dict[str, float]:
    """Accuracy on each unseen task from x, and of a constant guess."""
    values = {}
    for task, reached in classify_unseen_tasks(x, data, config=config, seed=seed).items():
        guess = np.bincount(data.roles[Role.AUDITOR_TRAIN].transfer[task]).argmax()
        for of, role, accuracy_of_x in (
            (TEST, Role.TEST, reached.test),
            (VALIDATION, Role.VALIDATION, reached.validation),
        ):
            right = data.roles[role].transfer[task] == guess
            values[f"{of}{task}"] = accuracy_of_x
            values[f"{CONSTANT[of]}{task}"] = float(right.mean())
    return values
