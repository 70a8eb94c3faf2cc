"""What was computed for arrays of rows that are asked for again and again."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Generic, TypeVar

import numpy as np

from fairbench.api.types import Floats

T = TypeVar("T")
_MAX_ROWS = 1_000_000
"""All that an audit looks at, in however many arrays: images are encoded a thousand at a time."""


class RowCache(Generic[T]):
    """Results of a function of rows, kept by the content of the array.

    Audits draw codes of the same people hundreds of times: a stochastic representation keeps here
    what does not depend on the draw. Results of at most a million rows are kept; then all are
    forgotten, and those of a larger array are not kept at all. They are of people, so copies and
    pickles of a cache are empty.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[tuple[int, ...], bytes], T] = {}
        self._rows = 0

    def of(self, x: Floats, function: Callable[[Floats], T]) -> T:
        """Return what the function gives for ``x``, from an earlier call if there was one."""
        key = x.shape, hashlib.sha256(np.ascontiguousarray(x).data).digest()
        if key not in self._known:
            if len(x) > _MAX_ROWS:
                return function(x)
            if self._rows + len(x) > _MAX_ROWS:
                self._known.clear()
                self._rows = 0
            self._known[key] = function(x)
            self._rows += len(x)
        return self._known[key]

    def __reduce__(self) -> tuple[type[RowCache[T]], tuple[()]]:
        return type(self), ()
