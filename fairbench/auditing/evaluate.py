"""Measure one encoded representation: audits, downstream classifiers, distortions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from fairbench.api import AUDIT_ROLES, Floats, Ints, Role
from fairbench.api.metric import PointEvaluation, Prediction
from fairbench.auditing.auditors.views import standardised
from fairbench.auditing.certificate import certify
from fairbench.auditing.config import AuditConfig, Member
from fairbench.auditing.decoder import refit_decoder
from fairbench.auditing.ensemble import Audited, audit, paper_audit
from fairbench.data.prepare import Prepared, Rows
from fairbench.stats.bootstrap import replicated
from fairbench.stats.scores import accuracy, information, log_loss
from fairbench.stats.seeds import derive_seed

DOWNSTREAM = (Member.MLP, Member.BOOSTED_TREES, Member.LOGISTIC)
"""What predicts y: classifiers as people use them, not every trick by which z can be read."""


@dataclass(frozen=True)
class EncodedPoint:
    """One representation of the audit roles: all that measuring needs of a trained model.

    Parameters
    ----------
    z : mapping of Role to ndarray, shape (n, k)
        Of auditor-train, validation and test; n is a multiple of a role's rows where a stochastic
        encoder was drawn from several times, draw after draw.
    own_squares : mapping of Role to ndarray, shape (n,), or None
        Squared error of the method's own decoder, summed over columns, on validation and test.
    permuted_distortion : float or None
        Mean of the same on test with z permuted across rows.
    rate : float or None
        The method's own code length on test, nats.
    """

    z: Mapping[Role, Floats]
    own_squares: Mapping[Role, Floats] | None
    permuted_distortion: float | None
    rate: float | None


def evaluate(
    encoded: EncodedPoint, data: Prepared, *, config: AuditConfig, seed: int
) -> tuple[PointEvaluation, Audited]:
    """Run every audit and measure of a point; the randomness of all of them comes from ``seed``."""
    draws = len(encoded.z[Role.TEST]) // len(data.roles[Role.TEST].s)
    roles = {role: data.roles[role] for role in AUDIT_ROLES}
    s = {role: np.tile(rows.s, draws) for role, rows in roles.items()}
    x = {role: rows.x for role, rows in roles.items()}
    groups = len(data.info.groups)
    strict = audit(
        encoded.z,
        s,
        classes=groups,
        config=config,
        seed=derive_seed(seed, "auditors"),
        x=x[Role.AUDITOR_TRAIN],
        draws=draws,
    )
    paper = paper_audit(
        encoded.z,
        s,
        classes=groups,
        config=config,
        seed=derive_seed(seed, "paper-auditors"),
        draws=draws,
    )
    refitted = refit_decoder(
        encoded.z,
        s,
        x,
        groups=groups,
        config=config,
        seed=derive_seed(seed, "decoder"),
        draws=draws,
    )
    on_selection = {"refitted": float(refitted[Role.VALIDATION].mean())}
    distortion = {"refitted": refitted[Role.TEST]}
    if encoded.own_squares is not None:
        on_selection["own"] = float(encoded.own_squares[Role.VALIDATION].mean())
        distortion["own"] = encoded.own_squares[Role.TEST]
    better = min(on_selection, key=lambda name: on_selection[name])
    distortion["strict"] = distortion[better]
    # A certificate needs rows that are independent: one draw a person.
    first_draw = {role: encoded.z[role][: len(rows.s)] for role, rows in roles.items()}
    downstream = _downstream(encoded, roles, config, derive_seed(seed, "downstream"), draws)
    main = next(iter(downstream.values()), None)
    validation = {
        "information": strict.chosen.validation_information,
        "accuracy": accuracy(strict.validation_prediction),
        "distortion": on_selection[better],
    }
    if main is not None:
        validation["downstream"] = main.chosen.validation_information
        validation["downstream_accuracy"] = accuracy(main.validation_prediction)
    evaluation = PointEvaluation(
        z=encoded.z[Role.TEST],
        s=s[Role.TEST],
        y={task: np.tile(labels, draws) for task, labels in roles[Role.TEST].y.items()},
        x=x[Role.TEST],
        audits=strict.results,
        audit=strict.prediction,
        paper_audits=paper,
        downstream={task: found.prediction for task, found in downstream.items()},
        distortion=distortion,
        validation=validation,
        permuted_distortion=encoded.permuted_distortion,
        rate=encoded.rate,
        draws=draws,
        certificate=certify(
            first_draw[Role.AUDITOR_TRAIN],
            first_draw[Role.TEST],
            roles[Role.TEST].s,
            groups=groups,
        ),
        replicates=_replicates(
            strict.prediction, distortion["strict"], main.prediction if main else None, draws
        ),
    )
    return evaluation, strict


def _replicates(
    sensitive: Prediction, distortion: Floats, task: Prediction | None, draws: int
) -> dict[str, npt.NDArray[np.float64]]:
    """Replicates of a point; people are resampled, not their draws."""
    n = len(sensitive.labels) // draws
    losses = log_loss(sensitive.probabilities, sensitive.labels)
    right = None
    if task is not None:
        right = (task.probabilities.argmax(axis=1) == task.labels).reshape(draws, n).mean(axis=0)
    losses = losses.reshape(draws, n).mean(axis=0)
    return replicated(losses, sensitive.labels[:n], distortion, right)


def _downstream(
    encoded: EncodedPoint, roles: Mapping[Role, Rows], config: AuditConfig, seed: int, draws: int
) -> dict[str, Audited]:
    """For each task, the better of the family's classifiers on validation, one MLP among them."""
    found: dict[str, Audited] = {}
    for task in roles[Role.TEST].y:
        labels = {role: np.tile(roles[role].y[task], draws) for role in AUDIT_ROLES}
        found[task] = classify_task(
            encoded.z, labels, config=config, seed=derive_seed(seed, task), draws=draws
        )
    return found


