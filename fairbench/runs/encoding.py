"""The encoded arrays of one representation, as audits take them.

The rows of all audit roles are encoded together and shuffled, so that an encoder cannot tell the
rows that auditors are trained on from those that it is measured on. The order depends on the rows
of all roles, so a method cannot compute it from the seed it is given. What takes the test rows
alone comes later: :mod:`fairbench.runs.after_encoding`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from fairbench.api import AUDIT_ROLES, Access, Coding, Floats, Ints, Role, Track
from fairbench.api.method import Method, Representation
from fairbench.data.prepare import Prepared
from fairbench.runs.contract import ContractError
from fairbench.runs.cost import Meter
from fairbench.runs.decoding import GroupDecoder, Limits
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


def encode_point(
    i: int,
    representation: Representation,
    method: Method,
    seed: int,
    data: Prepared,
    features: Mapping[Role, np.ndarray],
    meter: Meter,
    *,
    detailed: bool = False,
    target: bool = False,
) -> dict[str, np.ndarray]:
    """Encode and decode point ``i`` of a unit; see :mod:`fairbench.runs.point_arrays`.

    ``features`` are x of ``data``, unpacked once. ``detailed``: whether audits examine the point
    closely; a stochastic encoder is then queried repeatedly. ``target``: whether the rows are of
    another domain. Raises ContractError for arrays that the interface does not allow.
    """
    rng = np.random.default_rng(derive_seed("encode", data.fingerprint, seed, i))
    rows = _AuditRows(features, np.concatenate([data.roles[role].s for role in AUDIT_ROLES]))
    parts = in_parts(rng.permutation(len(rows.s)), features[Role.TEST].shape[1])
    limits = Limits.around(features[role] for role in AUDIT_ROLES)
    decoder = GroupDecoder(
        representation, len(data.info.groups), method.name, limits, data.info.architecture.image
    )
    stochastic = method.coding is Coding.STOCHASTIC
    drawn, decoded = [], []
    for generator in rng.spawn(_draws(features[Role.AUDITOR_TRAIN])) if stochastic else [None]:
        z = _encode(representation, method, rows, parts, generator, meter)
        drawn.append(z)
        one = decoder.decode(z, rows.s, rows.x, parts)
        if one is not None:
            decoded.append(one)
    named = partial(ArrayName, i, target=target)
    arrays: dict[ArrayName, np.ndarray] = {}
    for role in AUDIT_ROLES:
        where = rows.of(role)
        arrays[named(Kind.Z, role)] = np.concatenate([z[where] for z in drawn])
        if decoded:
            arrays[named(Kind.DECODED, role)] = np.concatenate(
                [one.shown[where] for one in decoded]
            )
            arrays[named(Kind.OWN, role)] = np.mean([one.squares[where] for one in decoded], axis=0)
    if stochastic:
        arrays[named(Kind.FRESH)] = _fresh(representation, method, rows, parts, rng, meter)
    if detailed:
        arrays[named(Kind.DETAILED)] = np.array(True)
    if detailed and stochastic:
        for access, spread in _queries(representation, method, rows, parts, rng, meter):
            for role in AUDIT_ROLES:
                arrays[named(Kind(access.value), role)] = spread[rows.of(role)]
    return {str(name): array for name, array in arrays.items()}


def _draws(auditor_train: np.ndarray) -> int:
    return int(np.clip(_MOST_DRAWN // len(auditor_train), 1, DRAWS))


@dataclass(frozen=True)
class _AuditRows:
    """The rows of all audit roles, numbered role after role."""

    features: Mapping[Role, np.ndarray]
    s: Ints  # (n,)

    def of(self, role: Role) -> slice:
        """Numbers of a role's rows."""
        before = AUDIT_ROLES[: AUDIT_ROLES.index(role)]
        start = sum(len(self.features[other]) for other in before)
        return slice(start, start + len(self.features[role]))

    def x(self, numbers: Ints) -> np.ndarray:
        """Features of some rows."""
        first = self.features[AUDIT_ROLES[0]]
        out = np.empty((len(numbers), first.shape[1]), first.dtype)
        for role in AUDIT_ROLES:
            where = self.of(role)
            mine = (numbers >= where.start) & (numbers < where.stop)
            out[mine] = self.features[role][numbers[mine] - where.start]
        return out


def in_parts(numbers: Ints, width: int) -> list[Ints]:
    """Return rows in parts that fit into memory, ``width`` columns of x each."""
    most = max(1, min(_MOST_ROWS, _MOST_VALUES // width))
    if width >= _WIDE:
        most = min(most, _MOST_WIDE_ROWS)
    return np.array_split(numbers, -(-len(numbers) // most))


def _encode(
    representation: Representation,
    method: Method,
    rows: _AuditRows,
    parts: list[Ints],
    generator: np.random.Generator | None,
    meter: Meter,
    phase: str = "encode",
) -> Floats:
    """Encode all rows; those of all roles together, so that an encoder cannot tell them apart."""
    encoded = []
    for part in parts:
        x = rows.x(part)
        s = rows.s[part] if method.track is Track.AWARE else None
        with meter.phase(phase):
            z = representation.encode(x, s=s, generator=generator)
        encoded.append(_checked(z, len(x), f"{method.name}.encode"))
    together = np.concatenate(encoded)
    out = np.empty_like(together)
    out[np.concatenate(parts)] = together
    return out


_FURTHER = "further draws"
"""Phase of draws beyond those that audits need; encoding a person does not take so long."""


def _fresh(
    representation: Representation,
    method: Method,
    rows: _AuditRows,
    parts: list[Ints],
    rng: np.random.Generator,
    meter: Meter,
) -> np.ndarray:
    """Draw z of the auditor training set again, ``(FRESH_DRAWS * n, k)``, draw after draw."""
    mine = rows.of(Role.AUDITOR_TRAIN)
    drawn = np.concatenate(
        [
            _encode(representation, method, rows, parts, generator, meter, _FURTHER)[mine]
            for generator in rng.spawn(FRESH_DRAWS)
        ]
    )
    with np.errstate(over="ignore", invalid="ignore"):
        compact = drawn.astype(np.float16)
        error = np.sqrt(((compact - drawn.astype(np.float64)) ** 2).mean(axis=0))
    close = error <= _COMPACT_ERROR * drawn.std(axis=0, dtype=np.float64)
    return compact if close.all() else drawn


def _queries(
    representation: Representation,
    method: Method,
    rows: _AuditRows,
    parts: list[Ints],
    rng: np.random.Generator,
    meter: Meter,
) -> Iterator[tuple[Access, Floats]]:
    """Yield mean and standard deviation ``(n, 2 k)`` of each column of z over ever more draws.

    They are summed up draw by draw, as they would not fit into memory.
    """
    accesses = {access.draws: access for access in Access if access.draws}
    mean: Any = 0.0
    squares: Any = 0.0
    for draw, generator in enumerate(rng.spawn(max(accesses)), start=1):
        z = _encode(representation, method, rows, parts, generator, meter, _FURTHER)
        before = z - mean
        mean = mean + before / draw
        squares = squares + before * (z - mean)
        if draw in accesses:
            together = np.hstack([mean, np.sqrt(squares / draw)])
            yield accesses[draw], together.astype(np.float32)


def _checked(z: Any, rows: int, what: str) -> np.ndarray:
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
