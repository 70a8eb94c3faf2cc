"""Presets and hyperparameters of audits: ``strict`` by default, ``quick`` for a first look."""

from __future__ import annotations

import enum
from dataclasses import asdict, dataclass

DECODED_DECIMALS = 3
"""Of reconstructions. Distortion is that of the rounded ones, which auditors see: nothing can be
hidden in further digits."""
DECODED_COLUMNS = 512
"""Columns of the reconstructions for all groups beyond which auditors see their principal axes."""


class Audit(enum.StrEnum):
    """Audit presets; rows of different presets are never ranked together."""

    STRICT = "strict"
    """The whole ensemble at full length."""
    QUICK = "quick"
    """One MLP and one kind of trees, five epochs: a first look, recorded as such."""


class Member(enum.StrEnum):
    """Auditors of the strict ensemble; each is reported apart for every view it is fitted on."""

    PRIOR = "prior"
    """The class prior, whatever z is: an estimate of 0. Always there, as the fallback."""
    MLP = "mlp"
    """An ensemble of MLPs, trained as a stack."""
    BOOSTED_TREES = "boosted-trees"
    """Histogram gradient boosting."""
    SOFT_TREES = "soft-trees"
    """Gradient boosting fitted to soft labels, P(s | x), where they are known."""
    LOGISTIC = "logistic"
    """Multinomial logistic regression; its L2 strength is chosen on held-out rows."""
    KNN = "knn"
    """Smoothed votes of the nearest neighbours."""
    COUNTING = "counting"
    """Shares of the groups in each cell of a code, shrunk towards the prior."""
    SOFT_COUNTING = "soft-counting"
    """The same, shrunk towards the mean of the soft labels in the cell."""
    BLEND = "blend"
    """A log-linear pool of all others; its weights are fitted on held-out rows."""


@dataclass(frozen=True)
class AuditConfig:
    """Settings of an audit; part of every job key."""

    preset: Audit = Audit.STRICT
    mlps: int = 5  # MLPs averaged by the paper's estimate, and by the strict ensemble's MLP member
    # epochs, patience: the paper's MLPs: most passes over the auditor training set; stop after
    # ``patience`` without progress on a held-out tenth of it. Boosting waits a multiple of
    # ``patience``.
    epochs: int = 20
    patience: int = 3
    batch_size: int = 512
    learning_rate: float = 1e-3  # of Adam
    hidden: tuple[int, ...] = (256, 256)  # the paper's two layers of 256
    # strict_epochs, strict_batch_size, strict_learning_rate, strict_hidden, weight_decay: the same
    # of the strict MLPs, whose learning rate rises to its peak and falls to 0 over all epochs; the
    # best epoch on held-out rows is kept. The refitted decoder's has twice the epochs and the rate.
    strict_epochs: int = 12
    strict_batch_size: int = 256
    strict_learning_rate: float = 1e-2
    strict_hidden: tuple[int, ...] = (128, 128)
    weight_decay: float = 1e-4
    trees: int = 200  # most boosting rounds
    members: tuple[Member, ...] = tuple(Member)  # the auditors that run, the prior aside
    # Whether boosted trees also learn s itself where soft labels are known
    hard_trees: bool = True
    # Whether products of columns are screened and given to trees and logistic regression
    interactions: bool = True
    # Whether auditors also see x as reconstructed from z, where x is given
    reconstruction: bool = True
    decoder_trees: bool = True  # whether the refitted decoder may be boosted trees, or an MLP alone

    def as_dict(self) -> dict[str, object]:
        """Plain values, for keys and records."""
        return {
            **asdict(self),
            "preset": self.preset.value,
            "hidden": list(self.hidden),
            "strict_hidden": list(self.strict_hidden),
            "members": [member.value for member in self.members],
        }


PRESETS = {
    Audit.STRICT: AuditConfig(),
    Audit.QUICK: AuditConfig(
        preset=Audit.QUICK,
        mlps=1,
        epochs=5,
        strict_epochs=5,
        trees=40,
        members=(Member.MLP, Member.BOOSTED_TREES, Member.SOFT_TREES),
        hard_trees=False,
        interactions=False,
        decoder_trees=False,
    ),
}
"""Settings by preset."""
