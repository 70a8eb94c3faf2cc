"""Prepare a raw table for methods and auditors: code, scale, split and fingerprint it."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fairbench.api import AUDIT_ROLES, DatasetInfo, Feature, Ints, Role
from fairbench.api.dataset import Dataset, Images, Table
from fairbench.data.files import data_root, find_files, name_files, say_origin
from fairbench.data.preprocessing import Preprocessing, mean_and_scale, most_common_categories
from fairbench.data.roles import assign_roles
from fairbench.data.splits import OFFICIAL, Split, rotating
from fairbench.data.table_rules import check_table
from fairbench.errors import DataError, FairbenchError, say_raised

if TYPE_CHECKING:
    import pandas as pd

PAPER_BATCH = 128

_TWIN = "embedded simulated twin"


@dataclass(frozen=True)
class Rows:
    """The rows of one role."""

    # x as float32, ``(n, d)``; of binary images packed bits, uint8, ``(n, ceil(d / 8))``: 300 MB
    # instead of 10 GB for the training images of dSprites
    stored: np.ndarray
    s: Ints  # (n,)
    y: Mapping[str, Ints]  # (n,)
    numbers: Ints  # (n,): of the rows in their table, the same in every split
    pixels: int | None = None  # d, where ``stored`` is packed
    transfer: Mapping[str, Ints] = field(default_factory=dict)  # (n,): labels of unseen tasks

    def __post_init__(self) -> None:
        labels = (*self.y.values(), *self.transfer.values())
        for array in (self.stored, self.s, self.numbers, *labels):
            array.flags.writeable = False

    @property
    def x(self) -> np.ndarray:
        """Features ``(n, d)``: float32; of images uint8 of 0 and 1, unpacked at each call."""
        if self.pixels is None:
            return self.stored
        x = np.unpackbits(self.stored, axis=1, count=self.pixels)
        x.flags.writeable = False
        return x

    @property
    def x_bytes(self) -> int:
        """Bytes of ``x``, without unpacking it: 2.5 GB for the training images of dSprites."""
        return self.stored.nbytes if self.pixels is None else len(self.stored) * self.pixels

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        # Unpickled arrays are writable; in a job's process they must not be.
        self.__dict__.update(state)
        self.__post_init__()


@dataclass(frozen=True)
class Prepared:
    """A dataset ready for use."""

    info: DatasetInfo  # names and sizes
    # Arrays are read-only: a plugin that writes into its input fails instead of harming others
    roles: Mapping[Role, Rows]
    source: str  # ``real``, ``rendered`` or ``simulated``
    origin: str  # where the files are from
    iterations: int  # training steps of the full budget
    table_rows: int  # rows of the table; those above an ``audit_rows`` are in no role
    # sha256 over names (tasks' too), sizes, every array and the split: equal fingerprints, equal
    # bytes
    fingerprint: str
    notes: tuple[str, ...] = ()  # doubts about the table, shown as warnings
    # Turns raw columns into x; None for images, which are x
    preprocessing: Preprocessing | None = None
    split: Split = OFFICIAL
    # Columns by whose values rows can be split into domains
    domains: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # values by column
    # The rows of another domain, prepared alike; nothing that is measured on ``roles`` is fitted
    # on them
    target: Prepared | None = None

    @property
    def title(self) -> str:
        """Name, and fold if it is of one, for messages."""
        return f"{self.info.name}, {self.split.name}" if self.split.folds else self.info.name

    def audited(self) -> Prepared:
        """Return the audit roles alone, for audit jobs."""
        return replace(
            self,
            roles={role: self.roles[role] for role in AUDIT_ROLES},
            target=self.target and self.target.audited(),
        )


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
    return _prepare_all(dataset, *_obtain(dataset, root, require_real), [split])[0]


def load_folds(
    dataset: type[Dataset], folds: int, *, root: Path | None = None, require_real: bool = False
) -> list[Prepared]:
    """Load a dataset once, and prepare it in rotating folds.

    Where it has a test set of its own, the official split comes last, so that figures can be
    compared with those of others. Raises DataError as :func:`load_dataset`.
    """
    table, source, origin = _obtain(dataset, root, require_real)
    splits = rotating(folds)
    if isinstance(table, Table) and table.is_test is not None:
        splits.append(OFFICIAL)
    return _prepare_all(dataset, table, source, origin, splits)


def _prepare_all(
    dataset: type[Dataset],
    table: Table | Images,
    source: str,
    origin: str,
    splits: Sequence[Split],
) -> list[Prepared]:
    if not isinstance(table, Images):
        return [prepare(table, dataset, source=source, origin=origin, split=s) for s in splits]
    if list(splits) != [OFFICIAL]:
        raise DataError(
            f"{dataset.name!r} has images, which come split into roles: they have no folds.",
            "Leave --splits out for it.",
        )
    return [_prepare_images(table, dataset, origin)]


def load_table(dataset: type[Dataset], *, root: Path | None = None) -> tuple[Table | Images, str]:
    """Return a dataset's rows as it loads them, and where they are from; DataError as above."""
    table, source, _ = _obtain(dataset, root, False)
    return table, source


