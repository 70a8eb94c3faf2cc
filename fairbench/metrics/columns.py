"""The core's own columns of the CSV files and their meanings; metrics may not use their names."""

from __future__ import annotations

from fairbench.metrics.rows import (
    AcrossRow,
    AttainmentRow,
    LeaderboardRow,
    PointRow,
    describe_columns,
)

COLUMNS, PROVENANCE = describe_columns(LeaderboardRow)
"""Columns that a leaderboard starts and ends with; the metrics' own stand between them."""

POINT_COLUMNS, REFERENCE_COLUMNS = describe_columns(PointRow)
"""Columns that a table of points starts and ends with; the last are what areas are made of."""

ATTAINMENT_COLUMNS, _ = describe_columns(AttainmentRow)
"""Columns of a table of attainment surfaces."""

ACROSS_COLUMNS, _ = describe_columns(AcrossRow)
"""Columns of a verdict across tables."""

VACUOUS = "vacuous"
"""What tables show where an upper bound says nothing."""

RESERVED = frozenset({"rank", *COLUMNS, *PROVENANCE, *POINT_COLUMNS, *REFERENCE_COLUMNS})
"""Names that no metric may use; ``rank`` is what tables show of ``rank_low`` and ``rank_high``."""
