"""What a run attempted and could not do."""

from __future__ import annotations

from dataclasses import dataclass

from fairbench.store.status import Status


@dataclass(frozen=True)
class Failure:
    """A unit or an audit that gave nothing.

    Parameters
    ----------
    unit : str, optional
        Key of the unit that was to be trained; None where it is something else.
    traceback : str, optional
        Where it was raised; None: it was not raised here, or the store has it.
    earlier_stands : bool
        Whether an earlier result stays in its place. Then the store has no word of this failure.
    """

    title: str
    status: Status
    error: str
    unit: str | None = None
    traceback: str | None = None
    earlier_stands: bool = False

    @property
    def line(self) -> str:
        """What a user is told of it."""
        return f"{self.status.value}: {self.title}: {self.error}"
