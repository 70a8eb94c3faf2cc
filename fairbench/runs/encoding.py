"""The encoded arrays of one representation, as audits take them.

The rows of all audit roles are encoded together, in an order that tells nothing of their roles
(:mod:`fairbench.runs.row_order`), so that an encoder cannot tell the rows that auditors are trained
on from those that it is measured on. Each generator has a seed of its own, a hash, and the draws
that audits see are taken at random among all draws.
What takes the test rows alone comes later: :mod:`fairbench.runs.measures_on_test_rows`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from fairbench.api import AUDIT_ROLES, Floats, Ints, Role
from fairbench.api.method import Representation
from fairbench.data.prepared import Prepared
from fairbench.runs.cost import Meter
from fairbench.runs.declared import Declared
from fairbench.runs.decoding import GroupDecoder, ReconstructionRange
from fairbench.runs.draws import (
    ONCE,
    DrawUse,
    EncodingSeeds,
    NumberedDraw,
    Spread,
    compact,
    drawn_of_stochastic,
)
from fairbench.runs.plugin_values import ContractError
from fairbench.runs.point_arrays import ArrayName, Kind
from fairbench.runs.row_order import digest_of, hash_rows, order_by_content

_MAX_ROWS = 65_536
_MAX_VALUES = 2**25
"""Rows, and values of x, that are encoded at once: for the sake of memory."""
_WIDE, _MAX_WIDE_ROWS = 1_024, 1_024
"""Columns from which on, as of images, so few rows are: they stay in the cache meanwhile."""
_FURTHER = "further draws"
"""Phase of draws beyond those that audits need; encoding a person does not take so long."""


@dataclass(frozen=True)
class RowsToEncode:
    """The rows of all audit roles, numbered role after role."""

    data: Prepared
    x: Mapping[Role, np.ndarray]  # unpacked once
    s: Ints  # (n,)
    target: bool  # whether they are of another domain than the one that was fitted

    @classmethod
    def of(cls, data: Prepared, *, target: bool = False) -> RowsToEncode:
        """Unpack the audit roles of a dataset."""
        roles = [data.roles[role] for role in AUDIT_ROLES]
        x = {role: rows.x for role, rows in zip(AUDIT_ROLES, roles, strict=True)}
        return cls(data, x, np.concatenate([rows.s for rows in roles]), target)

    @cached_property
    def _hashes(self) -> npt.NDArray[np.uint64]:
        return np.concatenate([hash_rows(self.x[role]) for role in AUDIT_ROLES])

    @cached_property
    def digest(self) -> str:
        """What all that is drawn by chance depends on, and no method knows."""
        return digest_of(self._hashes, self.s)

    @cached_property
    def parts(self) -> list[Ints]:
        """The numbers of all rows, mixed, in the parts that are encoded at once."""
        mixed = order_by_content(self._hashes, self.digest)
        return in_parts(mixed, self.x[Role.TEST].shape[1])

    def numbers(self, role: Role) -> slice:
        """Numbers of a role's rows."""
        before = AUDIT_ROLES[: AUDIT_ROLES.index(role)]
        start = sum(len(self.x[other]) for other in before)
        return slice(start, start + len(self.x[role]))

    def features(self, numbers: Ints) -> np.ndarray:
        """Return x of some rows."""
        first = self.x[AUDIT_ROLES[0]]
        out = np.empty((len(numbers), first.shape[1]), first.dtype)
        for role in AUDIT_ROLES:
            where = self.numbers(role)
            mine = (numbers >= where.start) & (numbers < where.stop)
            out[mine] = self.x[role][numbers[mine] - where.start]
        return out


@dataclass(frozen=True)
class FittedPoint:
    """One point of a fitted unit, numbered as in the unit's list."""

    number: int
    representation: Representation
    declared: Declared  # when its job was planned
    seed: int

    def decoder(self, rows: RowsToEncode, roles: Iterable[Role]) -> GroupDecoder:
        """Its own decoder, limited by x of the roles that it will be called for."""
        info = rows.data.info
        limits = ReconstructionRange.around(rows.x[role] for role in roles)
        image = info.architecture.image
        groups = len(info.groups)
        return GroupDecoder(self.representation, groups, self.declared.name, limits, image)


