"""The calibration bench: what the family reads of channels whose I(Z;S) is known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from fairbench.api import AUDIT_ROLES, Floats, Ints, Role
from fairbench.api.metric import AuditorResult
from fairbench.auditing.config import AuditConfig
from fairbench.auditing.ensemble import audit
from fairbench.auditing.validation.channels import Channel
from fairbench.stats.scores import interval
from fairbench.stats.seeds import derive_seed

RESAMPLES = 500
"""Bootstrap resamples behind an interval."""
ABSOLUTE, RELATIVE = 0.02, 0.08
"""The target: the family reads within the larger of .02 nats and 8% of the truth, from below."""


@dataclass(frozen=True)
class Reading:
    """What was read of one channel with one seed.

    Parameters
    ----------
    channel : Channel
    seed : int
    truth : float
        I(Z;S), nats.
    results : tuple of AuditorResult
        Every auditor's own figure.
    chosen : AuditorResult
        The family's.
    low, high : float
        95% bootstrap interval over test rows of the chosen auditor's bound, nats.
    plug_in : float or None
        Miller-Madow estimate on test, where z is a code of few cells; no bound.
    """

    channel: Channel
    seed: int
    truth: float
    results: tuple[AuditorResult, ...]
    chosen: AuditorResult
    low: float
    high: float
    plug_in: float | None

    @property
    def found(self) -> float:
        """What the family reads on test, nats."""
        return self.chosen.test_information


def tolerance(truth: float) -> float:
    """How far below the truth the family may read, nats."""
    return max(ABSOLUTE, RELATIVE * truth)


def draw_roles(
    channel: Channel, *, rows: int, seed: int
) -> tuple[dict[Role, Floats], dict[Role, Ints]]:
    """Draw z and s of the three audit roles: ``rows`` to train and to test, half to select."""
    counts = {Role.AUDITOR_TRAIN: rows, Role.VALIDATION: max(1, rows // 2), Role.TEST: rows}
    drawn = {
        role: channel.rows([seed, number], counts[role]) for number, role in enumerate(AUDIT_ROLES)
    }
    return {r: z for r, (z, _) in drawn.items()}, {r: s for r, (_, s) in drawn.items()}


def read(channel: Channel, *, rows: int, seed: int, config: AuditConfig) -> Reading:
    """Audit one draw of a channel."""
    z, s = draw_roles(channel, rows=rows, seed=seed)
    x = None if channel.original is None else channel.original(z[Role.AUDITOR_TRAIN])
    audited = audit(
        z, s, classes=channel.classes, config=config, seed=derive_seed(seed, channel.name), x=x
    )
    low, high = interval(audited.prediction, resamples=RESAMPLES)
    return Reading(
        channel, seed, channel.truth(), audited.results, audited.chosen, low, high, audited.plug_in
    )


def read_all(
    channels: Iterable[Channel], *, rows: int, seeds: int, config: AuditConfig
) -> Iterator[Reading]:
    """Audit every channel with seeds 0 .. seeds - 1."""
    for channel in channels:
        for seed in range(seeds):
            yield read(channel, rows=rows, seed=seed, config=config)


@dataclass(frozen=True)
class Coverage:
    """How often intervals hold what they should, over draws of one channel.

    Parameters
    ----------
    draws : int
    of_truth : float
        Share of draws whose interval holds I(Z;S).
    above, below : float
        Shares of draws whose interval lies wholly above I, and wholly below.
    mean_gap : float
        I minus the mean of what was read, nats.
    mean_width : float
        Mean width of the intervals, nats.
    """

    draws: int
    of_truth: float
    above: float
    below: float
    mean_gap: float
    mean_width: float


def coverage(channel: Channel, *, rows: int, draws: int, config: AuditConfig) -> Coverage:
    """Audit ``draws`` draws of a channel, seeds 0 .. draws - 1, and count what intervals hold."""
    readings = list(read_all([channel], rows=rows, seeds=draws, config=config))
    low = np.array([r.low for r in readings])
    high = np.array([r.high for r in readings])
    truth = channel.truth()
    return Coverage(
        draws=draws,
        of_truth=float(((low <= truth) & (truth <= high)).mean()),
        above=float((low > truth).mean()),
        below=float((high < truth).mean()),
        mean_gap=truth - float(np.mean([r.found for r in readings])),
        mean_width=float((high - low).mean()),
    )
