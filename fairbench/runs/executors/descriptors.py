"""The number of files that a process may open: each job needs some."""

from __future__ import annotations

import contextlib
import sys

from fairbench.errors import ConfigError

_OF_THE_DRIVER, _OF_A_JOB = 24, 8


def ensure_descriptors(workers: int) -> None:
    """Raise this process's limit if it is too low; ConfigError where that is not allowed."""
    if sys.platform == "win32":
        return
    import resource

    needed = _OF_THE_DRIVER + _OF_A_JOB * workers
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return
    with contextlib.suppress(ValueError, OSError, OverflowError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
        return
    raise ConfigError(
        f"{workers} workers need to open {needed} files at once, and at most {soft} are allowed.",
        f"Raise the limit (ulimit -n {max(1024, needed)}), or use fewer --workers.",
    )
