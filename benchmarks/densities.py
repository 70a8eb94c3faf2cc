"""Whether one who knows a stochastic encoder reads more of s than the strict auditors do.

    python benchmarks/densities.py --results DIR [--data-root DIR] [--out FILE]

A code that is a mean plus Gaussian noise has a density p(z | x), which the encoder's network tells
exactly. Auditors see draws alone. Here the network is known: P(s | z) is the mean of P(s | x) over
the rows of the auditor training set, weighted by p(z | x). This is Bayes' rule for as many people
as there are rows; where the noise is narrower than the distance to the next of them, it reads too
little. P(s | x) is what auditors learn from (fairbench.auditing.soft_labels). A power of the odds
and a share of the prior are chosen on the validation set, and I is measured on the test set.

Takes every point of the official split's first seed whose encoder is in the results folder, of
methods with Gaussian codes. Prints a line for each, and exits with 1 if one is read by more than
.02 nats above the strict auditors' estimate and by more than 8% of it.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd
from inputs import open_results

from fairbench.api import Floats, Ints, Role
from fairbench.auditing.auditors.samples import prior_of
from fairbench.auditing.config import AuditPreset
from fairbench.auditing.soft_labels import soft_labels
from fairbench.auditing.tolerance import tolerance
from fairbench.data.prepared import Prepared
from fairbench.data.splits import OFFICIAL
from fairbench.models.lookup import StoredModel
from fairbench.models.results import StoredResults
from fairbench.stats.scores import information, log_loss, mix_in_prior
from fairbench.training.representation import NeuralRepresentation

POWERS, PRIOR_SHARES = (0.6, 0.7, 0.8, 0.9, 1.0, 1.2), (0.0, 0.01, 0.03, 0.1)
CHUNK = 1000
"""Codes whose densities are computed at once."""


@dataclass(frozen=True)
class Reading:
    """What is read of one point; nats."""

    dataset: str
    method: str
    point: str
    distortion: float
    strict: float
    known: float  # by one who knows the encoder

    @property
    def within(self) -> bool:
        """Whether it is no more than the strict auditors may miss."""
        return self.known - self.strict <= tolerance(self.strict)


def posterior(z: Floats, mean: Floats, deviation: Floats, labels: Floats) -> Floats:
    """Return P(s | z) of codes ``(m, k)``, ``(m, groups)``, by Bayes' rule.

    The encoder gives person i the density N(mean[i], deviation[i]^2), both ``(n, k)``; all are as
    frequent, and ``labels (n, groups)`` are their P(s | x).
    """
    precision = deviation.astype(np.float64) ** -2
    weighted = mean * precision
    constant = -np.log(deviation).sum(1) - 0.5 * (mean * weighted).sum(1)
    parts = []
    for start in range(0, len(z), CHUNK):
        rows = z[start : start + CHUNK].astype(np.float64)
        density = rows @ weighted.T - 0.5 * rows**2 @ precision.T + constant
        density = np.exp(density - density.max(1, keepdims=True))
        parts.append(density @ labels / density.sum(1, keepdims=True))
    return np.concatenate(parts).astype(np.float32)


def read_known(
    representation: NeuralRepresentation, data: Prepared, labels: Floats
) -> float | None:
    """Return I(Z;S) in nats as one reads it who knows the encoder; None if it is not Gaussian."""
    train, held, test = (
        data.roles[role] for role in (Role.AUDITOR_TRAIN, Role.VALIDATION, Role.TEST)
    )
    code = representation.gaussian_code(train.x)
    if code is None:
        return None
    rng = np.random.default_rng(0)
    prior = prior_of(train.s, labels.shape[1])
    likely = {
        role: posterior(representation.encode(rows.x, generator=rng), *code, labels)
        for role, rows in ((Role.VALIDATION, held), (Role.TEST, test))
    }

    def changed(role: Role, power: float, share: float) -> Floats:
        odds = prior * (np.maximum(likely[role], 1e-9) / prior) ** power
        mixed = (1 - share) * odds / odds.sum(1, keepdims=True) + share * prior
        return mix_in_prior(mixed, prior)

    def loss(of: tuple[float, float]) -> float:
        return _loss(changed(Role.VALIDATION, *of), held.s)

    best = min(itertools.product(POWERS, PRIOR_SHARES), key=loss)
    return information(changed(Role.TEST, *best), test.s)


def _loss(probabilities: Floats, labels: Ints) -> float:
    return float(log_loss(probabilities, labels).mean())


def readings(results: StoredResults) -> Iterator[Reading]:
    """Read the points of all Gaussian encoders that are kept."""
    labels: dict[str, Floats | None] = {}
    units = [unit for unit in results.fitted_units() if not unit.of_a_trial]
    for unit in sorted(units, key=lambda one: (one.dataset, one.method)):
        model = StoredModel(unit, results)
        if unit.seed != 0 or unit.split != OFFICIAL.name or not model.has_encoder:
            continue
        for point in model.points:
            representation = model.encoder.at(model.resolve_point(point.label))
            if point.audit != AuditPreset.STRICT or not isinstance(
                representation, NeuralRepresentation
            ):
                continue
            if unit.fingerprint not in labels:
                labels[unit.fingerprint] = soft_labels(model.data)
            of_data = labels[unit.fingerprint]
            known = None if of_data is None else read_known(representation, model.data, of_data)
            if known is not None:
                figures = point.figures
                yield Reading(
                    unit.dataset,
                    unit.method,
                    point.label,
                    figures["distortion"],
                    figures["mutual_information"],
                    known,
                )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--data-root", type=Path, default=None)
    parser.add_argument("--out", type=Path, default=None, help="CSV file of all figures.")
    given = parser.parse_args()
    found = []
    for one in readings(open_results(given.results, given.data_root)):
        found.append(one)
        print(
            f"{one.dataset} {one.method} {one.point}: D {one.distortion:.3f}, strict auditors "
            f"{one.strict:.4f}, knowing the encoder {one.known:.4f}",
            flush=True,
        )
    if not found:
        raise SystemExit(
            "There is no strict audit of a Gaussian encoder, of the official split and seed 0, in "
            f"{given.results}. Run some first: fairbench run --methods vfae,fcrl --results DIR"
        )
    if given.out is not None:
        frame = pd.DataFrame([dataclasses.asdict(one) for one in found])
        frame.to_csv(given.out, index=False, float_format="%.5g")
    return int(not all(one.within for one in found))


if __name__ == "__main__":
    sys.exit(main())
