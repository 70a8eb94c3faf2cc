"""Trained encoders as files of their own: weights in safetensors, everything else as JSON in it.

One file holds all that new rows need: how raw columns become x, what was fitted, and by which
method and hyperparameters. Nothing is pickled: reading a file runs no code but the method's
``restore``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from fairbench.api import Architecture, DatasetInfo, Feature, Point, Unit
from fairbench.api.method import Curve, Method, Representation
from fairbench.data.preprocessing import Preprocessing
from fairbench.errors import StoreError, say_where, say_why_and_what
from fairbench.files import write_file
from fairbench.files.paths import within
from fairbench.registry import Registry
from fairbench.store import files as artefacts

FOLDER = "encoders"

FORMAT = 1
"""Raised when files change so that older code cannot read them."""

_KEY = "fairbench"


@dataclass(frozen=True)
class Encoder:
    """A fitted method, ready for new rows.

    ``preprocessing`` says how raw columns become x, and is None for images, which are x; ``notes``
    are those of the program that wrote it: text, numbers, lists and mappings.
    """

    method: Method
    unit: Unit
    info: DatasetInfo
    fitted: Representation | Curve
    preprocessing: Preprocessing | None
    notes: Mapping[str, Any] = field(default_factory=dict)

    def at(self, point: Point | None = None) -> Representation:
        """Return the representation at a point; of a method without a curve the only one."""
        if isinstance(self.fitted, Representation):
            return self.fitted
        assert point is not None
        return self.fitted.at(point)


def pack(encoder: Encoder) -> bytes | None:
    """Return the bytes of an encoder's file; None where the method cannot be stored."""
    state = state_of(encoder)
    return None if state is None else pack_state(encoder, state)


def state_of(encoder: Encoder) -> dict[str, np.ndarray] | None:
    """Return the arrays that an encoder's file holds; None where the method cannot be stored."""
    state = encoder.fitted.state()
    return None if state is None else arrays_of(state)


def arrays_of(state: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return copies of arrays in C order: safetensors writes the memory as it lies."""
    return {name: np.array(array, order="C") for name, array in state.items()}


def pack_state(encoder: Encoder, arrays: Mapping[str, np.ndarray]) -> bytes:
    """Return the bytes of an encoder's file, of its arrays."""
    from safetensors.numpy import save

    point = encoder.unit.point
    described = {
        "format": FORMAT,
        "method": encoder.method.name,
        "params": encoder.method.params.model_dump(mode="json"),
        "seed": encoder.unit.seed,
        "point": None if point is None else dict(point.values),
        "info": asdict(encoder.info),
        "preprocessing": encoder.preprocessing and encoder.preprocessing.to_json(),
        "notes": dict(encoder.notes),
        "sha256": _digest(arrays),
    }
    return bytes(save(dict(arrays), metadata={_KEY: json.dumps(described)}))


def write(path: Path, encoder: Encoder) -> None:
    """Write an encoder to a file; StoreError where its method cannot be stored."""
    content = pack(encoder)
    if content is None:
        raise StoreError(
            f"What {encoder.method.name} fits has no form that could be stored in a file.",
            "Its Representation has no state(): see docs/plugins.md, or choose another method.",
        )
    write_file(path, content)


def read(path: Path, registry: Registry) -> Encoder:
    """Read an encoder's file.

    Raises
    ------
    StoreError
        There is no such file, it is damaged or of a newer fairbench, or its method has changed.
    UnknownNameError
        Its method is not installed.
    """
    return read_as(path, registry.methods.__getitem__)


def read_as(path: Path, find: Callable[[str], type[Method]]) -> Encoder:
    """Read an encoder's file, as :func:`read`, with method classes from another source."""
    described, state = _parts(path)
    try:
        if described["format"] > FORMAT:
            raise StoreError(f"{path} was written by a newer fairbench.", "Upgrade fairbench.")
        if "sha256" in described and described["sha256"] != _digest(state):
            raise _damaged(path, "its arrays are not those that were written")
        return _restored(path, described, state, find)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise _damaged(path, f"{type(error).__name__}: {error}") from error


def made_by(path: Path) -> tuple[str, Mapping[str, Any]]:
    """Return the method that an encoder's file names, and its hyperparameters.

    StoreError as :func:`read`.
    """
    described, _ = _parts(path)
    return described["method"], described["params"]


def _restored(
    path: Path,
    described: Mapping[str, Any],
    state: Mapping[str, np.ndarray],
    find: Callable[[str], type[Method]],
) -> Encoder:
    method_class = find(described["method"])
    try:
        method = method_class(method_class.Params(**described["params"]))
    except ValidationError as error:
        first = error.errors()[0]
        why = f"{say_where(first)}: {say_why_and_what(first)}"
        raise _changed(path, method_class.name, why) from error
    knobs = described["point"]
    unit = Unit(described["seed"], None if knobs is None else Point.of(**knobs))
    info = _info(described["info"])
    try:
        fitted = method.restore(state, unit, info)
    # A plugin's code, given arrays of another version of itself, may raise anything.
    except (Exception, SystemExit) as error:
        raise _changed(path, method.name, f"{type(error).__name__}: {error}") from error
    steps = described["preprocessing"]
    preprocessing = steps and Preprocessing.from_json(steps)
    return Encoder(method, unit, info, fitted, preprocessing, described.get("notes", {}))


def _digest(arrays: Mapping[str, np.ndarray]) -> str:
    """Return the sha256 of names, types, shapes and bytes of arrays, whatever their order."""
    digest = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        digest.update(repr((name, array.dtype.name, array.shape)).encode())
        digest.update(array.astype(array.dtype.newbyteorder("<")).tobytes())
    return digest.hexdigest()


def _damaged(path: Path, why: object) -> StoreError:
    return StoreError(f"{path} is damaged: {why}.", "Fit it again.")


def _changed(path: Path, method: str, why: str) -> StoreError:
    return StoreError(
        f"{path} does not fit {method} as it is installed: {' '.join(why.split())[:200]}",
        "Install the version it was fitted with, or fit it again.",
    )


def _parts(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        raise StoreError(f"There is no file {path}.")
    with path.open("rb") as stream:
        start = stream.read(9)
    # safetensors: the length of the header, 8 bytes, then the header, which is JSON
    if len(start) == 9 and start[8:] != b"{":
        raise StoreError(
            f"{path} is not an encoder: it is another kind of file.",
            "Name a file that FairRepresentation.save or fairbench run wrote.",
        )
    try:
        with safe_open(path, framework="numpy") as file:
            described = json.loads((file.metadata() or {}).get(_KEY, "null"))
            state = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError) as error:
        raise _damaged(path, error) from None
    if not isinstance(described, dict) or "format" not in described:
        raise StoreError(f"{path} is not an encoder that fairbench wrote.")
    return described, state


def _info(described: Mapping[str, Any]) -> DatasetInfo:
    architecture: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in described["architecture"].items()
    }
    return DatasetInfo(
        name=described["name"],
        features=tuple(
            Feature(f["name"], f["source"], tuple(f["categories"])) for f in described["features"]
        ),
        groups=tuple(described["groups"]),
        architecture=Architecture(**architecture),
    )


def path_of(results: Path, name: str) -> Path:
    """Return the path of a stored encoder in a results folder; StoreError for any other name."""
    if not artefacts.is_own(name):
        raise StoreError(f"{name!r} is no name of a stored encoder.", "Fit it again.")
    return within(results / FOLDER, name)


def save(results: Path, content: bytes) -> str:
    """Write an encoder beside a store; return the file's name, the sha256 of its bytes."""
    return artefacts.write(results / FOLDER, content, "safetensors")
