"""One thread for torch, OpenMP and BLAS.

The networks are so small that a second thread costs more than it brings: jobs run side by side
instead, and equal settings then give equal figures on the CPU.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
"""Environment variables by which libraries size their thread pools when they are loaded."""


@contextmanager
def one_thread() -> Iterator[None]:
    """Use one thread, as jobs do, and restore the numbers of threads afterwards."""
    import torch
    from threadpoolctl import threadpool_limits

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(1):
            yield
    finally:
        torch.set_num_threads(before)


def use_one_thread() -> None:
    """Use one thread from now on, in this process and its children: for the process of a job."""
    for name in THREAD_VARIABLES:
        os.environ[name] = "1"
    import torch
    from threadpoolctl import threadpool_limits

    torch.set_num_threads(1)
    threadpool_limits(1)
