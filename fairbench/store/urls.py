"""URLs of databases, as ``--store`` takes them."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa

from fairbench.errors import StoreError
from fairbench.store.problems import show_url


def file_of(url: str) -> Path | None:
    """Return the SQLite file that a URL names; None where it names another kind of database.

    Raises StoreError: the kind is not supported, or the database would store nothing. What is wrong
    with a text that is no URL at all, opening it tells.
    """
    try:
        parsed = sa.engine.make_url(url)
    except (sa.exc.SQLAlchemyError, ValueError):
        return None
    kind = parsed.get_backend_name()
    if kind not in ("sqlite", "postgresql"):
        raise StoreError(
            f"The store {show_url(url)} cannot be opened: {kind} is not supported.",
            "Use postgresql+psycopg://USER@HOST/NAME, or sqlite:///FILE.",
        )
    if kind != "sqlite":
        return None
    if (parsed.database or ":memory:") == ":memory:":
        raise StoreError(
            f"The store {show_url(url)} is in memory: it keeps nothing.",
            "Name a file, as in sqlite:///results.sqlite, or leave --store out.",
        )
    return Path(str(parsed.database))
