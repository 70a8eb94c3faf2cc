"""Ways of running jobs, behind one protocol."""

from __future__ import annotations

from fairbench.config import ExecutorConfig, ExecutorName
from fairbench.runs.executors.base import Executor
from fairbench.runs.executors.descriptors import ensure_descriptors
from fairbench.training.device import cores


def make_executor(config: ExecutorConfig) -> Executor:
    """Make the configured executor; its library is imported only here.

    Raises ConfigError where it cannot work.
    """
    ensure_descriptors(config.workers or cores())
    if config.in_process:
        from fairbench.runs.executors.in_process import InProcessExecutor

        return InProcessExecutor()
    if config.executor is ExecutorName.RAY:
        from fairbench.runs.executors.ray import RayExecutor

        return RayExecutor(
            workers=config.workers, timeout=config.timeout, address=config.ray_address
        )
    from fairbench.runs.executors.inline import InlineExecutor

    return InlineExecutor(workers=config.workers or cores(), timeout=config.timeout)
