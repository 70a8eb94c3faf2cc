"""What a job costs: time, memory and, where the device reports it, energy."""

from __future__ import annotations

import os
import platform
import resource
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from fairbench.api import Workload
from fairbench.api.costs import EARLIER_SECONDS
from fairbench.api.method import Representation
from fairbench.registry import DISTRIBUTION
from fairbench.runs.plugin_values import amount


@dataclass
class Meter:
    """Measures one job on ``cpu`` or ``cuda``; CUDA work is waited for before a clock is read.

    ``seconds`` is wall time, ``processor`` the time of processor cores, which other work on the
    machine lengthens less; on ``cuda``, where the processor waits, that is the wall time too.
    """

    device: str
    seconds: dict[str, float] = field(default_factory=dict)
    processor: dict[str, float] = field(default_factory=dict)
    _joules: list[float | None] = field(default_factory=list)
    """Of each part of the training; None: the counter failed, or started anew."""

    @property
    def energy_j(self) -> float | None:
        """Joules of the training; None where they are not known of all of its parts."""
        known = [joules for joules in self._joules if joules is not None]
        return sum(known) or None if len(known) == len(self._joules) else None

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Add the times of a block to those of ``name``."""
        self._synchronise()
        energy = self._energy()
        start, processor_before = time.perf_counter(), time.process_time()
        try:
            yield
        finally:
            self._synchronise()
            wall = time.perf_counter() - start
            processor = wall if self.device == "cuda" else time.process_time() - processor_before
            self.seconds[name] = self.seconds.get(name, 0.0) + wall
            self.processor[name] = self.processor.get(name, 0.0) + processor
            if name == "train":
                self._joules.append(_gained(energy, self._energy()))

    def peaks(self) -> dict[str, float]:
        """Peak memory so far, MB (10^6 bytes): of the process, and of the device if any."""
        scale = 1 if sys.platform == "darwin" else 1024  # ru_maxrss is in KiB but on macOS
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale
        peaks = {"peak_memory_mb": peak / 1e6}
        if self.device == "cuda":
            import torch

            peaks["peak_device_memory_mb"] = torch.cuda.max_memory_allocated() / 1e6
        return peaks

    def _synchronise(self) -> None:
        if self.device == "cuda":
            import torch

            torch.cuda.synchronize()

    def _energy(self) -> float | None:
        """Joules since the driver was loaded; None where the device reports none.

        NVML numbers the cards of the machine, torch those that the process may see, so the card is
        named by its UUID; a part of one (MIG) has no counter of its own.
        """
        if self.device != "cuda":
            return None
        try:
            import pynvml  # type: ignore[import-untyped]
            import torch

            pynvml.nvmlInit()
            card = torch.cuda.get_device_properties(torch.cuda.current_device()).uuid
            handle = pynvml.nvmlDeviceGetHandleByUUID(f"GPU-{card}")
            return float(pynvml.nvmlDeviceGetTotalEnergyConsumption(handle)) / 1e3
        # The library may be absent, and older cards have no counter.
        except Exception:
            return None


def _gained(before: float | None, after: float | None) -> float | None:
    """Return what a counter has gained; None where a reading failed, or it started anew."""
    return None if before is None or after is None or after < before else after - before


def stack_costs(
    meter: Meter, reported: Mapping[str, float], units: int, training: Workload | None
) -> dict[str, float]:
    """Costs of training a stack of ``units``, with what its fit reported."""
    earlier = reported.get(EARLIER_SECONDS, 0.0)
    seconds = meter.seconds["train"] + earlier
    again = training.models_per_unit if training else 1
    costs = {
        # First: what is measured here stands, whatever a plugin reports under its name.
        **{name: value for name, value in reported.items() if name != EARLIER_SECONDS},
        "train_seconds": seconds / units,
        # Of the part before a checkpoint the wall time is known alone.
        "processor_seconds": (meter.processor["train"] + earlier) / units,
        "stack_seconds": seconds,
        "stack_models": float(units * again),
        **meter.peaks(),
    }
    if earlier:
        costs[EARLIER_SECONDS] = earlier / units
    if reported.get("steps"):
        costs["milliseconds_per_step"] = 1e3 * seconds * again / reported["steps"]
        costs["milliseconds_per_model_step"] = (
            costs["milliseconds_per_step"] / costs["stack_models"]
        )
    if meter.energy_j is not None and not earlier:  # of the part before nothing is known
        costs["energy_joules"] = meter.energy_j / units
    return costs


def processor_seconds(costs: Mapping[str, float]) -> float:
    """Return the time of cores that training and encoding took; older stores have wall time."""
    wall = costs.get("train_seconds", 0.0) + costs.get("encode_seconds", 0.0)
    return costs.get("processor_seconds", wall)


def with_earlier_attempts(costs: Mapping[str, float], before: float) -> dict[str, float]:
    """Costs of a model with the processor seconds of attempts ``before``.

    An attempt that went on from a checkpoint of theirs has that part of their time in its own.
    """
    total = dict(costs)
    more = before - total.pop(EARLIER_SECONDS, 0.0)
    if more > 0:
        total["processor_seconds"] = processor_seconds(total) + more
    return total


def model_costs(
    model: Representation, steps: float | None, training: Workload | None
) -> dict[str, float]:
    """Parameters of one model and operations of its training, where it knows them."""
    costs = {}
    count = model.parameters()
    if count is not None:
        costs["trainable_parameters"] = amount(count, "parameters()")
    work = model.multiply_adds()
    products = None if work is None else amount(work, "multiply_adds()")
    if products is not None and steps is not None:
        # A product and a sum forward, and twice that backward, for each row.
        rows = training.batch_size if training else 1
        flops = 6.0 * products * rows * steps
        costs["flops"] = amount(flops, "the number of operations")
    return costs


def hardware(device: str) -> dict[str, str | float]:
    """Processor, cores, memory, accelerator and arithmetic of auditors, for records."""
    from fairbench.training.layers import fastest_products

    facts: dict[str, str | float] = {
        "machine": platform.machine(),
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0,
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "device": device,
        "audit_products": str(fastest_products()).removeprefix("torch."),
    }
    if device == "cuda":
        import torch

        facts["accelerator"] = torch.cuda.get_device_name()
    return facts


def _processor() -> str:
    try:
        with open("/proc/cpuinfo") as lines:
            return next(line.split(":")[1].strip() for line in lines if "model name" in line)
    except (OSError, StopIteration):
        return platform.processor()


def versions() -> dict[str, str]:
    """Versions of Python and of the libraries that figures depend on."""
    from importlib.metadata import PackageNotFoundError, version

    known = {"python": platform.python_version()}
    for package in (DISTRIBUTION, "torch", "numpy", "scikit-learn", "pandas"):
        try:
            known[package] = version(package)
        except PackageNotFoundError:
            known[package] = "not installed"
    return known