def _obtain(
    dataset: type[Dataset], root: Path | None, require_real: bool
) -> tuple[Table | Images, str, str]:
    files = find_files(dataset, data_root(root))
    if files is not None:
        with _plugin_errors(dataset):
            table = dataset().load(files.folder)
        return _checked(table, dataset), "real", f"{files.origin}: {files.path}"
    where = f"Put {name_files(dataset)} into a folder and name it with"
    hint = f"{where} --data-root or FAIRBENCH_DATA. {say_origin(dataset)}"
    if require_real:
        raise DataError(f"The real files of {dataset.name!r} are not available.", hint)
    twin = _simulated(dataset)
    if twin is None:
        downloadable = all(file.urls for file in dataset.files)
        why = "and no network" if downloadable else "and none can be downloaded"
        raise DataError(f"There are no files for {dataset.name!r} here {why}.", hint)
    return twin, "simulated", _TWIN


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
    return prepare(twin, dataset, source="simulated", origin=_TWIN, split=split)


def prepare(
    table: Table, dataset: type[Dataset], *, source: str, origin: str, split: Split = OFFICIAL
) -> Prepared:
    """Code, split and scale a table; means and scales are those of the training set alone."""
    codes, features = coded(table.x, onehot=table.onehot)
    everyone = np.arange(len(table.s))
    here = everyone if table.target is None else everyone[~table.target]
    roles = _roles(table, here, split, dataset.audit_rows)
    train = codes[roles[Role.ENCODER_TRAIN]]
    mean, scale = mean_and_scale(train, [feature.name for feature in features])
    constant = np.flatnonzero(train.max(axis=0) == train.min(axis=0))
    if len(constant) and not table.onehot:
        raise DataError(
            f"Column {features[constant[0]].name!r} is constant in encoder-train.",
            "A constant column has no information: drop it.",
        )
    x = ((codes - mean) / scale).astype(np.float32)

    def dealt(roles: Mapping[Role, Ints]) -> dict[Role, Rows]:
        return {
            role: Rows(
                x[where],
                table.s[where].astype(np.int64),
                _labels(table.y, where),
                where,
                transfer=_labels(table.transfer, where),
            )
            for role, where in roles.items()
        }

    rows = dealt(roles)
    info = DatasetInfo(dataset.name, features, table.groups, dataset.architecture)
    preprocessing = Preprocessing(
        features,
        mean,
        scale,
        most_common_categories(table.x.iloc[roles[Role.ENCODER_TRAIN]], features),
        table.missing,
        table.decimal,
    )
    fingerprint = _fingerprint(rows, roles, info)
    # x is scaled, so it does not tell the units of a column; files with a checksum cannot change.
    if not dataset.files or any(file.sha256 is None for file in dataset.files):
        fingerprint = _joined(fingerprint, preprocessing.digest())
    target = None
    if table.target is not None:
        elsewhere = replace(table, is_test=None)
        roles_there = _roles(elsewhere, everyone[table.target], split, dataset.audit_rows)
        there = dealt(roles_there)
        target = Prepared(
            info=info,
            roles=there,
            source=source,
            origin=origin,
            iterations=0,
            table_rows=len(table.s),
            fingerprint=_fingerprint(there, roles_there, info),
            split=split,
        )
        fingerprint = _joined(fingerprint, target.fingerprint)
    return Prepared(
        info=info,
        roles=rows,
        source=source,
        origin=origin,
        iterations=dataset.iterations or default_iterations(len(rows[Role.ENCODER_TRAIN].s)),
        table_rows=len(table.s),
        fingerprint=fingerprint,
        notes=table.notes,
        preprocessing=preprocessing,
        split=split,
        domains={name: tuple(np.unique(held).tolist()) for name, held in table.domains.items()},
        target=target,
    )


