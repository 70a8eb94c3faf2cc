"""Audit channels whose I(Z;S) is known, to calibrate the audit."""

from __future__ import annotations

from dataclasses import dataclass, replace

from fairbench.api import AUDIT_ROLES, Role
from fairbench.api.metric import AuditorResult
from fairbench.auditing.config import AuditConfig
from fairbench.auditing.decoder import refit_decoder
from fairbench.auditing.ensemble import audit
from fairbench.auditing.members import split_auditor_rows
from fairbench.auditing.sample import AuditSample
from fairbench.auditing.soft_labels import estimate
from fairbench.auditing.validation.channels import Channel, ChannelRows
from fairbench.stats.scores import interval
from fairbench.stats.seeds import derive_seed

RESAMPLES = 500
"""Bootstrap resamples behind a confidence interval."""


@dataclass(frozen=True)
class ChannelAudit:
    """The audit of one draw of a channel."""

    channel: Channel
    seed: int
    truth: float  # I(Z;S), nats
    results: tuple[AuditorResult, ...]  # the estimate of every auditor
    chosen: AuditorResult  # the one chosen on the validation set
    # low, high: 95% bootstrap confidence interval, over test rows, of the chosen auditor's bound,
    # nats
    low: float
    high: float
    # Miller-Madow estimate on the test set, where z is a code of few cells; not a bound
    plug_in: float | None

    @property
    def estimate(self) -> float:
        """Estimate of I(Z;S) on the test set by the chosen auditor, nats."""
        return self.chosen.test_information


def draw_roles(channel: Channel, *, rows: int, seed: int) -> dict[Role, ChannelRows]:
    """Draw the rows of the audit roles: ``rows`` to train and to test, half to validate."""
    counts = {Role.AUDITOR_TRAIN: rows, Role.VALIDATION: max(1, rows // 2), Role.TEST: rows}
    return {
        role: channel.rows([seed, number], counts[role]) for number, role in enumerate(AUDIT_ROLES)
    }


def audit_channel(channel: Channel, *, rows: int, seed: int, config: AuditConfig) -> ChannelAudit:
    """Audit one draw of a channel."""
    drawn = draw_roles(channel, rows=rows, seed=seed)
    own = derive_seed(seed, channel.name)
    sample = AuditSample(
        {role: of_role.z for role, of_role in drawn.items()},
        {role: of_role.s for role, of_role in drawn.items()},
        channel.classes,
    )
    x = {role: of_role.x for role, of_role in drawn.items() if of_role.x is not None}
    reconstruction = soft = None
    if x:
        others = channel.rows([seed, len(AUDIT_ROLES)], rows)
        assert others.x is not None
        soft = estimate(others.x, others.s, x[Role.AUDITOR_TRAIN], groups=channel.classes)
        held_out = split_auditor_rows(rows, own)
        sample = replace(sample, soft=soft)
        decoder = refit_decoder(sample, x, held_out, config=config, seed=derive_seed(own, "x"))
        reconstruction = decoder.reconstruction
    audited = audit(sample, config=config, seed=own, reconstruction=reconstruction)
    low, high = interval(audited.strict.test, resamples=RESAMPLES)
    return ChannelAudit(
        channel, seed, channel.truth(), audited.results, audited.chosen, low, high, audited.plug_in
    )
