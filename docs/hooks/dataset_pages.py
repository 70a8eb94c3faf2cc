"""A page for each table that ships, all from one template: what its module declares and says."""

from __future__ import annotations

import inspect
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

_FOLDER = "datasets"
_OWN = "fairbench_datasets."
_TEMPLATE = Path(__file__).with_name("dataset.md.j2")
_SHOWN_CODES = 8
"""Most categories that a table of columns names."""


def on_config(config: Any) -> Any:
    """Put the pages below the overview of datasets."""
    pages = [{title: f"{_FOLDER}/{name}.md"} for name, title, _ in _modules()]
    for section in config.nav:
        for entries in section.values():
            if isinstance(entries, list):
                place = next((i for i, one in enumerate(entries) if "Datasets" in one), None)
                if place is not None:
                    entries[place] = {"Datasets": [{"All datasets": "datasets.md"}, *pages]}
    return config


def on_files(files: Files, *, config: Any) -> Files:
    """Add the pages."""
    for name, title, datasets in _modules():
        text = page(title, datasets)
        files.append(File.generated(config, f"{_FOLDER}/{name}.md", content=text))
    return files


def _modules() -> list[tuple[str, str, list[Any]]]:
    """Name of the page, its title and the datasets, of each module with built-in datasets."""
    from fairbench.registry import load_registry

    by_module: dict[str, list[Any]] = defaultdict(list)
    for dataset in load_registry().datasets.classes.values():
        if dataset.__module__.startswith(_OWN):
            by_module[dataset.__module__].append(dataset)
    found = []
    for module, datasets in by_module.items():
        name = module.removeprefix(_OWN).partition(".")[0].replace("_", "-")
        found.append((name, _title(module), datasets))
    return sorted(found)


def _title(module: str) -> str:
    """The words before the colon of the module's first line."""
    first = (sys.modules[module].__doc__ or module).splitlines()[0]
    return re.sub(r" \(.*", "", first.partition(":")[0].replace("``", "")).rstrip(".")


def page(title: str, datasets: Sequence[Any]) -> str:
    """Return the Markdown of a page."""
    import jinja2

    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    first = datasets[0]
    return environment.from_string(_TEMPLATE.read_text("utf-8")).render(
        title=title,
        description="\n".join(_description(sys.modules[first.__module__].__doc__ or "")),
        datasets=datasets,
        first=first,
        tables=list({tuple(f.name for f in one.files): one for one in datasets[::-1]}.values())[
            ::-1
        ],
        names=lambda one: ", ".join(f"`{name}`" for name in (one.name, *one.aliases)),
        tasks=lambda one: ", ".join(f"`{name}`" for name in _tasks(one)),
        values=_values,
        link=lambda file: f"[`{file.name}`]({file.urls[0]})" if file.urls else f"`{file.name}`",
    )


def _tasks(dataset: Any) -> list[str]:
    """Names of the tasks, and of a variant for unseen tasks those."""
    return list(dataset.unseen_tasks or dataset.tasks)


def _description(docstring: str) -> Iterator[str]:
    """The module's docstring as Markdown: tables of reStructuredText become text blocks."""
    rules = 0
    for line in inspect.cleandoc(docstring).splitlines():
        ruled = bool(re.fullmatch(r"=+( +=+)+", line))
        if ruled and not rules:
            yield "```text"
        # In a block of text cells keep their width.
        yield re.sub("``(.+?)``", r"\1    " if ruled or rules else r"`\1`", line)
        rules += ruled
        if rules == 3:
            yield "```"
            rules = 0


def _values(column: Any) -> str:
    if not hasattr(column, "codes"):
        return f"{column.low:,g} to {column.high:,g}"
    names = list(dict.fromkeys(column.codes.values()))
    more = f", ... ({len(names)} in all)" if len(names) > _SHOWN_CODES else ""
    return ("; ".join(names[:_SHOWN_CODES]) + more).replace("|", "\\|").replace("<", "&lt;")
