"""What databases raise, as one clear error."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa

from fairbench.errors import BusyStoreError, StoreError, UnstorableError
from fairbench.store.secrets import redact_url
from fairbench.store.text import clean_line, escape

_CHECK = "Check disk space and permissions, or that the server runs; the same command resumes."
DAMAGED = (
    "Move the file away (and those beside it that end in -wal and -shm): the same command computes "
    "everything again. What was exported comes back with fairbench results import --own FILE."
)


@contextmanager
def translate_row_errors(problem: str) -> Iterator[None]:
    """The same where rows are written; UnstorableError where their content is at fault."""
    with translate_database_errors(problem):
        try:
            yield
        except (sa.exc.StatementError, ValueError, TypeError, OverflowError) as error:
            # What does not come from the database was raised while a row was made ready for it.
            from_database = isinstance(error, sa.exc.DBAPIError)
            if from_database and not isinstance(error, sa.exc.DataError | sa.exc.IntegrityError):
                raise
            raise UnstorableError(
                f"The database does not take a row: {first_line(error)}.",
                "A text or a number in it is not one that can be stored.",
            ) from error


@contextmanager
def translate_database_errors(problem: str) -> Iterator[None]:
    """Turn what a database raises into one clear error."""
    try:
        yield
    except sa.exc.SQLAlchemyError as error:
        text = f"{problem}: {first_line(error)}."
        if re.search("locked|busy", str(error.args)):
            raise BusyStoreError(text, "Try again when the other process has ended.") from error
        damaged = re.search("malformed|not a database", str(error)) is not None
        raise StoreError(text, DAMAGED if damaged else _CHECK) from error
    # What is in a column is not of its kind: JSON that is cut off, an unknown status.
    except ValueError as error:
        raise StoreError(
            f"{problem}: a value in it is garbled ({first_line(error)}).", DAMAGED
        ) from (error)


def show_url(url: str | sa.URL) -> str:
    """Return a URL without its password, and without options that may be secret."""
    try:
        text = url if isinstance(url, str) else url.render_as_string(hide_password=False)
    except UnicodeError:  # a file name that is no text
        text = f"{url.drivername}:///{url.database}"  # type: ignore[union-attr]
    return escape(redact_url(text) or repr(text))


def first_line(error: BaseException) -> str:
    """Return the first line of an error, or of the driver's error behind it."""
    cause = getattr(error, "orig", None) or error
    return clean_line(str(cause)).rstrip(".") or type(cause).__name__
