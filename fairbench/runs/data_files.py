"""Where the data are, so that nothing reads them that may not."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class DataFiles:
    """Files that hold the data, by real paths and by their numbers on their disks.

    A file that is renamed, or has several names, keeps its number. Make it before the data are in
    memory, of files and of folders that hold such files; none of them need be there.
    """

    paths: tuple[str, ...] = ()
    numbers: frozenset[tuple[int, int]] = frozenset()

    @classmethod
    def among(cls, paths: Iterable[Path]) -> DataFiles:
        """Return the data files that are some paths, or below them."""
        real = tuple(dict.fromkeys(map(os.path.realpath, paths)))
        files = list(real)
        for path in real:
            files += [os.path.join(top, name) for top, _, names in os.walk(path) for name in names]
        return cls(real, frozenset(number for file in files if (number := file_number(file))))

    def includes(self, path: str) -> bool:
        """Whether a real path is that of a data file, or below a folder of such files."""
        return file_number(path) in self.numbers or any(
            path == one or path.startswith(one + os.sep) for one in self.paths
        )


def file_number(path: str) -> tuple[int, int] | None:
    """Return the number of a file, that of its disk first; None where there is no file."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return (status.st_dev, status.st_ino) if stat.S_ISREG(status.st_mode) else None
