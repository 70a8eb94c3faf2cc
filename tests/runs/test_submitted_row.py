"""A submission is one whole row of its board, and its figures are those of what it holds."""

import gzip
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fairbench.errors import ConfigError
from fairbench.leaderboard.board import Board
from fairbench.registry import load_registry, plugin_source
from fairbench.runs.verification import SubmittedRow, check_source
from fairbench.store.records import PointRecord, ReadPoint, Record, ReferenceRecord, UnitRecord
from fairbench.store.status import Status
from fairbench.store.submission import SUFFIX, Submission, read_submission, write_submission
from tests.support.submissions import (
    changed,
    changed_point,
    changed_units,
    planned_key,
    submitted,
    without_point,
)

REGISTRY = load_registry()


def points_of(submission: Submission) -> list[PointRecord]:
    return [one for one in submission.records if isinstance(one, PointRecord)]


@pytest.mark.parametrize("method", ["sofair", "latfr"])
def test_a_whole_row_is_taken_and_does_not_contradict_itself(board: Board, method: str) -> None:
    row = SubmittedRow(submitted(board, method), board)
    assert len(row.points) == 4
    assert row.contradictions() == []


def test_a_row_over_folds_is_taken_with_and_without_the_official_split(folded: Board) -> None:
    whole = submitted(folded)
    assert len(SubmittedRow(whole, folded).points) == 6 * 4
    official = {unit.key for unit in units_of_split(whole, "official")}
    assert len(official) == 1
    assert len(SubmittedRow(without_units(whole, official), folded).points) == 5 * 4


def test_knobs_of_a_point_are_those_of_its_label(board: Board) -> None:
    """Another order of the points is another curve: they would follow the knob."""
    submission = submitted(board, "latfr")
    point = points_of(submission)[0]
    others = {name: value + 1.0 for name, value in point.knobs.items()}
    assert others
    for knobs in (others, {}, {**point.knobs, "more": 1.0}):
        with pytest.raises(ConfigError, match="not one of the points"):
            SubmittedRow(changed_point(submission, point.key, knobs=knobs), board)
    unit = next(u for u in submission.records if u.key == point.unit)
    assert isinstance(unit, UnitRecord)
    forged = tuple(ReadPoint(read.label, others) for read in unit.points)

    def forge(record: Record) -> Record:
        return record.replace(read_points=forged) if record is unit else record

    with pytest.raises(ConfigError, match="not one of the points"):
        SubmittedRow(changed(submission, forge), board)


def labelled(submission: Submission, label: str | None, params: str) -> Submission:
    """The submission with other hyperparameters, by name, and their label."""

    def change(record: Record) -> Record:
        if not isinstance(record, UnitRecord):
            return record
        return record.replace(label=label, params_label=params)

    info = submission.info.model_copy(update={"params": params})
    return changed(replace(submission, info=info), change)


def test_a_label_is_one_that_a_run_could_have_given(board: Board) -> None:
    """Tables name rows by it: ``latfr (tuned)`` would read as another method's row."""
    row = SubmittedRow(labelled(submitted(board), "tuned", "bits=2"), board)
    assert row.label == "tuned"
    for label, params, says in (
        ("latfr (tuned)", "bits=2", "label of the row cannot be used"),
        ("default", "bits=2", "label of the row cannot be used"),
        ("tuned", "default", "default hyperparameters, but the label 'tuned'"),
    ):
        with pytest.raises(ConfigError, match=re.escape(says)):
            SubmittedRow(labelled(submitted(board), label, params), board)


def test_a_row_has_one_label(board: Board) -> None:
    names = iter(["tuned", "heavy"])

    def change(record: Record) -> Record:
        return record.replace(label=next(names, None)) if isinstance(record, UnitRecord) else record

    submission = labelled(submitted(board, "latfr"), None, "width=2")
    with pytest.raises(ConfigError, match="different labels"):
        SubmittedRow(changed(submission, change), board)