def classify_task(
    z: Mapping[Role, Floats],
    labels: Mapping[Role, Ints],
    *,
    config: AuditConfig,
    seed: int,
    draws: int = 1,
) -> Audited:
    """The downstream classifier of one task: the best of :data:`DOWNSTREAM` on validation.

    Parameters
    ----------
    z, labels : mapping of Role to arrays
        Of auditor-train, validation and test; classes are 0, 1, ...
    config : AuditConfig
    seed : int
    draws : int
        Draws of each row that z and labels hold, draw after draw.
    """
    members = tuple(member for member in config.members if member in DOWNSTREAM)
    return audit(
        z,
        labels,
        classes=1 + max(int(label.max()) for label in labels.values()),
        config=replace(config, members=members, interactions=False),
        seed=seed,
        mlps=1,
        views=lambda rows: [standardised(rows)],
        draws=draws,
    )


@dataclass(frozen=True)
class Reference:
    """What curves of a dataset are normalised by, for one seed of the auditors.

    Parameters
    ----------
    values : dict of str to float
        ``mutual_information_max``: I of raw x by the strict family, chosen on validation, on test;
        ``mutual_information_max_validation``: the same on validation; ``mutual_information_max_paper``: by the paper's MLPs.
        ``distortion_max``: E||x - E[x|s]||^2 with means of auditor-train, on test; ``distortion_max_validation``: on
        validation. ``accuracy_y_constant``: accuracy on test of the main task's commonest class of
        auditor-train, where there is a task. ``accuracy_s``: accuracy of the strict auditor of x on test;
        ``accuracy_s_constant``: the same of the commonest group of auditor-train. Nats, and squared units
        of standardised x.
    replicates : dict of str to ndarray, shape (resamples,)
        ``mutual_information_max``, ``distortion_max``, ``accuracy_y_constant`` on the resamples of all points.
    """

    values: dict[str, float]
    replicates: dict[str, npt.NDArray[np.float64]]


def audit_reference(data: Prepared, *, config: AuditConfig, seed: int) -> Reference:
    """Measure raw x, and what is left where nothing of x is released."""
    z = {role: data.roles[role].x for role in AUDIT_ROLES}
    s = {role: data.roles[role].s for role in AUDIT_ROLES}
    groups = len(data.info.groups)
    strict = audit(
        z,
        s,
        classes=groups,
        config=config,
        seed=derive_seed(seed, "auditors"),
        x=z[Role.AUDITOR_TRAIN],
    )
    paper_seed = derive_seed(seed, "paper-auditors")
    paper = paper_audit(z, s, classes=groups, config=config, seed=paper_seed)
    train = data.roles[Role.AUDITOR_TRAIN]
    x = z[Role.AUDITOR_TRAIN]
    means = np.stack([x[train.s == group].mean(axis=0) for group in range(groups)])

    def squares(role: Role) -> npt.NDArray[np.float64]:
        found = np.empty(len(s[role]))
        for group in range(groups):
            rows = s[role] == group
            found[rows] = ((z[role][rows] - means[group]) ** 2).sum(axis=1)
        return found

    distances = squares(Role.TEST)
    values = {
        "mutual_information_max": strict.chosen.test_information,
        "mutual_information_max_validation": strict.chosen.validation_information,
        "mutual_information_max_paper": float(
            np.mean([information(p.probabilities, p.labels) for p in paper])
        ),
        "distortion_max": float(distances.mean()),
        "distortion_max_validation": float(squares(Role.VALIDATION).mean()),
        "accuracy_s": float(
            (strict.prediction.probabilities.argmax(axis=1) == s[Role.TEST]).mean()
        ),
        "accuracy_s_constant": float((s[Role.TEST] == np.bincount(train.s).argmax()).mean()),
    }
    right = None
    if (task := next(iter(train.y), None)) is not None:
        right = (data.roles[Role.TEST].y[task] == np.bincount(train.y[task]).argmax()).astype(float)
        values["accuracy_y_constant"] = float(right.mean())
    losses = log_loss(strict.prediction.probabilities, s[Role.TEST])
    found = replicated(losses, s[Role.TEST], distances, right)
    names = {
        "mutual_information": "mutual_information_max",
        "distortion": "distortion_max",
        "accuracy_y": "accuracy_y_constant",
    }
    return Reference(values, {names[name]: rows for name, rows in found.items()})
