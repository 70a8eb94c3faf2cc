"""Soft labels are estimated by jobs, once for all that are sent later."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from fairbench.api import AUDIT_ROLES
from fairbench.auditing.config import PRESETS, AuditPreset
from fairbench.auditing.soft_labels import soft_labels
from fairbench.data.prepared import Prepared
from fairbench.runs import shared_labels
from fairbench.runs.audit_job import AuditJob, StoredArrays
from fairbench.runs.audits import AuditLedger, AuditTarget
from fairbench.runs.plan import PlannedReference
from fairbench.store import files
from fairbench.store.database import Store
from fairbench.store.records import ReadPoint


def jobs_of(
    folder: Path, data: Prepared, *, blind: bool = True
) -> tuple[AuditLedger, list[AuditJob]]:
    """A ledger, and its jobs of a unit with four points, each of which releases x."""
    ledger = AuditLedger(Store.in_folder(folder), (), retry=True)
    arrays = {
        f"{number}/z/{role}": data.roles[role].x for number in range(4) for role in AUDIT_ROLES
    }
    points = tuple(ReadPoint(f"p{number}", {}) for number in range(4))
    config = PRESETS[AuditPreset.QUICK]
    target = AuditTarget("u", "copy", 0, points, data, config, blind=blind, stochastic=False)
    stored = StoredArrays(folder, files.save(folder, arrays))
    jobs = ledger.jobs(target, ledger.missing(target), stored)
    assert len(jobs) > 1
    return ledger, [job for job in jobs if isinstance(job, AuditJob)]


def sent(job: AuditJob) -> AuditJob:
    """A job as its process has it."""
    received = pickle.loads(pickle.dumps(job))
    assert isinstance(received, AuditJob)
    return received


def no_progress(share: float, note: str) -> None:
    return None


def test_a_job_estimates_what_none_has_and_later_ones_are_sent_it(
    tmp_path: Path, prepared: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger, (first, *others) = jobs_of(tmp_path, prepared)
    before = len(pickle.dumps(others[0]))
    results = sent(first).run(no_progress)
    expected = soft_labels(prepared)
    assert expected is not None
    np.testing.assert_array_equal(results[0].estimated[prepared.fingerprint], expected)

    ledger.finish(results)
    later = sent(others[0])
    assert later.soft is not None
    assert later.soft.data is None  # no rows to estimate them from
    np.testing.assert_array_equal(later.soft.get(), expected)
    assert len(pickle.dumps(others[0])) < before

    monkeypatch.setattr(shared_labels, "soft_labels", lambda data: pytest.fail("estimated again"))
    assert later.run(no_progress)[0].estimated == {}


def test_the_driver_estimates_none(
    tmp_path: Path, prepared: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_labels, "soft_labels", lambda data: pytest.fail("estimated"))
    ledger, jobs = jobs_of(tmp_path, prepared)
    for job in jobs:
        sent(job)
    ledger.reference_job(PlannedReference(prepared, 0, PRESETS[AuditPreset.QUICK]), again=False)


def test_encoders_that_see_more_than_x_are_audited_without(
    tmp_path: Path, prepared: Prepared
) -> None:
    _, jobs = jobs_of(tmp_path, prepared, blind=False)
    assert all(job.soft is None for job in jobs)
