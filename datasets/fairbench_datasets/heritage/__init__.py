"""Health Heritage (Heritage Health Prize, release 3): claims of patients; S is sex x age.

De-identified claims of 113,000 members of a network of doctors over three years; a row is a member.
X are 65 sums and counts of claims, delays of payment, lab tests, drugs, conditions and procedures,
as in the SoFaiR paper; S has 18 groups, two sexes by nine age bands. The task is whether a member's
Charlson comorbidity index was ever above 0. Members whose sex or age is missing are dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from fairbench.api import Architecture
from fairbench.api.dataset import DataFile, Dataset, Table
from fairbench.hookspecs import hookimpl
from fairbench_datasets.heritage.source import URL


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
    files = tuple(
        DataFile(name) for name in ("Members.csv", "Claims.csv", "DrugCount.csv", "LabCount.csv")
    )
    archive = "HHP_release3.zip"
    sensitive = ("sex", "age")
    iterations = 74_000  # the paper's Table 3
    architecture = Architecture(hidden=(256, 256), latent=12)  # the paper's Table 2

    def load(self, folder: Path) -> Table:
        from fairbench_datasets.heritage.release import load_release

        complete = all((folder / file.name).exists() for file in self.files)
        return load_release(folder if complete else folder / self.archive)

    def simulate(self) -> Table:
        from fairbench_datasets.heritage.twin import simulate

        return simulate()


@hookimpl
def register_datasets() -> Sequence[type[Dataset]]:
    """Health Heritage, by sex x age."""
    return [Heritage]