def encode_point(
    point: FittedPoint, rows: RowsToEncode, meter: Meter, *, detailed: bool = False
) -> dict[str, np.ndarray]:
    """Encode and decode a point; the keys are those of :mod:`fairbench.runs.point_arrays`.

    ``detailed``: whether audits examine the point closely; a stochastic encoder is then queried
    repeatedly. Raises ContractError for arrays that the interface does not allow.
    """
    seeds = EncodingSeeds(rows.digest, point.seed, point.number)
    order = seeds.order()
    parts = rows.parts
    stochastic = point.declared.stochastic
    plan = drawn_of_stochastic(len(rows.x[Role.AUDITOR_TRAIN]), detailed) if stochastic else (ONCE,)
    encoder, decoder = _PointEncoder(point, rows, parts, meter), point.decoder(rows, AUDIT_ROLES)
    drawn: dict[NumberedDraw, Floats] = {}
    spread = Spread()
    for draw in (plan[place] for place in order.permutation(len(plan))):
        z = encoder.draw(
            seeds.generator(draw) if stochastic else None,
            "encode" if draw.use is DrawUse.AUDITED else _FURTHER,
        )
        if draw.use is DrawUse.QUERY:
            spread.add(z)
            continue
        drawn[draw] = z[rows.numbers(Role.AUDITOR_TRAIN)] if draw.use is DrawUse.FRESH else z
    audited, further = (
        [drawn[one] for one in plan if one.use is use] for use in (DrawUse.AUDITED, DrawUse.FRESH)
    )
    # After all draws: which of them are decoded would tell an encoder which ones audits see.
    sample = seeds.sample(len(rows.s))
    decoded = decoder.decode(audited, rows.s, rows.features, parts, sample) or []
    named = partial(ArrayName, point.number, target=rows.target)
    arrays: dict[ArrayName, np.ndarray] = {}
    for role in AUDIT_ROLES:
        mine = rows.numbers(role)
        arrays[named(Kind.Z, role)] = np.concatenate([z[mine] for z in audited])
        if decoded:
            arrays[named(Kind.DECODED, role)] = np.concatenate(
                [one.reconstructions[mine] for one in decoded]
            )
            arrays[named(Kind.OWN, role)] = np.mean(
                [one.squared_errors[mine] for one in decoded], axis=0
            )
        for access, together in spread.by_access.items():
            arrays[named(Kind(access.value), role)] = together[mine]
    if further:
        arrays[named(Kind.FRESH)] = compact(np.concatenate(further))
    if detailed:
        arrays[named(Kind.DETAILED)] = np.array(True)
    return {str(name): array for name, array in arrays.items()}


@dataclass(frozen=True)
class _PointEncoder:
    """Encodes the rows of all roles together, so that an encoder cannot tell them apart."""

    point: FittedPoint
    rows: RowsToEncode
    parts: list[Ints]  # numbers of all rows, in the parts that are encoded at once
    meter: Meter

    def draw(self, generator: np.random.Generator | None, phase: str) -> Floats:
        declared = self.point.declared
        encoded = []
        for part in self.parts:
            x = self.rows.features(part)
            s = self.rows.s[part] if declared.aware else None
            with self.meter.phase(phase):
                z = self.point.representation.encode(x, s=s, generator=generator)
            encoded.append(checked_codes(z, len(x), f"{declared.name}.encode"))
        together = np.concatenate(encoded)
        out = np.empty_like(together)
        out[np.concatenate(self.parts)] = together
        return out


def in_parts(numbers: Ints, width: int) -> list[Ints]:
    """Return rows in parts that fit into memory, ``width`` columns of x each."""
    most = max(1, min(_MAX_ROWS, _MAX_VALUES // width))
    if width >= _WIDE:
        most = min(most, _MAX_WIDE_ROWS)
    return np.array_split(numbers, -(-len(numbers) // most))


def checked_codes(z: Any, rows: int, what: str) -> np.ndarray:
    """Return z of so many rows as an array ``(n, k)``; ContractError where it is none."""
    array = np.asarray(z)
    if array.ndim != 2 or len(array) != rows or array.shape[1] == 0:
        raise ContractError(f"{what} returned shape {array.shape} for {rows} rows.")
    if array.dtype.kind not in "fiub":
        raise ContractError(f"{what} returned dtype {array.dtype}, not numbers.")
    array = as_audited(array)
    if not np.isfinite(array).all():
        raise ContractError(f"{what} returned values that are not finite.")
    return array


def as_audited(z: np.ndarray) -> np.ndarray:
    """Return codes as auditors see them: in single precision, and zeros without a sign.

    Neither decoder, certificate nor reader must see what auditors do not: further digits could tell
    s. Pixels, which are ``uint8``, stay as they are: they take a quarter of the memory.
    """
    if z.dtype == np.uint8:
        return z
    with np.errstate(over="ignore"):  # infinite then, which is refused
        return z.astype(np.float32, copy=False) + np.float32(0)
