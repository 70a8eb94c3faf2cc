"""Names of stored arrays: results folders of every version hold them."""

import numpy as np
import pytest

from fairbench.api import AUDIT_ROLES, Role
from fairbench.runs.point_arrays import ROWS, ArrayName, Kind, PointArrays

KEYS = {
    "0/z/auditor-train": ArrayName(0, Kind.Z, Role.AUDITOR_TRAIN),
    "0/z/validation": ArrayName(0, Kind.Z, Role.VALIDATION),
    "10/z/test": ArrayName(10, Kind.Z, Role.TEST),
    "0/decoded/test": ArrayName(0, Kind.DECODED, Role.TEST),
    "0/own/test": ArrayName(0, Kind.OWN, Role.TEST),
    "0/fresh": ArrayName(0, Kind.FRESH),
    "0/detailed": ArrayName(0, Kind.DETAILED),
    "0/queries-16/test": ArrayName(0, Kind.QUERIES_16, Role.TEST),
    "0/queries-256/test": ArrayName(0, Kind.QUERIES_256, Role.TEST),
    "0/permuted": ArrayName(0, Kind.PERMUTED),
    "0/rate": ArrayName(0, Kind.RATE),
    "0/bits/shape": ArrayName(0, Kind.BITS, "shape"),
    "0/reconstructions/same": ArrayName(0, Kind.RECONSTRUCTIONS, "same"),
    "0/target/z/test": ArrayName(0, Kind.Z, Role.TEST, target=True),
    "0/target/rate": ArrayName(0, Kind.RATE, target=True),
    "rows": ArrayName(None, Kind.ROWS),
}


@pytest.mark.parametrize("key", KEYS)
def test_keys_are_those_of_every_results_folder(key: str) -> None:
    assert str(KEYS[key]) == key
    assert ArrayName.parse(key) == KEYS[key]


def test_every_kind_is_pinned() -> None:
    assert {name.kind for name in KEYS.values()} == set(Kind)
    assert ROWS == "rows"


def test_a_point_is_read_apart_from_its_other_domain_and_from_other_points() -> None:
    values = {"0/": 1.0, "0/target/": 2.0, "1/": 3.0}
    arrays = {
        f"{of}z/{role}": np.full((2, 1), v) for of, v in values.items() for role in AUDIT_ROLES
    }
    arrays |= {f"{of}rate": np.array(v) for of, v in values.items()}
    for (point, target), value in zip(((0, False), (0, True), (1, False)), (1, 2, 3), strict=True):
        encoded = PointArrays(arrays, point, target).encoded()
        assert encoded.rate == value
        assert all((z == value).all() for z in encoded.z.values())
        assert encoded.own is None
        assert not encoded.detailed
