"""How often the audit's 95% confidence intervals hold the true I(Z;S).

    python benchmarks/interval_coverage.py [--channel gaussian-1.5] [--rows 10000] [--draws 400]

Audits draws of one channel of known information, seeds 0 to DRAWS - 1, by the strict audit, or by
one auditor alone (``--auditor logistic``, the one that matches the Gaussian channels). The limit,
91% of the intervals, is for the latter; it exits with 1 below it.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np

from fairbench.auditing.config import AuditConfig, Member
from fairbench.auditing.validation.calibrate import audit_channel
from fairbench.auditing.validation.suite import CHANNELS

LIMIT = 0.91


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--channel", default="gaussian-1.5", choices=list(CHANNELS))
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--draws", type=int, default=400)
    parser.add_argument("--auditor", type=Member, choices=list(Member))
    options = parser.parse_args()
    config = AuditConfig()
    if options.auditor:
        config = AuditConfig(members=(options.auditor,), interactions=False)
    channel = CHANNELS[options.channel]
    audits = [
        audit_channel(channel, rows=options.rows, seed=seed, config=config)
        for seed in range(options.draws)
    ]
    low, high = np.array([(a.low, a.high) for a in audits]).T
    truth = channel.truth()
    covered = float(((low <= truth) & (truth <= high)).mean())
    print(f"{channel.name}: I(Z;S) = {truth:.4f} nats, {options.draws} draws")
    limit = f" (limit {LIMIT:.0%})" if options.auditor else ""
    print(f"intervals that hold it      {covered:7.1%}{limit}")
    print(f"intervals wholly above it   {(low > truth).mean():7.1%}")
    print(f"intervals wholly below it   {(high < truth).mean():7.1%}")
    print(f"I minus the mean estimate   {truth - np.mean([a.estimate for a in audits]):7.4f} nats")
    print(f"mean width                  {(high - low).mean():7.4f} nats")
    return int(bool(options.auditor) and covered < LIMIT)


if __name__ == "__main__":
    sys.exit(main())
