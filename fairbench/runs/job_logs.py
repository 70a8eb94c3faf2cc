"""What jobs print: a file per job that prints anything, in the results folder."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairbench.runs.job import Job

FOLDER = "logs"

_LONGEST_NAME = 80
_NAME = re.compile(r".*-[0-9a-f]{8}\.log")


class JobLogs:
    """The log files of the jobs of one run."""

    def __init__(self, results: Path) -> None:
        self._folder = results / FOLDER
        self._begun: set[str] = set()

    def write(self, job: Job, text: str) -> None:
        """Add what a job printed to its file."""
        # A full disk costs the logs, not the run.
        with contextlib.suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            with self._path(job).open("a", encoding="utf-8", errors="backslashreplace") as file:
                self._begun.add(job.id)
                file.write(text)

    def of(self, job: Job) -> Path | None:
        """The file of a job, where there is one."""
        return self._path(job) if job.id in self._begun else None

    def _path(self, job: Job) -> Path:
        name = re.sub("[^A-Za-z0-9_.=]+", "-", job.title)[:_LONGEST_NAME].strip("-.")
        return self._folder / f"{name}-{job.id[:8]}.log"


def files(results: Path) -> list[Path]:
    """List the logs of jobs in a results folder, and no other files."""
    return sorted(path for path in (results / FOLDER).glob("*.log") if _NAME.fullmatch(path.name))
