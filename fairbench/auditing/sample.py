"""Representations with labels: what auditors learn from, are chosen by, and are measured on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from fairbench.api import Floats, Ints, Role
from fairbench.auditing.auditors.samples import Weights, prior_of


@dataclass(frozen=True)
class AuditSample:
    """Rows of the three audit roles.

    Parameters
    ----------
    z, labels : mapping of Role to arrays
        ``(draws n, k)``, ``(draws n,)``: draw after draw of a role's n rows.
    classes : int
        Number of values of the labels, which are 0, 1, ...
    draws : int
        Draws of each row; more than 1 only of a stochastic encoder.
    soft : ndarray, shape (n, classes), optional
        Soft labels of the auditor training set: P(label | x) as estimated from other rows. Only
        where z is made of x alone: then P(label | z) is their mean.
    fresh : ndarray, shape (m n, k), optional
        m extra draws of z of the auditor training set, draw after draw; only trees that are fitted
        to soft labels use them.
    """

    z: Mapping[Role, Floats]
    labels: Mapping[Role, Ints]
    classes: int
    draws: int = 1
    soft: Floats | None = None
    fresh: Floats | None = None

    @property
    def prior(self) -> Weights:
        """Class prior of the auditor training set, ``(classes,)``, without zeros."""
        return prior_of(self.labels[Role.AUDITOR_TRAIN], self.classes)

    def once(self, draw: int = 0) -> AuditSample:
        """Return one draw of each row: where rows must be independent, or one is enough."""
        rows = {role: len(labels) // self.draws for role, labels in self.labels.items()}
        return AuditSample(
            {role: self.z[role][draw * n : (draw + 1) * n] for role, n in rows.items()},
            {role: self.labels[role][:n] for role, n in rows.items()},
            self.classes,
            soft=self.soft,
        )

    def seen_as(self, z: Mapping[Role, Floats]) -> AuditSample:
        """Return the same people and labels with another z, of which there are no fresh draws."""
        return replace(self, z=z, fresh=None)

    def part(self, rows: Ints) -> AuditSample:
        """Return the sample with these rows of the auditor training set alone; of one draw."""
        train = Role.AUDITOR_TRAIN
        return replace(
            self,
            z={**self.z, train: self.z[train][rows]},
            labels={**self.labels, train: self.labels[train][rows]},
            soft=None if self.soft is None else self.soft[rows],
        )
