"""Ways of running jobs, behind one protocol."""

from __future__ import annotations

from fairbench.config import ExecutorName
from fairbench.executors.base import Executor


def make_executor(name: ExecutorName, *, workers: int, timeout: float | None) -> Executor:
    """The executor of that name; its library is imported only here."""
    if name is ExecutorName.RAY:
        from fairbench.executors.ray import RayExecutor

        return RayExecutor(workers=workers, timeout=timeout)
    from fairbench.executors.inline import InlineExecutor

    return InlineExecutor(workers=workers, timeout=timeout)
