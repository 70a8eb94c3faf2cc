"""Soft labels of a dataset, estimated once for all audits of a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from fairbench.api import Floats
from fairbench.auditing.soft_labels import has_soft_labels, soft_labels
from fairbench.data.prepared import Prepared

Estimated = Mapping[str, Floats | None]
"""Soft labels that a job estimated, by the fingerprint of their dataset."""


@dataclass
class SharedLabels:
    """Soft labels of ``data``, see :mod:`fairbench.auditing.soft_labels`.

    A job is sent to its process with them or, where no job has estimated them yet, with the rows to
    do so. It gives back what it estimated, for the jobs that are sent later. So the driver needs
    neither the seconds nor the memory that an estimate takes.
    """

    data: Prepared | None
    labels: Floats | None = None
    known: bool = False

    def __post_init__(self) -> None:
        self.known = self.known or (self.data is not None and not has_soft_labels(self.data))

    def get(self) -> Floats | None:
        """Return them ``(n, groups)``, estimated now where they are not known; None: none."""
        if not self.known:
            assert self.data is not None
            self.set(soft_labels(self.data))
        return self.labels

    def set(self, labels: Floats | None) -> None:
        """Take in what a job estimated."""
        self.labels, self.known = labels, True

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "data": None if self.known else self.data}


def estimated(shared: Iterable[tuple[str, SharedLabels | None]]) -> Estimated:
    """Estimate those that are not known, by fingerprint; return these alone."""
    unknown = [(key, one) for key, one in shared if one is not None and not one.known]
    return {key: one.get() for key, one in unknown}
