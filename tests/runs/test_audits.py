"""Which audits a store lacks."""

from pathlib import Path

from fairbench.auditing.config import PRESETS, AuditPreset
from fairbench.data.prepared import Prepared
from fairbench.runs.audit_job import AuditJob, Measurement, StoredArrays
from fairbench.runs.audits import REFERENCE_FIGURES, AuditLedger, AuditTarget
from fairbench.runs.executors.base import Failed
from fairbench.runs.plan import PlannedReference
from fairbench.store.database import Store
from fairbench.store.records import PointRecord, ReadPoint, ReferenceRecord
from fairbench.store.status import Status

CONFIG = PRESETS[AuditPreset.QUICK]


def stored(folder: Path, data: Prepared, figures: frozenset[str]) -> Store:
    store = Store.in_folder(folder)
    reference = ReferenceRecord(
        key=PlannedReference(data, 0, CONFIG).key,
        status=Status.DONE,
        dataset=data.info.name,
        fingerprint=data.fingerprint,
        protocol=1,
        seed=0,
        audit="quick",
        values=dict.fromkeys(sorted(figures), 0.5),
        seconds=1.0,
        finished="2026-01-01",
        audit_version=2,
    )
    store.put([reference])
    return store


def test_x_is_measured_again_where_a_figure_of_it_has_come_since(
    tmp_path: Path, prepared: Prepared
) -> None:
    whole = stored(tmp_path / "whole", prepared, REFERENCE_FIGURES)
    assert (
        AuditLedger(whole, (), retry=True).reference_job(
            PlannedReference(prepared, 0, CONFIG), again=False
        )
        is None
    )
    old = stored(tmp_path / "old", prepared, REFERENCE_FIGURES - {"accuracy_s"})
    audits = AuditLedger(old, (), retry=True)
    job = audits.reference_job(PlannedReference(prepared, 0, CONFIG), again=False)
    assert job is not None
    assert not audits.is_settled(job)  # the old figures are no other run's work
    assert (
        audits.reference_job(PlannedReference(prepared, 0, CONFIG), again=False) is None
    )  # asked for once


def test_figures_stay_where_measuring_them_again_fails(tmp_path: Path, prepared: Prepared) -> None:
    store = stored(tmp_path, prepared, REFERENCE_FIGURES - {"accuracy_s"})
    audits = AuditLedger(store, (), retry=True)
    job = audits.reference_job(PlannedReference(prepared, 0, CONFIG), again=False)
    assert job is not None
    audits.fail(Failed(job, Status.TIMEOUT, "too slow", None, 60.0))
    (kept,) = store.records(ReferenceRecord)
    assert kept.done
    assert kept.figures["mutual_information_max"] == 0.5


def test_what_was_never_measured_is_failed(tmp_path: Path, prepared: Prepared) -> None:
    store = Store.in_folder(tmp_path)
    audits = AuditLedger(store, (), retry=True)
    job = audits.reference_job(PlannedReference(prepared, 0, CONFIG), again=False)
    assert job is not None
    audits.fail(Failed(job, Status.TIMEOUT, "too slow", None, 60.0))
    assert [one.status for one in store.records(ReferenceRecord)] == [Status.TIMEOUT]


def test_what_failed_attempts_took_is_kept_with_their_points(
    tmp_path: Path, prepared: Prepared
) -> None:
    store = Store.in_folder(tmp_path)
    points = tuple(ReadPoint(f"beta={n}", {"beta": float(n)}) for n in range(7))
    target = AuditTarget("unit", "some", 0, points, prepared, CONFIG, blind=False, stochastic=False)
    arrays = StoredArrays(tmp_path, "none")
    audits = AuditLedger(store, (), retry=True)
    together = audits.jobs(target, audits.missing(target), arrays)[0]
    assert isinstance(together, AuditJob)
    assert len(together.keys) == 3
    first, second, _ = audits.fail(Failed(together, Status.TIMEOUT, "too slow", None, 60.0))
    assert isinstance(first, AuditJob)
    assert isinstance(second, AuditJob)
    assert audits.fail(Failed(first, Status.OOM, "too large", None, 30.0)) == []
    audits.finish([Measurement(second.keys[0], {}, 9.0, "", processor_seconds=1.0)])
    stored = store.find(PointRecord, [*first.keys, *second.keys])
    assert stored[first.keys[0]].status is Status.OOM
    assert stored[first.keys[0]].processor_seconds == 60 / 3 + 30
    assert stored[second.keys[0]].processor_seconds == 60 / 3 + 1
    assert stored[second.keys[0]].seconds == 9.0  # of the audit that gave the figures
    # Tried again by another run.
    again = AuditLedger(store, (), retry=True)
    point = [point for point in again.missing(target) if point.key == first.keys[0]]
    again.jobs(target, point, arrays)
    again.finish([Measurement(first.keys[0], {}, 9.0, "", processor_seconds=1.0)])
    assert store.find(PointRecord, first.keys)[first.keys[0]].processor_seconds == 20 + 30 + 1
