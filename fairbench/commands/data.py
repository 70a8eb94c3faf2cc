"""``fairbench data check|fetch``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from fairbench.api import Dataset
from fairbench.auditing.information import entropy
from fairbench.console import out, warn_simulated
from fairbench.data.files import cache_folder, data_root, find_files, wanted
from fairbench.data.prepare import load_dataset
from fairbench.errors import DataError
from fairbench.registry import Registry


def check_command(registry: Registry, name: str, root: Path | None) -> None:
    """Check files and print what the dataset holds."""
    dataset = registry.datasets[name]
    data = load_dataset(dataset, root=root)
    if data.source == "simulated":
        warn_simulated([dataset.name])
    out.print(f"{dataset.name}: {data.source} ({data.origin})", markup=False)
    if data.source == "real":
        for line in _checked(dataset, root):
            out.print(f"  {line}", markup=False)
    s = np.concatenate([rows.s for rows in data.roles.values()])
    out.print(f"  H(S) = {entropy(s):.3f} nats; fingerprint {data.fingerprint[:12]}")
    out.print(f"  {'group':40}" + "".join(f"{role.value:>15}" for role in data.roles))
    for i, group in enumerate(data.info.groups):
        counts = "".join(f"{int((rows.s == i).sum()):>15,}" for rows in data.roles.values())
        out.print(f"  {group:40}{counts}", markup=False)


def _checked(dataset: type[Dataset], root: Path | None) -> Iterator[str]:
    """One line a file that was found: its size, and what it was checked by."""
    found = find_files(dataset, data_root(root), download=False)
    if found is None:
        return
    if found.archive:
        yield f"{found.archive}: {found.path.stat().st_size:,} bytes, format (no sha256 known): ok"
        return
    for file in dataset.files:
        size = (found.folder / file.name).stat().st_size
        by = f"sha256 {file.sha256}" if file.sha256 else "format (no sha256 known)"
        yield f"{file.name}: {size:,} bytes, {by}: ok"


def fetch_command(registry: Registry, name: str, root: Path | None) -> None:
    """Make sure a dataset's files are on this machine."""
    dataset = registry.datasets[name]
    found = find_files(dataset, data_root(root))
    if found is None:
        raise DataError(
            f"The files of {dataset.name!r} are not here and could not be downloaded.",
            f"Get {wanted(dataset)} from {dataset.url} and put them into "
            f"{cache_folder() / dataset.folder}, or name their folder with --data-root.",
        )
    out.print(f"{dataset.name}: {found.origin}, {found.path}", markup=False)
