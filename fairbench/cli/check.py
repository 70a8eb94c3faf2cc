"""``fairbench check``: check that a plugin keeps the promises of its interface."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from fairbench.cli.console import out, spinner
from fairbench.cli.data import load_warning
from fairbench.cli.options import DataRoot, complete_datasets
from fairbench.cli.plugins import load_plugins
from fairbench.data.prepared import Prepared
from fairbench.errors import ConfigError, PluginError, UnknownNameError
from fairbench.registry import BrokenPlugin, Registry
from fairbench.testing.check_results import CheckResult
from fairbench.testing.contracts import dataset_checks, method_checks, metric_checks
from fairbench.testing.method_trial import MethodTrial
from fairbench.testing.promises import Check, CheckOutcome


def check_command(
    name: Annotated[
        str, typer.Argument(help="Method, dataset or metric, or a dataset card (.yaml).")
    ],
    dataset: Annotated[
        str | None,
        typer.Option(
            help="Dataset to try a method on [default: a small table].",
            autocompletion=complete_datasets,
        ),
    ] = None,
    data_root: DataRoot = None,
) -> None:
    """Check that a plugin implements its interface.

    The exit code is 1 if a promise is broken.
    """
    raise typer.Exit(check_plugin(load_plugins(), name, dataset, data_root))


def check_plugin(registry: Registry, name: str, dataset: str | None, root: Path | None) -> int:
    """Check every promise of all that has this name; return 1 if one is broken, else 0."""
    data = None
    if dataset is not None:
        if name not in registry.methods:
            raise ConfigError(
                f"--dataset is the dataset to try a method on, and {name!r} is no method.",
                f"See: fairbench check {name}",
            )
        data = load_warning(registry.dataset(dataset), root)
    bad = False
    for heading, checks in _contracts(registry, name, data, root):
        out.print(heading, markup=False, style="bold")
        outcomes = [_shown(check) for check in checks]
        bad |= any(outcome.verdict is CheckResult.FAILED for outcome in outcomes)
        out.print(_summary(outcomes), markup=False)
        if (why := _refused(checks[0])) is not None:
            bad = True
            hint = f"fairbench check {name} --dataset NAME, of one that it takes."
            out.print(f"NOT TRIED: it refuses this table ({why}). Give: {hint}", markup=False)
    return int(bad)


def _refused(check: Check) -> str | None:
    """Why a method does not take the table that it was to be tried on; None: it does."""
    trial = check.trial
    return trial.refuses if isinstance(trial, MethodTrial) else None


def _contracts(
    registry: Registry, name: str, data: Prepared | None, root: Path | None
) -> Iterator[tuple[str, Sequence[Check]]]:
    """Yield a heading and checks for each plugin of a name, which two kinds may share."""
    from fairbench.data.card import is_card

    known = False
    for broken in registry.broken:  # or the plugin of another package that has the name
        if re.search(rf"\b(name|metric) {re.escape(repr(name))}", broken.error):
            raise _not_loaded(broken.source, broken)
    if name in registry.methods:
        known, full = True, registry.methods.resolve(name)
        on = f"rows of {data.info.name}" if data else "a small table of the checks' own"
        heading = f"method {full}, from {registry.methods.sources[full]}, on {on}"
        yield heading, method_checks(registry.methods[name], data=data, root=root)
    if is_card(name) or name in registry.datasets:
        known, dataset = True, registry.dataset(name)
        source = registry.datasets.sources.get(dataset.name, name)
        checks = dataset_checks(dataset, root=root)
        heading = f"dataset {dataset.name}, from {source}"
        if checks[0].trial.is_simulated:
            heading += ", on its SIMULATED rows: its files are not here, so load is not tried"
        yield heading, checks
    if name in registry.metrics:
        known, full = True, registry.metrics.resolve(name)
        heading = f"metric {full}, from {registry.metrics.sources[full]}"
        yield heading, metric_checks(registry.metrics[name])
    if not known:
        for broken in registry.broken:
            if name in re.split(r"[ ()]", broken.source):
                raise _not_loaded(name, broken)
        if members := _members(registry, name):
            for member in members:
                yield from _contracts(registry, member, data, root)
            return
        names = (*registry.methods.classes, *registry.datasets.classes, *registry.metrics.classes)
        raise UnknownNameError(
            "plugin",
            name,
            names,
            command="fairbench list methods, or datasets, or metrics",
            left_out=[broken.source for broken in registry.broken],
        )


def _not_loaded(name: str, broken: BrokenPlugin) -> PluginError:
    return PluginError(
        f"{name} could not be loaded: {broken.error}", "Fix it, then check it again."
    )


def _members(registry: Registry, package: str) -> list[str]:
    """What a package, or one of its entry points, registers to be checked."""
    catalogues = (registry.methods, registry.datasets, registry.metrics)
    return [
        name
        for catalogue in catalogues
        for name, source in catalogue.sources.items()
        if package in re.split(r"[ ()]", source)
    ]


def _shown(check: Check) -> CheckOutcome:
    """Check, and print a line; of a broken promise also why it matters and what to do."""
    with spinner(check.promise.text):
        outcome = check.outcome()
    reason = f": {outcome.what}" if outcome.what else ""
    out.print(f"{outcome.verdict.value:8} {check.promise.text}{reason}", markup=False)
    if outcome.verdict is CheckResult.FAILED:
        for head, text in (("why", check.promise.why), ("to do", outcome.todo)):
            if text:
                line = textwrap.fill(
                    f"{head}: {text}", 100, initial_indent=" " * 9, subsequent_indent=" " * 9
                )
                out.print(line, markup=False)
    return outcome


def _summary(outcomes: Sequence[CheckOutcome]) -> str:
    counts = {verdict: sum(o.verdict is verdict for o in outcomes) for verdict in CheckResult}
    parts = [f"{counts[CheckResult.OK]} kept", f"{counts[CheckResult.FAILED]} broken"]
    if counts[CheckResult.SKIPPED]:
        parts.append(f"{counts[CheckResult.SKIPPED]} skipped")
    return f"{len(outcomes)} promises: {', '.join(parts)}"
