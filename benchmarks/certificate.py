"""How often certificates fail, and how sharp they are beside bounds cell by cell.

    python benchmarks/certificate.py [--rounds 2000]

Draws populations whose demographic-parity gap and I(Z;S) are known exactly. Failures are the share
of draws in which a bound lay below the truth. Sharpness is the mean bound over 20 draws, beside
Clopper-Pearson limits of every cell and group at once, in the two forms they allow. Figures are the
largest share of failures of any population, and the time of one certificate.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass

import numpy as np
from figures import Figures
from numpy.typing import NDArray
from scipy.stats import beta

from fairbench.api import Floats, Ints
from fairbench.auditing.certificate import certify

Array = NDArray[np.float64]
LIMIT = 0.05
"""Failures of each bound, which certificates promise."""
TRAIN = 10_000
TIMED = (200, 16_000, 0.2)
"""Codes, rows and tilt of the population whose certificates are timed."""


@dataclass(frozen=True)
class Channel:
    """P(z|s) ``(groups, codes)`` and the groups' shares."""

    table: Array
    share: Array

    @property
    def gap(self) -> float:
        a, b = np.triu_indices(len(self.share), 1)
        return float(np.abs(self.table[a] - self.table[b]).sum(axis=1).max() / 2)

    @property
    def information(self) -> float:
        joint = self.share[:, None] * self.table
        independent = np.outer(self.share, joint.sum(axis=0))
        ratio = np.divide(joint, independent, out=np.ones_like(joint), where=joint > 0)
        return float((joint * np.log(ratio)).sum())

    def draw(self, rng: np.random.Generator, n: int) -> tuple[Floats, Ints]:
        s = np.sort(rng.choice(len(self.share), n, p=self.share))
        code = np.empty(n, np.float32)
        for group, law in enumerate(self.table):
            code[s == group] = rng.choice(len(law), int((s == group).sum()), p=law)
        return code[:, None], s.astype(np.int64)


def tilted(codes: int, by: float, *, share: float = 1 / 3, law: float = 0.0) -> Channel:
    """Two groups; codes' shares fall as rank^-law, and every other one is likelier for one."""
    base = np.arange(1, codes + 1, dtype=np.float64) ** -law
    sign = np.where(np.arange(codes) % 2, 1.0, -1.0)
    table = np.stack([base * (1 + by * sign), base * (1 - by * sign)])
    return Channel(table / table.sum(axis=1, keepdims=True), np.array([1 - share, share]))


def many_groups(groups: int, codes: int, even: float) -> Channel:
    rng = np.random.default_rng(groups)
    share = 0.7 ** np.arange(groups)
    return Channel(rng.dirichlet(np.full(codes, even), groups), share / share.sum())


FAILURES = {
    "constant": (Channel(np.ones((2, 1)), np.array([0.5, 0.5])), 500, 100),
    "2 codes, gap .2": (tilted(2, 0.2, share=0.5), 500, 100),
    "2 codes, gap .2, 16,000 rows": (tilted(2, 0.2, share=0.5), 16_000, 100),
    "2 codes, gap .9": (tilted(2, 0.9, share=0.5), 500, 100),
    "2 codes, group of 3%": (tilted(2, 0.3, share=0.03), 1000, 100),
    "a code of 1% for one group": (
        Channel(np.array([[0.99, 0.01], [1.0, 0.0]]), np.array([0.5, 0.5])), 500, 60
    ),
    "8 codes, gap 0": (tilted(8, 0.0), 1000, 300),
    "60 codes, gap .5": (tilted(60, 0.5), 1000, 300),
    "rare codes, 100 rows fix the cells": (tilted(150, 0.6, law=1.2), 1000, 100),
    "rare codes, 5000 rows": (tilted(300, 0.6, law=1.2), 5000, 1000),
    "10 groups, 6 codes": (many_groups(10, 6, 4.0), 3000, 300),
    "10 groups, 6 codes, far apart": (many_groups(10, 6, 0.5), 3000, 300),
}  # fmt: skip
"""Channel, certifying rows, rows that fix the cells."""


