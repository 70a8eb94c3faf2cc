"""What auditors look for on each view of z, in words."""

from __future__ import annotations

RULES = {
    "bit-planes": "the bits of its codes",
    "interactions": "products of its columns, or of their bits",
    "patterns": "digits, hours or other waves along a column, rare values, or narrow axes",
    "digits": "digits or bits of its numbers as they are written",
    "orders": "the order of its columns by size",
    "distances": "how near other rows are",
    "narrow-axes": "columns that are nearly functions of others",
    "exact-axes": "columns that are weighted sums of others but for their last digits",
    "surfaces": "a column that is nearly a function of two others",
    "quantities": "ratios, products, angles or lengths of its columns",
    "plane-waves": "waves or remainders over several columns, or long parities",
    "localities": "shapes in the plane of two columns",
}
"""By view of z: where in z the information about s is, if only this view finds it."""

PLAIN_VIEWS = ("none", "standardised", "ranks", "reconstruction")
"""Views of z that change no more than its scale."""
