"""``fairbench data export``: a dataset's rows as a table, for tools of any kind."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from fairbench.api.dataset import Dataset, Table
from fairbench.cli.console import out
from fairbench.cli.options import DataRoot, DatasetName
from fairbench.cli.plugins import load_plugins
from fairbench.data.card_dataset import CardDataset
from fairbench.data.files import data_root, find_files
from fairbench.data.loading import load_table
from fairbench.data.prepare import prepare
from fairbench.data.writing import keep_other_tables
from fairbench.errors import ConfigError, DataError
from fairbench.files import write_file


def data_export_command(
    name: DatasetName,
    output: Annotated[Path, typer.Option(help="File to write: .csv or .parquet.")],
    data_root: DataRoot = None,
) -> None:
    """Write all rows of a dataset: role in the official split, x as it is loaded, s, labels.

    Encode the columns of x, in this order of rows, and audit the result:
    fairbench audit --z FILE --dataset NAME --against published
    """
    import pandas as pd

    if output.suffix not in (".csv", ".parquet"):
        raise ConfigError(f"--output {output}: the name must end in .csv or .parquet.")
    dataset = load_plugins().dataset(name)
    _check_is_no_source(output, dataset, data_root)
    keep_other_tables(output, "role")
    obtained = load_table(dataset, root=data_root)
    table = obtained.table
    if not isinstance(table, Table):
        raise DataError(f"{dataset.name!r} has images, which no table holds.")
    data = prepare(table, dataset, source=obtained.source, origin=obtained.origin)
    role = np.full(len(table.s), "", dtype=object)
    for each, rows in data.roles.items():
        role[rows.numbers] = each.value
    tasks = {f"y {task}": labels for task, labels in {**table.y, **table.transfer}.items()}
    if taken := sorted({"role", "s", *tasks} & set(table.x.columns)):
        raise DataError(
            f"{dataset.name!r} has a feature named {taken[0]!r}, which is a name of the file's own "
            "columns.",
            "Give the feature another name in the table.",
        )
    frame = pd.DataFrame({"role": role})
    frame = pd.concat([frame, table.x.reset_index(drop=True)], axis=1)
    frame["s"] = np.asarray(table.groups, dtype=object)[table.s]
    for column, labels in tasks.items():
        frame[column] = labels
    content = io.BytesIO()
    if output.suffix == ".csv":
        frame.to_csv(content, index=False)
    else:
        frame.to_parquet(content, index=False)
    write_file(output, content.getvalue())
    out.print(
        f"{output}: {len(frame):,} rows of {dataset.name} ({obtained.source}). Train encoders "
        "on rows with the role encoder-train alone, and encode all rows, in this order.",
        markup=False,
    )


def _check_is_no_source(output: Path, dataset: type[Dataset], root: Path | None) -> None:
    """Raise ConfigError where the file to write is one that the dataset is read from."""
    if not output.exists():
        return
    if issubclass(dataset, CardDataset):
        sources = [dataset.card.file]
    else:
        found = find_files(dataset, data_root(root), download=False)
        sources = [found.folder / file.name for file in dataset.files] if found else []
    if any(source.exists() and output.samefile(source) for source in sources):
        raise ConfigError(
            f"--output {output} is the table that {dataset.name} is read from.",
            "Name another --output.",
        )
