"""A job of any kind."""

from __future__ import annotations

from fairbench.runs.audit_job import AuditJob, ReferenceJob
from fairbench.runs.fit_job import FitJob

Job = FitJob | AuditJob | ReferenceJob
