"""The three contracts: the promises of each kind of plugin, in the order of their checks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fairbench.api.dataset import Dataset
from fairbench.api.method import Method
from fairbench.api.metric import Metric
from fairbench.data.prepared import Prepared
from fairbench.testing import (
    dataset_promises,
    method_codes,
    method_declarations,
    method_fits,
    method_keeping,
    metric_promises,
)
from fairbench.testing.dataset_promises import DatasetTrial
from fairbench.testing.method_trial import MethodTrial
from fairbench.testing.metric_promises import MetricTrial
from fairbench.testing.promises import Check, demand

METHOD = (
    method_declarations.texts,
    method_declarations.parameters,
    method_declarations.points,
    method_declarations.space,
    method_declarations.supports,
    method_declarations.pickles,
    method_fits.fits,
    method_codes.shapes,
    method_codes.coding,
    method_fits.curve,
    method_codes.knobs,
    method_codes.decodes,
    method_codes.keeps_codes,
    method_codes.decodes_alone,
    method_codes.forgets,
    method_codes.extras,
    method_fits.keeps_rows,
    method_codes.keeps_rows,
    method_fits.reproducible,
    method_fits.job,
    method_fits.ignores_labels,
    method_fits.reads_nothing,
    method_codes.blind,
    method_codes.unseen,
    method_codes.alone,
    method_codes.precisions,
    method_codes.input_columns,
    method_keeping.restores,
    method_keeping.decodes_restored,
    method_fits.stacks,
    method_fits.recordable,
    method_fits.many_groups,
    method_fits.devices_agree,
    method_fits.unharmed,
)
"""Promises of a method, basic ones first. A new one is a function and a line here."""

DATASET = (
    dataset_promises.texts,
    dataset_promises.loads,
    dataset_promises.unharmed,
    dataset_promises.features,
    dataset_promises.groups,
    dataset_promises.labels,
    dataset_promises.roles,
    dataset_promises.same_again,
    dataset_promises.copies,
    dataset_promises.label_copies,
    dataset_promises.scaling,
    dataset_promises.declared_rows,
    dataset_promises.elsewhere,
)
"""Promises of a dataset."""

METRIC = (
    metric_promises.texts,
    metric_promises.columns,
    metric_promises.computes,
    metric_promises.complete,
    metric_promises.finite,
    metric_promises.pure,
    metric_promises.replicates,
    metric_promises.pickles,
    metric_promises.unharmed,
)
"""Promises of a metric."""


def method_checks(
    method: type[Method], *, data: Prepared | None = None, root: Path | None = None
) -> list[Check]:
    """Return the checks of a method, importable by module and name; they share their fits.

    ``data``: of the checks; default: a small table of their own. ``root``: data root, whose files
    it must not read.
    """
    trial = MethodTrial(method, root=root) if data is None else MethodTrial(method, data, root)
    return [Check("method", _name(method), promise, trial) for promise in METHOD]


def dataset_checks(dataset: type[Dataset], *, root: Path | None = None) -> list[Check]:
    """Return the checks of a dataset; they share the loaded data, its twin without files."""
    trial = DatasetTrial(dataset, root)
    return [Check("dataset", _name(dataset), promise, trial) for promise in DATASET]


def metric_checks(metric: type[Metric]) -> list[Check]:
    """Return the checks of a metric, beside all installed metrics."""
    from fairbench.registry import load_registry

    trial = MetricTrial(metric, tuple(load_registry().metrics.classes.values()))
    return [Check("metric", _name(metric), promise, trial) for promise in METRIC]


def _name(cls: Any) -> str:
    return str(getattr(cls, "name", cls.__qualname__))


def check_method(
    method: type[Method], *, data: Prepared | None = None, root: Path | None = None
) -> None:
    """Check that a method keeps the promises of its interface; CheckError has the first broken."""
    demand(method_checks(method, data=data, root=root))


def check_dataset(dataset: type[Dataset], *, root: Path | None = None) -> Prepared:
    """Check that a dataset, its twin without files, keeps the promises of its interface.

    It must be importable by module and name; ``root``: data root, as of ``--data-root``. Returns
    the dataset as runs use it. CheckError has the first broken promise.
    """
    checks = dataset_checks(dataset, root=root)
    demand(checks)
    data: Prepared = checks[0].trial.data
    return data


def check_metric(metric: type[Metric]) -> None:
    """Check that a metric keeps the promises of its interface; CheckError has the first broken."""
    demand(metric_checks(metric))


def parametrize(*plugins: type[Method] | type[Dataset] | type[Metric]) -> Any:
    """Make a pytest decorator: one test per promise of each plugin class.

    Examples
    --------
    >>> @parametrize(MyMethod)  # doctest: +SKIP
    ... def test_it_keeps_its_promises(promise):
    ...     promise()
    """
    import pytest

    checks: list[Check] = [check for plugin in plugins for check in _checks(plugin)]
    return pytest.mark.parametrize(
        "promise", checks, ids=[f"{check.name}: {check.promise.text}" for check in checks]
    )


def _checks(plugin: type[Any]) -> Sequence[Check]:
    if issubclass(plugin, Method):
        return method_checks(plugin)
    if issubclass(plugin, Dataset):
        return dataset_checks(plugin)
    if issubclass(plugin, Metric):
        return metric_checks(plugin)
    raise TypeError(f"{plugin!r} is not a Method, Dataset or Metric of fairbench.api.")
