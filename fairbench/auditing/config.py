"""How hard representations are audited: ``strict`` by default, ``quick`` for a first look."""

from __future__ import annotations

import enum
from dataclasses import asdict, dataclass


class Audit(enum.StrEnum):
    """Audit presets; rows of different presets are never ranked together."""

    STRICT = "strict"
    """The whole family at full length."""
    QUICK = "quick"
    """One MLP and boosted trees, five epochs: a first look, recorded as such."""


@dataclass(frozen=True)
class AuditConfig:
    """Settings of an audit; part of every job key.

    Parameters
    ----------
    preset : Audit
    mlps : int
        MLPs averaged by the paper's estimate, and in the strict ensemble.
    epochs, patience : int
        At most so many passes over auditor-train; stop after ``patience`` without progress on a
        held-out tenth of it.
    batch_size : int
    learning_rate, weight_decay : float
        Of Adam; the paper's MLPs have no weight decay, the strict ones do.
    hidden : tuple of int
        The paper's two layers of 256.
    trees : int
        Most boosting rounds.
    logistic : bool
        Whether the linear auditor runs.
    decoder_trees : bool
        Whether the refitted decoder may be boosted trees, or an MLP alone.
    """

    preset: Audit = Audit.STRICT
    mlps: int = 5
    epochs: int = 20
    patience: int = 3
    batch_size: int = 512
    learning_rate: float = 1e-3
    weight_decay: float = 1e-4
    hidden: tuple[int, ...] = (256, 256)
    trees: int = 200
    logistic: bool = True
    decoder_trees: bool = True

    def as_dict(self) -> dict[str, object]:
        """Plain values, for keys and records."""
        return {**asdict(self), "preset": self.preset.value, "hidden": list(self.hidden)}


PRESETS = {
    Audit.STRICT: AuditConfig(),
    Audit.QUICK: AuditConfig(
        preset=Audit.QUICK, mlps=1, epochs=5, trees=40, logistic=False, decoder_trees=False
    ),
}
"""Settings by preset."""
