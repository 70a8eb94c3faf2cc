"""Whether the wide search of arrays reads more of s from methods than the auditors of boards.

    python benchmarks/wide_on_methods.py --results DIR [--data-root DIR] [--out FILE]

Takes one point of each method on one dataset of a results folder, its first by name or that of
--dataset: the point nearest to half of I_max. Compares three figures: the stored one, with all that
boards use (soft labels, draws, reconstructions); that of the same auditors with one draw and the
labels of s alone; and that of these and the wide search. Prints a line for each, writes a table,
and goes on where it was stopped. Exits with 1 if on any row of the table, those of earlier calls
included, the wide search reads more than .02 nats above the stored figure and more than 8% of it.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import pandas as pd
from inputs import open_results
from outside_auditors import Candidate, load_point, middle_points

from fairbench.api import Role
from fairbench.auditing.config import PRESETS, AuditPreset
from fairbench.auditing.ensemble import EnsembleAudit, audit
from fairbench.auditing.sample import AuditSample
from fairbench.auditing.tolerance import ABSOLUTE, RELATIVE, tolerance
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
        return audit(sample, config=PRESETS[AuditPreset.STRICT], seed=0, wide=wide)

    plain = audited(wide=False)
    start = time.perf_counter()
    wide = audited(wide=True).chosen
    return Read(
        dataset=point.dataset,
        method=point.method,
        point=point.point,
        stored=round(point.strict, 4),
        plain=round(plain.chosen.test_information, 4),
        wide=round(wide.test_information, 4),
        auditor=wide.auditor,
        view=wide.view,
        seconds=round(time.perf_counter() - start, 1),
    )


def read_rows(path: Path) -> list[Read]:
    """Return what earlier calls have read; nothing where there is no file."""
    if not path.exists():
        return []
    rows = pd.read_csv(path, keep_default_na=False).to_dict("records")
    return [Read(**{str(name): value for name, value in row.items()}) for row in rows]


def summarise(rows: Sequence[Read]) -> str:
    """Say how much more the wide search reads at most, and name each point beyond the limit."""
    most = max(row.wide - row.stored for row in rows)
    lines = [f"{len(rows)} points: the wide search reads {most:+.3f} nats more at most."]
    lines += [
        f"More than max({ABSOLUTE:g} nats, {RELATIVE:.0%}) above what is stored: {row.method} "
        f"{row.point} on {row.dataset}, {row.wide:.4f} against {row.stored:.4f}."
        for row in rows
        if not row.within
    ]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--data-root", type=Path, default=os.environ.get("FAIRBENCH_DATA"))
    parser.add_argument("--dataset", default=None, help="one of the results [default: the first]")
    parser.add_argument(
        "--out",
        type=Path,
        default=KEPT,
        help="CSV file; methods that are in it are not read again [default: %(default)s]",
    )
    given = parser.parse_args()
    results = open_results(given.results, given.data_root)
    candidates = middle_points(results, given.dataset)
    rows = read_rows(given.out)
    done = {(row.dataset, row.method) for row in rows}
    for candidate in candidates:
        if (candidate.dataset, candidate.unit.method) in done:
            continue
        one = read(results, candidate)
        print(
            f"{one.dataset} {one.method:22} {one.point:24} stored {one.stored:.3f}  "
            f"plain {one.plain:.3f}  wide {one.wide:.3f}  {one.auditor}, {one.view}"
            f"{'' if one.within else '  MORE'}",
            flush=True,
        )
        rows.append(one)
        table = pd.DataFrame([asdict(row) for row in rows])
        table.to_csv(given.out, index=False, lineterminator="\n")
    print(summarise(rows))
    return int(not all(row.within for row in rows))


if __name__ == "__main__":
    sys.exit(main())
