"""How cost grows: training with points, seeds, columns, rows; audits with rows, columns, groups.

    python benchmarks/growth.py [--steps 150] [--only training|audit]

Made tables, one process, one thread. Training: processor milliseconds a step of a whole stack,
batch 128, the networks of Adults. Audit: processor seconds of the strict family on one
representation. Beside each figure stands its ratio to the first of its group, and in brackets that
of the sizes, which is what linear growth would be.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Sequence

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch
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
from fairbench.auditing.config import PRESETS, Audit
from fairbench.auditing.ensemble import audit
from fairbench_plugins.sofair import MSFaiR, Sofair

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
    audit(
        {role: z[at] for role, at in parts.items()},
        {role: s[at] for role, at in parts.items()},
        classes=groups,
        config=PRESETS[Audit.STRICT],
        seed=0,
    )
    return time.process_time() - start


def show(what: str, unit: str, sizes: Sequence[int], measure: Callable[[int], float]) -> None:
    print(f"{what}, {unit}")
    first = None
    for size in sizes:
        spent = measure(size)
        first = first or spent
        print(
            f"  {size:>7,}  {spent:8.2f}  x {spent / first:5.1f}  ({size / sizes[0]:g})", flush=True
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--only", choices=["training", "audit"], default=None)
    given = parser.parse_args()
    torch.set_num_threads(1)
    sofair, msfair, steps = Sofair(), MSFaiR(), given.steps
    one = [Unit(0, None)]

    def points(count: int) -> float:
        units = [Unit(0, Point.of(beta=1.25 * i / count)) for i in range(count)]
        return 1e3 * step_seconds(msfair, units, steps)

    def seeds(count: int) -> float:
        return 1e3 * step_seconds(sofair, [Unit(seed, None) for seed in range(count)], steps)

    if given.only != "audit":
        ms = "processor ms a step of the stack"
        show("MSFaiR by points", ms, (1, 4, 8, 16), points)
        show("SoFaiR by seeds", ms, (1, 3, 5, 10), seeds)
        show(
            "SoFaiR by columns",
            ms,
            (9, 36, 144, 576),
            lambda columns: 1e3 * step_seconds(sofair, one, steps, columns=columns),
        )
        show(
            "SoFaiR by rows",
            ms,
            (4_000, 16_000, 64_000, 256_000),
            lambda rows: 1e3 * step_seconds(sofair, one, steps, rows=rows),
        )
    if given.only != "training":
        seconds = "processor seconds"
        with threadpool_limits(1):
            audit_seconds(2_000, 8, 2)
            show(
                "Audit by rows (8 columns, 2 groups)",
                seconds,
                (8_000, 32_000, 128_000),
                lambda rows: audit_seconds(rows, 8, 2),
            )
            show(
                "Audit by columns (32,000 rows, 2 groups)",
                seconds,
                (8, 32, 128),
                lambda columns: audit_seconds(32_000, columns, 2),
            )
            show(
                "Audit by groups (32,000 rows, 8 columns)",
                seconds,
                (2, 6, 18),
                lambda groups: audit_seconds(32_000, 8, groups),
            )


if __name__ == "__main__":
    main()
