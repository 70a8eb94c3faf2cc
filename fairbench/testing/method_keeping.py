"""The promise of ``state`` and ``restore``: a stored encoder gives the same codes."""

from __future__ import annotations

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
            (expected,) = trial.codes([encoder.at(point)])
            with convert_errors(f"The result of restore{where}"):
                (z,) = trial.codes([back.at(point)])
            if not np.array_equal(z, expected, equal_nan=True):
                raise BrokenPromise(
                    f"The result of restore has other codes than the fit{where}.",
                    "Put everything that encode uses into state(), in the same precision.",
                )


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
