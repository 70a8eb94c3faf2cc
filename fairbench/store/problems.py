"""What databases raise, as one clear error."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa

from fairbench.errors import StoreError

_CHECK = "Check disk space and permissions, or that the server runs; the same command resumes."
DAMAGED = (
    "Move the file away (and those beside it that end in -wal and -shm): the same command computes "
    "everything again. What was exported comes back with fairbench results import --own FILE."
)


@contextmanager
def translate_database_errors(problem: str) -> Iterator[None]:
    """Turn what a database raises into one clear error."""
    try:
        yield
    except sa.exc.SQLAlchemyError as error:
        damaged = re.search("malformed|not a database", str(error)) is not None
        hint = DAMAGED if damaged else _CHECK
        raise StoreError(f"{problem}: {first_line(error)}.", hint) from error
    # What is in a column is not of its kind: JSON that is cut off, an unknown status.
    except ValueError as error:
        raise StoreError(
            f"{problem}: a value in it is garbled ({first_line(error)}).", DAMAGED
        ) from (error)


def show_url(url: str | sa.URL) -> str:
    """Return a URL without its password."""
    try:
        return sa.engine.make_url(url).render_as_string()
    except (sa.exc.SQLAlchemyError, ValueError):
        return repr(url)


def first_line(error: BaseException) -> str:
    """Return the first line of an error, or of the driver's error behind it."""
    cause = getattr(error, "orig", None) or error
    return str(cause).splitlines()[0].rstrip(".")
