"""Names and meanings of a unit's costs."""

from __future__ import annotations

COSTS = {
    "train_seconds": "wall time of training, this model's share of its stack",
    "stack_seconds": "wall time of training of the whole stack",
    "stack_models": "models that trained together",
    "steps": "training steps; absent where a method has none",
    "milliseconds_per_step": "milliseconds per step of the whole stack",
    "milliseconds_per_model_step": "milliseconds per step and model of the stack",
    "encode_seconds": "wall time of encoding the audit roles, all points",
    "processor_seconds": "time of processor cores for training and encoding, attempts that failed "
    "before included; wall time on a GPU",
    "audit_seconds": "wall time of auditing and measuring, all points",
    "trainable_parameters": "trainable parameters of one model",
    "flops": "floating-point operations of training one model: 6 per multiply-add, row, step",
    "peak_memory_mb": "largest resident memory of the process that trained, MB",
    "peak_device_memory_mb": "largest memory on the accelerator, MB",
    "energy_joules": "this model's share of the accelerator's energy in training, joules",
}
"""Names and meanings of a unit's costs."""


EARLIER_SECONDS = "earlier_seconds"
"""Reported by a fit that continued from a checkpoint; it becomes part of the times above.

The costs of a result have it too, this model's share; the store does not.
"""
