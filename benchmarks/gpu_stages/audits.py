"""Stage 1: a representation of the device, audited beside that of the CPU.

Auditors run on the CPU alone: they take and give numpy arrays, and have no device. So what is
compared is what they see: a model that was trained on the device and encoded the rows there, and
one that did both on the CPU. Training is short, as rounding parts longer ones, on two processors
as well as on two devices.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import torch

from fairbench.api import AUDIT_ROLES, Floats, Role, Shots
from fairbench.auditing.config import PRESETS, AuditPreset
from fairbench.auditing.ensemble import audit
from fairbench.auditing.sample import AuditSample
from fairbench.data.prepared import Prepared
from fairbench.testing.method_trial import rows_apart
from gpu_stages.records import Outcome, Part, Row, of_unit
from gpu_stages.settings import Settings, adults, training_rows
from gpu_stages.stacks import Stack, build_stack, method_named, units_of

LIMIT = 0.005
"""Largest difference of I(Z;S), nats."""

CHUNK = 8192
"""Rows encoded at once."""

NOTE = (
    "Auditors run on the CPU alone (they have no device): estimates of I(Z;S) on the test set of a "
    "representation that was trained and encoded on the device, and of one trained and encoded on "
    "the CPU. Rows apart: of the device's model, test rows whose codes differ beyond rounding "
    "between encoding on the device and on the CPU."
)


@dataclass(frozen=True)
class AuditComparison(Row):
    """Estimates of I(Z;S) of one point, trained and encoded on the device and on the CPU."""

    method: str
    point: str
    audit: str
    steps: int = of_unit("steps")
    on_device: float = of_unit("nats")
    on_cpu: float = of_unit("nats")
    difference: float = of_unit("nats")
    rows_apart: float = of_unit("share of the test rows")
    auditors_run_on: str = "cpu"


def parts(settings: Settings) -> list[Part]:
    """Return one part per method."""
    return [Part(f"audit of {name}", _of(name)) for name in settings.sizes.audited]


def _of(name: str) -> Callable[[Settings], Outcome]:
    def run(settings: Settings) -> Outcome:
        one = compare(name, settings)
        text = (
            f"{one.point} after {one.steps} steps: I(Z;S) {one.on_device:.4f} nats from the "
            f"device, {one.on_cpu:.4f} from the CPU; {one.rows_apart:.1%} of rows encoded otherwise"
        )
        over = [f"{one.difference:.4f} nats (limit {LIMIT:g})"] if one.difference > LIMIT else []
        return Outcome([one], text, NOTE, tuple(over))

    return run


def compare(name: str, settings: Settings) -> AuditComparison:
    """Train, encode and audit the middle point of a method on the device and on the CPU."""
    data, steps = adults(settings.data_root), settings.sizes.audit_steps
    rows = training_rows(data)
    method = method_named(name)()
    units = units_of(method, seeds=1, points=3)
    unit = units[len(units) // 2]
    single = method.shots is Shots.SINGLE
    knob = (method.knobs[0].low + method.knobs[0].high) / 2 if single else None
    preset = AuditPreset.QUICK if settings.quick else AuditPreset.STRICT

    def trained(device: str) -> Stack:
        stack = build_stack(method, [unit], rows, device)
        stack.train(rows, steps, exact=True)
        return stack

    def information(z: Mapping[Role, Floats]) -> float:
        s = {role: data.roles[role].s for role in AUDIT_ROLES}
        groups = len(data.info.groups)
        audited = audit(AuditSample(z, s, groups), config=PRESETS[preset], seed=0)
        return audited.chosen.test_information

    stack = trained(settings.device)
    there = encode(stack, data, settings.device, knob)
    here = encode(stack, data, "cpu", knob)
    on_device = information(there)
    on_cpu = information(encode(trained("cpu"), data, "cpu", knob))
    return AuditComparison(
        method=name,
        point=f"{method.knobs[0].name}={knob:g}" if unit.point is None else unit.point.label,
        audit=preset.value,
        steps=steps,
        on_device=on_device,
        on_cpu=on_cpu,
        difference=abs(on_device - on_cpu),
        rows_apart=rows_apart(there[Role.TEST], here[Role.TEST]),
    )


def encode(stack: Stack, data: Prepared, device: str, knob: float | None) -> dict[Role, Floats]:
    """Encode the audit roles by a stack of one model, on a device; noise is the same on each."""
    model = stack.model.to(device)
    rng = np.random.default_rng(0)

    def one(x: Floats) -> Floats:
        batch = torch.tensor(x, dtype=torch.float32, device=device)[None]
        noise = None
        if model.noise_dimensions:
            drawn = rng.standard_normal((1, len(x), model.noise_dimensions)).astype(np.float32)
            noise = torch.from_numpy(drawn).to(device)
        at = None if knob is None else torch.full((1, len(x), 1), knob, device=device)
        with torch.no_grad():
            z: Floats = model.encode(batch, at, noise)[0].cpu().numpy()
        return z

    encoded = {}
    for role in AUDIT_ROLES:
        x = data.roles[role].x
        chunks = [x[start : start + CHUNK] for start in range(0, len(x), CHUNK)]
        encoded[role] = np.concatenate([one(chunk) for chunk in chunks])
    return encoded
