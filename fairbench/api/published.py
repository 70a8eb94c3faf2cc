"""Where the file of a published board is: in a package, or to be downloaded."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fairbench.api.dataset import DataFile


@dataclass(frozen=True)
class BoardFile:
    """A published board that a package brings along, or names an address of.

    Parameters
    ----------
    dataset : str
        Name of the dataset, as registered.
    version : int
        Number of the edition, from 1.
    path : Path, optional
        The file, where the package contains it.
    download : DataFile, optional
        Else its addresses and sha256; the file is kept in the cache.
    """

    dataset: str
    version: int
    path: Path | None = None
    download: DataFile | None = None

    @property
    def name(self) -> str:
        """Name of the board: ``adults-gender-5``."""
        return f"{self.dataset}-{self.version}"
