"""``fairbench calibrate --attacks``: what auditors read of encoders that hide what they keep."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from fairbench.auditing.config import AuditPreset
from fairbench.cli.console import err, out
from fairbench.cli.data import load_warning
from fairbench.cli.plugins import load_plugins


def calibrate_attacks(dataset: str, root: Path | None, *, quick: bool, as_json: bool) -> int:
    """Print what auditors read of each attack, and of its base in plain; return 1 if one wins."""
    from fairbench.testing.attack_suite import DECOYS, SHARE, audit_attacks

    data = load_warning(load_plugins().dataset(dataset), root)
    readings = []
    if not as_json:
        out.print(f"I(Z;S) in nats on {data.info.name}: the base code in plain, and hidden\n")
        out.print(
            f"{'base':20}{'attack':13}{'plain I':>9}{'I':>8}{'plain D':>9}{'D':>8}  "
            "result, chosen auditor"
        )
    for reading in audit_attacks(data, audit=AuditPreset.QUICK if quick else AuditPreset.STRICT):
        readings.append(reading)
        if as_json:
            continue
        result = "read" if reading.is_credited else "not credited"
        if reading.family == DECOYS:
            result = f"area {reading.area:.3f}, of a release {reading.plain_area:.3f}"
        if not reading.passed:
            result = "WINS"
        out.print(
            f"{reading.base:20}{reading.attack:13}{reading.plain_information:9.3f}"
            f"{reading.information:8.3f}{reading.plain_distortion:9.3f}{reading.distortion:8.3f}  "
            f"{result}, {reading.auditor}, {reading.view}",
            markup=False,
        )
    if as_json:
        print(json.dumps([asdict(one) | {"passed": one.passed} for one in readings]))
    winners = [f"{one.attack} on {one.base}" for one in readings if not one.passed]
    if winners:
        err.print(
            f"Won: {', '.join(winners)}. The target: auditors read at least {SHARE:.0%} of what "
            "they read from the base code in plain.",
            markup=False,
        )
    return 1 if winners else 0
