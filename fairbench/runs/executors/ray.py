"""Jobs as plain Ray tasks, on this machine or a cluster.

A task is a supervisor: it runs its job as the inline executor does, in a fresh child process that
it can kill, and passes on what happens. So a job ends in the same ways under both executors, and
what Ray itself reports is of the machines and not of the method: such a job is tried again.
"""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import math
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from fairbench.errors import ConfigError, ExecutorError
from fairbench.runs.executors.base import (
    CANNOT_SEND,
    Event,
    Executor,
    Failed,
    Idle,
    Printed,
    Progressed,
    Started,
)
from fairbench.runs.executors.devices import Devices, share_of
from fairbench.runs.executors.inline import InlineExecutor
from fairbench.runs.job import Job
from fairbench.store.status import Status
from fairbench.store.text import clean, clean_line, describe, describe_fully
from fairbench.training.device import cores

_LOOK_EVERY = 1.0
"""Seconds without news after which the caller may look around."""

_PROGRESS_EVERY = 2.0
"""Seconds between progress messages of a job: each is an object in Ray's store."""

_LOOK_AT_CLUSTER_EVERY = 3.0
_LONGEST_SILENCE = 20.0
"""Seconds between looks whether the head of the cluster answers, and without an answer."""

_LONGEST_CONNECT = 30.0
"""Seconds in which a cluster must answer."""

MAX_TRIES = 3
"""Starts of a job whose machine or worker is lost under it."""


@dataclass
class _Task:
    job: Job
    started: float
    announced: bool


class RayExecutor(Executor):
    """Up to ``workers`` Ray tasks at a time; None: as many as the cluster has CPUs.

    A job that takes longer than ``timeout`` seconds is killed, whatever it is doing. Without an
    ``address``, RAY_ADDRESS names the cluster, else one of this machine alone is started.
    """

    def __init__(
        self, *, workers: int | None, timeout: float | None, address: str | None = None
    ) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        # Jobs are what the machine is for: not behind everything else, as Ray would have them.
        os.environ.setdefault("RAY_worker_niceness", "0")
        import ray

        self._ray: Any = ray
        self._ours = not ray.is_initialized()
        given = address
        address = given or os.environ.get("RAY_ADDRESS")
        if address == "local":  # Ray's name of one that it starts
            address = None
        try:
            if self._ours:
                with _own_sigterm():
                    _connect(address, workers)
        except Exception as error:  # a node that does not start raises just that
            why = _first_line(error).rstrip(".")
            if address:
                without = "leave --ray-address out" if given else "unset RAY_ADDRESS"
                raise ConfigError(
                    f"No Ray cluster answers at {address}: {why}.",
                    f"Start one (ray start --head), or {without} for one of its own.",
                ) from error
            raise ConfigError(
                f"Ray does not start on this machine: {why}.",
                "Its logs are in /tmp/ray/session_latest/logs. Without --executor ray, jobs need "
                "no Ray.",
            ) from error
        self.workers = workers or max(1, int(self._ray.cluster_resources().get("CPU", 1)))
        self._gpus = float(self._ray.cluster_resources().get("GPU", 0.0))
        self.timeout = timeout
        # Ray does not retry: what became of a job is ours to say.
        self._run = ray.remote(num_cpus=1, max_retries=0, num_returns="streaming")(_supervise)
        self._waiting: deque[Job] = deque()
        self._tasks: dict[Any, _Task] = {}
        self._losses: dict[str, int] = {}
        self._head: str = ray.get_runtime_context().gcs_address
        self._looked = time.monotonic()
        self._silent_since: float | None = None
        self._lost_cluster = False
        # From behind a gateway (ray://) the head itself cannot be reached.
        self._watched = _answers(self._head)

    def submit(self, job: Job) -> None:
        if share_of(job) > 0 and not self._gpus:  # Ray would wait for one without a word
            raise ConfigError(
                "The Ray cluster counts no GPU, and the jobs of this run need one.",
                "Start its nodes with ray start --num-gpus N, or give --device cpu.",
            )
        self._waiting.append(job)

    def has_room(self, job: Job) -> bool:
        given = [*self._waiting, *(task.job for task in self._tasks.values())]
        return Devices(int(self._gpus)).would_fit(share_of(job), map(share_of, given))

    def events(self) -> Iterator[Event]:
        while self._waiting or self._tasks:
            while self._waiting and len(self._tasks) < self.workers:
                yield from self._start(self._waiting.popleft())
            if not self._tasks:
                continue
            ready, _ = self._ray.wait(list(self._tasks), num_returns=1, timeout=_LOOK_EVERY)
            if not ready:
                self._check_cluster()
                yield Idle()
            for stream in ready:
                yield from self._next(stream)

    def stop(self) -> None:
        self._waiting.clear()
        if not self._lost_cluster:
            for stream in self._tasks:
                self._ray.cancel(stream, force=True)
        self._tasks.clear()
        if self._ours:
            self._ray.shutdown()

    def _check_cluster(self) -> None:
        """Raise ExecutorError where the head of the cluster has not answered for long.

        Ray waits for it without a word, and then ends this process.
        """
        now = time.monotonic()
        if not self._watched or now - self._looked < _LOOK_AT_CLUSTER_EVERY:
            return
        self._looked = now
        if _answers(self._head):
            self._silent_since = None
        elif self._silent_since is None:
            self._silent_since = now
        elif now - self._silent_since > _LONGEST_SILENCE:
            raise self._gone(f"nothing answers at {self._head}")

    def _is_alone(self) -> bool:
        """Whether no other machine of the cluster could run jobs, or this one is lost to it."""
        if self._watched and not _answers(self._head):
            return True
        own = self._ray.get_runtime_context().get_node_id()
        alive = {node["NodeID"] for node in self._ray.nodes() if node["Alive"]}
        return own not in alive or len(alive) == 1

    def _gone(self, why: str) -> ExecutorError:
        self._lost_cluster = True
        return ExecutorError(
            f"The Ray cluster is gone: {why}.",
            "What is done is kept, and the same command resumes.",
        )

    def _start(self, job: Job) -> Iterator[Failed]:
        """Start a job; Failed where it cannot be sent, as where its arrays are gone."""
        # Ray rounds to four digits: six shares of .1667 would not fit one GPU.
        run = self._run.options(num_gpus=math.floor(share_of(job) * 10_000) / 10_000)
        announced = job.id in self._losses
        try:
            stream = run.remote(job, self.timeout)
        except self._ray.exceptions.RayError:
            raise
        except Exception as error:
            text = f"{CANNOT_SEND}: {describe(error)}"
            yield Failed(job, Status.FAILED, text, describe_fully(error), 0.0)
        else:
            self._tasks[stream] = _Task(job, time.monotonic(), announced)

    def _next(self, stream: Any) -> Iterator[Event]:
        """The next event of a task, or its loss."""
        task, errors = self._tasks[stream], self._ray.exceptions
        seconds = time.monotonic() - task.started
        try:
            event = self._ray.get(next(stream))
        except errors.OutOfMemoryError as problem:
            event = Failed(task.job, Status.OOM, _first_line(problem), None, seconds)
        except errors.RayTaskError as problem:
            # Ours, or a plugin that is not installed where the task ran.
            text = clean(str(problem).strip())
            event = Failed(task.job, Status.FAILED, text.splitlines()[-1], text, seconds)
        except (errors.RayError, StopIteration) as problem:
            event = self._lost(task.job, problem, seconds)
        if not isinstance(event, Started | Progressed | Printed):
            del self._tasks[stream]
        if event is None or (isinstance(event, Started) and task.announced):
            return
        yield dataclasses.replace(event, job=task.job)

    def _lost(self, job: Job, problem: Exception, seconds: float) -> Failed | None:
        """Queue a job again whose machine or worker went away; Failed after the last try.

        Raises ExecutorError where the whole cluster did: no try of any job can succeed then.
        """
        if isinstance(problem, self._ray.exceptions.LocalRayletDiedError) and self._is_alone():
            raise self._gone("its process on this machine (raylet) has ended")
        self._losses[job.id] = self._losses.get(job.id, 0) + 1
        if self._losses[job.id] < MAX_TRIES:
            self._waiting.appendleft(job)
            return None
        text = f"lost {MAX_TRIES} times with its worker: {_first_line(problem)}"
        return Failed(job, Status.CRASHED, text, None, seconds)


