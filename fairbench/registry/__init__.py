"""The registry of plugins: loaded, resolved by name, and traced to their source."""

from fairbench.registry.catalogue import (
    DISTRIBUTION,
    NAME,
    BrokenPlugin,
    Catalogue,
    Registry,
    column_owners,
    distribution_of,
    taken_name,
)
from fairbench.registry.columns import COLUMN, Columns, declared_columns
from fairbench.registry.loading import load_registry
from fairbench.registry.source import earlier_code, family, plugin_source, plugin_version

__all__ = [
    "COLUMN",
    "DISTRIBUTION",
    "NAME",
    "BrokenPlugin",
    "Catalogue",
    "Columns",
    "Registry",
    "column_owners",
    "declared_columns",
    "distribution_of",
    "earlier_code",
    "family",
    "load_registry",
    "plugin_source",
    "plugin_version",
    "taken_name",
]
