"""A dataset ready for methods and auditors: its rows by role, and all that is known of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from fairbench.api import AUDIT_ROLES, DatasetInfo, DataSource, Ints, Role
from fairbench.data.preprocessing import Preprocessing
from fairbench.data.splits import OFFICIAL, Split
from fairbench.files.paths import twin_name


@dataclass(frozen=True)
class Rows:
    """The rows of one role."""

    # x as float32, ``(n, d)``; of binary images packed bits, uint8, ``(n, ceil(d / 8))``: 300 MB
    # instead of 10 GB for the training images of dSprites
    stored: np.ndarray
    s: Ints  # (n,)
    y: Mapping[str, Ints]  # (n,)
    numbers: Ints  # (n,): of the rows in their table, the same in every split
    pixels: int | None = None  # d, where ``stored`` is packed
    transfer: Mapping[str, Ints] = field(default_factory=dict)  # (n,): labels of unseen tasks

    def __post_init__(self) -> None:
        labels = (*self.y.values(), *self.transfer.values())
        for array in (self.stored, self.s, self.numbers, *labels):
            array.flags.writeable = False

    @property
    def x(self) -> np.ndarray:
        """Features ``(n, d)``: float32; of images uint8 of 0 and 1, unpacked at each call."""
        if self.pixels is None:
            return self.stored
        x = np.unpackbits(self.stored, axis=1, count=self.pixels)
        x.flags.writeable = False
        return x

    @property
    def x_bytes(self) -> int:
        """Bytes of ``x``, without unpacking it: 2.5 GB for the training images of dSprites."""
        return self.stored.nbytes if self.pixels is None else self.x_values

    @property
    def x_values(self) -> int:
        """Number of values of ``x``."""
        return len(self.stored) * (self.stored.shape[1] if self.pixels is None else self.pixels)

    def some_x(self, every: int) -> np.ndarray:
        """Return ``x`` of every so many rows, from the first on."""
        return replace(self, stored=self.stored[::every]).x

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        # Unpickled arrays are writable; in a job's process they must not be.
        self.__dict__.update(state)
        self.__post_init__()


@dataclass(frozen=True)
class Prepared:
    """A dataset ready for use."""

    info: DatasetInfo  # names and sizes
    # Arrays are read-only: a plugin that writes into its input fails instead of harming others
    roles: Mapping[Role, Rows]
    source: str  # a DataSource
    origin: str  # where the files are from
    iterations: int  # training steps of the full budget
    table_rows: int  # rows of the table; those above an ``audit_rows`` are in no role
    # sha256 over names (tasks' too), sizes, every array and the split: equal fingerprints, equal
    # bytes
    fingerprint: str
    notes: tuple[str, ...] = ()  # doubts about the table, shown as warnings
    # Turns raw columns into x; None for images, which are x
    preprocessing: Preprocessing | None = None
    split: Split = OFFICIAL
    # Columns by whose values rows can be split into domains
    domains: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # values by column
    # The rows of another domain, prepared alike; nothing that is measured on ``roles`` is fitted
    # on them
    target: Prepared | None = None

    @property
    def title(self) -> str:
        """Name, and fold if it is of one, for messages."""
        return f"{self.info.name}, {self.split.name}" if self.split.folds else self.info.name

    @property
    def simulated(self) -> bool:
        """Whether its rows are a simulated twin's."""
        return self.source == DataSource.SIMULATED

    @property
    def table(self) -> str:
        """Name of the leaderboard of what is trained on it."""
        return twin_name(self.info.name) if self.simulated else self.info.name

    def audited(self) -> Prepared:
        """Return the audit roles alone, for audit jobs."""
        return replace(
            self,
            roles={role: self.roles[role] for role in AUDIT_ROLES},
            target=self.target and self.target.audited(),
        )
