"""The contract of plugins as runnable checks, for built-in and third-party plugins.

A test file of a plugin needs no more than this::

    from fairbench.testing import parametrize
    from my_plugin import MyMethod

    @parametrize(MyMethod)
    def test_it_keeps_its_promises(promise):
        promise()

``fairbench check NAME`` does the same from the shell.
"""

from fairbench.testing.check_results import CheckResult
from fairbench.testing.contracts import (
    check_dataset,
    check_method,
    check_metric,
    dataset_checks,
    method_checks,
    metric_checks,
    parametrize,
)
from fairbench.testing.promises import Check, CheckOutcome

__all__ = [
    "Check",
    "CheckOutcome",
    "CheckResult",
    "check_dataset",
    "check_method",
    "check_metric",
    "dataset_checks",
    "method_checks",
    "metric_checks",
    "parametrize",
]
