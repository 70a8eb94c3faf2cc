"""``fairbench data list|check|fetch|describe``: list, check, fetch and describe datasets."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from fairbench.api import DataSource, Ints, Role
from fairbench.api.dataset import Dataset
from fairbench.cli.console import (
    out,
    show_columns,
    show_notes,
    show_table,
    spinner,
    warn_simulated,
)
from fairbench.cli.options import DataRoot, DatasetName, complete_datasets
from fairbench.cli.plugins import load_plugins
from fairbench.data.checks import note_few_rows, note_rare_classes, note_rare_groups
from fairbench.data.files import cache_folder, find_files, name_files, say_origin
from fairbench.data.files import data_root as find_data_root
from fairbench.data.loading import load_dataset
from fairbench.data.prepared import Prepared
from fairbench.errors import DataError
from fairbench.stats.scores import entropy

MAX_COLUMNS = 80
"""Most columns of X that are listed one by one."""

MAX_CELLS = 20_000_000
"""Most rows times columns that boosted trees are trained on; of larger tables, the first rows."""
_FEW_ROWS = 5_000
"""Rows to train on below which boosted trees find clearly less than there is."""


def data_list_command(data_root: DataRoot = None) -> None:
    """List datasets: rows, columns of S, and whether their files are here."""
    registry, folder = load_plugins(), find_data_root(data_root)
    rows = []
    for dataset in registry.datasets.classes.values():
        names = ", ".join((dataset.name, *dataset.aliases))
        size = f"{dataset.rows:,}" if dataset.rows else "-"
        rows.append([names, size, " x ".join(dataset.sensitive) or "-", _where(dataset, folder)])
    show_table(["dataset", "rows", "S", "files"], rows)


def _where(dataset: type[Dataset], root: Path | None) -> str:
    try:
        files = find_files(dataset, root, download=False)
    except DataError:
        return "damaged: see fairbench data check"
    if files is not None:
        return files.origin
    has_twin = dataset.simulate is not Dataset.simulate
    return "not here: simulated twin" if has_twin else "not here"


def data_check_command(name: DatasetName, data_root: DataRoot = None) -> None:
    """Check a dataset's files, or a table of your own, and print the rows of each group by role."""
    check_data(load_plugins().dataset(name), data_root)


def check_data(dataset: type[Dataset], root: Path | None) -> None:
    """Check files, and print how many rows of each group are in each role."""
    data = load_warning(dataset, root)
    out.print(f"{dataset.name}: {data.source} ({data.origin})", markup=False)
    if data.source == DataSource.REAL:
        for line in _checked(dataset, root):
            out.print(f"  {line}", markup=False)
    out.print(f"fingerprint {data.fingerprint[:12]}\n")
    counts = {
        role.value: np.bincount(rows.s, minlength=len(data.info.groups))
        for role, rows in data.roles.items()
    }
    rows = [
        [group, *(f"{count[i]:,}" for count in counts.values())]
        for i, group in enumerate(data.info.groups)
    ]
    rows.append(["all", *(f"{count.sum():,}" for count in counts.values())])
    show_columns(["group", *counts], rows)


def _checked(dataset: type[Dataset], root: Path | None) -> Iterator[str]:
    """Yield one line per file: its size, and what it was checked by."""
    files = find_files(dataset, find_data_root(root), download=False)
    if files is None:
        return
    if files.archive:
        yield f"{files.archive}: {files.path.stat().st_size:,} bytes, format (no sha256 known): ok"
        return
    for file in dataset.files:
        size = (files.folder / file.name).stat().st_size
        by = f"sha256 {file.sha256}" if file.sha256 else "format (no sha256 known)"
        yield f"{file.name}: {size:,} bytes, {by}: ok"


def data_fetch_command(
    name: Annotated[str, typer.Argument(help="Dataset.", autocompletion=complete_datasets)],
    data_root: DataRoot = None,
) -> None:
    """Download a dataset's files into the cache, unless they are there."""
    dataset = load_plugins().dataset(name)
    files = find_files(dataset, find_data_root(data_root))
    if files is None:
        raise DataError(
            f"The files of {dataset.name!r} are not here and could not be downloaded.",
            f"Put {name_files(dataset)} into {cache_folder() / dataset.folder}, or name their "
            f"folder with --data-root. {say_origin(dataset)}",
        )
    out.print(f"{dataset.name}: {files.origin}, {files.path}", markup=False)


def load_warning(dataset: type[Dataset], root: Path | None) -> Prepared:
    """Load a dataset, and warn if it is simulated or doubtful."""
    data = load_dataset(dataset, root=root)
    if data.simulated:
        warn_simulated([dataset.name])
    roles = {role: rows.s for role, rows in data.roles.items()}
    tasks = {
        task: {role: {**rows.y, **rows.transfer}[task] for role, rows in data.roles.items()}
        for task in (*data.roles[Role.TEST].y, *data.roles[Role.TEST].transfer)
    }
    found = (
        note_rare_groups(data.info.groups, roles),
        note_rare_classes(tasks),
        note_few_rows(len(roles[Role.VALIDATION])),
    )
    show_notes(data.info.name, (*data.notes, *(note for note in found if note is not None)))
    return data


