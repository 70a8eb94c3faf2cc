"""Concept erasure beside LEACE: INLP and R-LACE, which are linear, and QLEACE, which sees s.

The objectives and departures of each stand in its module.
"""

from __future__ import annotations

from collections.abc import Sequence

from fairbench.api import Method
from fairbench.hookspecs import hookimpl
from fairbench_plugins.erasure.inlp import INLP
from fairbench_plugins.erasure.qleace import QLEACE
from fairbench_plugins.erasure.rlace import RLACE


@hookimpl
def register_methods() -> Sequence[type[Method]]:
    """INLP, R-LACE and QLEACE."""
    return [INLP, RLACE, QLEACE]
