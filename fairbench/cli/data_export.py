"""``fairbench data export``: a dataset's rows as a table, for tools of any kind."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from fairbench.api.dataset import Table
from fairbench.cli.console import out
from fairbench.cli.options import DataRoot, DatasetName
from fairbench.cli.plugins import load_plugins
from fairbench.data.loading import load_dataset, load_table
from fairbench.errors import ConfigError, DataError


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
    obtained = load_table(dataset, root=data_root)
    table = obtained.table
    if not isinstance(table, Table):
        raise DataError(f"{dataset.name!r} has images, which no table holds.")
    data = load_dataset(dataset, root=data_root)
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
    try:
        if output.suffix == ".csv":
            frame.to_csv(output, index=False)
        else:
            frame.to_parquet(output, index=False)
    except OSError as error:
        why = error.strerror or error
        raise ConfigError(f"--output {output} cannot be written: {why}.") from None
    out.print(
        f"{output}: {len(frame):,} rows of {dataset.name} ({obtained.source}). Train encoders "
        "on rows with the role encoder-train alone, and encode all rows, in this order.",
        markup=False,
    )
