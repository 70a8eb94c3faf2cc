"""Encodings of a dataset's rows, made by any tool, are audited as points are."""

from __future__ import annotations

import numpy as np
import pytest

from fairbench.api import Role
from fairbench.auditing.config import PRESETS, AuditPreset
from fairbench.data.prepare import prepare
from fairbench.data.prepared import Prepared
from fairbench.errors import DataError
from fairbench.registry import load_registry
from fairbench.runs.external_encodings import measure_encodings
from fairbench_datasets.adults import AdultsGender
from tests.support.small_table import make_table


class Large(AdultsGender):
    audit_rows = 120


def large() -> Prepared:
    """600 rows, of which some are in no role: the last one is among them."""
    data = prepare(make_table(600), Large, source="simulated", origin="t")
    used = np.concatenate([rows.numbers for rows in data.roles.values()])
    assert len(used) < data.table_rows == 600
    return data


def test_a_file_has_the_rows_of_the_table_also_where_audits_leave_some_out() -> None:
    data = large()
    z = np.random.default_rng(0).normal(size=(600, 2))
    measured = measure_encodings(
        z, data, PRESETS[AuditPreset.QUICK], load_registry(), lambda share, text: None
    )
    assert measured.values["distortion"] is not None


@pytest.mark.parametrize("sign", [False, True])
def test_the_certificate_is_of_the_codes_as_released(sign: bool) -> None:
    """Single precision merges codes whose ninth digit tells s; zeros of both signs are equal."""
    data = large()
    s = np.zeros(600)
    for part in data.roles.values():
        s[part.numbers] = part.s
    code = np.random.default_rng(1).integers(1, 4, 600)
    z = np.column_stack([code, np.where(s == 1, -0.0, 0.0) if sign else code + 1e-9 * s])
    measured = measure_encodings(
        z, data, PRESETS[AuditPreset.QUICK], load_registry(), lambda share, text: None
    )
    shares = np.bincount(data.roles[Role.TEST].s) / len(data.roles[Role.TEST].s)
    assert measured.values["certified_codes"] == 6
    assert measured.values["certified_parity_gap"] == 1
    told = measured.values["certified_mutual_information"]
    assert told is not None
    assert told >= -(shares * np.log(shares)).sum()


@pytest.mark.parametrize("rows", [599, 601])
def test_another_number_of_rows_is_refused(rows: int) -> None:
    with pytest.raises(DataError, match=f"z has {rows} rows; adults-gender has 600"):
        measure_encodings(
            np.zeros((rows, 2)),
            large(),
            PRESETS[AuditPreset.QUICK],
            load_registry(),
            lambda share, text: None,
        )
