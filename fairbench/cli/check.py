"""``fairbench check``: does a plugin keep the promises of its interface?"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from fairbench.cli.console import out, show_notes, warn_simulated
from fairbench.data.prepare import Prepared, load_dataset
from fairbench.errors import ConfigError, UnknownNameError
from fairbench.registry import Registry
from fairbench.testing.contracts import dataset_checks, method_checks, metric_checks
from fairbench.testing.promises import Check, CheckOutcome
from fairbench.testing.verdicts import Verdict


def check_command(registry: Registry, name: str, dataset: str | None, root: Path | None) -> int:
    """Look at every promise of what has this name; 1 if one is broken, else 0.

    Raises
    ------
    UnknownNameError
        There is no such method, dataset or metric.
    """
    data = None
    if dataset is not None:
        if name not in registry.methods:
            raise ConfigError(
                f"--dataset is what a method is tried on, and {name!r} is no method.",
                f"See: fairbench check {name}",
            )
        data = _load(registry, dataset, root)
    bad = False
    for heading, checks in _contracts(registry, name, data, root):
        out.print(heading, markup=False, style="bold")
        outcomes = [_shown(check) for check in checks]
        bad |= any(found.verdict is Verdict.FAILED for found in outcomes)
        out.print(_summary(outcomes), markup=False)
    return int(bad)


def _load(registry: Registry, name: str, root: Path | None) -> Prepared:
    data = load_dataset(registry.dataset(name), root=root)
    if data.source == "simulated":
        warn_simulated([data.info.name])
    show_notes(data.info.name, data.notes)
    return data


def _contracts(
    registry: Registry, name: str, data: Prepared | None, root: Path | None
) -> Iterator[tuple[str, Sequence[Check]]]:
    """What bears the name, kind by kind: a method and a metric may share one."""
    from fairbench.data.card import is_card

    known = False
    if name in registry.methods:
        known, found = True, registry.methods.resolve(name)
        on = f"rows of {data.info.name}" if data else "a small table of the checks' own"
        heading = f"method {found}, from {registry.methods.sources[found]}, on {on}"
        yield heading, method_checks(registry.methods[name], data=data, root=root)
    if is_card(name) or name in registry.datasets:
        known, dataset = True, registry.dataset(name)
        source = registry.datasets.sources.get(dataset.name, name)
        yield f"dataset {dataset.name}, from {source}", dataset_checks(dataset, root=root)
    if name in registry.metrics:
        known, found = True, registry.metrics.resolve(name)
        heading = f"metric {found}, from {registry.metrics.sources[found]}"
        yield heading, metric_checks(registry.metrics[name])
    if not known:
        names = (*registry.methods.classes, *registry.datasets.classes, *registry.metrics.classes)
        raise UnknownNameError(
            "plugin", name, names, command="fairbench list methods, or datasets, or metrics"
        )


def _shown(check: Check) -> CheckOutcome:
    """Look, and print a line; of a broken promise also why it matters and what to do."""
    found = check.outcome()
    reason = f": {found.what}" if found.what else ""
    out.print(f"{found.verdict.value:8} {check.promise.text}{reason}", markup=False)
    if found.verdict is Verdict.FAILED:
        for head, text in (("why", check.promise.why), ("to do", found.todo)):
            if text:
                line = textwrap.fill(
                    f"{head}: {text}", 100, initial_indent=" " * 9, subsequent_indent=" " * 9
                )
                out.print(line, markup=False)
    return found


def _summary(outcomes: Sequence[CheckOutcome]) -> str:
    counts = {verdict: sum(o.verdict is verdict for o in outcomes) for verdict in Verdict}
    parts = [f"{counts[Verdict.OK]} kept", f"{counts[Verdict.FAILED]} broken"]
    if counts[Verdict.SKIPPED]:
        parts.append(f"{counts[Verdict.SKIPPED]} skipped")
    return f"{len(outcomes)} promises: {', '.join(parts)}"
