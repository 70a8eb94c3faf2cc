"""Settings of the scikit-learn transformer: knobs, seed, budget, device; a message per mistake."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from fairbench.api import Knob, Point, Shots
from fairbench.api.method import Method
from fairbench.api.types import Progress
from fairbench.config import Device
from fairbench.data.prepare import default_iterations
from fairbench.errors import DeviceError, InputError
from fairbench.stats.seeds import derive_seed
from fairbench.training.device import resolve_device


def knobs_by_name(knobs: Mapping[str, float]) -> dict[str, float]:
    """Knobs by their own names: Python has to spell lambda ``lambda_``."""
    return {name.rstrip("_"): value for name, value in knobs.items()}


def make_point(method: Method, knobs: Mapping[str, float]) -> Point:
    """The point of a setting; InputError unless it sets every knob within its range."""
    check_knobs(method, knobs)
    for knob in method.knobs:
        if knob.name not in knobs:
            raise InputError(
                f"{method.name} has the knob {_described(knob)}, which is not set.",
                f"Set it: FairRepresentation({method.name!r}, {knob.name}=...).",
            )
    return Point.of(**knobs)


def check_knobs(method: Method, knobs: Mapping[str, float]) -> None:
    """Raise InputError for a name that is no knob of the method, or a value out of its range."""
    known = {knob.name: knob for knob in method.knobs}
    single = method.shots is Shots.SINGLE
    for name, value in knobs.items():
        if name not in known:
            has = "; ".join(_described(knob) for knob in method.knobs) or "none"
            hint = f"Its knobs: {has}."
            if name in method.Params.model_fields:
                hint = f"It is a hyperparameter: params={{{name!r}: ...}}. {hint}"
            raise InputError(f"{method.name} has no knob {name!r}.", hint)
        # A multi-shot method may be trained beyond the range its curve is drawn over.
        knob = known[name]
        low, high = (knob.low, knob.high) if single else knob.limits
        if isinstance(value, bool) or not isinstance(value, Real):
            raise InputError(f"{name}={value!r} of {method.name} is not a number ({knob.summary}).")
        if knob.whole and not float(value).is_integer() and math.isfinite(value):
            raise InputError(
                f"{name}={value!r} of {method.name} is not a whole number ({knob.summary})."
            )
        if not low <= float(value) <= high or math.isinf(value):
            raise InputError(
                f"{name}={value!r} of {method.name} is out of range: {_range(low, high)} "
                f"({knob.summary})."
            )


def _described(knob: Knob) -> str:
    return f"{knob.name} ({knob.low:g} to {knob.high:g}; {knob.summary})"


def _range(low: float, high: float) -> str:
    return f"{low:g} or more" if math.isinf(high) else f"{low:g} to {high:g}"


def parse_choice(kind: type[Any], value: Any, name: str) -> Any:
    """The member of an enumeration with a value; InputError lists the members."""
    try:
        return kind(value)
    except ValueError:
        known = " or ".join(repr(str(member)) for member in kind)
        raise InputError(f"{name}={value!r} is not {known}.") from None


def make_seed(random_state: Any) -> int:
    """An integer as it is, so that a fit equals the benchmark's of that seed; else one is drawn."""
    if isinstance(random_state, int | np.integer):
        if not 0 <= random_state < 2**31:
            raise InputError(f"random_state={random_state} is not within 0 and 2147483647.")
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31))


def make_noise_seed(random_state: Any, fitted: int) -> Any:
    """Seed or generator of the noise of ``transform``; None: from the seed of the training."""
    if random_state is None:
        return derive_seed("transform", fitted)
    if isinstance(random_state, np.random.Generator):
        return random_state
    return make_seed(random_state)


def count_iterations(budget: Any, rows: int) -> int:
    """Training steps of a budget for this number of rows."""
    full = default_iterations(rows)
    if budget == "full":
        return full
    if budget == "quick":
        return max(1, full // 10)
    if isinstance(budget, int | np.integer) and 1 <= budget < 10**9:
        return int(budget)
    raise InputError(f"budget={budget!r} is not 'full', 'quick' or a number of iterations.")


def choose_device(device: Any) -> str:
    """``cpu`` or ``cuda``; DeviceError where CUDA is requested and not available."""
    try:
        return resolve_device(parse_choice(Device, device, "device"))
    except DeviceError:
        raise DeviceError(
            "device='cuda': no CUDA device was found.",
            "Use device='cpu', or check the driver and that torch is a CUDA build.",
        ) from None


def print_progress(name: str) -> Progress:
    """A progress callback that prints a line for each tenth."""
    printed = -1

    def progress(fraction: float, note: str) -> None:
        nonlocal printed
        tenth = int(10 * fraction)
        if tenth > printed:
            printed = tenth
            print(f"{name}: {10 * tenth}% {note}".rstrip())

    return progress


_PICKLES = (".pkl", ".pickle", ".joblib")
"""Endings of files that Python's pickle reads."""


def model_file(path: str | Path) -> Path:
    """Return the file to save an estimator in; InputError where its name is that of a pickle."""
    file = Path(path)
    if file.suffix.lower() in _PICKLES:
        raise InputError(
            f"{file}: save writes a file of safetensors, which is no pickle.",
            f"End its name in .safetensors, as {file.with_suffix('.safetensors').name}; "
            "FairRepresentation.load reads it.",
        )
    return file
