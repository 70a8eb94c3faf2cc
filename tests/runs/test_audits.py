"""Which audits a store lacks."""

from pathlib import Path

from fairbench.auditing.config import PRESETS, AuditPreset
from fairbench.data.prepared import Prepared
from fairbench.runs.audits import REFERENCE_FIGURES, AuditLedger
from fairbench.runs.executors.base import Failed
from fairbench.runs.plan import PlannedReference
from fairbench.store.database import Store
from fairbench.store.records import ReferenceRecord
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
