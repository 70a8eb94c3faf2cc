"""Which splits a row is of: all folds of a dataset, else the official split, else what there is."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from fairbench.data.splits import OFFICIAL, Split
from fairbench.leaderboard.select import CurveRecords


@dataclass(frozen=True)
class RowCurves:
    """The curves that a row of the leaderboard is made of.

    Parameters
    ----------
    folds : int
        Number of folds, all of which are complete; 0 where the row is not replicated.
    words : str
        The splits, in words: ``5 folds``, ``official``, ``4 of 5 folds``.
    curves : sequence of CurveRecords
        Of these splits, all seeds.
    official : sequence of CurveRecords
        Of the official split, which is no part of the folds, by the same version of the audit.
    """

    folds: int
    words: str
    curves: Sequence[CurveRecords]
    official: Sequence[CurveRecords]

    @property
    def audit_version(self) -> int | None:
        """Version of the audit of its points; None where none is measured."""
        return newest_audit(self.curves)


def choose_curves(
    curves: Sequence[CurveRecords],
    is_complete: Callable[[CurveRecords], bool],
    *,
    folds: int = 0,
) -> RowCurves:
    """Choose what a row is made of, from all curves of a method with one choice of parameters.

    ``folds``: their number in the other rows that it is ranked with. Where a row has several
    complete sets of folds, it is of that one, else of the largest.
    """
    official = [curve for curve in curves if curve.split == OFFICIAL.name]
    of_folds = _by_folds(curves)
    whole = {number: _complete_folds(own, is_complete) for number, own in of_folds.items()}
    replicated = [number for number, count in whole.items() if count == number]
    if replicated:
        number = folds if folds in replicated else max(replicated)
        version = newest_audit(of_folds[number])
        alike = [curve for curve in official if curve.audit_version == version]
        return RowCurves(number, f"{number} folds", of_folds[number], alike)
    if not of_folds:
        return RowCurves(0, OFFICIAL.name, official, official)
    most = max(whole, key=lambda number: (whole[number], number))
    words = f"{whole[most]} of {most} folds"
    if official:
        return RowCurves(0, f"{OFFICIAL.name} ({words})", official, official)
    return RowCurves(0, words, of_folds[most], [])


def newest_audit(curves: Iterable[CurveRecords]) -> int | None:
    """Return the newest version of the audit of curves; None where no point is measured."""
    known = [version for curve in curves if (version := curve.audit_version) is not None]
    return max(known, default=None)


def commonest_folds(
    rows: Iterable[Sequence[CurveRecords]], is_complete: Callable[[CurveRecords], bool]
) -> int:
    """Return the number of folds that most rows are complete on; 0 where none is replicated.

    ``rows``: the curves of each row of a group that is ranked together.
    """
    return commonest(
        [
            number
            for curves in rows
            for number, own in _by_folds(curves).items()
            if _complete_folds(own, is_complete) == number
        ]
    )


def missing_seeds(curves: Iterable[CurveRecords]) -> list[tuple[str, int]]:
    """Splits and seeds without a curve, where other splits of that number have that seed."""
    missing = []
    for own in _by_folds(curves).values():
        known = {(curve.split, curve.seed) for curve in own}
        wanted = itertools.product({curve.split for curve in own}, {curve.seed for curve in own})
        missing += sorted(set(wanted) - known)
    return missing


def _by_folds(curves: Iterable[CurveRecords]) -> dict[int, list[CurveRecords]]:
    """Return the curves of each number of folds, without those of the official split."""
    of_folds: dict[int, list[CurveRecords]] = {}
    for curve in curves:
        if curve.split != OFFICIAL.name:
            of_folds.setdefault(Split.parse(curve.split).folds, []).append(curve)
    return of_folds


def _complete_folds(
    curves: Sequence[CurveRecords], is_complete: Callable[[CurveRecords], bool]
) -> int:
    """Number of folds of which the curves of all seeds are there and complete."""
    known = {curve.split for curve in curves}
    incomplete = {curve.split for curve in curves if not is_complete(curve)}
    return len(known - incomplete - {split for split, _ in missing_seeds(curves)})


def commonest(folds: Sequence[int]) -> int:
    """Return the number of folds that most replicated rows have; 0 where none is replicated."""
    counted = Counter(count for count in folds if count)
    return max(counted, key=lambda count: (counted[count], count), default=0)
