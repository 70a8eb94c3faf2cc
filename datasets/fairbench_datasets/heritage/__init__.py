"""Health Heritage (Heritage Health Prize, release 3): claims of patients; S is sex x age.

De-identified claims of 113,000 members of a network of doctors over three years; a row is a member.
X are 65 sums and counts of claims, delays of payment, lab tests, drugs, conditions and procedures,
as in the SoFaiR paper; S has 18 groups, two sexes by nine age bands. The task is whether a member's
Charlson comorbidity index was ever above 0. Members whose sex or age is missing are dropped.

The competition's rules forbid passing the files on, so nothing is downloaded. Put
``HHP_release3.zip`` into ``heritage/`` below the data root, or ``Members.csv``, ``Claims.csv``,
``DrugCount.csv`` and ``LabCount.csv`` from it. No checksum of them is published, but their sizes
are known: a file of another size is read, with a warning.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from fairbench.api import Architecture
from fairbench.api.dataset import DataFile, Dataset, Table
from fairbench.hookspecs import hookimpl
from fairbench_datasets.heritage.source import URL, size_of

SIZES = {
    "Members.csv": 1_938_177,
    "Claims.csv": 233_600_090,
    "DrugCount.csv": 22_017_922,
    "LabCount.csv": 9_692_292,
}
"""Bytes of the release's files."""


class Heritage(Dataset):
    """S is sex x age band."""

    name = "heritage"
    aliases: ClassVar[tuple[str, ...]] = ("health-heritage",)
    summary = "Health Heritage, S = sex x age (18 groups)"
    citation = (
        "Heritage Provider Network. Heritage Health Prize, release 3 of the data sets. Kaggle, "
        "2011-2013"
    )
    licence = "Competition rules: not to be shared or put to other use; no open licence known"
    url = URL
    folder = "heritage"
    files = tuple(DataFile(name) for name in SIZES)
    archive = "HHP_release3.zip"
    sensitive = ("sex", "age")
    tasks = ("charlson",)
    iterations = 74_000  # the paper's Table 3
    architecture = Architecture(hidden=(256, 256), latent=12)  # the paper's Table 2

    def load(self, folder: Path) -> Table:
        from fairbench_datasets.heritage.release import load_release

        complete = all((folder / file.name).exists() for file in self.files)
        source = folder if complete else folder / self.archive
        table = load_release(source)
        return replace(table, notes=(*table.notes, *_other_sizes(source)))

    def simulate(self) -> Table:
        from fairbench_datasets.heritage.twin import simulate

        return simulate()


def _other_sizes(source: Path) -> Iterator[str]:
    """Say which files are not as long as those of the release."""
    for name, known in SIZES.items():
        if (size := size_of(source, name)) != known:
            yield (
                f"{name} has {size:,} bytes, that of release 3 has {known:,}: it may be cut, or of "
                "another release."
            )


@hookimpl
def register_datasets() -> Sequence[type[Dataset]]:
    """Health Heritage, by sex x age."""
    return [Heritage]
