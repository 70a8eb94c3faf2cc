"""How cost grows: training with points, seeds, columns, rows; audits with rows, columns, groups.

    python benchmarks/growth.py [--steps 150] [--only training|audit]

Made tables, one process, one thread, processor time. Training: steps of a whole stack, batch 128,
the networks of Adults; given for 1,000 steps, measured on fewer. Audit: the strict family on one
representation. Each group ends with the ratio of its last cost to its first, beside that of the
sizes, which is what linear growth would be.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch
from figures import Figures
from threadpoolctl import threadpool_limits

from fairbench.api import (
    AUDIT_ROLES,
    Architecture,
    DatasetInfo,
    Feature,
    FitContext,
    Floats,
    Ints,
    Point,
    TrainingRows,
    Unit,
)
from fairbench.api.method import Method
from fairbench.auditing.config import PRESETS, AuditPreset
from fairbench.auditing.ensemble import audit
from fairbench.auditing.sample import AuditSample
from fairbench_plugins.sofair import MSFaiR, Sofair

SEEDS_LIMIT = 3
"""Five seeds of a single-shot method, in trainings of one."""
ROWS, COLUMNS = 16_000, 9
"""Those of Adults, about: of encoder-train, and of x."""


def table(rows: int, columns: int, groups: int = 2) -> tuple[Floats, Ints]:
    """x, of which every third column shifts with s, and s."""
    rng = np.random.default_rng(0)
    s = rng.integers(0, groups, rows)
    x = rng.normal(size=(rows, columns)) + 0.5 * s[:, None] * (np.arange(columns) % 3 == 0)
    return x.astype(np.float32), s


def training(rows: int, columns: int) -> TrainingRows:
    x, s = table(rows, columns)
    features = tuple(Feature(f"x{i}", f"x{i}") for i in range(columns))
    suited = Architecture(hidden=(128, 128), latent=8)
    return TrainingRows(x, s, DatasetInfo("made", features, ("a", "b"), suited))


def step_seconds(
    method: Method, units: Sequence[Unit], steps: int, rows: int = ROWS, columns: int = COLUMNS
) -> float:
    """Processor seconds a step of the stack: least of three longer fits, less that of shorter."""
    train = training(rows, columns)

    def fit(iterations: int) -> float:
        start = time.process_time()
        method.fit(train, units, FitContext(iterations))
        return time.process_time() - start

    fit(20)
    return (min(fit(20 + steps) for _ in range(3)) - min(fit(20) for _ in range(3))) / steps


def audit_seconds(rows: int, columns: int, groups: int) -> float:
    """Processor seconds of the strict family; half of the rows train auditors, a third test."""
    z, s = table(rows, columns, groups)
    cuts = [rows // 2, rows // 2 + rows // 6]
    parts = dict(zip(AUDIT_ROLES, np.split(np.arange(rows), cuts), strict=True))
    start = time.process_time()
    sample = AuditSample(
        {role: z[at] for role, at in parts.items()},
        {role: s[at] for role, at in parts.items()},
        groups,
    )
    audit(sample, config=PRESETS[AuditPreset.STRICT], seed=0)
    return time.process_time() - start


def growth(
    figures: Figures,
    what: str,
    by: str,
    sizes: Sequence[int],
    measure: Callable[[int], float],
) -> list[float]:
    """Add the seconds of each size, and how they grow from the first to the last; return them."""
    spent = []
    for size in sizes:
        spent.append(measure(size))
        figures.seconds(f"{what} by {by}: {size:,}", spent[-1])
    first, last = sizes[0], sizes[-1]
    figures.other(
        f"{what} by {by}: {last:,} against {first:,}",
        spent[-1] / spent[0],
        "ratio",
        note=f"{last / first:.3g} if linear",
    )
    return spent


def grow_training(figures: Figures, steps: int) -> None:
    """Steps by points and seeds of the stack, and by columns and rows of the table."""
    sofair, msfair = Sofair(), MSFaiR()
    one = [Unit(0, None)]

    def points(count: int) -> float:
        units = [Unit(0, Point.of(beta=1.25 * i / count)) for i in range(count)]
        return 1000 * step_seconds(msfair, units, steps)

    def seeds(count: int) -> float:
        return 1000 * step_seconds(sofair, [Unit(seed, None) for seed in range(count)], steps)

    def columns(count: int) -> float:
        return 1000 * step_seconds(sofair, one, steps, columns=count)

    def rows(count: int) -> float:
        return 1000 * step_seconds(sofair, one, steps, rows=count)

    sofair_steps = "1,000 steps of SoFaiR"
    growth(figures, "1,000 steps of MSFaiR", "points in one stack", (1, 4, 8, 16), points)
    spent = growth(figures, sofair_steps, "seeds in one stack", (1, 3, 5, 10), seeds)
    ratio = spent[2] / spent[0]
    figures.other(f"{sofair_steps}: 5 seeds against 1", ratio, "ratio", limit=SEEDS_LIMIT)
    growth(figures, sofair_steps, "columns", (9, 36, 144, 576), columns)
    growth(figures, sofair_steps, "rows", (4_000, 16_000, 64_000, 256_000), rows)


def grow_audit(figures: Figures) -> None:
    """The strict family by rows and columns of the representation, and by groups."""

    def rows(count: int) -> float:
        return audit_seconds(count, 8, 2)

    def columns(count: int) -> float:
        return audit_seconds(32_000, count, 2)

    def groups(count: int) -> float:
        return audit_seconds(32_000, 8, count)

    with threadpool_limits(1):
        audit_seconds(2_000, 8, 2)
        growth(figures, "strict audit, 8 columns, 2 groups", "rows", (8_000, 32_000, 128_000), rows)
        growth(figures, "strict audit, 32,000 rows, 2 groups", "columns", (8, 32, 128), columns)
        growth(figures, "strict audit, 32,000 rows, 8 columns", "groups", (2, 6, 18), groups)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--only", choices=["training", "audit"], default=None)
    given = parser.parse_args()
    torch.set_num_threads(1)
    with Figures("growth") as figures:
        if given.only != "audit":
            grow_training(figures, given.steps)
        if given.only != "training":
            grow_audit(figures)
    return figures.failed


if __name__ == "__main__":
    sys.exit(main())