def units_of_split(submission: Submission, split: str) -> Iterator[UnitRecord]:
    for one in submission.records:
        if isinstance(one, UnitRecord) and one.split == split:
            yield one


def without_units(submission: Submission, keys: set[str]) -> Submission:
    def keep(record: Record) -> Record | None:
        unit = record.unit if isinstance(record, PointRecord) else record.key
        return None if unit in keys else record

    return changed(submission, keep)


def test_what_is_not_one_row_of_the_board_is_refused(board: Board) -> None:
    whole = submitted(board)
    of_two = replace(whole, records=[*whole.records, *submitted(board, "pca").records])
    others = [
        replace(whole, info=whole.info.model_copy(update={name: value}))
        for name, value in {"board": "adults-gender-4", "method": "pca", "params": "bits=2"}.items()
    ]
    elsewhere = changed_units(whole, dataset="compas-race")
    for wrong in (of_two, *others, elsewhere):
        with pytest.raises(ConfigError, match="It is not one row of the board adults-gender"):
            SubmittedRow(wrong, board)


@pytest.mark.parametrize("fields", [{"seed": 7}, {"fingerprint": "e" * 64}])
def test_a_seed_or_a_split_that_the_board_lacks_is_refused(
    board: Board, fields: dict[str, Any]
) -> None:
    wrong = changed_units(submitted(board), **fields)
    with pytest.raises(ConfigError, match="is of a split or seed that the board"):
        SubmittedRow(wrong, board)


@pytest.mark.parametrize("fields", [{"audit": "strict"}, {"audit_version": 99}])
def test_a_point_of_another_audit_is_refused(board: Board, fields: dict[str, Any]) -> None:
    whole = submitted(board)
    wrong = changed_point(whole, points_of(whole)[-1].key, **fields)
    with pytest.raises(ConfigError, match="is not of the audit of the board"):
        SubmittedRow(wrong, board)


def test_a_row_without_one_of_the_folds_is_refused(folded: Board) -> None:
    whole = submitted(folded)
    fold = {unit.key for unit in units_of_split(whole, "fold 3 of 5")}
    with pytest.raises(ConfigError, match="1 of the 5 splits of the board adults-gender"):
        SubmittedRow(without_units(whole, fold), folded)


@pytest.mark.parametrize("name", ["distortion_validation", "mutual_information"])
def test_a_point_without_a_figure_of_the_area_is_refused(board: Board, name: str) -> None:
    whole = submitted(board)
    point = points_of(whole)[-1]
    values = {key: value for key, value in point.figures.items() if key != name}
    with pytest.raises(ConfigError, match=f"{name} is missing"):
        SubmittedRow(changed_point(whole, point.key, values=values), board)


def test_more_points_than_the_board_has_are_not_asked_for(board: Board) -> None:
    with pytest.raises(ConfigError, match="have up to 2147483647 points"):
        SubmittedRow(changed_units(submitted(board), curve_points=2**31 - 1), board)


def test_a_budget_that_no_run_can_have_is_refused(board: Board) -> None:
    row = SubmittedRow(changed_units(submitted(board), budget="9999999999"), board)
    with pytest.raises(ConfigError, match="No run has its budget"):
        row.config()


def test_a_row_without_one_of_its_points_is_refused(board: Board) -> None:
    whole = submitted(board)
    key = points_of(whole)[1].key
    for wrong in (
        without_point(whole, key),
        changed_point(whole, key, status=Status.FAILED, values=None),
    ):
        with pytest.raises(ConfigError, match="1 of 4 points are missing"):
            SubmittedRow(wrong, board)


def test_a_row_one_of_whose_models_gave_nothing_is_refused(board: Board) -> None:
    whole = submitted(board, "latfr")
    (first, *_) = units_of_split(whole, "official")
    failed = first.replace(status=Status.FAILED, read_points=None)
    wrong = without_units(whole, {first.key})
    wrong = replace(wrong, records=[failed, *wrong.records])
    with pytest.raises(ConfigError, match="0 of 0 points are missing"):
        SubmittedRow(wrong, board)


