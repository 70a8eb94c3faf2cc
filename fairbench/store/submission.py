"""Submissions: one row for a published board, as a small file that holds no code.

A submission is an export, so it is checked as one, line by line, before anything is believed; its
first line says besides what is submitted, and by whom.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from fairbench.errors import StoreError, say_where, say_why
from fairbench.files import write_file
from fairbench.files.unpacking import read_lines
from fairbench.store.database import lines_of
from fairbench.store.export import LONGEST_LINE, MAX_BYTES, read_export
from fairbench.store.origins import MAX_ORIGIN
from fairbench.store.records import Record

SUFFIX = ".submission.jsonl.gz"

_HINT = "Submissions are written by: fairbench submit"
_LINE = r"\A[^\x00-\x1f\x7f]*\z"


class SubmissionInfo(BaseModel):
    """What is submitted.

    Parameters
    ----------
    board : str
        Name of the board, as in ``adults-gender-5``.
    dataset, method, params : str
        Of the row; ``params`` are the hyperparameters that differ from the defaults.
    plugin : str
        Distribution and version that the method comes from.
    source : mapping of str to str
        The plugin's files and their sha256.
    submitter, code : str
        Who submits, and where the plugin's source is; may be empty.
    made : str
        Time of writing, ISO 8601.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    board: str = Field(max_length=120, pattern=r"\A[a-z0-9-]+\z")
    dataset: str = Field(max_length=80, pattern=r"\A[a-z0-9-]+\z")
    method: str = Field(max_length=80, pattern=r"\A[a-z0-9-]+\z")
    params: str = Field(max_length=2000, pattern=_LINE)
    plugin: str = Field(max_length=200, pattern=_LINE)
    source: dict[str, str] = Field(max_length=2000)
    submitter: str = Field("", max_length=200, pattern=_LINE)
    code: str = Field("", max_length=400, pattern=_LINE)
    made: str = Field(max_length=40, pattern=_LINE)

    def origin(self, day: str) -> str:
        """Return the origin of its row once it is verified; of a long name the end is left out."""
        start, end = "submitted by ", f", verified {day}"
        printable = "".join(mark if mark.isprintable() else " " for mark in self.submitter)
        name = printable[: MAX_ORIGIN - len(start) - len(end)].strip()
        return f"{start}{name}{end}" if name else f"submitted{end}"


@dataclass(frozen=True)
class Submission:
    """A row for a board: what it is, and its units, points and references."""

    info: SubmissionInfo
    records: Sequence[Record]


def write_submission(path: Path, submission: Submission) -> int:
    """Write a submission, and return its size in bytes; StoreError where that fails."""
    header = {"submission": submission.info.model_dump()}
    text = "".join(f"{line}\n" for line in lines_of(submission.records, header))
    content = gzip.compress(text.encode(), mtime=0)
    write_file(path, content)
    return len(content)


def read_submission(path: Path) -> Submission:
    """Read a submission; StoreError or ConfigError where it cannot be read, or is none."""
    records = read_export(path)
    lines = read_lines(path, longest=LONGEST_LINE, most=MAX_BYTES)
    first = next((text for line in lines if (text := line.decode("utf-8")).strip()), "{}")
    header = json.loads(first).get("submission")
    if header is None:
        raise StoreError(f"{path} has results, but it is no submission to a board.", _HINT)
    try:
        info = SubmissionInfo.model_validate(header)
    except ValidationError as error:
        wrong = error.errors()[0]
        place = say_where(wrong) or "its first line"
        raise StoreError(f"{path} is no submission: {place}: {say_why(wrong)}.", _HINT) from None
    return Submission(info, records)
