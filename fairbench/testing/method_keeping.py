"""The promise of ``state`` and ``restore``: an encoder is made again of what was kept of it."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from fairbench.api import Point
from fairbench.api.method import Curve, Representation
from fairbench.errors import StoreError
from fairbench.store.encoders import Encoder, pack, read_as
from fairbench.testing.method_trial import MethodTrial, middle
from fairbench.testing.promises import promise, telling, told
from fairbench.testing.verdicts import BrokenPromise, Unmet


@promise(
    "what is restored from its state gives the same codes",
    "New rows are encoded by what was kept of a fit, and must get the codes that were audited.",
)
def restores(trial: MethodTrial) -> None:
    for unit, found in zip(trial.units(), trial.fitted, strict=True):
        assert isinstance(found, Curve | Representation)  # or there would be no first fit
        encoder = Encoder(trial.instance, unit, trial.data.info, found, trial.data.preprocessing)
        with telling("Keeping its state()", "Return a mapping of names to arrays, or None."):
            content = pack(encoder)
        if content is None:
            raise Unmet("its state() is None: it is ranked, and cannot encode new rows later")
        back = _read(trial, content)
        if not isinstance(back.fitted, Curve if isinstance(found, Curve) else Representation):
            raise BrokenPromise(
                f"restore returned a {type(back.fitted).__name__} for a {type(found).__name__}.",
                "Return what fit returned for the unit.",
            )
        for point in _points(found):
            where = f" at {point.label}" if point is not None else ""
            (expected,) = trial.codes([encoder.at(point)])
            with telling(f"What restore returned, read{where},"):
                (z,) = trial.codes([back.at(point)])
            if not np.array_equal(z, expected, equal_nan=True):
                raise BrokenPromise(
                    f"What restore returned has other codes than what was fitted{where}.",
                    "Put all that encode uses into state(), in the precision it is used in.",
                )


def _read(trial: MethodTrial, content: bytes) -> Encoder:
    """The encoder behind a file's bytes, by way of a file."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "encoder.safetensors"
        path.write_bytes(content)
        try:
            return read_as(path, lambda name: trial.method)
        except StoreError as error:
            raise BrokenPromise(
                f"From what state() gave, restore raised {told(error.__cause__ or error)}.",
                "Write restore(state, unit, info), which makes again what fit returned; or let "
                "state() return None.",
            ) from None


def _points(found: Curve | Representation) -> list[Point | None]:
    """Where codes are compared: both ends and the middle of a curve."""
    if not isinstance(found, Curve):
        return [None]
    if found.points:
        return [found.points[0], middle(found), found.points[-1]]
    ends = [Point.of(**{found.knob.name: value}) for value in (found.knob.low, found.knob.high)]
    return [ends[0], middle(found), ends[1]]
