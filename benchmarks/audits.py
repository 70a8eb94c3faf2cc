"""What audits cost: a point of Adults, an array of 100K x 64, a code with few distinct rows.

    python benchmarks/audits.py --data-root DIR [--points 16] [--skip-array]

A point has all strict views and auditors, the paper's five MLPs on z as released, the downstream
classifiers and the refitted decoder. Points are audited as a run does it: one process a core, one
thread each. They are kinds of representation in turn: all of x, quantised codes of 8 to 1 bits, and
principal components. Limits are for two free cores. All are functions of x alone, so auditors learn
soft labels, as of a blind method in a run; these are estimated once, before the clock starts.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch
from figures import Figures
from inputs import load_real_adults
from threadpoolctl import threadpool_limits

from fairbench.api import AUDIT_ROLES, Floats, Ints, Role
from fairbench.auditing.config import PRESETS, AuditPreset
from fairbench.auditing.encoded import EncodedPoint
from fairbench.auditing.ensemble import audit
from fairbench.auditing.evaluate import evaluate
from fairbench.auditing.sample import AuditSample
from fairbench.auditing.soft_labels import soft_labels
from fairbench.data.prepared import Prepared

CORES = 2
LIMITS = {"point": 5.6, "point, processor": 11, "array": 56}
"""Yardsticks."""
KINDS = ("x", "codes-8", "codes-6", "codes-4", "codes-3", "codes-2", "codes-1", "components-4")
ARRAY = (100_000, 64)


def representation(data: Prepared, kind: str) -> dict[Role, Floats]:
    """x through its principal axes, as it is or as codes between 0 and 1 of so many bits."""
    x = {role: data.roles[role].x for role in AUDIT_ROLES}
    name, _, size = kind.partition("-")
    if name == "x":
        return x
    train = data.roles[Role.ENCODER_TRAIN].x
    axes = np.linalg.svd(train - train.mean(axis=0), full_matrices=False)[2].T
    if name == "components":
        return {role: (rows @ axes[:, : int(size)]).astype(np.float32) for role, rows in x.items()}
    steps = 2 ** int(size)
    coded = {}
    for role, rows in x.items():
        share = 1 / (1 + np.exp(-(rows @ axes[:, :8])))
        coded[role] = (np.floor(share * steps) / steps).astype(np.float32)
    return coded


_given: list[tuple[Prepared, Floats | None]] = []
"""In a worker: the data, and soft labels of the auditor training set."""


def prepare_worker(data: Prepared, soft: Floats | None) -> None:
    torch.set_num_threads(1)
    _given.append((data, soft))


def audit_point(kind: str) -> tuple[str, float, float, str]:
    """Wall and processor seconds of one point, and who found how much."""
    data, soft = _given[0]
    encoded = EncodedPoint(representation(data, kind), None, None, None)
    wall, processor = time.perf_counter(), time.process_time()
    _, strict = evaluate(encoded, data, config=PRESETS[AuditPreset.STRICT], seed=0, soft=soft)
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    by = f"I {strict.chosen.test_information:.3f} by {strict.chosen.auditor}, {strict.chosen.view}"
    return kind, wall, processor, by


def points(data: Prepared, count: int) -> tuple[float, float]:
    """Wall and processor seconds a point, amortised over ``count`` points on two cores."""
    kinds = [KINDS[i % len(KINDS)] for i in range(count)]
    context = multiprocessing.get_context("forkserver")
    soft = soft_labels(data)  # here, as a run estimates them once and not in every process
    total = 0.0
    with context.Pool(CORES, prepare_worker, (data, soft)) as pool:
        pool.map(abs, range(CORES))  # both workers are up and have the data
        start = time.perf_counter()
        for kind, wall, processor, by in pool.imap(audit_point, kinds):
            total += processor
            print(f"  {kind:14} {wall:6.2f} s, processor {processor:6.2f} s; {by}", flush=True)
        seconds = time.perf_counter() - start
    return seconds / count, total / count


def array(codes: bool) -> tuple[float, float]:
    """Wall and processor seconds to audit 100K rows of 64 columns on all cores."""
    rng = np.random.default_rng(0)
    n, d = ARRAY
    s = rng.integers(0, 2, n)
    z = rng.integers(0, 2, (n, d)) * (np.arange(d) < 8) if codes else rng.normal(size=(n, d))
    z = (z + 0.3 * s[:, None] * (np.arange(d) == 3) * (not codes)).astype(np.float32)
    cuts = np.cumsum([int(0.5 * n), int(0.2 * n)])
    parts: list[Ints] = np.split(np.arange(n), cuts)
    by_role = dict(zip(AUDIT_ROLES, parts, strict=True))
    torch.set_num_threads(CORES)
    wall, processor = time.perf_counter(), time.process_time()
    with threadpool_limits(CORES):
        sample = AuditSample(
            {role: z[rows] for role, rows in by_role.items()},
            {role: s[rows] for role, rows in by_role.items()},
            classes=2,
        )
        audited = audit(sample, config=PRESETS[AuditPreset.STRICT], seed=0)
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    print(f"  I {audited.chosen.test_information:.4f} by {audited.chosen.auditor}")
    return wall, processor


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-root", type=Path, default=None)
    parser.add_argument("--points", type=int, default=16)
    parser.add_argument("--skip-array", action="store_true")
    given = parser.parse_args()
    data = load_real_adults(given.data_root)
    with Figures("audits") as figures:
        wall, processor = points(data, given.points)
        what = f"all audits of one point of Adults, mean of {given.points}"
        figures.seconds(f"{what}, on two cores", wall, limit=LIMITS["point"])
        figures.seconds(f"{what}: processor time", processor, limit=LIMITS["point, processor"])
        for codes in () if given.skip_array else (False, True):
            wall, processor = array(codes)
            kind = "of 256 distinct codes" if codes else "of real numbers"
            what = f"strict audit of 100,000 rows of 64 columns {kind}"
            figures.seconds(f"{what}, on two cores", wall, limit=LIMITS["array"])
            figures.seconds(f"{what}: processor time", processor)
    return figures.failed


if __name__ == "__main__":
    sys.exit(main())
