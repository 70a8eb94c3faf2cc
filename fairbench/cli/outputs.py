"""Files that commands write: none replaces a file of another kind."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from fairbench.data.tables import TableStream
from fairbench.errors import ConfigError, DataError


def keep_other_kinds(output: Path | None, *endings: str) -> None:
    """Raise ConfigError where a file to write is there, and has the name of another kind."""
    if output is not None and output.is_file() and not output.name.lower().endswith(endings):
        raise ConfigError(
            f"{output} is there already and does not end in {' or '.join(endings)}: it is kept.",
            "Name another file to write.",
        )


def keep_other_tables(output: Path, first: str) -> None:
    """Raise ConfigError where a file is there that does not begin with a column of this name.

    ``first``: of what the command writes. An empty file may be replaced.
    """
    if not output.is_file() or not output.stat().st_size:
        return
    names: tuple[str, ...] = ()
    with suppress(DataError):  # then it is no table at all
        names = TableStream(output, rows=1).names
    if names[:1] != (first,):
        raise ConfigError(
            f"{output} is there already, and is no table that this command wrote: its first column "
            f"is not {first!r}. It is kept.",
            "Name another file to write.",
        )
