"""Representations that wait for their audit stay in their files."""

import dataclasses
import pickle
from pathlib import Path

import numpy as np
import pytest

from fairbench.errors import StoreError
from fairbench.runs.audit_job import AuditJob, StoredArrays
from fairbench.store import files


def a_job(arrays: StoredArrays) -> AuditJob:
    fields = dict.fromkeys(field.name for field in dataclasses.fields(AuditJob))
    return AuditJob(**fields | {"arrays": arrays})  # type: ignore[arg-type]


def test_a_job_reads_its_points_when_it_is_sent(tmp_path: Path) -> None:
    z = np.ones((4, 2), np.float32)
    arrays = {"0/z/test": z, "1/z/test": 2 * z, "1/bits/test": z, "10/z/test": 3 * z}
    job = a_job(StoredArrays(tmp_path, files.save(tmp_path, arrays)).of([1]))
    sent = pickle.loads(pickle.dumps(job))
    assert set(sent.arrays) == {"1/z/test"}
    np.testing.assert_array_equal(sent.arrays["1/z/test"], 2 * z)
    assert isinstance(job.arrays, StoredArrays), "what waits is as small as before"


def test_a_file_that_is_gone_is_said(tmp_path: Path) -> None:
    name = files.save(tmp_path, {"0/z/test": np.ones((4, 2))})
    job = a_job(StoredArrays(tmp_path, name))
    files.drop(tmp_path, name)
    with pytest.raises(StoreError, match="that are to be audited are gone"):
        pickle.dumps(job)
