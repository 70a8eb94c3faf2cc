"""Encoding audited rows again, in a process that has x and the stored encoder, and nothing else.

An encoder or decoder that took s, or the roles of rows, from the memory of the process that called
it finds none there, and gives other codes or reconstructions. So does a decoder that remembers the
rows that were encoded: it is restored in a process of its own. Neither may have left anything in a
file. Nor may a code, or what is decoded of it, depend on the other rows: that process has x of all
of them, so some are replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from fairbench.api import AUDIT_ROLES, Ints, Point, Role
from fairbench.api.method import Method, Representation
from fairbench.errors import StoreError
from fairbench.runs.audit_rows import AuditRows
from fairbench.runs.declared import declared
from fairbench.runs.decoding import GroupDecoder, ReconstructionRange
from fairbench.runs.draws import EncodingSeeds
from fairbench.runs.encoded_rows import EncodedRows
from fairbench.runs.encoding import RowsToEncode, checked_codes
from fairbench.runs.isolation import Isolation
from fairbench.runs.noisy_codes import share_beyond, share_of_moved_means
from fairbench.runs.plan import PlannedUnit
from fairbench.runs.plugin_values import ContractError
from fairbench.runs.point_arrays import Kind, PointArrays
from fairbench.store import encoders, files
from fairbench.store.records import UnitRecord
from fairbench.store.text import describe

Answer = TypeVar("Answer")

MAX_DIFFERING = 0.01
"""Share of rows that may have other codes: a code that is rounded may jump on another device."""

_DRAWS = 16
"""Draws of a row whose means are compared."""
_FEW, _DRAWS_OF_FEW = 1_000, 64
"""Rows that are encoded without others, and draws of them that say which codes are usual."""
_IN_SMALL_CALLS = 100
"""Rows encoded last, in calls of 64 rows down to one, among which no more may differ either."""


@dataclass(frozen=True)
class IsolatedEncodingTask:
    """All that the other process is given: rows of x, the file of an encoder, sizes of groups.

    Parameters
    ----------
    parts : sequence of ndarray, shape (n, d) each
        Rows that are encoded at once, in the order in which they were.
    draws : sequence of int
        Seeds of the draws of a stochastic encoder.
    groups : ndarray of int
        The group of every row, sorted: so it tells how many there are of each, and of no row more.
    sample : ndarray of int
        Numbers of the rows that axes of wide reconstructions are fitted to.
    limits : ReconstructionRange
        Of the rows that were audited, whichever ``parts`` are.
    isolation : Isolation
    """

    encoder: Path
    method: type[Method]
    point: Point
    parts: Sequence[np.ndarray]
    draws: Sequence[int]
    groups: Ints
    sample: Ints
    limits: ReconstructionRange
    isolation: Isolation

    def encode(self) -> list[np.ndarray]:
        """Return the draws of the codes of the rows, in the order of the parts.

        From a process of its own, as in :meth:`decode`.
        """
        return self._alone(partial(IsolatedEncodingTask._encode, self))

    def decode(self, drawn: Sequence[np.ndarray]) -> EncodedRows:
        """Decode what another process encoded: nothing can be remembered of the rows."""
        return self._alone(partial(IsolatedEncodingTask._decode, self, drawn))

    def decoding_errors(self, drawn: Sequence[np.ndarray]) -> np.ndarray | None:
        """Return squared errors ``(n, groups)`` of the same, mean over draws; None: no decoder."""
        return self._alone(partial(IsolatedEncodingTask._errors, self, drawn))

    def among_others(
        self, rng: np.random.Generator
    ) -> tuple[IsolatedEncodingTask, npt.NDArray[np.bool_]]:
        """Replace half of the rows, drawn by chance, by copies of the rest.

        Returns the task, and whether a row stays, in the order of the parts.
        """
        stay = [rng.permutation(len(x)) <= len(x) // 2 for x in self.parts]
        parts = [
            np.where(mine[:, None], x, x[rng.choice(np.flatnonzero(mine), len(x))])
            for x, mine in zip(self.parts, stay, strict=True)
        ]
        return replace(self, parts=parts), np.concatenate(stay)

    def _alone(self, call: Callable[[], Answer]) -> Answer:
        return self.isolation.call(self.isolation.rules(but=self.encoder), call)

    def _encode(self) -> list[np.ndarray]:
        representation = self._read().at(self.point)
        generators: list[np.random.Generator | None] = [None]
        if declared(self.method).stochastic:
            generators = [np.random.default_rng(seed) for seed in self.draws]
        return [self._draw(representation, one) for one in generators]

    def _decode(self, drawn: Sequence[np.ndarray]) -> EncodedRows:
        decoder, z = self._decoder(), np.hstack(drawn)
        together = np.concatenate(self.parts)
        decoded = decoder.decode(
            drawn, self.groups, together.__getitem__, self._numbers(), self.sample
        )
        if decoded is None:
            return EncodedRows(z, None, None)
        reconstructions = np.hstack([one.reconstructions for one in decoded])
        return EncodedRows(z, reconstructions, self._errors_of(decoder, drawn))

    def _errors(self, drawn: Sequence[np.ndarray]) -> np.ndarray | None:
        return self._errors_of(self._decoder(), drawn)

    def _errors_of(self, decoder: GroupDecoder, drawn: Sequence[np.ndarray]) -> np.ndarray | None:
        together = np.concatenate(self.parts)
        known = []
        for z in drawn:
            errors = decoder.squared_errors_by_group(z, together.__getitem__, self._numbers())
            if errors is None:
                return None
            known.append(errors)
        return np.asarray(np.mean(known, axis=0))

    def _decoder(self) -> GroupDecoder:
        encoder = self._read()
        return GroupDecoder(
            encoder.at(self.point),
            len(encoder.info.groups),
            self.method.name,
            self.limits,
            encoder.info.architecture.image,
        )

    def _numbers(self) -> list[Ints]:
        """Numbers of the rows of each part, all parts numbered through."""
        ends = np.cumsum([len(x) for x in self.parts])
        return np.split(np.arange(ends[-1]), ends[:-1])

    def _read(self) -> encoders.Encoder:
        return encoders.read_as(self.encoder, lambda name: self.method)

    def _draw(
        self, representation: Representation, generator: np.random.Generator | None
    ) -> np.ndarray:
        encoded = []
        for x in self.parts:
            z = representation.encode(x, s=None, generator=generator)
            encoded.append(checked_codes(z, len(x), f"{self.method.name}.encode"))
        return np.concatenate(encoded)


@dataclass(frozen=True)
class AuditedPoint:
    """The codes of a point as they were audited, and what is needed to make them again.

    ``numbers`` are those of the rows of ``x``, in their order, and ``s`` their groups, by number.
    """

    x: IsolatedEncodingTask
    numbers: Ints
    s: Ints
    codes: EncodedRows

    @classmethod
    def read(
        cls,
        planned: PlannedUnit,
        unit: UnitRecord,
        label: str,
        results: Path,
        isolation: Isolation,
    ) -> AuditedPoint:
        """Read a point of a unit that was trained into the results folder of a verification.

        Raises StoreError where its codes are gone.
        """
        arrays = None if unit.artefact is None else files.load(results, unit.artefact)
        if arrays is None or unit.encoder is None:
            raise StoreError(f"The codes of {unit.title} are not in {results}.")
        rows = RowsToEncode.of(AuditRows.of(planned.data, planned.budget.audit.rows).data)
        number = unit.number_of(label)
        point = PointArrays(arrays, number)
        seeds = EncodingSeeds(rows.digest, planned.unit.seed, number)
        parts = rows.parts
        if not declared(planned.method).stochastic:
            parts = _other_parts(len(rows.s), 2 * len(parts))
        draws = len(point.by_part(Kind.Z, [Role.TEST])[Role.TEST]) // len(rows.x[Role.TEST])
        features = [rows.features(part) for part in parts]
        encoder = encoders.path_of(results, unit.encoder)
        if encoders.made_by(encoder) != (isolation.method, isolation.params):
            raise ContractError("the file of its encoder names another method than was submitted")
        x = IsolatedEncodingTask(
            encoder=encoder,
            method=planned.method,
            point=Point(tuple(sorted(unit.points[number].knobs.items()))),
            parts=features,
            draws=seeds.audited(draws),
            groups=np.sort(rows.s),
            sample=np.argsort(np.concatenate(parts))[seeds.sample(len(rows.s))],
            limits=ReconstructionRange.around(features),
            isolation=isolation,
        )
        z = _of_rows(point, Kind.Z, rows)
        assert z is not None
        codes = EncodedRows(z, _of_rows(point, Kind.DECODED, rows), _of_rows(point, Kind.OWN, rows))
        return cls(x, np.concatenate(parts), rows.s, codes)

    def share_of_changed_rows(self) -> float:
        """Encode x again, in a process that has nothing else, and decode that in another one.

        Returns the share of rows that differ. Whatever the plugin raises there is raised here.
        """
        drawn = self.x.encode()
        again = self.x.decode(drawn)
        again = again.in_order(self.numbers).of_groups(self.s)
        differs = again.changed_rows(self.codes)
        share = float(differs.mean())
        stochastic = declared(self.x.method).stochastic
        if not stochastic:
            # Of a large table, the rows of small calls are too few to count among all.
            share = max(share, float(differs[self.numbers[-_IN_SMALL_CALLS:]].mean()))
        if share > MAX_DIFFERING:
            return share
        z = np.stack(drawn)
        others, stay = self.x.among_others(np.random.default_rng())
        share = max(share, self._share_changed_by_others(z, others, stay))
        if again.squared_errors is not None:
            share = max(share, self._share_decoded_by_others(drawn, others, stay))
        return max(share, self._share_changed_among_few(z)) if stochastic else share

    def _share_changed_by_others(
        self, drawn: np.ndarray, others: IsolatedEncodingTask, stay: npt.NDArray[np.bool_]
    ) -> float:
        """Return the share of rows that have other draws where half of the others are replaced.

        Noise is drawn for rows in their order, so another order says nothing of it. Where the other
        rows move the generator, means of draws are compared.
        """
        again = np.stack(others.encode())
        one, other = (EncodedRows(np.hstack(list(z[:, stay])), None, None) for z in (drawn, again))
        share = other.share_of_changed_rows(one)
        if share <= MAX_DIFFERING or not declared(self.x.method).stochastic:
            return share
        before, after = (
            np.stack(replace(task, draws=range(_DRAWS)).encode())[:, stay]
            for task in (self.x, others)
        )
        return share_of_moved_means(before, after)

    def _share_decoded_by_others(
        self, drawn: Sequence[np.ndarray], others: IsolatedEncodingTask, stay: npt.NDArray[np.bool_]
    ) -> float:
        """Return the share of rows whose codes have other errors where x of others is replaced."""
        errors = others.decoding_errors(drawn)
        if errors is None or self.codes.squared_errors is None:
            return 1.0
        mine = self.numbers[stay]
        z = np.hstack(drawn)[stay]
        again = EncodedRows(z, None, errors[stay]).of_groups(self.s[mine])
        return again.share_of_changed_rows(EncodedRows(z, None, self.codes.squared_errors[mine]))

    def _share_changed_among_few(self, drawn: np.ndarray) -> float:
        """Return the share of rows that have other draws where few are encoded at once."""
        rows = np.random.default_rng().permutation(len(self.numbers))[:_FEW]
        draws = range(_DRAWS_OF_FEW + len(drawn))
        few = replace(self.x, parts=[np.concatenate(self.x.parts)[rows]], draws=draws)
        return share_beyond(np.stack(few.encode()), drawn[:, rows])


def _other_parts(rows: int, count: int) -> list[Ints]:
    """Deal the numbers of rows to parts in another order: what depends on them is found out.

    The last of ``count`` equal parts is halved again and again: an encoder must give few rows the
    codes that it gives many.
    """
    *parts, last = np.array_split(np.random.default_rng().permutation(rows), count)
    while len(last) > 1:
        half, last = np.array_split(last, 2)
        parts.append(half)
    return [*parts, last] if len(last) else parts


def _of_rows(point: PointArrays, kind: Kind, rows: RowsToEncode) -> np.ndarray | None:
    """Return an array of a point for all rows, by number, draws side by side; None: missing."""
    if point.get(kind, Role.TEST) is None:
        return None
    by_role = point.by_part(kind, AUDIT_ROLES)
    draws = len(by_role[Role.TEST]) // len(rows.x[Role.TEST])
    of_role = (
        np.split(by_role[role], draws) if by_role[role].ndim > 1 else [by_role[role]]
        for role in AUDIT_ROLES
    )
    return np.concatenate([np.hstack(each) for each in of_role])


@dataclass(frozen=True)
class EncodedAlone:
    """What became of a point whose rows were encoded from x alone.

    ``differing`` is the share of rows that have other codes or reconstructions then; None: not
    encoded, and ``why``.
    """

    unit: UnitRecord
    label: str
    differing: float | None
    why: str | None = None
    failed: bool = False

    @property
    def agrees(self) -> bool:
        """Whether nothing speaks against the encoder: it may be that nothing could be checked."""
        return not self.failed and (self.differing is None or self.differing <= MAX_DIFFERING)


def encode_alone(
    planned: PlannedUnit, unit: UnitRecord, label: str, results: Path, isolation: Isolation
) -> EncodedAlone:
    """Encode the rows of a point of a trained unit again, from x alone, and compare."""
    if unit.encoder is None:
        why = unit.error or "it has no state() that a file can hold, so it trained beside all rows"
        return EncodedAlone(unit, label, None, why)
    if declared(planned.method).aware:
        return EncodedAlone(unit, label, None, "its encoder takes s, as it may in the aware track")
    try:
        audited = AuditedPoint.read(planned, unit, label, results, isolation)
        return EncodedAlone(unit, label, audited.share_of_changed_rows())
    # A plugin's restore or encode may raise anything.
    except Exception as error:
        return EncodedAlone(unit, label, None, describe(error), failed=True)
