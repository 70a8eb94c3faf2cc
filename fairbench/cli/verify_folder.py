"""The folder that ``fairbench verify`` trains in: kept until there is a verdict.

An interrupted verification goes on with the same points: what was drawn is written there. It lies
in the user's cache: beside a submission, who made that could have put models and a draw there.
Folders that nobody has gone on with for a month are deleted.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from fairbench.data.files import cache_folder
from fairbench.errors import ConfigError
from fairbench.files import write_file

_DRAW, _LOCK = "draw.json", ".lock"
_KEPT_DAYS = 30


@dataclass(frozen=True)
class _Draw:
    """The points that are trained again: so many of a submission, drawn by a seed."""

    sha256: str
    points: int
    seed: int


def folder_of(sha256: str) -> Path:
    """Return the folder of the verification of a submission."""
    return cache_folder() / "verifications" / sha256[:32]


def began_at(folder: Path, runs: Iterable[float]) -> float:
    """Return when a verification began, seconds since 1970; ``runs``: when its parts began.

    Its points are drawn before the data are in memory. Ask then: plugins could change the file
    later.
    """
    return min([(folder / _DRAW).stat().st_mtime, *runs])


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

    Raises
    ------
    ConfigError
        Another command verifies the submission, or the folder is somebody else's.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _lock(folder.with_suffix(_LOCK)):
        _forget_old(folder)
        seed, goes_on = _begin(folder, sha256=sha256, points=points, seed=seed)
        try:
            yield seed, goes_on
        except ConfigError:  # given again, the command would be refused again
            shutil.rmtree(folder, ignore_errors=True)
            raise
        shutil.rmtree(folder, ignore_errors=True)


def _begin(folder: Path, *, sha256: str, points: int, seed: int | None) -> tuple[int, bool]:
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
    return wanted.seed, goes_on


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    """Hold a lock file, which a process that dies sets free."""
    with path.open("wb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ConfigError(
                "Another command is verifying this submission.", "Wait for its verdict."
            ) from None
        yield
        path.unlink(missing_ok=True)


def _forget_old(own: Path) -> None:
    """Delete folders of others that were not touched for long; one in use is locked."""
    oldest = time.time() - _KEPT_DAYS * 86_400
    for draw in own.parent.glob(f"*/{_DRAW}"):
        folder = draw.parent
        with suppress(ConfigError, OSError):  # in use, or deleted by its own command just now
            touched = max((os.path.getmtime(path) for path in folder.iterdir()), default=0.0)
            if folder != own and touched < oldest:
                with _lock(folder.with_suffix(_LOCK)):
                    shutil.rmtree(folder, ignore_errors=True)


def _read(folder: Path) -> _Draw | None:
    """Return what an interrupted verification has drawn; None where there is none."""
    try:
        return _Draw(**json.loads((folder / _DRAW).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
