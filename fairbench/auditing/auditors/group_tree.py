"""Boosted trees for more than two groups: nested splits of the groups, each with its own trees.

Boosting all groups at once stops when the rarest of them overfit, whatever is left to learn of the
others. A split of the groups into two sets is a binary problem, which stops at its own best round.
By the chain rule the probability of a group is the product along its path through the splits. The
order of the splits is chosen on held-out rows: for sex crossed with race, sex comes first where z
depends on sex but not on race.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from fairbench.api import Floats, Ints
from fairbench.auditing.auditors.recalibration import fit_recalibration, recalibrate
from fairbench.auditing.auditors.samples import LabelledRows, MemberRows, Weights
from fairbench.auditing.auditors.trees import Boosting, fit_trees

_MIN_ROWS = 20
"""Held-out rows below which a split predicts its class prior."""
_MIN_ROUNDS, _MAX_TREES = 20, 1000
"""Fewest boosting rounds of one group against all others, and most trees of all groups."""
_MAX_ROWS = 20_000
"""Rows to fit on that the order of the splits is found from: trees along it learn from all."""
_MAX_STARTS = 20
"""Single groups to start from when a split is looked for: those that z tells best."""
_TINY = 1e-9

Side = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class GroupSplit:
    """Two sets of groups, separated before those within each: a further split, or one group."""

    one: GroupSplit | int
    other: GroupSplit | int


def groups_of(node: GroupSplit | int) -> list[int]:
    """Return the groups below a split, in ascending order."""
    if isinstance(node, int):
        return [node]
    return sorted(groups_of(node.one) + groups_of(node.other))


def find_splits(training: MemberRows, boosting: Boosting) -> GroupSplit | int:
    """Find the splits whose two sides z separates best, from the top down.

    Trees separate each group from all others; sums of their probabilities predict any split.
    The best split is found by hill climbing from single groups, moving one group at a time.
    """
    training = training.thinned(_MAX_ROWS)
    groups = np.arange(training.classes)
    rounds = min(boosting.rounds, max(_MIN_ROUNDS, _MAX_TREES // training.classes))
    fit = _Fit(training, replace(boosting, rounds=rounds))
    scores = np.column_stack(
        [fit.side_classifier(groups == group, groups)(training.held.x) for group in groups]
    )
    return _divide(scores + _TINY, training.held, groups.tolist())


def fit_split_trees(
    training: MemberRows, splits: GroupSplit | int, boosting: Boosting
) -> Callable[[Floats], Floats]:
    """Fit trees to every split.

    Returns a callable that maps ``(n, d)`` to probabilities ``(n, classes)``.
    """
    paths = _paths(splits, _Fit(training, boosting))

    def classify(rows: Floats) -> Floats:
        out = np.empty((len(rows), training.classes), np.float32)
        for group, share in paths(rows).items():
            out[:, group] = share
        return out

    return classify


Shares = npt.NDArray[np.float32]
"""A probability per row, ``(n,)``."""


def _paths(node: GroupSplit | int, fit: _Fit) -> Callable[[Floats], dict[int, Shares]]:
    """Return the classifier of the groups below a node, given that the group is one of these."""
    if isinstance(node, int):
        return lambda rows: {node: np.ones(len(rows), np.float32)}
    groups = np.array(groups_of(node))
    side = np.isin(np.arange(fit.training.classes), groups_of(node.one))
    classify = fit.side_classifier(side, groups)
    one, other = _paths(node.one, fit), _paths(node.other, fit)

    def shares(rows: Floats) -> dict[int, Shares]:
        share = classify(rows)
        ones = {group: inner * share for group, inner in one(rows).items()}
        return ones | {group: inner * (1 - share) for group, inner in other(rows).items()}

    return shares


@dataclass(frozen=True)
class _Fit:
    """Fits trees to one split."""

    training: MemberRows
    boosting: Boosting

    def side_classifier(self, side: Side, groups: Ints) -> Callable[[Floats], Shares]:
        """Fit the calibrated probability of one side, among rows of some groups."""
        prior = self.training.prior
        share = float(prior[groups[side[groups]]].sum() / prior[groups].sum())
        shares = np.array([1 - share, share])
        fit, held = (_of(part, side, groups) for part in (self.training.fit, self.training.held))
        if held.total < _MIN_ROWS or len(np.unique(fit.labels)) < 2:
            return lambda rows: np.full(len(rows), share, np.float32)
        trees = fit_trees(MemberRows(fit, held, shares, self.training.draws), self.boosting)
        power, mixed = fit_recalibration(trees(held.x), held, shares)
        return lambda rows: recalibrate(trees(rows), shares, power, mixed)[:, 1]


def _of(sample: LabelledRows, side: Side, groups: Ints) -> LabelledRows:
    """Return the rows of some groups, labelled by their side."""
    kept = np.isin(sample.labels, groups)
    return LabelledRows(
        sample.x[kept], side[sample.labels[kept]].astype(np.int64), sample.weights[kept]
    )


def _divide(scores: Floats, held: LabelledRows, groups: list[int]) -> GroupSplit | int:
    if len(groups) == 1:
        return groups[0]
    kept = np.isin(held.labels, groups)
    one = _best_side(scores[kept], held.labels[kept], held.weights[kept], groups)
    other = [group for group in groups if group not in one]
    return GroupSplit(_divide(scores, held, one), _divide(scores, held, other))


def _best_side(scores: Floats, labels: Ints, weights: Weights, groups: list[int]) -> list[int]:
    """Return one side of the split with the largest gain; the first group without held-out rows."""
    if not len(labels):
        return groups[:1]
    mine = scores[:, groups] / scores[:, groups].sum(axis=1, keepdims=True)
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

    starts = np.eye(len(groups), dtype=bool)
    if len(groups) > _MAX_STARTS:  # the time to climb from all grows with the cube of the groups
        best = np.argsort([-gain(start) for start in starts], kind="stable")[:_MAX_STARTS]
        starts = starts[np.sort(best)]
    climbed = (_climb(start, gain) for start in starts)
    _, side = max(climbed, key=lambda reached: reached[0])
    return [group for group, inside in zip(groups, side, strict=True) if inside]


def _climb(side: Side, gain: Callable[[Side], float]) -> tuple[float, Side]:
    """Move one group at a time to the other side, the best first, while the gain rises."""
    reached = gain(side)
    while True:
        moves = [side ^ move for move in np.eye(len(side), dtype=bool)]
        moves = [move for move in moves if move.any() and not move.all()]
        gains = [gain(move) for move in moves]
        best = int(np.argmax(gains)) if gains else 0
        if not gains or gains[best] <= reached + _TINY:
            return reached, side
        reached, side = gains[best], moves[best]
