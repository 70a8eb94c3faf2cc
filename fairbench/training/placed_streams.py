"""Random numbers that are drawn into the same memory at every step of a training.

A step that is recorded or compiled reads from places: what differs from step to step is written
there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from itertools import islice
from typing import Any, Self

import torch
from torch import Tensor

from fairbench.training.streams import Streams


class PlacedStreams(Streams):
    """Streams that draw into the same memory at every step: what one step drew, the next draws."""

    def __init__(self, streams: Streams) -> None:
        self._streams = streams
        self.seeds, self.device = streams.seeds, streams.device
        self._places: dict[tuple[Any, ...], list[Tensor]] = {}
        self._given: Counter[Hashable] = Counter()

    def next_step(self) -> None:
        """Draw everything anew."""
        for key, places in self._places.items():
            for place in places:
                place.copy_(self._draw(key))
        self.given_anew()

    def given_anew(self) -> None:
        """Give the draws of this step once more, from the first."""
        self._given.clear()

    def places(self) -> list[Tensor]:
        """All places, in the order in which they were first drawn into."""
        return [place for places in self._places.values() for place in places]

    def going_on(self, places: Iterable[Tensor] | None = None) -> Self:
        """Return streams that go on in this step where these are, on their own.

        They share the places, or read ``places``, which stand in the order of :meth:`places`.
        """
        other = type(self)(self._streams)
        other._given, other._places = self._given.copy(), self._places
        if places is not None:
            rest = iter(places)
            other._places = {key: list(islice(rest, len(own))) for key, own in self._places.items()}
        return other

    def generators(self, use: str) -> list[torch.Generator]:
        return self._streams.generators(use)

    def indices(self, use: str, high: int, count: int) -> Tensor:
        return self._placed("indices", use, high, count)

    def uniform(self, use: str, *shape: int) -> Tensor:
        return self._placed("uniform", use, *shape)

    def normal(self, use: str, *shape: int) -> Tensor:
        return self._placed("normal", use, *shape)

    def _placed(self, *key: Any) -> Tensor:
        """Return the next draw of this kind in this step."""
        places, number = self._places.setdefault(key, []), self._given[key]
        self._given[key] += 1
        if number == len(places):
            places.append(self._draw(key).clone())
        return places[number]

    def _draw(self, key: tuple[Any, ...]) -> Tensor:
        kind, *arguments = key
        drawn: Tensor = getattr(self._streams, kind)(*arguments)
        return drawn
