"""Submissions of rows that a board has already, and what can be done to them."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from fairbench.auditing.config import PRESETS, AuditPreset
from fairbench.leaderboard.board import Board, make_board
from fairbench.leaderboard.select import read
from fairbench.registry import load_registry
from fairbench.store.keys import point_key
from fairbench.store.records import PointRecord, Record, UnitRecord
from fairbench.store.submission import Submission, SubmissionInfo
from tests.support.runs import Change, stored


def board_of(folder: Path, change: Change | None = None) -> Board:
    """The board of the committed run, with its records changed."""
    records = read(stored(folder, change))
    return make_board(records, "adults-gender", load_registry(), version=5, budget="quick")


def planned_key(board: Board, unit: str, label: str) -> str:
    """The key that a point of a unit has in a plan."""
    audit = PRESETS[AuditPreset(board.info.audit)].as_dict()
    return point_key(unit, label, audit, board.info.audit_version)


def submitted(
    board: Board, method: str = "sofair", source: Mapping[str, str] | None = None
) -> Submission:
    """A method's row of a board as a submission; by default its source is one file.

    Points have the keys that a plan gives them: those of the committed run are older.
    """
    units = [unit for unit in board.units if unit.method == method]
    keys = {unit.key for unit in units}
    info = SubmissionInfo(
        board=board.info.name,
        dataset=board.info.dataset,
        method=method,
        params=units[0].params_label,
        plugin="some-plugin 1.0",
        source=dict(source or {"method.py": "0" * 64}),
        code="https://example.org/code",
        made="2026-01-01T00:00:00+00:00",
    )
    points = [
        point.replace(key=planned_key(board, point.unit, point.label))
        for point in board.points
        if point.unit in keys
    ]
    records = (*units, *points, *board.references)
    return Submission(info, [record.replace(origin=None) for record in records])


def changed(submission: Submission, change: Callable[[Record], Record | None]) -> Submission:
    """The submission with every record changed, or left out where that gives None."""
    records = (change(record) for record in submission.records)
    return replace(submission, records=[record for record in records if record is not None])


def changed_units(submission: Submission, **fields: object) -> Submission:
    """The submission with fields of every unit changed."""

    def change(record: Record) -> Record:
        return record.replace(**fields) if isinstance(record, UnitRecord) else record

    return changed(submission, change)


def changed_point(submission: Submission, key: str, **fields: object) -> Submission:
    """The submission with fields of one point changed."""

    def change(record: Record) -> Record:
        is_it = isinstance(record, PointRecord) and record.key == key
        return record.replace(**fields) if is_it else record

    return changed(submission, change)


def without_point(submission: Submission, key: str) -> Submission:
    """The submission without one point."""
    return changed(submission, lambda record: None if record.key == key else record)
