"""Read a YAML file that holds a mapping: a card, a configuration, hyperparameters."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairbench.errors import ConfigError

if TYPE_CHECKING:
    import yaml


def read_yaml(file: Path, option: str, *, as_text: bool = False) -> Mapping[str, Any]:
    """Read a YAML mapping.

    ``as_text`` leaves every value as it is written: ``no`` is not false then, nor ``1.0`` a number.

    Raises
    ------
    ConfigError
        The file cannot be read, is not YAML or no mapping, or has a key twice; the message names
        the option that it came from.
    """
    import yaml

    loader = yaml.BaseLoader if as_text else yaml.SafeLoader
    try:
        text = file.read_text(encoding="utf-8")
        content = yaml.load(text, Loader=loader)
        repeated = _repeated_key(yaml.compose(text, Loader=loader))
    except OSError as error:
        raise ConfigError(f"{option} {file}: {error.strerror}.", "Check the path.") from None
    # A date like 2001-99-99 is a ValueError, nesting without end a RecursionError.
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        line = getattr(getattr(error, "problem_mark", None), "line", None)
        where = f" (line {line + 1})" if line is not None else ""
        raise ConfigError(f"{option} {file} is not YAML{where}.") from None
    if repeated is not None:
        key, lines = repeated
        raise ConfigError(
            f"{option} {file}: the key {key!r} stands twice (lines {lines[0]} and {lines[1]}).",
            "Leave one of them out: YAML itself would take the last.",
        )
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise ConfigError(f"{option} {file} must hold 'key: value' lines.")
    for key in content:
        if not isinstance(key, str):
            raise ConfigError(f"{option} {file}: the key {key!r} is not a name.")
    return content


def _repeated_key(
    node: yaml.Node | None, above: tuple[yaml.Node, ...] = ()
) -> tuple[str, tuple[int, int]] | None:
    """Return the first key that stands twice in one mapping, and its lines; None: there is none."""
    import yaml

    if not isinstance(node, yaml.CollectionNode) or any(node is one for one in above):
        return None  # an alias may stand within what it names
    parts = node.value
    if isinstance(node, yaml.MappingNode):
        lines: dict[str, int] = {}
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                line = key.start_mark.line + 1
                if key.value in lines:
                    return key.value, (lines[key.value], line)
                lines[key.value] = line
        parts = [value for _, value in node.value]
    found = (_repeated_key(part, (*above, node)) for part in parts)
    return next((one for one in found if one is not None), None)
