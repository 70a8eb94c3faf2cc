"""Views of z for a wide search: rules of kinds that the other views do not show."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
import numpy.typing as npt

from fairbench.api import Floats
from fairbench.auditing.auditors.blend import adds
from fairbench.auditing.auditors.interactions import find_products, product_columns
from fairbench.auditing.auditors.samples import Columns, LabelledRows, MemberRows
from fairbench.auditing.auditors.trees import Boosting, fit_trees
from fairbench.auditing.auditors.views import View, standardised
from fairbench.auditing.config import FAST_ROUNDS, MAX_COLUMNS
from fairbench.auditing.wide.digits import digits
from fairbench.auditing.wide.distances import distances
from fairbench.auditing.wide.exact_axes import exact_axes
from fairbench.auditing.wide.localities import local_means
from fairbench.auditing.wide.narrow_axes import narrow_axes
from fairbench.auditing.wide.orders import orders
from fairbench.auditing.wide.plane_waves import find_plane_waves
from fairbench.auditing.wide.screening import screened
from fairbench.auditing.wide.surfaces import surfaces

_PATIENCE = 9
_FEW_ROUNDS = 20
"""Of trees that say whether a view shows anything at all."""

WIDE = (
    "digits",
    "orders",
    "distances",
    "narrow-axes",
    "exact-axes",
    "surfaces",
    "quantities",
    "plane-waves",
    "localities",
)
"""Names of the views."""


def wide_views(
    rows: MemberRows, p: Floats, *, seed: int, names: Iterable[str] = WIDE
) -> Iterator[View]:
    """Fit the views, one by one, to rows of z as released; yield those that add to an auditor.

    ``rows``: of weight 1 each. ``p (held-out rows, classes)``: probabilities of that auditor.
    ``names``: the views to try.
    """
    z = rows.fit.x
    common = standardised(z).apply
    scaled = common(z)
    residual = _unexplained(rows, common, seed)
    if residual.shape[1] == 2:
        residual = residual[:, 1:]  # the other is its negative
    residual = residual - residual.mean(axis=0)

    def with_products(made: Columns | None) -> Columns | None:
        """Add products of two to four of the columns' signs."""
        if made is None:
            return None
        seen = rows.seen_through(made)
        products, signs = find_products(seen, residual.astype(np.float32), seed=seed)
        join = product_columns(products, signs)
        return lambda new: join(made(new))

    def of_scaled(made: Columns | None) -> Columns | None:
        # The rows themselves: none is to be its own neighbour.
        return None if made is None else lambda new: made(scaled if new is z else common(new))

    makers: dict[str, Callable[[], Columns | None]] = {
        "digits": lambda: with_products(digits(z)),
        "orders": lambda: with_products(orders(z)),
        "distances": lambda: of_scaled(distances(scaled)),
        "narrow-axes": lambda: of_scaled(narrow_axes(scaled)),
        "exact-axes": lambda: with_products(exact_axes(z)),
        "surfaces": lambda: of_scaled(surfaces(scaled)),
        "quantities": lambda: screened(z, common, residual),
        "plane-waves": lambda: find_plane_waves(z, common, residual),
        "localities": lambda: local_means(z, common, residual),
    }
    for name in names:
        columns = makers[name]()
        if columns is None:
            continue
        view = View(name, _beside(common, columns))
        seen = rows.seen_through(view.apply)
        trees = fit_trees(seen, Boosting(_FEW_ROUNDS, _FEW_ROUNDS, seed))
        if adds(trees(seen.held.x), p, rows.held, rows.prior):
            yield view


def _beside(common: Columns, columns: Columns) -> Columns:
    return lambda z: np.hstack([common(z), columns(z)])


def _unexplained(rows: MemberRows, common: Columns, seed: int) -> npt.NDArray[np.float64]:
    """Labels less what trees on other rows predict, ``(n, classes)``."""
    fit = rows.fit
    predicted = np.tile(rows.prior, (len(fit.labels), 1))
    x = common(fit.x)
    if x.shape[1] <= MAX_COLUMNS:
        half = np.random.default_rng(seed).permutation(len(fit.labels)) % 2 == 0
        held = rows.held.seen_through(common)
        for part in (half, ~half):
            mine = LabelledRows(x[part], fit.labels[part], fit.weights[part])
            trees = fit_trees(
                MemberRows(mine, held, rows.prior), Boosting(FAST_ROUNDS, _PATIENCE, seed)
            )
            predicted[~part] = trees(x[~part])
    return np.asarray(np.eye(rows.classes)[fit.labels] - predicted)
