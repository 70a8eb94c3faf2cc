"""One representation of the audit roles: what measuring it is given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from fairbench.api import Access, Floats, Role

_STANDARD_ERRORS = 5.0
"""Between distortions of two sets of rows, beyond which a decoder does not treat them alike."""


@dataclass(frozen=True)
class OwnDecoder:
    """Reconstructions of the audit roles by a method's own decoder."""

    # (n, width), draws as z: the reconstructions for all groups, which auditors see
    reconstructions: Mapping[Role, Floats]
    # (n,): squared error of the reconstruction for a row's own group, summed over columns; mean
    # over draws
    squared_errors: Mapping[Role, Floats]

    def is_consistent(self) -> bool:
        """Whether it treats the auditor training set as it treats the other rows.

        The rows of all roles are equally new to the encoder. One that knows which rows auditors are
        trained on could show them something else.
        """
        train = self.squared_errors[Role.AUDITOR_TRAIN].astype(np.float64)
        others = np.concatenate(
            [self.squared_errors[Role.VALIDATION], self.squared_errors[Role.TEST]]
        )
        error = np.sqrt(train.var() / len(train) + others.var(dtype=np.float64) / len(others))
        return bool(abs(train.mean() - others.mean(dtype=np.float64)) <= _STANDARD_ERRORS * error)


@dataclass(frozen=True)
class EncodedPoint:
    """One representation of the audit roles: all of a trained model that measuring needs."""

    # (n, k): of the three audit roles. n is a multiple of a role's rows where a stochastic encoder
    # was drawn from several times, draw after draw.
    z: Mapping[Role, Floats]
    own: OwnDecoder | None  # the method's own decoder
    # Mean squared error of the own decoder on the test set with z permuted across rows
    permuted_distortion: float | None
    rate: float | None  # the method's own code length on the test set, nats
    # (m n, k): m further draws of the auditor training set
    fresh: Floats | None = None
    # Whether repeated queries and the number of rows are examined: three points of a curve are
    detailed: bool = False
    # (n, 2 k) by role: mean and standard deviation over so many draws; empty for a deterministic
    # encoder
    queries: Mapping[Access, Mapping[Role, Floats]] = field(default_factory=dict)
