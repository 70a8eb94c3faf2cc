"""Compute cost of a curve, and how it grows with the number of points (the paper's Table 1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from fairbench.api.metric import CurveEvaluation, Metric


class Cost(Metric):
    """Time, size and memory."""

    name = "cost"
    summary = "training time by step and for 4, 8, 16 points; encoding, audit, size, memory"
    level = "curve"
    direction = "lower"
    unit = "seconds, milliseconds, MB"
    columns: ClassVar[Mapping[str, str]] = {
        "milliseconds_per_step": "milliseconds per training step of the stack as run",
        "milliseconds_per_model_step": "milliseconds per training step and model",
        "train_seconds": "training time of the curve as run, seconds: sum of its models' shares",
        "train_seconds_4": "training time for 4 points, seconds: one model if single-shot, else 4",
        "train_seconds_8": "training time for 8 points, seconds",
        "train_seconds_16": "training time for 16 points, seconds",
        "encode_seconds": (
            "time to read the points of a curve, and to encode the audit roles at all, seconds"
        ),
        "audit_seconds": "time to audit and measure all points, seconds",
        "trainable_parameters": "trainable parameters of one model",
        "flops": "floating-point operations of training one model",
        "peak_memory_mb": "peak memory of a training process, MB",
        "peak_device_memory_mb": "peak memory on the accelerator, MB; empty on the CPU",
        "energy_joules": (
            "energy of the accelerator for the curve's training, joules; empty unless known for "
            "all models"
        ),
    }

    def compute(self, evaluation: CurveEvaluation) -> Mapping[str, float | None]:
        costs = evaluation.costs
        train = _values(costs, "train_seconds")
        total = sum(train) if train else None
        one = total / len(train) if total is not None else None

        # The energy of some of the models is not the curve's.
        energy = _values(costs, "energy_joules")

        def for_points(n: int) -> float | None:
            return one if one is None or evaluation.single_shot else n * one

        return {
            "milliseconds_per_step": _mean(costs, "milliseconds_per_step"),
            "milliseconds_per_model_step": _mean(costs, "milliseconds_per_model_step"),
            "train_seconds": total,
            "train_seconds_4": for_points(4),
            "train_seconds_8": for_points(8),
            "train_seconds_16": for_points(16),
            "encode_seconds": sum(_values(costs, "encode_seconds")) if costs else None,
            "audit_seconds": sum(_values(costs, "audit_seconds")) if costs else None,
            "trainable_parameters": _mean(costs, "trainable_parameters"),
            "flops": _mean(costs, "flops"),
            "peak_memory_mb": max(_values(costs, "peak_memory_mb"), default=None),
            "peak_device_memory_mb": max(_values(costs, "peak_device_memory_mb"), default=None),
            "energy_joules": sum(energy) if energy and len(energy) == len(costs) else None,
        }


def _values(costs: Sequence[Mapping[str, float]], name: str) -> list[float]:
    return [cost[name] for cost in costs if cost.get(name) is not None]


def _mean(costs: Sequence[Mapping[str, float]], name: str) -> float | None:
    values = _values(costs, name)
    return sum(values) / len(values) if values else None
