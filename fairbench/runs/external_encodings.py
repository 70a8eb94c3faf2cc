"""Auditing encodings of a dataset's rows, made by any tool, as points of a leaderboard are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fairbench.api import AUDIT_ROLES, Role
from fairbench.api.types import Progress
from fairbench.auditing.certificate import certify
from fairbench.auditing.config import AuditConfig
from fairbench.auditing.unseen_parts import with_unseen_parts
from fairbench.data.array_checks import check_matrix
from fairbench.data.precision import single_precision
from fairbench.data.prepared import Prepared
from fairbench.errors import DataError
from fairbench.metrics.certificate import CertificateBounds
from fairbench.registry import Registry
from fairbench.runs.audit_job import AuditJob, Measurement
from fairbench.runs.audits import audit_seed, point_metrics
from fairbench.runs.point_arrays import ArrayName, Kind
from fairbench.runs.shared_labels import SharedLabels


def measure_encodings(
    z: Any, data: Prepared, config: AuditConfig, registry: Registry, progress: Progress
) -> Measurement:
    """Audit the encodings of all rows of a dataset.

    How they were made is not known, so neither is whether the encoder was blind to s. Auditors of
    blind methods learn from soft labels, P(s|x), which say nothing of what an encoder took from s
    itself: so those of hard labels always run beside them. Distortion is that of a decoder that is
    fitted here.

    Parameters
    ----------
    z : array-like, shape (n,) or (n, k)
        Row i is of the person in row i of the dataset's table.

    Raises
    ------
    DataError
        z has another number of rows than the table, or holds what is no finite number; or the
        dataset has images.
    """
    if any(part.pixels is not None for part in data.roles.values()):
        raise DataError(
            f"{data.info.name} has images, whose rows are not numbered through.",
            "Write a plugin: docs/plugins.md.",
        )
    released = with_unseen_parts(check_matrix(z, "z"))
    encoded = single_precision(released)
    if len(encoded) != data.table_rows:
        raise DataError(
            f"z has {len(encoded):,} rows; {data.info.name} has {data.table_rows:,}.",
            f"Encode all rows, in their order: fairbench data export {data.info.name}",
        )
    arrays = {
        str(ArrayName(0, Kind.Z, role)): encoded[data.roles[role].numbers] for role in AUDIT_ROLES
    }
    job = AuditJob(
        id="encodings",
        title=f"audit encodings of {data.title}",
        estimate=0.0,
        data=data.audited(),
        keys=("encodings",),
        seed=audit_seed(0),
        numbers=(0,),
        arrays=arrays,
        config=replace(config, hard_labels=True),
        metrics=point_metrics(registry),
        soft=SharedLabels(data),
    )
    (measured,) = job.run(progress)
    # Of z as released: codes that single precision merges differ to whoever holds z.
    test = data.roles[Role.TEST]
    certificate = certify(
        released[data.roles[Role.AUDITOR_TRAIN].numbers],
        released[test.numbers],
        test.s,
        groups=len(data.info.groups),
    )
    certified = CertificateBounds().columns_of(certificate)
    return replace(measured, values={**measured.values, **certified})
