"""The arrays that are stored of a fitted unit: their names, and what each holds.

A name is ``{point}/{kind}/{part}``, and ``{point}/target/{kind}/{part}`` of the rows of another
domain; without a part it ends with the kind, as ``0/rate``. Points are numbered in the order of the
unit's list. An array is missing where a method has no such thing, or an older version stored none.
Results folders are full of these names: they never change.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from fairbench.api import AUDIT_ROLES, Access, Role
from fairbench.auditing.encoded import EncodedPoint, OwnDecoder


class Kind(enum.StrEnum):
    """What an array holds: n rows of an audit role, z of k columns."""

    Z = "z"
    """By role, ``(n, k)``; of a stochastic encoder ``(draws * n, k)``, draw after draw."""
    DECODED = "decoded"
    """By role, draw after draw as z: reconstructions for all groups by the own decoder, as auditors
    see them."""
    OWN = "own"
    """By role, ``(n,)``: squared errors of the own decoder, mean over draws."""
    FRESH = "fresh"
    """``(FRESH_DRAWS * n, k)``: further draws of the auditor training set by a stochastic encoder,
    at half precision if that is enough."""
    DETAILED = "detailed"
    """True at points that audits examine closely, missing at others."""
    QUERIES_16 = Access.QUERIES_16.value
    """By role, ``(n, 2 k)``: mean and standard deviation of z over 16 draws of a stochastic
    encoder, at points that audits examine closely."""
    QUERIES_256 = Access.QUERIES_256.value
    """The same over 256 draws."""
    PERMUTED = "permuted"
    """A number: mean squared error of the own decoder on the test rows with z permuted."""
    RATE = "rate"
    """A number: the method's own code length on the test rows, in nats."""
    BITS = "bits"
    """By BIT_PARTS: bits of the test rows, see :mod:`fairbench.runs.packed_bits`."""
    RECONSTRUCTIONS = "reconstructions"
    """By PICTURES: a few test images, see :mod:`fairbench.runs.example_reconstructions`."""
    ROWS = "rows"
    """A number, of no point: how many rows of each role were encoded at most. Missing: all."""


BIT_PARTS = ("ones", "kept", "shape")
PICTURES = ("x", "own", "same")

NOT_AUDITED = (Kind.BITS, Kind.RECONSTRUCTIONS)
"""Kinds that are kept to be looked at; audits do without."""

_TARGET = "target"


@dataclass(frozen=True)
class ArrayName:
    """The name of one array, and as a string its key.

    Parameters
    ----------
    point : int or None
        None: of the whole unit.
    kind : str
        A Kind, or one that another version stores.
    part : str
        A role, or one of BIT_PARTS or PICTURES.
    target : bool
        Whether it is of the rows of another domain.
    """

    point: int | None
    kind: str
    part: str = ""
    target: bool = False

    def __str__(self) -> str:
        point = "" if self.point is None else str(self.point)
        target = _TARGET if self.target else ""
        return "/".join(filter(None, (point, target, self.kind, self.part)))

    @classmethod
    def parse(cls, key: str) -> ArrayName:
        """Return the name that a key spells."""
        point, *rest = key.split("/")
        if not rest:
            return cls(None, point)
        target = rest[0] == _TARGET
        kind, *part = rest[target:]
        return cls(int(point), kind, "/".join(part), target)

    @property
    def role(self) -> Role | None:
        """Role whose rows the array holds, draw after draw; None where it has no rows."""
        if self.kind == Kind.FRESH:
            return Role.AUDITOR_TRAIN
        return Role(self.part) if self.part in AUDIT_ROLES else None


ROWS = str(ArrayName(None, Kind.ROWS))

Part = TypeVar("Part", bound=str)


@dataclass(frozen=True)
class PointArrays:
    """The arrays of one point, of its own rows or of those of another domain (``target``)."""

    arrays: Mapping[str, np.ndarray]  # of the unit
    point: int
    target: bool = False

    def get(self, kind: Kind, part: str = "") -> np.ndarray | None:
        """Return an array; None where it is missing."""
        return self.arrays.get(self._key(kind, part))

    def by_part(self, kind: Kind, parts: Iterable[Part]) -> dict[Part, np.ndarray]:
        """Return the arrays of a kind; KeyError where one is missing."""
        return {part: self.arrays[self._key(kind, part)] for part in parts}

    def encoded(self) -> EncodedPoint:
        """Return the point as auditors take it."""
        # Without what auditors must see of it, a decoder is not believed: version 0.1 stored none.
        known = self.get(Kind.DECODED, Role.TEST) is not None
        return EncodedPoint(
            z=self._by_role(Kind.Z),
            own=OwnDecoder(self._by_role(Kind.DECODED), self._by_role(Kind.OWN)) if known else None,
            permuted_distortion=self._number(Kind.PERMUTED),
            rate=self._number(Kind.RATE),
            fresh=self.get(Kind.FRESH),
            detailed=self.get(Kind.DETAILED) is not None,
            queries={
                access: self._by_role(Kind(access.value))
                for access in Access
                if access.draws and self.get(Kind(access.value), Role.TEST) is not None
            },
        )

    def _key(self, kind: Kind, part: str) -> str:
        return str(ArrayName(self.point, kind, part, self.target))

    def _by_role(self, kind: Kind) -> dict[Role, np.ndarray]:
        return self.by_part(kind, AUDIT_ROLES)

    def _number(self, kind: Kind) -> float | None:
        value = self.get(kind)
        return None if value is None else float(value)
