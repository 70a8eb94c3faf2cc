"""Files that commands write: none replaces a file of another kind."""

from __future__ import annotations

from pathlib import Path

from fairbench.errors import ConfigError


def keep_other_kinds(output: Path | None, *endings: str) -> None:
    """Raise ConfigError where a file to write is there, and has the name of another kind."""
    if output is not None and output.is_file() and not output.name.lower().endswith(endings):
        raise ConfigError(
            f"{output} is there already and does not end in {' or '.join(endings)}: it is kept.",
            "Name another file to write.",
        )
