"""The built-in metrics; they are registered like any plugin's."""

from __future__ import annotations

from collections.abc import Sequence

from fairbench.api.metric import Metric
from fairbench.hookspecs import hookimpl
from fairbench.metrics.access import AddedInformation, InformationByAccess, NumberOfRows
from fairbench.metrics.aufdc import Aufdc, AufdcPaper
from fairbench.metrics.certificate import AufdcCertified, CertificateBounds
from fairbench.metrics.cost import Cost
from fairbench.metrics.gaps import GroupGaps
from fairbench.metrics.monotonicity import Monotonicity
from fairbench.metrics.operating import AccuracyAtAuditorLimit, AccuracyAtLeakage, TradeOff
from fairbench.metrics.pareto import Pareto
from fairbench.metrics.points import AuditorAccuracy, Distortion, Downstream, Information, Rate
from fairbench.metrics.shift import Shift, ShiftOfCurve
from fairbench.metrics.transfer import Transfer, TransferAtLeakage


@hookimpl
def register_metrics() -> Sequence[type[Metric]]:
    """Register point metrics, then curve metrics, in the order of their columns."""
    return [
        Distortion,
        Information,
        InformationByAccess,
        AddedInformation,
        NumberOfRows,
        AuditorAccuracy,
        Downstream,
        Transfer,
        GroupGaps,
        CertificateBounds,
        Rate,
        Shift,
        Aufdc,
        AufdcCertified,
        AufdcPaper,
        TradeOff,
        AccuracyAtLeakage,
        AccuracyAtAuditorLimit,
        TransferAtLeakage,
        ShiftOfCurve,
        Monotonicity,
        Pareto,
        Cost,
    ]
