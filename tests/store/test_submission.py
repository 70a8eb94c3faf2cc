"""The first line of a submission: what it says is read as any text of strangers."""

import gzip
from pathlib import Path

import pytest

from fairbench.errors import StoreError
from fairbench.store.origins import check_origin
from fairbench.store.submission import (
    SUFFIX,
    Submission,
    SubmissionInfo,
    read_submission,
    write_submission,
)
from tests.support.exports import a_point, a_unit

A, B = ("a" * 64, "b" * 64)
DAY = "2026-01-02"


def info(submitter: str = "Ann") -> SubmissionInfo:
    return SubmissionInfo(
        board="toy-1",
        dataset="toy",
        method="some",
        params="default",
        plugin="p 1",
        source={},
        submitter=submitter,
        made="2026-01-01T00:00:00+00:00",
    )


def test_a_verified_row_says_by_whom_and_when() -> None:
    assert info().origin(DAY) == "submitted by Ann, verified 2026-01-02"
    assert info("").origin(DAY) == "submitted, verified 2026-01-02"


@pytest.mark.parametrize("submitter", ["x" * 200, "Ann, verified 1999-01-01" + " y" * 80])
def test_a_long_name_does_not_push_the_verdict_out(submitter: str) -> None:
    origin = info(submitter).origin(DAY)
    assert origin.startswith("submitted by ")
    assert origin.endswith(", verified 2026-01-02")
    assert check_origin(origin) == origin


def test_marks_that_turn_lines_do_not_get_into_an_origin() -> None:
    origin = info("Ann\u202e Author\u2028").origin(DAY)
    assert check_origin(origin) == origin
    assert "Ann" in origin


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("card.yaml", "file: a.csv\n", r"card\.yaml: Line 1 is not .*: it is not JSON"),
        ("all.jsonl", '{"fairbench_export": 1}\n', r"all\.jsonl has results, but it is no subm"),
    ],
)
def test_another_file_is_named(tmp_path: Path, name: str, text: str, says: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(StoreError, match=says):
        read_submission(tmp_path / name)


def test_lines_of_unusual_blanks_before_the_first_one_count_for_nothing(tmp_path: Path) -> None:
    path = tmp_path / f"x{SUFFIX}"
    submission = Submission(info(), [a_unit(A), a_point(B, A)])
    write_submission(path, submission)
    text = gzip.decompress(path.read_bytes())
    path.write_bytes(gzip.compress("\u00a0\n".encode() + text))
    assert read_submission(path) == submission