def test_a_curve_of_more_points_than_any_of_the_board_is_refused(board: Board) -> None:
    """More points can only make an area smaller."""
    more = ReadPoint("beta=9", {"beta": 9.0})
    whole = submitted(board)
    (unit,) = units_of_split(whole, "official")
    longer = changed_units(whole, read_points=(*unit.points, more))
    key = planned_key(board, unit.key, more.label)
    extra = points_of(whole)[0].replace(key=key, label=more.label, knobs=more.knobs)
    with pytest.raises(ConfigError, match="Its curves have up to 5 points"):
        SubmittedRow(replace(longer, records=[*longer.records, extra]), board)


@pytest.mark.parametrize("status", [Status.DONE, Status.FAILED])
def test_records_beside_those_of_the_points_are_refused(board: Board, status: Status) -> None:
    """They would count on a curve, and none could be measured again in its place."""
    whole = submitted(board)
    point = points_of(whole)[0].replace(status=status)
    key = planned_key(board, point.unit, "more")
    for extra in (
        point.replace(key="9" * 64),
        point.replace(key=key, label="more"),
        point.replace(key=key),
        point.replace(key=planned_key(board, "9" * 64, point.label), unit="9" * 64),
    ):
        with pytest.raises(ConfigError, match="is not one of the points"):
            SubmittedRow(replace(whole, records=[*whole.records, extra]), board)
    first, second, *_ = points_of(whole)
    with pytest.raises(ConfigError, match="is not one of the points"):
        SubmittedRow(changed_point(whole, first.key, label=second.label), board)


def test_the_same_record_twice_is_refused(board: Board) -> None:
    whole = submitted(board)
    (unit,) = units_of_split(whole, "official")
    for again in (points_of(whole)[0], unit):
        with pytest.raises(ConfigError, match="holds a record twice"):
            SubmittedRow(replace(whole, records=[*whole.records, again]), board)


def test_a_seed_is_submitted_for_every_split_or_none(folded: Board) -> None:
    """Of the splits with another seed, the best could be chosen."""
    whole = submitted(folded)
    (unit,) = units_of_split(whole, "fold 1 of 5")
    other = unit.replace(key="9" * 64, seed=1)
    points = [
        point.replace(unit=other.key, key=planned_key(folded, other.key, point.label))
        for point in points_of(whole)
        if point.unit == unit.key
    ]
    (reference,) = (one for one in folded.references if one.fingerprint == unit.fingerprint)
    two = replace(
        folded,
        units=[*folded.units, other],
        references=[*folded.references, reference.replace(key="8" * 64, seed=1)],
    )
    with pytest.raises(ConfigError, match="seed 1 is missing for 5 of its 6 splits"):
        SubmittedRow(replace(whole, records=[*whole.records, other, *points]), two)


def test_a_submitter_does_not_choose_the_seed(folded: Board) -> None:
    """Of a board with two seeds, the second one alone may be the better one."""
    units = [unit.replace(key=unit.key[::-1], seed=1) for unit in folded.units]
    references = [one.replace(key=one.key[::-1], seed=1) for one in folded.references]
    two = replace(
        folded,
        units=[*folded.units, *units],
        references=[*folded.references, *references],
    )
    again = changed_units(submitted(folded), seed=1)
    with pytest.raises(ConfigError, match=r"has the seeds \[1\]; of this board it may have \[0\]"):
        SubmittedRow(again, two)


def edited(board: Board, figure: str, factor: float, **fields: object) -> list[str]:
    """What contradicts itself where the largest of one figure is multiplied."""
    whole = submitted(board)
    point = max(points_of(whole), key=lambda one: one.figures[figure])
    values = {**point.figures, figure: factor * point.figures[figure]}
    found = SubmittedRow(changed_point(whole, point.key, values=values, **fields), board)
    title = f"sofair on adults-gender, seed 0, {point.label}: "
    told = found.contradictions()
    assert all(line.startswith(title) for line in told), "the other points are as they were"
    return [line.removeprefix(title) for line in told]


