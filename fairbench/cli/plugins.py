"""The plugins of a command."""

from __future__ import annotations

from fairbench.cli.console import err
from fairbench.registry import Registry, load_registry


def load_plugins() -> Registry:
    """Load all plugins; warn of those that are broken."""
    registry = load_registry()
    for broken in registry.broken:
        err.print(f"Warning: plugin {broken.source} was left out: {broken.error}", markup=False)
    return registry
