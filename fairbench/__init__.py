"""fairbench: a benchmark suite for fair representation learning.

Nothing heavy is imported here; ``fairbench --help`` must answer within a second.
``fairbench.audit`` audits anyone's arrays (docs/audit.md); ``fairbench.FairRepresentation`` trains
a method on them, as a transformer of scikit-learn, and ``fairbench.leakage_scorer`` scores it by
what it leaks (docs/sklearn.md);
``fairbench.compare`` ranks results among those of a published board;
``fairbench.load_leaderboard`` reads a leaderboard's CSV as a typed frame.
"""

from typing import TYPE_CHECKING

from fairbench.versions import PACKAGE_VERSION

if TYPE_CHECKING:
    from fairbench.auditing.arrays import audit as audit
    from fairbench.auditing.report import AuditReport as AuditReport
    from fairbench.estimator.scoring import leakage_scorer as leakage_scorer
    from fairbench.estimator.transformer import FairRepresentation as FairRepresentation
    from fairbench.leaderboard.compare import compare as compare
    from fairbench.leaderboard.frames import load_leaderboard as load_leaderboard

__version__ = PACKAGE_VERSION

_LAZY = {
    "audit": "fairbench.auditing.arrays",
    "AuditReport": "fairbench.auditing.report",
    "FairRepresentation": "fairbench.estimator.transformer",
    "leakage_scorer": "fairbench.estimator.scoring",
    "compare": "fairbench.leaderboard.compare",
    "load_leaderboard": "fairbench.leaderboard.frames",
}


def __dir__() -> list[str]:
    return sorted([*_LAZY, "__version__", "__doc__"])


def __getattr__(name: str) -> object:
    """Load what is offered here when it is first used."""
    if name not in _LAZY:
        raise AttributeError(f"module 'fairbench' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_LAZY[name]), name)
