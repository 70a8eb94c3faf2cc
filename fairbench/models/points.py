"""Points of stored models: parsing and listing them, and resolving where an encoder is read."""

from __future__ import annotations

from collections.abc import Sequence

from fairbench.api import NO_KNOBS, Point
from fairbench.api.method import Curve
from fairbench.errors import ConfigError, UnknownNameError
from fairbench.store.encoders import Encoder
from fairbench.store.records import PointRecord


def parse_point(text: str) -> Point:
    """Parse ``beta=0.3``, several knobs with commas, or ``-`` for a method without knobs."""
    if text.strip() == NO_KNOBS:
        return Point()
    knobs = {}
    for part in text.split(","):
        name, _, value = part.partition("=")
        if name.strip() in knobs:
            raise ConfigError(f"--point {text!r} sets {name.strip()} twice.", "Once is enough.")
        try:
            knobs[name.strip()] = float(value)
        except ValueError:
            raise ConfigError(
                f"--point {text!r} is no setting of knobs.", 'Write it as in --point "beta=0.3".'
            ) from None
    return Point(tuple(sorted(knobs.items())))


def list_points(measured: Sequence[PointRecord]) -> str:
    """List points, one line each, with their figures on the test set."""
    return "\n".join(f"  {describe_point(point)}" for point in measured)


def describe_point(point: PointRecord) -> str:
    """``beta=0.3: I = 0.021 nats, D = 1.234, A_y = 0.810`` of a measured point."""
    figures = point.figures
    label = f"{point.label}: " if point.knobs else ""
    accuracy = figures.get("accuracy_y")
    return (
        f"{label}I = {max(figures['mutual_information'], 0.0):.3f} nats, "
        f"D = {figures['distortion']:.3f}"
        + (f", A_y = {accuracy:.3f}" if accuracy is not None else "")
    )


def resolve_point(
    encoder: Encoder, text: str | None, measured: Sequence[PointRecord]
) -> Point | None:
    """Resolve the point at which an encoder is read; None where there is nothing to choose.

    Parameters
    ----------
    text : str, optional
        The point that is asked for.
    measured : sequence of PointRecord
        Points of this model that were audited.

    Raises
    ------
    ConfigError, UnknownNameError
        A curve needs a point and none is named, or the point does not exist.
    """
    fitted, method = encoder.fitted, encoder.method.name
    if not isinstance(fitted, Curve):
        own = encoder.unit.point
        if text is not None and own is not None and parse_point(text).label != own.label:
            raise ConfigError(
                f"This model of {method} is at {own.label}, not at {text}.", "Leave --point out."
            )
        return own
    if text is None:
        knob, points = fitted.knob.name, fitted.points
        where = f"any {knob}" if points is None else f"{len(points)} values of {knob}"
        others = _labels(points or (), measured)
        raise ConfigError(
            f"{method} is single-shot: its model can be read at {where}, so name "
            f'one with --point "{knob}=NUMBER". Audited:\n'
            f"{list_points(measured) or '  none'}" + (f"\nOthers: {others}" if others else "")
        )
    point = parse_point(text)
    for known in measured:  # a label is rounded
        if known.label == point.label:
            return Point(tuple(sorted(known.knobs.items())))
    return _on_curve(fitted, method, point)


def _on_curve(curve: Curve, method: str, point: Point) -> Point:
    """A point that was not audited, where the curve can be read at it."""
    knob = curve.knob
    names = [name for name, _ in point.values]
    if names != [knob.name]:
        wrong = next((name for name in names if name != knob.name), NO_KNOBS)
        raise UnknownNameError(f"knob of {method}", wrong, [knob.name])
    if curve.points is not None:
        own = curve.find_point(point)
        if own is None:
            raise ConfigError(
                f"{method} can be read at these points alone: {_labels(curve.points)}.",
                f"{point.label} is none of them.",
            )
        return own
    value = point[knob.name]
    if not knob.low <= value <= knob.high:
        raise ConfigError(
            f"{knob.name} of {method} goes from {knob.low:g} to {knob.high:g}, not to {value:g}."
        )
    return point


def _labels(points: Sequence[Point], measured: Sequence[PointRecord] = ()) -> str:
    """Labels of points, without those that were measured."""
    known = {point.label for point in measured}
    return ", ".join(point.label for point in points if point.label not in known)


def find_neighbours(point: Point, measured: Sequence[PointRecord]) -> list[PointRecord]:
    """Find the audited points on both sides of another; none unless it has exactly one knob."""
    if len(point.values) != 1:
        return []
    ((knob, value),) = point.values
    on_knob = [known for known in measured if knob in known.knobs]
    below = [known for known in on_knob if known.knobs[knob] <= value]
    above = [known for known in on_knob if known.knobs[knob] > value]
    return below[-1:] + above[:1]
