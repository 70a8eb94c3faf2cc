"""What every executor promises, by Ray; and what becomes of lost workers, nodes and GPU shares."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fairbench.runs.executors.base import Executor, Failed, Finished, Idle, Progressed, Started
from fairbench.store.status import Status
from tests.runs.executors.test_executors import ExecutorTestCase
from tests.support.jobs import Work


@pytest.fixture(scope="class")
def ray_cluster() -> Iterator[None]:
    """One cluster for many tests: it takes seconds to start."""
    import ray

    os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112 - Ray's own spelling
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    yield
    ray.shutdown()


def test_sigterm_while_ray_starts_is_what_it_is_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray takes the signal for itself, and ends the process with an exit code of its own."""
    import ray

    from fairbench.runs.executors.ray import RayExecutor

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    def start(**_: object) -> None:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(ray, "init", start)
    before = signal.signal(signal.SIGTERM, interrupted)
    try:
        with pytest.raises(KeyboardInterrupt):
            RayExecutor(workers=1, timeout=None)
        assert signal.getsignal(signal.SIGTERM) is interrupted
    finally:
        signal.signal(signal.SIGTERM, before)


@pytest.mark.slow
@pytest.mark.usefixtures("ray_cluster")
class TestRay(ExecutorTestCase):
    def make(self, timeout: float | None = None) -> Executor:
        from fairbench.runs.executors.ray import RayExecutor

        return RayExecutor(workers=2, timeout=timeout)

    def test_a_job_whose_worker_is_killed_is_done_again(
        self, executor: Executor, tmp_path: Path
    ) -> None:
        path = str(tmp_path / "seen")
        executor.submit(Work("lose-it-once", id=path))  # type: ignore[arg-type]
        events = [e for e in executor.events() if not isinstance(e, Idle | Progressed)]
        assert [type(event) for event in events] == [Started, Finished]

    def test_one_that_loses_every_worker_is_given_up(self, executor: Executor) -> None:
        ends = self.ends(executor, "lose-the-worker", "fine")
        lost = ends["lose-the-worker"]
        assert isinstance(lost, Failed)
        assert lost.status is Status.CRASHED
        assert "lost 3 times" in lost.error
        assert isinstance(ends["fine"], Finished)


@pytest.mark.slow
def test_the_jobs_of_a_lost_node_go_on_elsewhere(tmp_path: Path) -> None:
    import ray
    from ray.cluster_utils import Cluster

    from fairbench.runs.executors.ray import RayExecutor

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    node = cluster.add_node(num_cpus=1)
    path = tmp_path / "seen"
    executor = RayExecutor(workers=1, timeout=None, address=cluster.address)
    try:
        executor.submit(Work("lose-the-node-once", id=str(path)))  # type: ignore[arg-type]
        ends = []
        for event in executor.events():
            if path.exists() and node is not None:
                cluster.add_node(num_cpus=1)
                cluster.remove_node(node, allow_graceful=False)
                node = None
            if isinstance(event, Finished | Failed):
                ends.append(event)
        assert [type(event) for event in ends] == [Finished]
    finally:
        executor.stop()
        ray.shutdown()
        cluster.shutdown()


@dataclass(frozen=True)
class OnGPU(Work):
    """A job that has a share of a GPU; tells which it sees, and when it ran."""

    gpus: float = 0.0

    def run(self, progress: Any) -> Any:
        start = time.time()
        time.sleep(1.5)
        return os.environ.get("CUDA_VISIBLE_DEVICES"), start, time.time()


@pytest.mark.slow
def test_ray_shares_a_gpu_out() -> None:
    """Ray counts GPUs as it is told: two halves run side by side, and a third one waits."""
    import ray
    from ray.cluster_utils import Cluster

    from fairbench.runs.executors.ray import RayExecutor

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 3, "num_gpus": 1})
    executor = RayExecutor(workers=3, timeout=None, address=cluster.address)
    try:
        for number in range(3):
            job = OnGPU("", id=str(number), gpus=0.5)
            assert executor.has_room(job) == (number < 2)  # type: ignore[arg-type]
            executor.submit(job)  # type: ignore[arg-type]
        assert executor.has_room(OnGPU(""))  # type: ignore[arg-type]
        results = [event.result for event in executor.events() if isinstance(event, Finished)]
    finally:
        executor.stop()
        ray.shutdown()
        cluster.shutdown()
    assert [visible for visible, _, _ in results] == ["0"] * 3
    ends = sorted(end for _, _, end in results)
    starts = sorted(start for _, start, _ in results)
    assert starts[1] < ends[0] <= starts[2]
