"""Codes that are cells of x, joined where that hides most of s for the least distortion."""

from collections.abc import Sequence

from fairbench.api import Method
from fairbench.hookspecs import hookimpl
from fairbench_plugins.merged_cells.kept import KeptCells
from fairbench_plugins.merged_cells.merged import MergedCells
from fairbench_plugins.merged_cells.paired import PairedCells


@hookimpl
def register_methods() -> Sequence[type[Method]]:
    """Merged, paired and kept cells."""
    return [MergedCells, PairedCells, KeptCells]
