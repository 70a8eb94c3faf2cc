"""Load a dataset: its files, or its simulated twin, prepared for methods and auditors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairbench.api import DataSource
from fairbench.api.dataset import Dataset, Images, Table
from fairbench.data.files import data_root, find_files, name_files, say_origin
from fairbench.data.prepare import prepare, prepare_images
from fairbench.data.prepared import Prepared
from fairbench.data.splits import OFFICIAL, Split, rotating
from fairbench.data.table_rules import check_images, check_table
from fairbench.errors import DataError, FairbenchError, say_raised

_TWIN = "embedded simulated twin"


@dataclass(frozen=True)
class Obtained:
    """Rows as a dataset loads them.

    Parameters
    ----------
    table : Table or Images
    source : str
        A DataSource.
    origin : str
        Where the files are from.
    """

    table: Table | Images
    source: str
    origin: str


def load_dataset(
    dataset: type[Dataset],
    *,
    root: Path | None = None,
    require_real: bool = False,
    split: Split = OFFICIAL,
) -> Prepared:
    """Find, load, split and prepare a dataset; fall back to its simulated twin.

    Raises DataError: files are bad; or there are no files, and no twin or ``require_real``; or
    images are to be split otherwise than they are.
    """
    return _prepare_all(_obtain(dataset, root, require_real), dataset, [split])[0]


def load_folds(
    dataset: type[Dataset], folds: int, *, root: Path | None = None, require_real: bool = False
) -> list[Prepared]:
    """Load a dataset once, and prepare it in rotating folds.

    Where it has a test set of its own, the official split comes last, so that figures can be
    compared with those of others. Raises DataError as :func:`load_dataset`.
    """
    obtained = _obtain(dataset, root, require_real)
    splits = rotating(folds)
    if isinstance(obtained.table, Table) and obtained.table.is_test is not None:
        splits.append(OFFICIAL)
    return _prepare_all(obtained, dataset, splits)


def _prepare_all(
    obtained: Obtained, dataset: type[Dataset], splits: Sequence[Split]
) -> list[Prepared]:
    table, origin = obtained.table, obtained.origin
    if not isinstance(table, Images):
        return [
            prepare(table, dataset, source=obtained.source, origin=origin, split=split)
            for split in splits
        ]
    if list(splits) != [OFFICIAL]:
        raise DataError(
            f"{dataset.name!r} has images, which come split into roles: they have no folds.",
            "Leave --splits out for it.",
        )
    return [prepare_images(table, dataset, origin)]


def load_table(dataset: type[Dataset], *, root: Path | None = None) -> Obtained:
    """Return a dataset's rows as it loads them; DataError as above."""
    return _obtain(dataset, root, require_real=False)


def _obtain(dataset: type[Dataset], root: Path | None, require_real: bool) -> Obtained:
    files = find_files(dataset, data_root(root))
    if files is not None:
        with _plugin_errors(dataset):
            table = dataset().load(files.folder)
        return Obtained(_checked(table, dataset), DataSource.REAL, f"{files.origin}: {files.path}")
    where = f"Put {name_files(dataset)} into a folder and name it with"
    hint = f"{where} --data-root or FAIRBENCH_DATA. {say_origin(dataset)}"
    if require_real:
        raise DataError(f"The real files of {dataset.name!r} are not available.", hint)
    twin = _simulated(dataset)
    if twin is None:
        downloadable = all(file.urls for file in dataset.files)
        why = "and no network" if downloadable else "and none can be downloaded"
        raise DataError(f"There are no files for {dataset.name!r} here {why}.", hint)
    return Obtained(twin, DataSource.SIMULATED, _TWIN)


def _simulated(dataset: type[Dataset]) -> Table | None:
    with _plugin_errors(dataset):
        twin = dataset().simulate()
    if twin is not None:
        _checked(twin, dataset)
    return twin


def _checked(table: Any, dataset: type[Dataset]) -> Table | Images:
    if not isinstance(table, Table | Images):
        raise DataError(
            f"The dataset {dataset.name!r} loads a {type(table).__name__}.",
            "load and simulate return a fairbench.api.Table, or Images.",
        )
    if isinstance(table, Table):
        check_table(table, dataset.name)
    else:
        check_images(table, dataset.name)
    return table


@contextmanager
def _plugin_errors(dataset: type[Dataset]) -> Iterator[None]:
    """Turn whatever a dataset raises, SystemExit too, into a DataError that says where."""
    try:
        yield
    except FairbenchError:
        raise
    except (Exception, SystemExit) as error:
        raise DataError(
            f"The dataset {dataset.name!r} raised {say_raised(error)}.",
            f"See: fairbench check {dataset.name}",
        ) from error


def load_twin(dataset: type[Dataset], *, split: Split = OFFICIAL) -> Prepared:
    """Load the simulated twin, even where the real files exist; DataError if there is none."""
    twin = _simulated(dataset)
    if twin is None:
        raise DataError(f"{dataset.name!r} has no simulated twin.")
    return prepare(twin, dataset, source=DataSource.SIMULATED, origin=_TWIN, split=split)
