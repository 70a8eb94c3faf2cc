"""What trains together fits on the device, and every device has its share."""

from __future__ import annotations

import pytest

from fairbench.api import Architecture
from fairbench.runs.executors.devices import Devices, environment_of
from fairbench.training.stack_size import (
    CONTEXT_BYTES,
    gpu_share,
    largest_stack,
    model_bytes,
    spread,
)

GB = 1e9


def stack(
    free: float | None,
    *,
    each: float = 10e6,
    data: float = 0.0,
    device: str = "cuda",
    compiled: bool = False,
) -> int:
    return largest_stack(
        device,
        image=False,
        bytes_per_unit=each,
        data_bytes=data,
        free_bytes=free,
        compiled=compiled,
    )


def test_a_stack_is_bounded_by_the_free_memory_and_by_nothing_on_the_cpu() -> None:
    assert stack(6 * GB) == int((0.8 * 6 * GB - CONTEXT_BYTES) / 10e6)
    assert stack(6 * GB, data=1 * GB) < stack(6 * GB)
    assert stack(500 * GB) == 1024
    assert stack(0.1 * GB) == 1  # one is tried, whatever the estimate says
    assert stack(None, device="cpu") == 10
    assert stack(None, device="cpu", compiled=True) == 8
    assert stack(500 * GB, compiled=True) == 1024  # a GPU records
    assert largest_stack("cpu", image=True, bytes_per_unit=1, data_bytes=0, free_bytes=None) == 1


@pytest.mark.parametrize(("models_per_unit", "units"), [(1, 10), (3, 3), (50, 1)])
def test_units_of_several_models_count_as_so_many(models_per_unit: int, units: int) -> None:
    most = largest_stack(
        "cpu",
        image=False,
        bytes_per_unit=1,
        data_bytes=0,
        free_bytes=None,
        models_per_unit=models_per_unit,
    )
    assert most == units


def test_larger_networks_batches_and_images_need_more() -> None:
    small, large = Architecture(), Architecture(hidden=(512, 512))
    assert model_bytes(large, 100, 128) > 2 * model_bytes(small, 100, 128)
    assert model_bytes(small, 100, 512) > 2 * model_bytes(small, 100, 128)
    assert model_bytes(Architecture(image=(1, 64, 64)), 4096, 128) > 100e6
    # 40 of the paper's models on Adults: far from filling any GPU of these days.
    assert 40 * model_bytes(small, 111, 128) < 1 * GB


def test_stacks_are_even_and_every_gpu_has_one() -> None:
    assert spread(40, 16, 0) == [14, 13, 13]
    assert spread(10, 8, 0) == [5, 5]
    assert spread(40, 1024, 1) == [40]
    assert spread(40, 1024, 3) == [14, 13, 13]
    assert spread(40, 10, 3) == [10, 10, 10, 10]
    assert spread(2, 1024, 8) == [1, 1]
    assert spread(0, 16, 2) == spread(0, 16, 0) == []


@pytest.mark.parametrize("devices", range(4))
@pytest.mark.parametrize("units", [1, 7, 16, 100])
def test_no_unit_is_left_out(units: int, devices: int) -> None:
    sizes = spread(units, 16, devices)
    assert sum(sizes) == units
    assert max(sizes) <= 16
    assert max(sizes) - min(sizes) <= 1


def test_a_job_asks_for_the_share_of_a_gpu_that_holds_it() -> None:
    assert gpu_share(0.1 * GB, 140 * GB) == 0.1
    assert gpu_share(25 * GB, 140 * GB) == 1 / 4
    assert gpu_share(100 * GB, 140 * GB) == 1.0
    assert gpu_share(900 * GB, 140 * GB) == 1.0  # it may yet fit: the estimate is large
    assert gpu_share(0.1 * GB, 4 * GB) == 1 / 2


def test_jobs_share_gpus_up_to_their_size() -> None:
    devices = Devices(2)
    assert [devices.take(1 / 2) for _ in range(3)] == [0, 1, 0]
    assert devices.fits(1 / 2)
    assert not devices.fits(1.0)
    assert devices.take(1 / 2) == 1
    assert not devices.fits(0.1)
    assert devices.fits(0.0)  # an audit needs none
    devices.give_back(1, 1 / 2)
    assert devices.take(0.1) == 1
    three = Devices(1)
    assert [three.take(1 / 3) for _ in range(3)] == [0, 0, 0]
    assert Devices(0).fits(1.0)


def test_a_job_that_waits_has_its_share_already() -> None:
    devices = Devices(2)
    devices.take(1 / 2)
    assert devices.would_fit(1 / 2, [1.0])
    assert not devices.would_fit(1 / 2, [1.0, 1 / 2])
    assert devices.would_fit(0.0, [1.0, 1 / 2])  # an audit needs none
    assert devices.fits(1.0)  # nothing was taken


def test_a_job_sees_its_gpu_alone() -> None:
    assert environment_of(None) == {}
    assert environment_of(1, {}) == {"CUDA_VISIBLE_DEVICES": "1"}
    assert environment_of(1, {"CUDA_VISIBLE_DEVICES": "4,6"}) == {"CUDA_VISIBLE_DEVICES": "6"}
