"""A fitted encoder of the scikit-learn transformer, read at a setting of its knobs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from fairbench.api import Curve, Floats, Ints, Method, Representation
from fairbench.errors import InputError
from fairbench.estimator.settings import make_point
from fairbench.runs.encoding import checked_codes
from fairbench.store.encoders import Encoder
from fairbench.training.threads import one_thread


def representation_at(encoder: Encoder, knobs: Mapping[str, float]) -> Representation:
    """The representation at a setting of the knobs; InputError where there is none."""
    unit, point = encoder.unit, make_point(encoder.method, knobs)
    if isinstance(encoder.fitted, Curve):
        if encoder.fitted.points is None:
            return encoder.at(point)
        own = encoder.fitted.find_point(point)
        if own is None:
            labels = "; ".join(known.label for known in encoder.fitted.points)
            raise InputError(
                f"{encoder.method.name} cannot be read at {point.label}.",
                f"It is fitted, and can be read at {labels}: set_params(...) or transform(X, ...).",
            )
        return encoder.at(own)
    if unit.point is not None and point.label != unit.point.label:
        raise InputError(
            f"{encoder.method.name} is multi-shot, a model for each setting, and this one "
            f"was fitted at {unit.point.label}.",
            f"Fit again with {point.label}.",
        )
    return encoder.at(point)


def any_knobs(encoder: Encoder) -> dict[str, float]:
    """Knobs at which a curve can be read, for properties that do not depend on them."""
    if not isinstance(encoder.fitted, Curve):
        return {}
    points = encoder.fitted.points
    return dict(points[0].values) if points else {encoder.fitted.knob.name: encoder.fitted.knob.low}


def encode(
    method: Method,
    representation: Representation,
    x: Floats,
    s: Ints | None,
    generator: np.random.Generator | None,
) -> Floats:
    """Codes ``(n, k)`` of prepared rows, on one thread; ContractError if they are not such."""
    with one_thread():
        z = representation.encode(x, s=s, generator=generator)
    return checked_codes(z, len(x), f"{method.name}.encode").astype(np.float32, copy=False)