def test_a_figure_that_is_not_that_of_its_replicates_is_a_contradiction(board: Board) -> None:
    assert edited(board, "distortion", 0.8) == ["its distortion is not that of its replicates"]
    assert edited(board, "accuracy_y", 1.1) == ["its accuracy_y is not that of its replicates"]


@pytest.mark.parametrize("name", ["mutual_information", "mutual_information_validation"])
def test_a_leakage_that_is_not_that_of_its_auditor_is_a_contradiction(
    board: Board, name: str
) -> None:
    """Leaving the replicates out does not help, nor does leaving the auditors out."""
    assert edited(board, name, 0.5, replicates=None) == [f"its {name} is not that of its auditor"]
    assert f"its {name} is not that of its auditor" in edited(board, name, 1.0, auditors=None)


def test_a_file_that_was_edited_contradicts_itself(board: Board, tmp_path: Path) -> None:
    path = tmp_path / f"mine{SUFFIX}"
    write_submission(path, submitted(board))
    assert SubmittedRow(read_submission(path), board).contradictions() == []
    lines = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    for line in lines:
        if line.get("table") == "points":
            line["values"]["mutual_information"] *= 0.5
    path.write_bytes(gzip.compress("".join(f"{json.dumps(line)}\n" for line in lines).encode()))
    found = SubmittedRow(read_submission(path), board).contradictions()
    assert len(found) == 4 * 2, "of every point, by its replicates and by its auditor"


def test_a_method_with_the_source_that_was_submitted_is_taken(board: Board) -> None:
    source = plugin_source(REGISTRY.methods["sofair"])
    check_source(submitted(board, source=source).info, REGISTRY)


def test_a_method_with_another_source_is_refused_and_the_file_is_named(board: Board) -> None:
    source = dict(plugin_source(REGISTRY.methods["sofair"]))
    name, *others = sorted(source)
    assert others
    for wrong, file in (
        (source | {name: "0" * 64}, name),
        ({other: source[other] for other in others}, name),
        (source | {"more.py": "0" * 64}, "more.py"),
    ):
        says = f"sofair has other source files than the submission: {re.escape(file)}\\."
        with pytest.raises(ConfigError, match=says) as refused:
            check_source(submitted(board, source=wrong).info, REGISTRY)
        assert refused.value.hint == "Install some-plugin 1.0 from https://example.org/code."


def test_a_method_that_is_not_installed_is_refused(board: Board) -> None:
    info = submitted(board).info.model_copy(update={"method": "theirs"})
    with pytest.raises(ConfigError, match="The method theirs is not installed"):
        check_source(info, REGISTRY)


@pytest.mark.parametrize(
    ("field", "told"),
    [("track", "aware"), ("tags", ["baseline"]), ("params", {"width": 9}), ("iterations", 1)],
)
def test_a_model_that_is_described_otherwise_is_refused(
    board: Board, field: str, told: object
) -> None:
    """A row of the aware track that says it is blind would stand among blind ones."""
    planned = SubmittedRow(submitted(board), board).units
    row = SubmittedRow(changed_units(submitted(board), **{field: told}), board)
    row.check_described(row.units)
    with pytest.raises(ConfigError, match=f"has {field} .* here it is"):
        row.check_described(planned)


def test_references_that_are_kept_are_those_of_the_board(board: Board) -> None:
    def halved(record: Record) -> Record:
        if not isinstance(record, ReferenceRecord):
            return record
        return record.replace(values={name: 0.5 * v for name, v in record.figures.items()})

    kept = SubmittedRow(changed(submitted(board), halved), board).records_to_keep
    references = [one for one in kept if isinstance(one, ReferenceRecord)]
    assert references
    assert all(one in board.references for one in references)
