"""What a plan asks of a method. Whatever the plugin raises then is one PluginError."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from numbers import Integral
from typing import Any

from fairbench.api import DatasetInfo, Point, Shots, Workload
from fairbench.api.method import Method, Params
from fairbench.errors import PluginError
from fairbench.store.returned_values import short_repr
from fairbench.store.text import clean_line, describe
from fairbench.training.stack_size import model_bytes


@dataclass(frozen=True)
class MethodAnswers:
    """What a method says of itself on a dataset; ``refusal``: why it cannot run there."""

    points: tuple[Point, ...]
    refusal: str | None


def ask(method: type[Method], params: Params, info: DatasetInfo) -> MethodAnswers:
    """Ask a method for all that a plan needs; a single-shot one has no points.

    Raises PluginError: the plugin raised something, or an answer cannot be used.
    """
    try:
        _check_storable(method, params)
        instance = method(params)
        points = () if method.shots is Shots.SINGLE else check_points(instance.points())
        refusal, workload = instance.supports(info), instance.workload(info)
        tags, device = instance.tags, method.device("cpu")
    except PluginError:
        raise
    # A plugin may raise anything, SystemExit included: the other methods still run.
    except (Exception, SystemExit) as error:
        raise PluginError(
            f"{method.name} raised {describe(error).rstrip('.')}.",
            f"See: fairbench check {method.name}",
        ) from error
    if refusal is not None and not (isinstance(refusal, str) and refusal.strip()):
        raise PluginError(
            f"supports() returned {short_repr(refusal)}.",
            "Return None if it can run, else the reason in words.",
        )
    if workload is not None and not _has_sizes(workload, len(info.features)):
        raise PluginError(
            f"workload() returned {short_repr(workload)}.",
            "Return a fairbench.api.Workload, whose numbers are whole and at least 1, or None.",
        )
    if device != "cpu":
        raise PluginError(
            f"device('cpu') returned {short_repr(device)}.",
            "Return the device that is given, or 'cpu'.",
        )
    if not isinstance(tags, tuple | list) or not all(map(_is_word, tags)):
        raise PluginError(f"tags are {short_repr(tags)}.", "Return a tuple of words.")
    if wrong := [knob.name for knob in method.knobs if not _is_word(knob.name)]:
        raise PluginError(
            f"The knob {short_repr(wrong[0])} has no name that can be shown.", "Use a word."
        )
    # It is stored and shown: a plugin may have read it from anywhere.
    return MethodAnswers(points, None if refusal is None else clean_line(refusal))


def _has_sizes(workload: object, features: int) -> bool:
    """Whether the size of a training can be worked out."""
    if not isinstance(workload, Workload):
        return False
    counts = (workload.models_per_unit, workload.batch_size)
    if not all(isinstance(count, Integral) and count >= 1 for count in counts):
        return False
    try:
        return model_bytes(workload.architecture, features, workload.batch_size) > 0
    except (AttributeError, TypeError, ValueError):
        return False


def _is_word(text: object) -> bool:
    """Whether a plugin's text can be stored, shown, and told apart from its neighbours."""
    return isinstance(text, str) and text.isprintable() and text.split() == [text]


def _check_storable(method: type[Method], params: Params) -> None:
    """Raise PluginError for hyperparameters that no record could hold."""
    try:
        json.dumps(params.model_dump(mode="json"), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise PluginError(
            f"The hyperparameters of {method.name} cannot be stored: {describe(error)}.",
            "Use finite numbers, texts, truth values, and lists or mappings of these; None may "
            "stand for no limit.",
        ) from None


def check_points(points: Any) -> tuple[Point, ...]:
    """Return the points of a grid; PluginError unless each can be a row of its own in a table."""
    is_grid = isinstance(points, tuple | list)
    if not is_grid or not all(isinstance(point, Point) for point in points):
        raise PluginError(
            f"points() returned {short_repr(points)}.", "Return a tuple of fairbench.api.Point."
        )
    if not points:
        raise PluginError("points() is empty.", "Return (Point(),) if there is no knob.")
    labels = [point.label for point in points]
    for point in points:
        if not all(math.isfinite(value) for _, value in point.values):
            raise PluginError(
                f"The point {point.label} has a value that is not finite.",
                "Give every knob a finite number.",
            )
        if labels.count(point.label) > 1:
            raise PluginError(
                f"Two of its points have the same label, {point.label}.",
                "Labels keep 6 digits; space them out.",
            )
    return tuple(points)
