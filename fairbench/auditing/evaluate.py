"""Measure one encoded representation: audits, downstream classifiers, distortions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from fairbench.api import AUDIT_ROLES, Floats, PointEvaluation, Prediction, Role
from fairbench.auditing.config import AuditConfig, Member
from fairbench.auditing.decoder import refit_decoder
from fairbench.auditing.family import Audited, audit, paper_audit
from fairbench.auditing.information import information
from fairbench.auditing.views import standardised
from fairbench.data.prepare import Prepared, Rows
from fairbench.seeds import derive_seed

DOWNSTREAM = (Member.MLP, Member.BOOSTED_TREES, Member.LOGISTIC)
"""What predicts y: classifiers as people use them, not every trick by which z can be read."""


@dataclass(frozen=True)
class Encoded:
    """One representation of the audit roles: all that measuring needs of a trained model.

    Parameters
    ----------
    z : mapping of Role to ndarray, shape (n, k)
        Of auditor-train, selection and test; n is a multiple of a role's rows where a stochastic
        encoder was drawn from several times, draw after draw.
    own_squares : mapping of Role to ndarray, shape (n,), or None
        Squared error of the method's own decoder, summed over columns, on selection and test.
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
    encoded: Encoded, data: Prepared, *, config: AuditConfig, seed: int
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
    on_selection = {"refitted": float(refitted[Role.SELECTION].mean())}
    distortion = {"refitted": refitted[Role.TEST]}
    if encoded.own_squares is not None:
        on_selection["own"] = float(encoded.own_squares[Role.SELECTION].mean())
        distortion["own"] = encoded.own_squares[Role.TEST]
    better = min(on_selection, key=lambda name: on_selection[name])
    distortion["strict"] = distortion[better]
    evaluation = PointEvaluation(
        z=encoded.z[Role.TEST],
        s=s[Role.TEST],
        y={task: np.tile(labels, draws) for task, labels in roles[Role.TEST].y.items()},
        x=x[Role.TEST],
        audits=strict.results,
        audit=strict.prediction,
        paper_audits=paper,
        downstream=_downstream(encoded, roles, config, derive_seed(seed, "downstream"), draws),
        distortion=distortion,
        selection={
            "information": strict.chosen.selection_information,
            "distortion": on_selection[better],
        },
        permuted_distortion=encoded.permuted_distortion,
        rate=encoded.rate,
        draws=draws,
    )
    return evaluation, strict


def _downstream(
    encoded: Encoded, roles: Mapping[Role, Rows], config: AuditConfig, seed: int, draws: int
) -> dict[str, Prediction]:
    """For each task, the better of the family's classifiers on selection, one MLP among them."""
    found: dict[str, Prediction] = {}
    members = tuple(member for member in config.members if member in DOWNSTREAM)
    config = replace(config, members=members, interactions=False)
    for task in roles[Role.TEST].y:
        labels = {role: np.tile(roles[role].y[task], draws) for role in AUDIT_ROLES}
        classes = 1 + max(int(label.max()) for label in labels.values())
        found[task] = audit(
            encoded.z,
            labels,
            classes=classes,
            config=config,
            seed=derive_seed(seed, task),
            mlps=1,
            views=lambda z: [standardised(z)],
            draws=draws,
        ).prediction
    return found


def measure_reference(data: Prepared, *, config: AuditConfig, seed: int) -> dict[str, float]:
    """What curves of this dataset are normalised by, for one seed of the auditors.

    ``i_max``: I of raw x by the strict family, chosen on selection, on test; ``i_max_selection``:
    the same on selection; ``i_max_paper``: by the paper's MLPs. ``d_max``: E||x - E[x|s]||^2 with
    means of auditor-train, on test; ``d_max_selection``: on selection. All in nats or squared
    units of standardised x.
    """
    z = {role: data.roles[role].x for role in AUDIT_ROLES}
    s = {role: data.roles[role].s for role in AUDIT_ROLES}
    groups = len(data.info.groups)
    strict = audit(z, s, classes=groups, config=config, seed=derive_seed(seed, "auditors"))
    paper = paper_audit(z, s, classes=groups, config=config, seed=derive_seed(seed, "paper"))
    train = data.roles[Role.AUDITOR_TRAIN]
    x = z[Role.AUDITOR_TRAIN]
    means = np.stack([x[train.s == group].mean(axis=0) for group in range(groups)])

    def d_max(role: Role) -> float:
        s_role = data.roles[role].s
        total = sum(
            float(((z[role][s_role == group] - means[group]) ** 2).sum()) for group in range(groups)
        )
        return total / len(s_role)

    return {
        "i_max": strict.chosen.test_information,
        "i_max_selection": strict.chosen.selection_information,
        "i_max_paper": float(np.mean([information(p.probabilities, p.labels) for p in paper])),
        "d_max": d_max(Role.TEST),
        "d_max_selection": d_max(Role.SELECTION),
    }
