"""Ways of running jobs, behind one protocol."""

from __future__ import annotations

from fairbench.config import ExecutorName, RunConfig
from fairbench.executors.base import Executor


def make_executor(config: RunConfig) -> Executor:
    """The executor that a run asks for; its library is imported only here."""
    if config.in_process:
        from fairbench.executors.in_process import InProcessExecutor

        return InProcessExecutor()
    if config.executor is ExecutorName.RAY:
        from fairbench.executors.ray import RayExecutor

        return RayExecutor(
            workers=config.workers, timeout=config.timeout, address=config.ray_address
        )
    from fairbench.executors.inline import InlineExecutor

    return InlineExecutor(workers=config.workers or cores(), timeout=config.timeout)


def cores() -> int:
    """Processor cores that this process may use."""
    import os

    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
