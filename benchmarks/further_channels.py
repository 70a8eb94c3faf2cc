"""What audits read of bits that hide in z where no auditor was made for them.

    python benchmarks/further_channels.py [--keep FILE] [CHANNEL ...]

The channels are in ``hidden_bits``: 36 that the audit once missed, or nearly, and two lists of
forty by people who had not seen the auditors. Each draws 24,000 rows of z; s is the bit, flipped
with probability .1, so that I(Z;S) is known. Only z and s are given, as by
``fairbench.audit(z, s)``: no x. Each is read twice, as for boards and with the wide search of
``fairbench.audit``, and "read" means within max(.02 nats, 8%) of the truth. Rows that FILE has
already are not made again. The exit code is always 0: these are limits and not targets.
"""

from __future__ import annotations

import argparse
import sys
import time
import zlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fairbench.auditing.array_checks import check_arrays
from fairbench.auditing.array_measures import sample_of
from fairbench.auditing.config import AuditConfig
from fairbench.auditing.ensemble import audit
from fairbench.auditing.tolerance import tolerance
from fairbench.errors import nearest
from hidden_bits import first, known, second
from hidden_bits.common import Channel

ROWS, FLIPPED = 24_000, 0.1
LISTS: dict[str, dict[str, Channel]] = {
    "known": known.CHANNELS,
    "first": first.CHANNELS,
    "second": second.CHANNELS,
}
KEPT = Path(__file__).parent / "measured/further-channels.csv"


@dataclass(frozen=True)
class Read:
    """What two audits read of a channel, nats, in how many seconds."""

    list: str
    channel: str
    rule: str
    truth: float
    as_boards: float
    wide: float
    auditor: str
    view: str
    seconds_as_boards: float
    seconds_wide: float


def entropy(share: float) -> float:
    """Entropy of a bit, nats."""
    return float(-share * np.log(share) - (1 - share) * np.log(1 - share))


def read(of: str, name: str) -> Read:
    """Audit one channel twice."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    z, bit = LISTS[of][name](rng, ROWS)
    share = bit.mean() * (1 - FLIPPED) + (1 - bit.mean()) * FLIPPED
    truth = entropy(share) - entropy(FLIPPED)
    s = np.where(bit ^ (rng.random(ROWS) < FLIPPED), "a", "b")
    checked = check_arrays(z, s, y=None, x=None, roles=None, people=None, seed=0)
    results, seconds = [], []
    for wide in (False, True):
        start = time.perf_counter()
        sample = sample_of(checked, wide=wide)
        results.append(audit(sample, config=AuditConfig(), seed=0, wide=wide).chosen)
        seconds.append(time.perf_counter() - start)
    narrow, best = results
    return Read(
        list=of,
        channel=name,
        rule=" ".join((LISTS[of][name].__doc__ or "").split()),
        truth=round(truth, 4),
        as_boards=round(narrow.test_information, 4),
        wide=round(best.test_information, 4),
        auditor=best.auditor,
        view=best.view,
        seconds_as_boards=round(seconds[0], 1),
        seconds_wide=round(seconds[1], 1),
    )


def near(figures: pd.Series, truth: pd.Series) -> pd.Series:
    """Whether each is within the tolerance of the truth."""
    return (figures - truth).abs() <= truth.map(tolerance)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keep", type=Path, default=KEPT, help="CSV file [default: %(default)s]")
    parser.add_argument("channels", nargs="*", help="[default: all]")
    given = parser.parse_args()
    names = {name for channels in LISTS.values() for name in channels}
    if unknown := sorted(set(given.channels) - names):
        parser.error(f"no channel {unknown[0]}. {nearest(unknown[0], names)}")
    rows: list[Any] = []
    if given.keep.exists():
        rows += pd.read_csv(given.keep).to_dict("records")
    done = {row["channel"] for row in rows}
    for of, channels in LISTS.items():
        for name in channels:
            if name not in done and (not given.channels or name in given.channels):
                row = read(of, name)
                print(
                    f"{of:6} {name:24} true {row.truth:.3f}  as boards {row.as_boards:.3f}  "
                    f"wide {row.wide:.3f}  {row.auditor}, {row.view}",
                    flush=True,
                )
                rows.append(asdict(row))
                pd.DataFrame(rows).to_csv(given.keep, index=False, lineterminator="\n")
    table = pd.DataFrame(rows)
    for which, mine in table.groupby("list", sort=False):
        counts = [int(near(mine[one], mine["truth"]).sum()) for one in ("as_boards", "wide")]
        print(
            f"{which}: of {len(mine)} read as for boards {counts[0]}, "
            f"by the wide search {counts[1]}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