def _roles(table: Table, rows: Ints, split: Split, audit_rows: int | None) -> dict[Role, Ints]:
    """Deal some rows of a table to the roles."""
    is_test = None if table.is_test is None else table.is_test[rows]
    y = {task: labels[rows] for task, labels in table.y.items()}
    part = replace(table, s=table.s[rows], y=y, is_test=is_test)
    dealt = assign_roles(part, split, audit_rows=audit_rows)
    return {role: rows[where] for role, where in dealt.items()}


def _labels(by_task: Mapping[str, Ints], where: Ints) -> dict[str, Ints]:
    return {task: labels[where].astype(np.int64) for task, labels in by_task.items()}


def _prepare_images(images: Images, dataset: type[Dataset], origin: str) -> Prepared:
    """Prepare images, which are packed and split into roles already; pixels stay 0 and 1."""
    if dataset.architecture.image is None:
        raise DataError(f"Dataset {dataset.name!r} gives images but its architecture has none.")
    pixels = math.prod(dataset.architecture.image)
    numbers = {role: np.arange(len(images.s[role])) for role in Role}
    rows = {
        role: Rows(images.pixels[role], images.s[role], images.y[role], numbers[role], pixels)
        for role in Role
    }
    features = tuple(Feature(f"pixel{i}", f"pixel{i}") for i in range(pixels))
    info = DatasetInfo(dataset.name, features, images.groups, dataset.architecture)
    return Prepared(
        info=info,
        roles=rows,
        source=images.source,
        origin=origin,
        iterations=dataset.iterations or default_iterations(len(rows[Role.ENCODER_TRAIN].s)),
        table_rows=sum(len(where) for where in numbers.values()),
        fingerprint=_fingerprint(rows, numbers, info),
    )


def default_iterations(n: int) -> int:
    """Return the training steps of the full budget for n rows: 100 epochs at batch 128, clipped."""
    return int(np.clip(100 * n // PAPER_BATCH, 5_000, 27_000))


def coded(frame: pd.DataFrame, *, onehot: bool) -> tuple[np.ndarray, tuple[Feature, ...]]:
    """Code a table: numbers as they are, categories as sorted integer codes or one-hot columns.

    Returns float64 ``(n, d)``, and one Feature per column. Raises DataError: a value is missing.
    """
    columns: list[np.ndarray] = []
    features: list[Feature] = []
    for name in frame.columns:
        column: pd.Series = frame[name]
        text = str(name)
        if column.isna().any():
            row = int(np.flatnonzero(column.isna())[0])
            raise DataError(
                f"Column {text!r} has no value in row {row + 1} (and maybe others).",
                "Fill in missing values, or make them a category of their own.",
            )
        if column.dtype.kind in "biuf":
            columns.append(column.to_numpy(np.float64))
            features.append(Feature(text, text))
            continue
        values, codes = np.unique(column.astype(str).to_numpy(), return_inverse=True)
        names = tuple(str(v) for v in values)
        if onehot:
            columns.extend((codes == i).astype(np.float64) for i in range(len(values)))
            features.extend(Feature(f"{text}={v}", text, names) for v in names)
        else:
            columns.append(codes.astype(np.float64))
            features.append(Feature(text, text, names))
    return np.stack(columns, axis=1), tuple(features)


def _fingerprint(rows: Mapping[Role, Rows], roles: Mapping[Role, Ints], info: DatasetInfo) -> str:
    digest = hashlib.sha256()
    digest.update(repr(info).encode())
    digest.update(repr([list(rows[role].y) for role in Role]).encode())
    if any(rows[role].transfer for role in Role):
        digest.update(repr([list(rows[role].transfer) for role in Role]).encode())
    for role in Role:
        labels = (*rows[role].y.values(), *rows[role].transfer.values())
        for array in (roles[role], rows[role].stored, rows[role].s, *labels):
            digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _joined(one: str, other: str) -> str:
    return hashlib.sha256((one + other).encode()).hexdigest()
