"""The errors of commands that find nothing to show."""

from __future__ import annotations

from fairbench.errors import StoreError


def nothing_measured() -> StoreError:
    """Return the error of a results folder without any figures."""
    return StoreError(
        "Nothing has been measured yet.",
        "Run something first, for instance: fairbench run --methods sofair --dataset adults",
    )


def nothing_replicated(collection: str) -> StoreError:
    """Return the error of a collection without rows over several splits."""
    return StoreError(
        f"No rows are replicated on tables of {collection}.",
        "Replicated rows need --splits 5 when they are run.",
    )
