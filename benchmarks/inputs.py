"""What benchmarks are given: the real files of Adults, and folders of results.

A mistake ends a benchmark with one message, as it ends the command line.
"""

from __future__ import annotations

from pathlib import Path

from fairbench.cli.plugins import load_plugins
from fairbench.data.loading import load_dataset
from fairbench.data.prepared import Prepared
from fairbench.errors import FairbenchError
from fairbench.models.query import ResultsLocation
from fairbench.models.results import StoredResults
from fairbench_datasets.adults import AdultsGender


def load_real_adults(root: Path | None) -> Prepared:
    """Load Adults-Gender; exit where its files are missing: its twin has other figures."""
    try:
        return load_dataset(AdultsGender, root=root, require_real=True)
    except FairbenchError as error:
        raise SystemExit(str(error)) from None


def open_results(folder: Path, data_root: Path | None) -> StoredResults:
    """Open a results folder; exit where there is none."""
    try:
        return StoredResults.open(ResultsLocation(folder, data_root=data_root), load_plugins())
    except FairbenchError as error:
        raise SystemExit(str(error)) from None
