"""Estimates come from records of the same dataset, and from its sizes where there are none."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from fairbench.api.types import Architecture, DatasetInfo, Role, Unit
from fairbench.auditing.config import PRESETS, AuditPreset
from fairbench.data.prepared import Prepared
from fairbench.runs.estimate import audit_seconds, fit_seconds
from fairbench.runs.pace import slowness
from fairbench.runs.plan import Budget
from fairbench.store.database import Store
from fairbench.store.records import PointRecord, UnitRecord
from fairbench.store.status import Status
from fairbench.training import Networks, NeuralMethod, StackedModel, Streams
from fairbench.versions import AUDIT_VERSION

BUDGET = Budget("1000", 1000, PRESETS[AuditPreset.STRICT])


class Neural(NeuralMethod):
    """One of the neural methods."""

    name = "neural"

    def build(
        self, units: Sequence[Unit], info: DatasetInfo, networks: Networks, streams: Streams
    ) -> StackedModel:
        raise NotImplementedError


def record(dataset: str, ms: float) -> UnitRecord:
    texts = ("key", "track", "params_label", "plugin", "budget", "data_source", "code")
    return UnitRecord(
        **dict.fromkeys((*texts, "fingerprint"), "x"),
        status=Status.DONE,
        method="neural",
        dataset=dataset,
        seed=0,
        tags=[],
        params={},
        iterations=1,
        protocol=1,
        costs={"milliseconds_per_model_step": ms},
    )


def test_records_of_the_same_dataset_decide(prepared: Prepared) -> None:
    name = prepared.info.name
    past = [record(name, 2.0), record(name, 4.0), record("images", 500.0)]
    found = fit_seconds(Neural(), 5, BUDGET, prepared, past, points=5)
    assert found == pytest.approx(5 * 1000 * 3.0 / 1e3)


def test_records_of_other_machines_do_not_count(prepared: Prepared) -> None:
    name = prepared.info.name
    past = [record(name, 2.0), record(name, 400.0).replace(origin="a-board")]
    found = fit_seconds(Neural(), 5, BUDGET, prepared, past, points=5)
    assert found == pytest.approx(5 * 1000 * 2.0 / 1e3)


def test_records_of_other_datasets_do_not_count(prepared: Prepared) -> None:
    other = [record("images", 500.0)]
    assert fit_seconds(Neural(), 5, BUDGET, prepared, other, points=5) == fit_seconds(
        Neural(), 5, BUDGET, prepared, [], points=5
    )


@pytest.mark.parametrize(("products", "times"), [(torch.float32, 30), (torch.bfloat16, 15)])
def test_convolutions_are_expected_to_take_long(
    prepared: Prepared, products: torch.dtype, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairbench.training.layers.fastest_products", lambda: products)
    assert fit_seconds(Neural(), 1, BUDGET, images(prepared), [], points=1) > times * fit_seconds(
        Neural(), 1, BUDGET, prepared, [], points=1
    )


def test_images_of_each_point_are_encoded(prepared: Prepared) -> None:
    """Also where records tell how long training takes."""
    past = [record(prepared.info.name, 2.0)]
    one, two = (fit_seconds(Neural(), 1, BUDGET, images(prepared), past, points=n) for n in (1, 2))
    assert two > one > 1000 * 2.0 / 1e3


def images(data: Prepared) -> Prepared:
    """The same rows, as if they were images."""
    architecture = Architecture(hidden=(8,), latent=2, image=(1, 64, 64), channels=(4,))
    return replace(data, info=replace(data.info, architecture=architecture))


def test_an_audit_takes_longer_of_more_rows_and_groups(prepared: Prepared, tmp_path: Path) -> None:
    store = Store.in_folder(tmp_path)
    rows = prepared.roles[Role.AUDITOR_TRAIN]
    times = -(-30_000 // len(rows.s))
    many = replace(rows, s=rows.s.repeat(times))
    large = replace(prepared, roles={**prepared.roles, Role.AUDITOR_TRAIN: many})
    strict, quick = PRESETS[AuditPreset.STRICT], PRESETS[AuditPreset.QUICK]
    assert audit_seconds(strict, large, store) >= 3 * audit_seconds(strict, prepared, store)
    assert audit_seconds(quick, large, store) < audit_seconds(strict, large, store)
    groups = tuple(f"g{i}" for i in range(10))
    many_groups = replace(prepared, info=replace(prepared.info, groups=groups))
    of_many = audit_seconds(strict, many_groups, store)
    assert of_many > 1.5 * audit_seconds(strict, prepared, store)


def test_audits_of_the_same_table_decide(prepared: Prepared, tmp_path: Path) -> None:
    store = Store.in_folder(tmp_path)
    strict = PRESETS[AuditPreset.STRICT]
    unit = record(prepared.info.name, 1.0).replace(fingerprint=prepared.fingerprint)
    rule = audit_seconds(strict, prepared, store)
    for number, seconds in enumerate((100.0, 200.0, 600.0)):
        assert audit_seconds(strict, prepared, store) == rule
        store.put([unit, audited(str(number), seconds)])
    assert audit_seconds(strict, prepared, store) == pytest.approx(300.0)
    store.put([audited("old", 9e9, version=1)])
    assert audit_seconds(strict, prepared, store) == pytest.approx(300.0)
    assert audit_seconds(PRESETS[AuditPreset.QUICK], prepared, store) < rule


def audited(key: str, seconds: float, version: int = AUDIT_VERSION) -> PointRecord:
    return PointRecord(
        key=key,
        unit="x",
        number=0,
        status=Status.DONE,
        label="-",
        knobs={},
        audit="strict",
        audit_config={},
        seconds=seconds,
        audit_version=version,
    )


def test_the_pace_of_the_machine_is_measured_once() -> None:
    assert 0 < slowness() == slowness()
