"""D_max: the distortion of a constant representation, by which areas are normalised."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from fairbench.api import Floats, Ints, Role


def largest_distortions(
    x: Mapping[Role, Floats], s: Mapping[Role, Ints], role: Role, *, groups: int
) -> npt.NDArray[np.float64]:
    """Return ||x - E[x|s]||^2 of each row of a role, ``(n,)``; their mean is D_max.

    Who knows s alone guesses the mean of the row's group on the auditor training set. ``x (n, d)``,
    ``s (n,)``: of that role and of the auditor training set.
    """
    train, known = x[Role.AUDITOR_TRAIN], s[Role.AUDITOR_TRAIN]
    errors = np.empty(len(s[role]))
    for group in range(groups):
        rows = s[role] == group
        errors[rows] = ((x[role][rows] - train[known == group].mean(axis=0)) ** 2).sum(axis=1)
    return errors
