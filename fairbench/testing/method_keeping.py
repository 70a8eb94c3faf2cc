"""The promise of ``state`` and ``restore``: a stored encoder gives the same codes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from fairbench.api import Point
from fairbench.api.method import Curve, Representation
from fairbench.errors import StoreError, say_raised
from fairbench.store.encoders import Encoder, pack, read_as
from fairbench.testing.check_results import BrokenPromise, Unmet
from fairbench.testing.method_trial import MethodTrial, middle
from fairbench.testing.promises import convert_errors, promise


@promise("what is restored from its state gives the same codes")
def restores(trial: MethodTrial) -> None:
    """New rows are encoded by the stored encoder, and must get the codes that were audited."""
    for fitted, restored, where in _restored(trial):
        (expected,) = trial.codes([fitted])
        with convert_errors(f"The result of restore{where}"):
            (z,) = trial.codes([restored()])
        if not np.array_equal(z, expected, equal_nan=True):
            raise BrokenPromise(
                f"The result of restore has other codes than the fit{where}.",
                "Put everything that encode uses into state(), in the same precision.",
            )


@promise("what is restored from its state decodes the same")
def decodes_restored(trial: MethodTrial) -> None:
    """Verification measures what the restored decoder gives."""
    if not trial.method.has_decoder:
        raise Unmet("it declares no decoder")
    for fitted, restored, where in _restored(trial):
        (z,) = trial.codes([fitted])
        s = trial.test.s
        expected = fitted.decode(z.copy(), s.copy())
        with convert_errors(f"The decoder of the result of restore{where}"):
            x_hat = restored().decode(z.copy(), s.copy())
        if expected is None:
            continue
        if x_hat is None:
            raise Unmet("its decoder is not restored: a row of it cannot be verified")
        if not np.array_equal(x_hat, expected, equal_nan=True):
            raise BrokenPromise(
                f"The result of restore decodes otherwise than the fit{where}.",
                "Put everything that decode uses into state(), in the same precision.",
            )


def _restored(
    trial: MethodTrial,
) -> Iterator[tuple[Representation, Callable[[], Representation], str]]:
    """Yield what was fitted at some points, how to get what is restored, and where that is."""
    _ = trial.encoders
    for unit, fitted in zip(trial.units(), trial.fitted, strict=True):
        assert isinstance(fitted, Curve | Representation)  # or there would be no first fit
        encoder = Encoder(trial.instance, unit, trial.data.info, fitted, trial.data.preprocessing)
        with convert_errors("Storing its state()", "Return a mapping of names to arrays, or None."):
            content = pack(encoder)
        if content is None:
            raise Unmet("its state() is None: it is ranked, but cannot encode new rows later")
        back = _read(trial, content)
        if not isinstance(back.fitted, Curve if isinstance(fitted, Curve) else Representation):
            raise BrokenPromise(
                f"restore returned a {type(back.fitted).__name__} for a {type(fitted).__name__}.",
                "Return what fit returned for the unit.",
            )
        for point in _points(fitted):
            where = f" at {point.label}" if point is not None else ""
            yield encoder.at(point), partial(back.at, point), where


def _read(trial: MethodTrial, content: bytes) -> Encoder:
    """Write the bytes of an encoder to a file and read it back."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "encoder.safetensors"
        path.write_bytes(content)
        try:
            return read_as(path, lambda name: trial.method)
        except StoreError as error:
            raise BrokenPromise(
                "From the result of state(), restore raised "
                f"{say_raised(error.__cause__ or error)}.",
                "Write restore(state, unit, info), which returns what fit did; or let state() "
                "return None.",
            ) from None


def _points(fitted: Curve | Representation) -> list[Point | None]:
    """Return the points of comparison: both ends and the middle of a curve."""
    if not isinstance(fitted, Curve):
        return [None]
    knob = fitted.knob
    ends = fitted.points or [Point.of(**{knob.name: value}) for value in (knob.low, knob.high)]
    return [ends[0], middle(fitted), ends[-1]]
