"""The registry of plugins: loaded, resolved by name, and traced to their source."""

from fairbench.registry.catalogue import (
    NAME,
    BrokenPlugin,
    Catalogue,
    Registry,
    column_owners,
    taken_name,
)
from fairbench.registry.loading import load_registry
from fairbench.registry.source import earlier_code, family, plugin_source, plugin_version

__all__ = [
    "NAME",
    "BrokenPlugin",
    "Catalogue",
    "Registry",
    "column_owners",
    "earlier_code",
    "family",
    "load_registry",
    "plugin_source",
    "plugin_version",
    "taken_name",
]
