"""At how many points of the published boards auditors would read more with more rows."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable

from board_rows import LEADERBOARDS, MISSING, read_table
from fairbench.metrics.rows import PointRow
from fairbench.report.format import format_count, format_share
from markdown_parts import make_paragraph

_READ, _EXTRAPOLATED, _FLAG = (
    "mutual_information",
    "mutual_information_extrapolated",
    "needs_more_rows",
)
_NATS, _SHARE = 0.01, 0.1
"""What an extrapolation that counts exceeds the reading by: nats, and a share of it."""


def format_more_rows() -> str:
    """Format how many points of all boards have the flag, and how many a large extrapolation."""
    boards = sorted(path.stem for path in LEADERBOARDS.glob("fairbench_boards/*.board"))
    return describe_more_rows([point for board in boards for point in read_table(board).points])


def describe_more_rows(points: Iterable[PointRow]) -> str:
    """Describe those of some points at which an extrapolation was measured."""
    known = [point for point in points if _is_extrapolated(point)]
    flagged = sum(point.figures[_FLAG] == 1 for point in known)
    above = [point for point in known if _excess(point) > max(_NATS, _SHARE * point.figures[_READ])]
    if not above:
        return make_paragraph(_count_flags(flagged, len(known)))
    by_dataset = Counter(point.dataset for point in above)
    shown = ", ".join(f"{count} on `{name}`" for name, count in by_dataset.most_common())
    largest = max(above, key=_excess)
    read, extrapolated = (format_share(largest.figures[name]) for name in (_READ, _EXTRAPOLATED))
    return make_paragraph(
        _count_flags(flagged, len(known)),
        f"Whatever the flag says, at {len(above)} of the {len(known):,} points the extrapolation",
        f"is above the reading by more than {format_share(_NATS)} nats and by more than a tenth:",
        f"{shown}. The largest difference is of",
        f"`{largest.method}` on `{largest.dataset}`: {read} is read, {extrapolated} extrapolated.",
        "The rank takes the reading.",
    )


def _count_flags(flagged: int, points: int) -> str:
    measured = format_count(points, "point")
    return (
        f"On the published boards `needs_more_rows` is measured at {measured}, at most three of a "
        f"curve, and is 1 at {flagged or MISSING}. At most of them an earlier, "
        "less exact rule set it."
    )


def _is_extrapolated(point: PointRow) -> bool:
    values = (point.figures.get(name) for name in (_FLAG, _EXTRAPOLATED))
    return all(value is not None and not math.isnan(value) for value in values)


def _excess(point: PointRow) -> float:
    return float(point.figures[_EXTRAPOLATED] - point.figures[_READ])
