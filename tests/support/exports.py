"""Records as exports have them, made by hand."""

from typing import Any

from fairbench.store.records import PointRecord, ReadPoint, UnitRecord
from fairbench.store.status import Status

FINISHED = "2026-01-01T00:00:00+00:00"


def a_unit(key: str, label: str = "beta=1", **changes: Any) -> UnitRecord:
    """A unit that was read at one point."""
    fields: dict[str, Any] = {
        "status": Status.DONE,
        "run": "r",
        "method": "some",
        "dataset": "toy",
        "seed": 0,
        "track": "blind",
        "tags": [],
        "params": {},
        "params_label": "default",
        "plugin": "p 1",
        "budget": "full",
        "iterations": 1,
        "data_source": "real",
        "fingerprint": "f" * 64,
        "protocol": 1,
        "code": "0" * 16,
        "read_points": (ReadPoint(label, {"beta": 1.0}),),
        "costs": {"train_seconds": 1.0},
        "hardware": {"device": "cpu", "processor": "p"},
        "versions": {"python": "3.12"},
        "finished": FINISHED,
    }
    return UnitRecord(key=key, **(fields | changes))


def a_point(key: str, unit: str, label: str = "beta=1", **changes: Any) -> PointRecord:
    """A point of a unit."""
    fields: dict[str, Any] = {
        "number": 0,
        "status": Status.DONE,
        "label": label,
        "knobs": {"beta": 1.0},
        "audit": "strict",
        "audit_config": {},
        "values": {
            "distortion": 0.5,
            "distortion_validation": 0.5,
            "mutual_information": 0.1,
            "mutual_information_validation": 0.1,
            "accuracy_s": 0.7,
        },
        "seconds": 1.0,
        "finished": FINISHED,
        "audit_version": 1,
    }
    return PointRecord(key=key, unit=unit, **(fields | changes))