def cell_by_cell(z_cells: Floats, z: Floats, s: Ints, groups: int) -> float:
    """The better of two Clopper-Pearson bounds of the gap; two groups, all codes known."""
    codes = np.unique(z_cells)
    counts = np.stack([[(z[s == g] == c).sum() for c in codes] for g in range(groups)], axis=1)
    rows = np.bincount(s, minlength=groups)

    def lower(miss: float) -> Array:
        bounds: Array = np.where(counts > 0, beta.ppf(miss, counts, rows - counts + 1), 0.0)
        return bounds

    def upper(miss: float) -> Array:
        return np.nan_to_num(beta.ppf(1 - miss, counts + 1, rows - counts), nan=1.0)

    common = 1 - lower(LIMIT / counts.size).min(axis=1).sum()
    low, high = lower(LIMIT / counts.size / 2), upper(LIMIT / counts.size / 2)
    apart = np.maximum(high[:, 0] - low[:, 1], high[:, 1] - low[:, 0]).sum() / 2
    return float(min(1.0, common, apart))


def failures(rounds: int, figures: Figures) -> None:
    print(f"failures of {rounds} draws")
    print(f"{'':36}{'rows':>6}{'gap':>8}{'I':>8}{'fails: gap':>12}{'I':>8}")
    worst = np.zeros(2)
    for number, (name, (channel, n, fixing)) in enumerate(FAILURES.items()):
        rng = np.random.default_rng(number)
        failed = np.zeros(2)
        for _ in range(rounds):
            z_cells, (z, s) = channel.draw(rng, fixing)[0], channel.draw(rng, n)
            certificate = certify(z_cells, z, s, groups=len(channel.share))
            assert certificate is not None
            failed += [certificate.gap < channel.gap, certificate.information < channel.information]
        rates = failed / rounds
        worst = np.maximum(worst, rates)
        print(
            f"{name:36}{n:6}{channel.gap:8.3f}{channel.information:8.4f}"
            f"{rates[0]:12.2%}{rates[1]:8.2%}"
        )
    for bound, share in zip(("gap", "I(Z;S)"), worst, strict=True):
        what = f"certified {bound} below the truth, worst of {len(FAILURES)} populations"
        note = f"{rounds:,} draws each"
        figures.other(what, 100 * float(share), "%", limit=100 * LIMIT, note=note)


def sharpness(figures: Figures) -> None:
    print(f"\nmean bounds of 20 draws; two groups of 2/3 and 1/3, {TRAIN:,} rows fix the cells")
    print(
        f"{'codes':>6}{'rows':>8}{'gap':>8}{'bound':>8}{'by cell':>9}{'I':>9}{'bound':>9}{'ms':>6}"
    )
    for codes in (1, 2, 8, 32, 200, 1000):
        for n in (1000, 16_000):
            for by in (0.0, 0.2) if codes > 1 else (0.0,):
                channel = tilted(codes, by)
                rng = np.random.default_rng(0)
                certified, by_cell, seconds = [], [], 0.0
                for _ in range(20):
                    z_cells, (z, s) = channel.draw(rng, TRAIN)[0], channel.draw(rng, n)
                    start = time.process_time()
                    certificate = certify(z_cells, z, s, groups=2)
                    seconds += time.process_time() - start
                    assert certificate is not None
                    certified.append((certificate.gap, certificate.information))
                    by_cell.append(cell_by_cell(z_cells, z, s, 2))
                gap, information = np.mean(certified, axis=0)
                print(
                    f"{codes:6}{n:8,}{channel.gap:8.3f}{gap:8.3f}{np.mean(by_cell):9.3f}"
                    f"{channel.information:9.4f}{information:9.4f}{50 * seconds:6.1f}"
                )
                if (codes, n, by) == TIMED:
                    what = f"one certificate, {n:,} rows, {codes} codes: processor time"
                    figures.seconds(what, seconds / 20)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=2000)
    given = parser.parse_args()
    with Figures("certificate") as figures:
        failures(given.rounds, figures)
        sharpness(figures)
    return figures.failed


if __name__ == "__main__":
    sys.exit(main())
