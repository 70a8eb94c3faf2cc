"""What a method declares, as it was when it was first asked: code of its own could change it later.

Whether an encoder is given s, what audits learn of it, and among which rows it is ranked all depend
on the same values. So a job carries those of its plan with it.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

from fairbench.api import Coding, Track
from fairbench.api.method import Method
from fairbench.runs.plugin_values import ContractError


@dataclass(frozen=True)
class Declared:
    """Values of a method's class that say how it is run, audited and ranked."""

    name: str
    track: Track
    coding: Coding
    has_bits: bool

    @property
    def aware(self) -> bool:
        """Whether its encoder may be given s."""
        return self.track is Track.AWARE

    @property
    def stochastic(self) -> bool:
        """Whether its encoder draws z."""
        return self.coding is Coding.STOCHASTIC

    def check(self, method: Method) -> None:
        """Raise ContractError where a method declares other values by now."""
        for one in (method, type(method)):
            for name, declared in (("track", self.track), ("coding", self.coding)):
                now = getattr(one, name)
                if now != declared:
                    raise ContractError(
                        f"{self.name} was planned with {name} {declared.value}, and declares "
                        f"{getattr(now, 'value', now)!r} where it is run: a method cannot change "
                        "what it declares."
                    )


@functools.cache
def declared(method: type[Method]) -> Declared:
    """Return what a method's class declares; the same at every call in one process."""
    return Declared(method.name, method.track, method.coding, method.has_bits)