def _connect(address: str | None, workers: int | None) -> None:
    """Join the cluster at an address, or start one."""
    import ray

    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address:
        _reach(address)
        ray.init(address=address, **quiet)
    else:
        # Without an address Ray would join whatever cluster it finds on this machine.
        cpus = workers or cores()
        ray.init(address="local", num_cpus=cpus, include_dashboard=False, **quiet)


@contextlib.contextmanager
def _own_sigterm() -> Iterator[None]:
    """Let SIGTERM mean what it did before Ray is started, which takes it for itself."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals can be set in no other
        return
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    except SystemExit:  # what Ray makes of one that comes meanwhile
        if callable(before):
            before(signal.SIGTERM, None)
        raise
    finally:
        signal.signal(signal.SIGTERM, before)


def _reach(address: str) -> None:
    """Find out in bounded time whether a cluster answers; OSError if not.

    Ray itself tries for minutes, and prints what its libraries say.
    """
    place = re.fullmatch(r"(ray://)?\[?([^\[\]/]+?)\]?:(\d+)", address)
    if place is not None:
        with socket.create_connection((place[2], int(place[3])), timeout=_LONGEST_CONNECT / 3):
            pass
    if place is None or place[1] is None:  # what listens there may be something else
        command = [sys.executable, "-m", "ray.scripts.scripts", "status", "--address", address]
        try:
            told = subprocess.run(
                command, capture_output=True, text=True, check=False, timeout=_LONGEST_CONNECT
            )
        except subprocess.TimeoutExpired as error:
            raise TimeoutError(f"no answer within {_LONGEST_CONNECT:.0f} s") from error
        if told.returncode:
            last = told.stderr.strip().splitlines()[-1:] or ["ray status fails"]
            raise ConnectionError(last[0])


def _answers(address: str) -> bool:
    """Whether something listens at ``host:port``."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), _LOOK_AT_CLUSTER_EVERY):
            return True
    except (OSError, ValueError):
        return False


def _supervise(job: Job, timeout: float | None) -> Iterator[Event]:
    """Run a job in a child process; what happens, without the job itself."""
    # Children would load the main module of their parent, Ray's worker, for nothing.
    vars(sys.modules["__main__"]).pop("__file__", None)
    executor = InlineExecutor(workers=1, timeout=timeout, assign_devices=False)
    executor.submit(job)
    last = 0.0
    try:
        for event in executor.events():
            if isinstance(event, Idle):
                continue
            if isinstance(event, Progressed):
                if time.monotonic() - last < _PROGRESS_EVERY:
                    continue
                last = time.monotonic()
            yield dataclasses.replace(event, job=None)  # type: ignore[arg-type]
    finally:
        executor.stop()


def _first_line(error: BaseException) -> str:
    return clean_line(str(error)) or type(error).__name__
