"""Prepare a raw table for methods and auditors: code, scale, split and fingerprint it."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fairbench.api import DatasetInfo, Feature, Floats, Ints, Role
from fairbench.api.dataset import Dataset, Images, Table
from fairbench.data.prepared import Prepared, Rows
from fairbench.data.preprocessing import Preprocessing, mean_and_scale, most_common_categories
from fairbench.data.roles import assign_roles
from fairbench.data.splits import OFFICIAL, Split
from fairbench.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

PAPER_BATCH = 128


def prepare(
    table: Table, dataset: type[Dataset], *, source: str, origin: str, split: Split = OFFICIAL
) -> Prepared:
    """Code, split and scale a table; means and scales are those of the training set alone."""
    codes, features = coded(table.x, onehot=table.onehot)
    everyone = np.arange(len(table.s))
    here = everyone if table.target is None else everyone[~table.target]
    roles = _roles(table, here, split, dataset, "source")
    train = codes[roles[Role.ENCODER_TRAIN]]
    mean, scale = mean_and_scale(train, [feature.name for feature in features])
    constant = np.flatnonzero(train.max(axis=0) == train.min(axis=0))
    if len(constant) and not table.onehot:
        raise DataError(
            f"Column {features[constant[0]].name!r} is constant in encoder-train.",
            "A constant column has no information: drop it.",
        )
    x = _scaled(codes, mean, scale, features)

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
        table.missing_values,
    )
    fingerprint = _fingerprint(rows, roles, info)
    # x is scaled, so it does not tell the units of a column; files with a checksum cannot change.
    if not dataset.files or any(file.sha256 is None for file in dataset.files):
        fingerprint = _joined(fingerprint, preprocessing.digest())
    target = None
    if table.target is not None:
        elsewhere = replace(table, is_test=None)
        everywhere = everyone[table.target]
        _check_people_apart(table, dataset.name)
        roles_there = _roles(elsewhere, everywhere, split, dataset, "target")
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


def _scaled(
    codes: np.ndarray, mean: np.ndarray, scale: np.ndarray, features: Sequence[Feature]
) -> Floats:
    """Return standardised columns ``(n, d)``; DataError: a number is too large for one."""
    with np.errstate(over="ignore"):
        x = ((codes - mean) / scale).astype(np.float32)
    beyond = np.argwhere(~np.isfinite(x))
    if len(beyond):
        row, column = beyond[0]
        value, name = codes[row, column], features[column].name
        raise DataError(
            f"Column {name!r} holds {value:g}, so far from its other numbers that it cannot be "
            f"scaled with them ({len(beyond):,} such {'cell' if len(beyond) == 1 else 'cells'}).",
            "If it stands for a missing value, write it under `missing_values` in the card, as the "
            "file has it; else correct it, or remove the row.",
        )
    return np.asarray(x, np.float32)


def _roles(
    table: Table, rows: Ints, split: Split, dataset: type[Dataset], domain: str
) -> dict[Role, Ints]:
    """Deal some rows of a table to the roles; ``domain``: of a shift, if the table has one."""
    is_test = None if table.is_test is None else table.is_test[rows]
    y = {task: labels[rows] for task, labels in table.y.items()}
    person = None if table.person is None else table.person[rows]
    part = replace(table, s=table.s[rows], y=y, is_test=is_test, person=person)
    try:
        dealt = assign_roles(part, split, audit_rows=dataset.audit_rows)
    except DataError as error:
        if table.target is None:
            raise DataError(f"{dataset.name}: {error.message}", error.hint) from None
        more = "Or cut the domains elsewhere (in a card: `groups` or `bins` of `domains`)."
        where = f"In the {domain} of the shift: "
        raise DataError(where + error.message, f"{error.hint} {more}") from None
    return {role: rows[where] for role, where in dealt.items()}


def _check_people_apart(table: Table, name: str) -> None:
    """Raise DataError for people with rows in the source and in the target of a shift."""
    if table.person is None or table.target is None:
        return
    both = np.intersect1d(table.person[table.target], table.person[~table.target])
    if len(both):
        raise DataError(
            f"{name}: {len(both):,} people have rows in both domains of the shift, and would be "
            "trained on and tested.",
            "Keep rows of one domain for each person.",
        )


def _labels(by_task: Mapping[str, Ints], where: Ints) -> dict[str, Ints]:
    return {task: labels[where].astype(np.int64) for task, labels in by_task.items()}


def prepare_images(images: Images, dataset: type[Dataset], origin: str) -> Prepared:
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


def coded(
    frame: pd.DataFrame, *, onehot: bool, keep_order: bool = False
) -> tuple[np.ndarray, tuple[Feature, ...]]:
    """Code a table: numbers as they are, categories as sorted integer codes or one-hot columns.

    ``keep_order``: whether categorical columns have codes in the order of their dtype, where it is
    ordered or of numbers, rather than in that of the text. Tables of datasets do not: their
    fingerprints would change.

    Returns float64 ``(n, d)``, and one Feature per column. Raises DataError: a value is missing.
    """
    columns: list[np.ndarray] = []
    features: list[Feature] = []
    for name in frame.columns:
        column: pd.Series = frame[name]
        text = str(name)
        if column.isna().any():
            missing = np.flatnonzero(column.isna())
            more = f" (missing in {len(missing):,} of {len(column):,} rows)"
            raise DataError(
                f"Column {text!r} has no value in row {missing[0] + 1}{more}.",
                "Fill in missing values; those of a category can be a category of their own.",
            )
        if column.dtype.kind in "biuf":
            columns.append(column.to_numpy(np.float64))
            features.append(Feature(text, text))
            continue
        held = column.astype(str).to_numpy()
        values, codes = np.unique(held, return_inverse=True)
        names = tuple(str(v) for v in values)
        if keep_order and (own := _in_own_order(column, held)):
            codes = np.array([own.index(name) for name in names])[codes]
            names = own
        if onehot:
            columns.extend((codes == i).astype(np.float64) for i in range(len(names)))
            features.extend(Feature(f"{text}={v}", text, names) for v in names)
        else:
            columns.append(codes.astype(np.float64))
            features.append(Feature(text, text, names))
    return np.stack(columns, axis=1), tuple(features)


def _in_own_order(column: pd.Series, held: np.ndarray) -> tuple[str, ...]:
    """Return the categories that occur in the order of their dtype; none where it says none.

    ``held``: the column as text.
    """
    import pandas as pd

    dtype = column.dtype
    if not isinstance(dtype, pd.CategoricalDtype):
        return ()
    if not dtype.ordered and dtype.categories.dtype.kind not in "iuf":
        return ()
    _, first = np.unique(column.cat.codes, return_index=True)
    return tuple(dict.fromkeys(str(text) for text in held[first]))


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
