"""The encoded arrays of one representation, as audits take them.

The rows of all audit roles are encoded together and shuffled, so that an encoder cannot tell the
rows that auditors are trained on from those that it is measured on. The order depends on the rows
of all roles, so a method cannot compute it from the seed it is given. What takes the test rows
alone comes later: :mod:`fairbench.runs.after_encoding`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from fairbench.api import AUDIT_ROLES, Access, Coding, Floats, Ints, Role, Track
from fairbench.api.method import Method, Representation
from fairbench.data.prepared import Prepared
from fairbench.runs.contract import ContractError
from fairbench.runs.cost import Meter
from fairbench.runs.decoding import GroupDecoder, ReconstructionRange
from fairbench.runs.point_arrays import ArrayName, Kind
from fairbench.stats.seeds import derive_seed

DRAWS = 3
"""Draws of a stochastic encoder that audits see; what is released is one of them."""
_MOST_DRAWN = 100_000
"""Rows of the auditor training set, draws counted: of many rows fewer draws are enough."""
FRESH_DRAWS = 3
"""Further draws of the auditor training set, for members that gain from them."""
_COMPACT_ERROR = 1e-3
"""Most rounding of a column by half precision: root mean square, in standard deviations."""
_MOST_ROWS = 65_536
_MOST_VALUES = 2**25
"""Rows, and values of x, that are encoded at once: for the sake of memory."""
_WIDE, _MOST_WIDE_ROWS = 1_024, 1_024
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
    method: Method
    seed: int

    def decoder(self, rows: RowsToEncode, roles: Iterable[Role]) -> GroupDecoder:
        """Its own decoder, limited by x of the roles that it will be called for."""
        info = rows.data.info
        limits = ReconstructionRange.around(rows.x[role] for role in roles)
        image = info.architecture.image
        groups = len(info.groups)
        return GroupDecoder(self.representation, groups, self.method.name, limits, image)


def encode_point(
    point: FittedPoint, rows: RowsToEncode, meter: Meter, *, detailed: bool = False
) -> dict[str, np.ndarray]:
    """Encode and decode a point; the keys are those of :mod:`fairbench.runs.point_arrays`.

    ``detailed``: whether audits examine the point closely; a stochastic encoder is then queried
    repeatedly. Raises ContractError for arrays that the interface does not allow.
    """
    rng = np.random.default_rng(encoding_seed(rows, point.seed, point.number))
    parts = shuffled_parts(rows, rng)
    encoder = _PointEncoder(point, rows, parts, meter)
    decoder = point.decoder(rows, AUDIT_ROLES)
    drawn, decoded = [], []
    for z in encoder.audited_draws(rng):
        drawn.append(z)
        one = decoder.decode(z, rows.s, rows.features, parts)
        if one is not None:
            decoded.append(one)
    named = partial(ArrayName, point.number, target=rows.target)
    arrays: dict[ArrayName, np.ndarray] = {}
    for role in AUDIT_ROLES:
        mine = rows.numbers(role)
        arrays[named(Kind.Z, role)] = np.concatenate([z[mine] for z in drawn])
        if decoded:
            arrays[named(Kind.DECODED, role)] = np.concatenate([one.shown[mine] for one in decoded])
            arrays[named(Kind.OWN, role)] = np.mean([one.squares[mine] for one in decoded], axis=0)
    if encoder.is_stochastic:
        arrays[named(Kind.FRESH)] = encoder.further_draws(rng)
    if detailed:
        arrays[named(Kind.DETAILED)] = np.array(True)
    if detailed and encoder.is_stochastic:
        for access, spread in encoder.repeated_queries(rng):
            for role in AUDIT_ROLES:
                arrays[named(Kind(access.value), role)] = spread[rows.numbers(role)]
    return {str(name): array for name, array in arrays.items()}


@dataclass(frozen=True)
class _PointEncoder:
    """Encodes all rows at a point; those of all roles together, so that it cannot tell them apart.

    Each method spawns generators of what it is given, so what is drawn depends on their order.
    """

    point: FittedPoint
    rows: RowsToEncode
    parts: list[Ints]  # numbers of all rows, in the parts that are encoded at once
    meter: Meter

    @property
    def is_stochastic(self) -> bool:
        return self.point.method.coding is Coding.STOCHASTIC

    def audited_draws(self, rng: np.random.Generator) -> Iterator[Floats]:
        """Yield the draws of z that audits see; of a deterministic encoder the only one."""
        most = _MOST_DRAWN // len(self.rows.x[Role.AUDITOR_TRAIN])
        draws = int(np.clip(most, 1, DRAWS))
        for generator in rng.spawn(draws) if self.is_stochastic else [None]:
            yield self._draw(generator, "encode")

    def further_draws(self, rng: np.random.Generator) -> np.ndarray:
        """Draw z of the auditor training set again, ``(FRESH_DRAWS * n, k)``, draw after draw."""
        mine = self.rows.numbers(Role.AUDITOR_TRAIN)
        drawn = np.concatenate([self._draw(one, _FURTHER)[mine] for one in rng.spawn(FRESH_DRAWS)])
        with np.errstate(over="ignore", invalid="ignore"):
            compact = drawn.astype(np.float16)
            error = np.sqrt(((compact - drawn.astype(np.float64)) ** 2).mean(axis=0))
        close = error <= _COMPACT_ERROR * drawn.std(axis=0, dtype=np.float64)
        return compact if close.all() else drawn

    def repeated_queries(self, rng: np.random.Generator) -> Iterator[tuple[Access, Floats]]:
        """Yield mean and standard deviation ``(n, 2 k)`` of each column of z over ever more draws.

        They are summed up draw by draw, as they would not fit into memory.
        """
        accesses = {access.draws: access for access in Access if access.draws}
        mean: Any = 0.0
        squares: Any = 0.0
        for draw, generator in enumerate(rng.spawn(max(accesses)), start=1):
            z = self._draw(generator, _FURTHER)
            before = z - mean
            mean = mean + before / draw
            squares = squares + before * (z - mean)
            if draw in accesses:
                together = np.hstack([mean, np.sqrt(squares / draw)])
                yield accesses[draw], together.astype(np.float32)

    def _draw(self, generator: np.random.Generator | None, phase: str) -> Floats:
        method = self.point.method
        encoded = []
        for part in self.parts:
            x = self.rows.features(part)
            s = self.rows.s[part] if method.track is Track.AWARE else None
            with self.meter.phase(phase):
                z = self.point.representation.encode(x, s=s, generator=generator)
            encoded.append(checked_codes(z, len(x), f"{method.name}.encode"))
        together = np.concatenate(encoded)
        out = np.empty_like(together)
        out[np.concatenate(self.parts)] = together
        return out


def encoding_seed(rows: RowsToEncode, seed: int, number: int) -> int:
    """Return the seed of the order and of the draws of a point of a unit."""
    return derive_seed("encode", rows.data.fingerprint, seed, number)


def shuffled_parts(rows: RowsToEncode, rng: np.random.Generator) -> list[Ints]:
    """Return the numbers of all rows, shuffled, in the parts that are encoded at once."""
    return in_parts(rng.permutation(len(rows.s)), rows.x[Role.TEST].shape[1])


def in_parts(numbers: Ints, width: int) -> list[Ints]:
    """Return rows in parts that fit into memory, ``width`` columns of x each."""
    most = max(1, min(_MOST_ROWS, _MOST_VALUES // width))
    if width >= _WIDE:
        most = min(most, _MOST_WIDE_ROWS)
    return np.array_split(numbers, -(-len(numbers) // most))


def checked_codes(z: Any, rows: int, what: str) -> np.ndarray:
    """Return z of so many rows as an array ``(n, k)``; ContractError where it is none."""
    array = np.asarray(z)
    if array.ndim != 2 or len(array) != rows or array.shape[1] == 0:
        raise ContractError(f"{what} returned shape {array.shape} for {rows} rows.")
    if array.dtype.kind not in "fiub":
        raise ContractError(f"{what} returned dtype {array.dtype}, not numbers.")
    if array.dtype != np.uint8:  # pixels as they are: a quarter of the memory
        array = array.astype(np.float32, copy=False)
    if not np.isfinite(array).all():
        raise ContractError(f"{what} returned values that are not finite.")
    return array
