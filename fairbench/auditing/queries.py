"""Repeated queries: what auditors find who see many draws of a person's z.

They see the mean and the standard deviation over the draws. Few members are fitted, so the estimate
is a lower bound that the whole ensemble might raise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from fairbench.api import Access, Floats, Role
from fairbench.auditing.auditors.views import standardised
from fairbench.auditing.config import AuditConfig, Member
from fairbench.auditing.ensemble import AuditorPredictions, audit
from fairbench.auditing.sample import AuditSample
from fairbench.stats.seeds import derive_seed

QUERIES = tuple(access for access in Access if access.draws)
"""Accesses of repeated queries, from few draws to many: who has many has few, too."""

_MEMBERS = frozenset({Member.SOFT_MLP, Member.SOFT_TREES, Member.BLEND})
_WITHOUT_SOFT_LABELS = frozenset({Member.MLP, Member.BOOSTED_TREES, Member.BLEND})


def estimate_with_queries(
    release: AuditorPredictions,
    queries: Mapping[Access, Mapping[Role, Floats]],
    sample: AuditSample,
    *,
    config: AuditConfig,
    seed: int,
) -> dict[Access, float]:
    """Estimate I(Z;S) on the test set, nats, by number of draws.

    Parameters
    ----------
    release : AuditorPredictions
        By auditors of z once. On the validation set the best is chosen among it and the readings of
        at most so many draws.
    queries : mapping of Access to mapping of Role to arrays
        Mean and standard deviation of each column of z over the draws, ``(n, 2 k)``, of the three
        audit roles; empty for a deterministic encoder, whose draws are all alike.
    sample : AuditSample
        The same people, of one draw.
    """
    fast = _WITHOUT_SOFT_LABELS if sample.soft is None else _MEMBERS
    members = tuple(member for member in config.members if member in fast)
    few = replace(config, members=members, interactions=False, strict_mlps=1)
    found, best = {}, release
    for access in QUERIES:
        if access in queries:
            seen = audit(
                sample.seen_as(queries[access]),
                config=few,
                seed=derive_seed(seed, access.value),
                views=lambda rows: [standardised(rows)],
            )
            best = min(best, seen.release, key=lambda reading: reading.validation_loss)
        found[access] = best.information
    return found
