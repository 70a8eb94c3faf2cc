"""Presets and hyperparameters of audits: ``strict`` by default, ``quick`` for a first look."""

from __future__ import annotations

import enum
from dataclasses import asdict, dataclass, replace

DECODED_DECIMALS = 3
"""Of reconstructions. Distortion is that of the rounded ones, which auditors see: nothing can be
hidden in further digits. The last bits depend on the rest of a batch: trees would split on them."""
MAX_COLUMNS = 512
"""Columns beyond which trees, neighbours and interactions take minutes. Auditors see the principal
axes of wider reconstructions."""
FAST_ROUNDS = 60
"""Boosting rounds that, at twice the usual rate, read nearly what 200 do at half the cost."""


class AuditPreset(enum.StrEnum):
    """Audit presets; rows of different presets are never ranked together."""

    STRICT = "strict"
    """The whole ensemble at full length."""
    QUICK = "quick"
    """One MLP and one kind of trees, five epochs, 10,000 rows of each role: a first look,
    recorded as such."""


class Member(enum.StrEnum):
    """Auditors of the strict ensemble; each is reported apart for every view it is fitted on."""

    PRIOR = "prior"
    """The class prior, whatever z is: an estimate of 0. Always there, as the fallback."""
    MLP = "mlp"
    """An ensemble of MLPs, trained as a stack."""
    SOFT_MLP = "soft-mlp"
    """The same, fitted to soft labels, P(s | x), where they are known."""
    BOOSTED_TREES = "boosted-trees"
    """Histogram gradient boosting."""
    SOFT_TREES = "soft-trees"
    """Gradient boosting fitted to soft labels."""
    LOGISTIC = "logistic"
    """Multinomial logistic regression; its L2 strength is chosen on held-out rows."""
    KNN = "knn"
    """Smoothed votes of the nearest neighbours."""
    COUNTING = "counting"
    """Shares of the groups in each cell of a code, shrunk towards the prior."""
    SOFT_COUNTING = "soft-counting"
    """The same, shrunk towards the mean of the soft labels in the cell."""
    COLUMN_COUNTS = "column-counts"
    """Shares of the groups at each value of the best column, of small tables; always fitted."""
    BLEND = "blend"
    """A log-linear pool of all others; its weights are fitted on held-out rows."""


@dataclass(frozen=True)
class AuditConfig:
    """Settings of an audit; part of every job key."""

    preset: AuditPreset = AuditPreset.STRICT
    # Most rows of each role that an audit looks at, the same ones for all points; None: all
    rows: int | None = None
    # The paper's MLPs: two layers of 256, five of them, and the mean of their readings. All MLPs
    # train with a learning rate that rises to its peak and falls to 0 over all epochs; the best
    # epoch on held-out rows is kept.
    mlps: int = 5
    epochs: int = 8
    batch_size: int = 512
    learning_rate: float = 1e-2  # of Adam, at its peak
    hidden: tuple[int, ...] = (256, 256)
    # The same of the strict ensemble's MLPs, whose predictions are averaged. The refitted
    # decoder's has twice the epochs and the rate.
    strict_mlps: int = 2
    strict_epochs: int = 12
    strict_batch_size: int = 256
    strict_learning_rate: float = 1e-2
    strict_hidden: tuple[int, ...] = (128, 128)
    weight_decay: float = 1e-4
    trees: int = 200  # most boosting rounds; of tasks and sample sizes fewer
    tree_patience: int = 9  # boosting rounds without progress on held-out rows before it stops
    # The auditors that run, the prior aside. (That of small tables runs beside counting.)
    members: tuple[Member, ...] = tuple(one for one in Member if one is not Member.COLUMN_COUNTS)
    # Classifiers in common use that predict y
    downstream: tuple[Member, ...] = (Member.MLP, Member.BOOSTED_TREES, Member.LOGISTIC)
    # Whether boosted trees also learn s itself where soft labels are known
    hard_labels: bool = True
    # Where soft labels are known: whether MLPs see all views, or z on a common scale alone
    mlps_of_all_views: bool = True
    # Whether products of columns are screened and given to trees and logistic regression
    interactions: bool = True
    decoder_mlps: int = 3  # MLPs averaged by the refitted decoder

    def with_fast_trees(self) -> AuditConfig:
        """The same with few boosting rounds, where trees need not read the last bit."""
        return replace(self, trees=min(FAST_ROUNDS, self.trees))

    def as_dict(self) -> dict[str, object]:
        """Plain values, for keys and records."""
        return {
            **asdict(self),
            "preset": self.preset.value,
            "hidden": list(self.hidden),
            "strict_hidden": list(self.strict_hidden),
            "members": [member.value for member in self.members],
            "downstream": [member.value for member in self.downstream],
        }


PRESETS = {
    AuditPreset.STRICT: AuditConfig(),
    AuditPreset.QUICK: AuditConfig(
        preset=AuditPreset.QUICK,
        rows=10_000,
        mlps=1,
        epochs=5,
        strict_mlps=1,
        strict_epochs=5,
        trees=20,
        members=(Member.MLP, Member.SOFT_MLP, Member.BOOSTED_TREES, Member.SOFT_TREES),
        downstream=(Member.BOOSTED_TREES,),
        hard_labels=False,
        mlps_of_all_views=False,
        interactions=False,
        decoder_mlps=1,
    ),
}
"""Settings by preset."""
