"""Whether the wide search of arrays reads more of s from methods than the auditors of boards.

    python benchmarks/wide_on_methods.py --results DIR [--data-root DIR] [--out FILE]

Takes one point of each method of the first dataset in a results folder, the one nearest to half of
I_max, and compares three figures: the stored one, with all that boards use (soft labels, draws,
reconstructions); that of the same auditors with one draw and the labels of s alone; and that of
these and the wide search. Prints a line for each, writes a table, and goes on where it was stopped.
Exits with 1 if the wide search reads more than .02 nats above the stored figure and more than 8% of
it.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd
from outside_auditors import Candidate, load_point, middle_points

from fairbench.api import Role
from fairbench.auditing.config import PRESETS, Audit
from fairbench.auditing.ensemble import EnsembleAudit, audit
from fairbench.auditing.sample import AuditSample
from fairbench.auditing.tolerance import tolerance
from fairbench.cli.plugins import load_plugins
from fairbench.models.query import ResultsLocation
from fairbench.models.results import StoredResults

KEPT = Path(__file__).parent / "measured/wide-on-methods.csv"


@dataclass(frozen=True)
class Read:
    """What is read of one point, nats."""

    dataset: str
    method: str
    point: str
    stored: float
    plain: float
    wide: float
    auditor: str
    view: str
    seconds: float  # of the wide audit

    @property
    def within(self) -> bool:
        """Whether the wide search reads no more than the auditors of boards may miss."""
        return self.wide - self.stored <= tolerance(self.stored)


def read(results: StoredResults, candidate: Candidate) -> Read:
    """Audit a point twice, and take what is stored of it."""
    point = load_point(results, candidate)
    sample = AuditSample(
        point.z,
        point.s,
        1 + int(point.s[Role.AUDITOR_TRAIN].max()),
        point.draws,
    ).once()

    def audited(*, wide: bool) -> EnsembleAudit:
        return audit(sample, config=PRESETS[Audit.STRICT], seed=0, wide=wide)

    plain = audited(wide=False)
    start = time.perf_counter()
    wide = audited(wide=True).chosen
    return Read(
        dataset=candidate.unit.dataset,
        method=point.method,
        point=point.point,
        stored=round(point.strict, 4),
        plain=round(plain.chosen.test_information, 4),
        wide=round(wide.test_information, 4),
        auditor=wide.auditor,
        view=wide.view,
        seconds=round(time.perf_counter() - start, 1),
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--data-root", type=Path, default=os.environ.get("FAIRBENCH_DATA"))
    parser.add_argument("--out", type=Path, default=KEPT, help="CSV file [default: %(default)s]")
    given = parser.parse_args()
    location = ResultsLocation(given.results, None, given.data_root, ())
    results = StoredResults.open(location, load_plugins())
    rows: list[dict[Any, Any]] = []
    if given.out.exists():
        rows += pd.read_csv(given.out).to_dict("records")
    done = {(row["dataset"], row["method"]) for row in rows}
    failed = 0
    for candidate in middle_points(results):
        if (candidate.unit.dataset, candidate.unit.method) in done:
            continue
        one = read(results, candidate)
        failed += not one.within
        print(
            f"{one.dataset} {one.method:22} {one.point:24} stored {one.stored:.3f}  "
            f"plain {one.plain:.3f}  wide {one.wide:.3f}  {one.auditor}, {one.view}"
            f"{'' if one.within else '  MORE'}",
            flush=True,
        )
        rows.append(asdict(one))
        pd.DataFrame(rows).to_csv(given.out, index=False, lineterminator="\n")
    gaps = np.array([row["wide"] - row["stored"] for row in rows])
    print(f"{len(rows)} points: the wide search reads {gaps.max():+.3f} nats more at most.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