def data_describe_command(name: DatasetName, data_root: DataRoot = None) -> None:
    """Describe a dataset: groups, H(S), I(X;S), labels, columns, licence, citation."""
    dataset = load_plugins().dataset(name)
    data = load_warning(dataset, data_root)
    s = np.concatenate([rows.s for rows in data.roles.values()])
    by_role = ", ".join(f"{role.value} {len(rows.s):,}" for role, rows in data.roles.items())
    target = data.target.roles.values() if data.target is not None else ()
    if len(s) + sum(len(rows.s) for rows in target) < data.table_rows:
        by_role += "; the rest are in no role"
    for key, value in (
        ("dataset", f"{dataset.name}: {dataset.summary}"),
        ("data", f"{data.source} ({data.origin})"),
        ("licence", dataset.licence or "-"),
        ("citation", dataset.citation or "-"),
        ("page", dataset.url or "-"),
        ("rows", f"{data.table_rows:,}: {by_role}"),
        ("use", _use(dataset)),
    ):
        out.print(
            textwrap.fill(
                value,
                width=80,
                initial_indent=f"{key:10}",
                subsequent_indent=" " * 10,
                break_long_words=False,
                break_on_hyphens=False,
            ),
            markup=False,
        )
    _describe_groups(data, s, dataset.sensitive)
    _describe_information(data)
    _describe_labels(data)
    _describe_columns(data)
    _describe_domains(data)


def _use(dataset: type[Dataset]) -> str:
    why = dataset.demonstration
    return f"for demonstration, without ranks: {why}" if why else "rows are ranked"


def _describe_groups(data: Prepared, s: Ints, columns: Sequence[str]) -> None:
    counts = np.bincount(s, minlength=len(data.info.groups))
    made_of = f" = {' x '.join(columns)}" if columns else ""
    out.print(f"\nS{made_of}: {len(counts)} groups, H(S) = {entropy(s):.3f} nats", markup=False)
    shares = [
        [group, f"{count:,}", f"{count / len(s):.1%}"]
        for group, count in zip(data.info.groups, counts, strict=True)
    ]
    show_columns(["group", "rows", "share"], shares)


def _describe_information(data: Prepared) -> None:
    """Print I(X;S): what there is to hide, and an upper limit of what encoders release."""
    from fairbench.auditing.config import AuditConfig
    from fairbench.auditing.members import fit_boosted_trees
    from fairbench.stats.scores import information, mix_in_prior

    train, test = data.roles[Role.AUDITOR_TRAIN], data.roles[Role.TEST]
    rows = max(1, MAX_CELLS // train.x.shape[1])
    classes = len(data.info.groups)
    # Not the first rows: tables are often sorted.
    fit, held = (_sample(len(part.s), rows) for part in (train, test))
    x, s = train.x[fit], train.s[fit]
    with spinner("estimating I(X;S)"):
        classify = fit_boosted_trees(x, s, classes=classes, config=AuditConfig(), seed=0)
        prior = np.bincount(s, minlength=classes) / len(s)
        nats = information(mix_in_prior(classify(test.x[held]), prior), test.s[held])
    share = nats / entropy(test.s[held])
    out.print(
        f"\nI(X;S) = {nats:.3f} nats, {share:.0%} of H(S): a lower bound, by boosted trees "
        "trained\non the auditor training set and measured on the test set."
    )
    if len(train.s) > rows or len(test.s) > rows:
        out.print(f"(At most {rows:,} rows of each, drawn by chance.)")
    if len(train.s) < _FEW_ROWS:
        out.print(
            "Trees learn little from so few rows: the audits of a run may find several\ntimes more."
        )
    if nats <= 0:
        out.print("These trees cannot predict S from X: there may be no curve to rank.")


def _sample(rows: int, most: int) -> Ints:
    """Numbers of at most so many rows, drawn by chance, in order."""
    if rows <= most:
        return np.arange(rows)
    return np.sort(np.random.default_rng(0).permutation(rows)[:most])


def _describe_labels(data: Prepared) -> None:
    out.print("\nAccuracy of the constant guess on the test set")
    test = data.roles[Role.TEST]
    targets = {"S": test.s} | {f"Y: {task}": labels for task, labels in test.y.items()}
    targets |= {f"unseen: {task}": labels for task, labels in test.transfer.items()}
    rows = [
        [name, str(len(np.unique(labels))), f"{np.bincount(labels).max() / len(labels):.1%}"]
        for name, labels in targets.items()
    ]
    show_columns(["", "classes", "accuracy"], rows)
    if test.transfer:
        out.print(
            "No method sees the labels of unseen tasks. Those that x predicts less than .01\n"
            "better than this guess do not count."
        )


def _describe_domains(data: Prepared) -> None:
    for column, values in data.domains.items():
        names = ", ".join(values)
        out.print(f"\nDomains for --shift {column}: {names}", markup=False)


def _describe_columns(data: Prepared) -> None:
    features = data.info.features
    image = data.info.architecture.image
    if image is not None:
        out.print(f"\nX: images of {' x '.join(str(size) for size in image)}")
        return
    places: dict[str, list[int]] = {}
    for i, feature in enumerate(features):
        places.setdefault(feature.source, []).append(i)
    coded = ", one-hot" if len(places) < len(features) else ""
    out.print(f"\nX: {len(places):,} columns{coded} ({len(features):,} numbers per row)")
    rows = []
    for source, where in list(places.items())[:MAX_COLUMNS]:
        feature = features[where[0]]
        if feature.categories:
            rows.append([source, "category", f"{len(feature.categories):,}"])
        else:
            column = np.concatenate([part.x[:, where[0]] for part in data.roles.values()])
            rows.append([source, "number", f"{len(np.unique(column)):,}"])
    show_columns(["column", "type", "values"], rows, words=2)
    if len(places) > MAX_COLUMNS:
        out.print(f"... and {len(places) - MAX_COLUMNS:,} more.")
