"""Read a YAML file that holds a mapping: a card, a configuration, hyperparameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
        The file cannot be read, is not YAML or no mapping, or has a key twice or a null character;
        the message names the option that it came from.
    """
    import yaml

    try:
        text = file.read_text(encoding="utf-8")
        loader = yaml.BaseLoader(text) if as_text else yaml.SafeLoader(text)
        root = loader.get_single_node()
        # Before values are made of it, which changes the nodes of merged mappings.
        repeated = None if root is None else _repeated_key(root)
        null_line = None if root is None else _line_of_null(root)
        content = None if root is None else loader.construct_document(root)
    except OSError as error:
        raise ConfigError(f"{option} {file}: {error.strerror}.", "Check the path.") from None
    # A date like 2001-99-99 is a ValueError, nesting without end a RecursionError.
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        line = getattr(getattr(error, "problem_mark", None), "line", None)
        where = f" (line {line + 1})" if line is not None else ""
        tab = "'\\t'" in str(getattr(error, "problem", ""))
        hint = "A tab stands there: indent with spaces." if tab else ""
        raise ConfigError(f"{option} {file} is not YAML{where}.", hint) from None
    if repeated is not None:
        key, lines = repeated
        raise ConfigError(
            f"{option} {file}: the key {key!r} stands twice (lines {lines[0]} and {lines[1]}).",
            "Leave one of them out: YAML itself would take the last.",
        )
    if null_line is not None:
        raise ConfigError(
            f"{option} {file}: a value has a null character (line {null_line}).", "Take it out."
        )
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise ConfigError(
            f"{option} {file} must hold 'key: value' lines.",
            "Begin a line with a key, then write a colon, a space and the value.",
        )
    for key in content:
        if not isinstance(key, str):
            raise ConfigError(f"{option} {file}: the key {key!r} is not a name.")
    return content


def _repeated_key(root: yaml.Node) -> tuple[str, tuple[int, int]] | None:
    """Return a key that stands twice in one mapping, and its lines; None: there is none."""
    import yaml

    for mapping in _nodes(root):
        if not isinstance(mapping, yaml.MappingNode):
            continue
        lines: dict[str, int] = {}
        for key, _ in mapping.value:
            if isinstance(key, yaml.ScalarNode):
                line = key.start_mark.line + 1
                if key.value in lines:
                    return key.value, (lines[key.value], line)
                lines[key.value] = line
    return None


def _line_of_null(root: yaml.Node) -> int | None:
    """Return the line of a text with a null character, which no name or path may have."""
    import yaml

    for node in _nodes(root):
        if isinstance(node, yaml.ScalarNode) and "\0" in node.value:
            return int(node.start_mark.line) + 1
    return None


def _nodes(root: yaml.Node) -> Iterator[yaml.Node]:
    """Yield each node once: aliases name a node again and again, and may stand within it."""
    import yaml

    seen, waiting = set(), [root]
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        yield node
        if isinstance(node, yaml.MappingNode):
            waiting += [each for pair in node.value for each in pair]
        elif isinstance(node, yaml.CollectionNode):
            waiting += node.value
