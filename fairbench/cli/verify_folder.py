"""The folder that ``fairbench verify`` trains in: kept until there is a verdict.

An interrupted verification goes on with the same points: what was drawn is written there. It lies
in the user's cache: beside a submission, who made that could have put models and a draw there.
"""

from __future__ import annotations

import json
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from fairbench.data.files import cache_folder
from fairbench.errors import ConfigError
from fairbench.files import write_file

_DRAW = "draw.json"


@dataclass(frozen=True)
class _Draw:
    """The points that are trained again: so many of a submission, drawn by a seed."""

    sha256: str
    points: int
    seed: int


def folder_of(sha256: str) -> Path:
    """Return the folder of the verification of a submission."""
    return cache_folder() / "verifications" / sha256[:32]


@contextmanager
def verification_folder(
    folder: Path, *, sha256: str, points: int, seed: int | None
) -> Iterator[tuple[int, bool]]:
    """Make the folder, or go on with that of an interrupted verification; delete it at the end.

    Parameters
    ----------
    sha256 : str
        Of the submission.
    points : int
        How many are drawn.
    seed : int, optional
        Of the draw; default: the one that the folder has, else one drawn by chance.

    Yields
    ------
    int, bool
        The seed, and whether a verification goes on.
    """
    earlier = _read(folder)
    wanted = _Draw(sha256, points, secrets.randbelow(2**31) if seed is None else seed)
    if earlier is not None and seed is None:
        wanted = _Draw(sha256, points, earlier.seed)
    goes_on = earlier == wanted
    if not goes_on:
        # Points of another draw that were trained there would pass for submitted ones.
        if earlier is not None:
            shutil.rmtree(folder)
        elif folder.exists():
            raise ConfigError(
                f"{folder} is in the way: the models of a verification are trained in a folder "
                "of this name.",
                "Delete it.",
            )
        write_file(folder / _DRAW, json.dumps(asdict(wanted)).encode())
    yield wanted.seed, goes_on
    shutil.rmtree(folder, ignore_errors=True)


def _read(folder: Path) -> _Draw | None:
    """Return what an interrupted verification has drawn; None where there is none."""
    try:
        return _Draw(**json.loads((folder / _DRAW).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
