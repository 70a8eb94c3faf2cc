"""What the scikit-learn face is set to: knobs, seed, budget, device; each mistake one message."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from fairbench.api import Knob, Point, Shots
from fairbench.api.method import Method
from fairbench.config import Device
from fairbench.data.prepare import default_iterations
from fairbench.errors import DeviceError, InputError
from fairbench.stats.seeds import derive_seed
from fairbench.training.device import resolve_device


def by_name(knobs: Mapping[str, float]) -> dict[str, float]:
    """Knobs by their own names: ``lambda_`` is how Python has to spell lambda."""
    return {name.rstrip("_"): value for name, value in knobs.items()}


def point_of(method: Method, knobs: Mapping[str, float]) -> Point:
    """The point of a setting; InputError unless it sets every knob, and within its range."""
    check_knobs(method, knobs)
    for knob in method.knobs:
        if knob.name not in knobs:
            raise InputError(
                f"{method.name} has the knob {_described(knob)}, and nobody says how it is set.",
                f"Say it: FairRepresentation({method.name!r}, {knob.name}=...).",
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
        low = knob.low if single else min(knob.low, 0.0)
        high = knob.high if single else np.finfo(np.float64).max
        if not isinstance(value, Real) or not low <= float(value) <= high:
            raise InputError(
                f"{name}={value!r} of {method.name} is out of range: {_described(knob)}."
            )


def _described(knob: Knob) -> str:
    return f"{knob.name} ({knob.low:g} to {knob.high:g}; {knob.summary})"


def one_of(kind: type[Any], value: Any, name: str) -> Any:
    """A member of an enumeration; InputError says which there are."""
    try:
        return kind(value)
    except ValueError:
        known = " or ".join(repr(str(member)) for member in kind)
        raise InputError(f"{name}={value!r} is not {known}.") from None


def seed_of(random_state: Any) -> int:
    """An integer as it is, so that a fit is the benchmark's of that seed; else one is drawn."""
    if isinstance(random_state, int | np.integer):
        if not 0 <= random_state < 2**31:
            raise InputError(f"random_state={random_state} is not within 0 and 2147483647.")
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31))


def noise_seed(random_state: Any, fitted: int) -> Any:
    """What the noise of ``transform`` is drawn by; None: derived from the seed of the training."""
    if random_state is None:
        return derive_seed("transform", fitted)
    if isinstance(random_state, np.random.Generator):
        return random_state
    return seed_of(random_state)


def iterations_of(budget: Any, rows: int) -> int:
    """Training steps of a budget for so many rows."""
    full = default_iterations(rows)
    if budget == "full":
        return full
    if budget == "quick":
        return max(1, full // 10)
    if isinstance(budget, int | np.integer) and 1 <= budget < 10**9:
        return int(budget)
    raise InputError(f"budget={budget!r} is not 'full', 'quick' or a number of iterations.")


def device_of(device: Any) -> str:
    """``cpu`` or ``cuda``; DeviceError where CUDA is asked for and is not there."""
    try:
        return resolve_device(one_of(Device, device, "device"))
    except DeviceError:
        raise DeviceError(
            "device='cuda': no CUDA device is to be found here.",
            "Use device='cpu', or check the driver and that torch is a CUDA build.",
        ) from None


def printer(name: str) -> Callable[[float, str], None]:
    """Progress as a line each tenth."""
    told = -1

    def progress(fraction: float, note: str) -> None:
        nonlocal told
        tenth = int(10 * fraction)
        if tenth > told:
            told = tenth
            print(f"{name}: {10 * tenth}% {note}".rstrip())

    return progress


@contextmanager
def one_thread() -> Iterator[None]:
    """One thread for torch, OpenMP and BLAS, as in the benchmark's jobs; restored afterwards."""
    import torch
    from threadpoolctl import threadpool_limits

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(1):
            yield
    finally:
        torch.set_num_threads(before)
