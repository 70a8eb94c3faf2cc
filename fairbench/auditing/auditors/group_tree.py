"""Trees for more than two groups: one split of the groups after another, each with its own trees.

Boosting all groups at once stops when the rarest of them overfit, whatever is left to learn of the
others. A split of the groups into two is a binary problem, which stops at its own best round. By
the chain rule the probability of a group is the product along its path through the splits. Which
groups to tell apart first is read off held-out rows: of sex crossed with race that is sex, where z
tells sex and not race.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fairbench.api import Floats, Ints
from fairbench.auditing.auditors.blend import calibrated, calibration
from fairbench.auditing.auditors.samples import LabelledRows, Training, Weights
from fairbench.auditing.auditors.trees import fit_trees

_LEAST_ROWS = 20
"""Held-out rows without which a split says what shares say."""
_LEAST_ROUNDS, _MOST_TREES = 20, 1000
"""Boosting rounds that groups are told from all others by, and trees of all groups together."""
_TINY = 1e-9

Side = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class GroupSplit:
    """Two sets of groups, which are told apart before the groups of each are.

    Parameters
    ----------
    one, other : GroupSplit or int
        More splits, or one group.
    """

    one: GroupSplit | int
    other: GroupSplit | int


def groups_of(node: GroupSplit | int) -> list[int]:
    """The groups below a split, in ascending order."""
    if isinstance(node, int):
        return [node]
    return sorted(groups_of(node.one) + groups_of(node.other))


def find_splits(training: Training, *, rounds: int, patience: int, seed: int) -> GroupSplit | int:
    """The splits whose sides z tells apart best, from the top down.

    Deep trees tell each group from all others; sums of their probabilities tell how much is known
    of any split. Splits are climbed to from each single group, by moving one group at a time.
    """
    groups = np.arange(training.classes)
    rounds = min(rounds, max(_LEAST_ROUNDS, _MOST_TREES // training.classes))
    fit = _Fit(training, rounds, patience, seed, deep=True)
    says = np.column_stack([fit.tell(groups == group, groups)(training.held.x) for group in groups])
    return _divide(says + _TINY, training.held, groups.tolist())


def fit_split_trees(
    training: Training,
    splits: GroupSplit | int,
    *,
    rounds: int,
    patience: int,
    seed: int,
    deep: bool,
) -> Callable[[Floats], Floats]:
    """Fit trees to every split.

    Returns
    -------
    callable
        Maps ``(n, d)`` to probabilities ``(n, classes)``.
    """
    fit = _Fit(training, rounds, patience, seed, deep)
    paths = _paths(splits, fit)

    def classify(rows: Floats) -> Floats:
        out = np.empty((len(rows), training.classes), np.float32)
        for group, share in paths(rows).items():
            out[:, group] = share
        return out

    return classify


Shares = npt.NDArray[np.float32]
"""Of each row, ``(n,)``."""


def _paths(node: GroupSplit | int, fit: _Fit) -> Callable[[Floats], dict[int, Shares]]:
    """The probability of each group below a node, given that it is one of these."""
    if isinstance(node, int):
        return lambda rows: {node: np.ones(len(rows), np.float32)}
    groups = np.array(groups_of(node))
    side = np.isin(np.arange(fit.training.classes), groups_of(node.one))
    tell, one, other = fit.tell(side, groups), _paths(node.one, fit), _paths(node.other, fit)

    def given(rows: Floats) -> dict[int, Shares]:
        share = tell(rows)
        ones = {group: found * share for group, found in one(rows).items()}
        return ones | {group: found * (1 - share) for group, found in other(rows).items()}

    return given


@dataclass(frozen=True)
class _Fit:
    """Fits trees to a split."""

    training: Training
    rounds: int
    patience: int
    seed: int
    deep: bool

    def tell(self, side: Side, groups: Ints) -> Callable[[Floats], Shares]:
        """Calibrated probability of a side of some groups."""
        prior = self.training.prior
        share = float(prior[groups[side[groups]]].sum() / prior[groups].sum())
        shares = np.array([1 - share, share])
        fit, held = (_of(part, side, groups) for part in (self.training.fit, self.training.held))
        if held.total < _LEAST_ROWS or len(np.unique(fit.labels)) < 2:
            return lambda rows: np.full(len(rows), share, np.float32)
        trees = fit_trees(
            Training(fit, held, shares, self.training.draws),
            rounds=self.rounds,
            patience=self.patience,
            seed=self.seed,
            deep=self.deep,
        )
        power, mixed = calibration(trees(held.x), held, shares)
        return lambda rows: calibrated(trees(rows), shares, power, mixed)[:, 1]


def _of(sample: LabelledRows, side: Side, groups: Ints) -> LabelledRows:
    """Rows of some groups, labelled by the side they are on."""
    kept = np.isin(sample.labels, groups)
    return LabelledRows(
        sample.x[kept], side[sample.labels[kept]].astype(np.int64), sample.weights[kept]
    )


def _divide(says: Floats, held: LabelledRows, groups: list[int]) -> GroupSplit | int:
    if len(groups) == 1:
        return groups[0]
    kept = np.isin(held.labels, groups)
    one = _best_side(says[kept], held.labels[kept], held.weights[kept], groups)
    other = [group for group in groups if group not in one]
    return GroupSplit(_divide(says, held, one), _divide(says, held, other))


def _best_side(says: Floats, labels: Ints, weights: Weights, groups: list[int]) -> list[int]:
    """The groups of one side of the split that is known best; the first, if nothing is."""
    if not len(labels):
        return groups[:1]
    mine = says[:, groups] / says[:, groups].sum(axis=1, keepdims=True)
    place = np.searchsorted(groups, labels)

    def gain(side: Side) -> float:
        """Information of the split on held-out rows, nats."""
        inside = side[place]
        p = np.clip(mine[:, side].sum(axis=1), 1e-6, 1 - 1e-6)
        share = float(np.average(inside, weights=weights))
        if not 0 < share < 1:
            return -np.inf
        entropy = -share * np.log(share) - (1 - share) * np.log(1 - share)
        loss = -np.average(np.log(np.where(inside, p, 1 - p)), weights=weights)
        return float(entropy - loss)

    climbed = (_climb(start, gain) for start in np.eye(len(groups), dtype=bool))
    _, side = max(climbed, key=lambda found: found[0])
    return [group for group, inside in zip(groups, side, strict=True) if inside]


def _climb(side: Side, gain: Callable[[Side], float]) -> tuple[float, Side]:
    """Move one group at a time to the other side, the best first, while the split gains by it."""
    reached = gain(side)
    while True:
        moves = [side ^ move for move in np.eye(len(side), dtype=bool)]
        moves = [move for move in moves if move.any() and not move.all()]
        gains = [gain(move) for move in moves]
        best = int(np.argmax(gains)) if gains else 0
        if not gains or gains[best] <= reached + _TINY:
            return reached, side
        reached, side = gains[best], moves[best]
