"""The hooks by which plugins register methods, datasets, metrics, collections and boards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from fairbench.api.collection import Collection
    from fairbench.api.dataset import Dataset
    from fairbench.api.method import Method
    from fairbench.api.metric import Metric
    from fairbench.api.published import BoardFile

ENTRY_POINT_GROUP = "fairbench"
"""Packages name their plugin modules under ``[project.entry-points.fairbench]``."""

hookspec = pluggy.HookspecMarker("fairbench")
hookimpl = pluggy.HookimplMarker("fairbench")


@hookspec
def register_methods() -> Sequence[type[Method]]:
    """Return method classes; called once, when the registry loads."""
    return []


@hookspec
def register_datasets() -> Sequence[type[Dataset]]:
    """Return dataset classes; called once, when the registry loads."""
    return []


@hookspec
def register_metrics() -> Sequence[type[Metric]]:
    """Return metric classes; called once, when the registry loads."""
    return []


@hookspec
def register_collections() -> Sequence[Collection]:
    """Return collections of tables; called once, when the registry loads."""
    return []


@hookspec
def register_boards() -> Sequence[BoardFile]:
    """Return files of published boards; called once, when the registry loads."""
    return []
