"""Audit arrays of a user: how much a released representation reveals of a sensitive attribute.

Only auditors are trained. Rows are split into an auditor training, a validation and a test set, and
the auditors are those that rank the leaderboards.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fairbench.auditing.array_checks import check_arrays
from fairbench.auditing.config import AuditPreset
from fairbench.auditing.report import AuditReport


def audit(
    z: Any,
    s: Any,
    *,
    y: Any = None,
    x: Any = None,
    roles: Any = None,
    people: Any = None,
    seed: int | None = None,
    quick: bool = False,
    progress: Callable[[str], None] | None = None,
) -> AuditReport:
    """Audit a representation: estimate the mutual information of z and the sensitive attribute s.

    All arrays may be numpy arrays, pandas objects, torch tensors or lists. Row i of each is the
    same person. Leave out rows that trained the encoder: it may reveal more, or less, of those than
    of held-out rows.

    Parameters
    ----------
    z : array, shape (n, k)
        The representation, as released: finite numbers.
    s : array, shape (n,)
        The sensitive attribute: names or whole numbers.
    y : array, shape (n,) or (n, tasks), optional
        Task labels: A_y measures how useful z is for them.
    x : array, shape (n, d), optional
        The input of the encoder, numbers or categories (columns of text): distortion and the
        ceiling I(X;S) are measured too.
    roles : array, shape (n,), optional
        ``train``, ``validation`` or ``test`` for each row, instead of a split of 50 / 20 / 30
        stratified by s; rows of ``encoder-train`` are left out.
    people : array, shape (n,), optional
        The person of each row, by any name or number, where people have several rows. All rows of a
        person then have one role, and one of them, drawn by chance, is validated or tested. Without
        it each row counts as a person.
    seed : int, optional
        Seed of the split and of all auditors: the same seed and arrays give the same report.
        Default: one is drawn, which the report names. Whoever makes z must not know it: they could
        try many z until the auditors of one split find little, and its certificate would be void.
    quick : bool
        A light audit, for a first look: one MLP and small boosted trees.
    progress : callable, optional
        Called with the name of each step as it begins.

    Returns
    -------
    AuditReport
        ``print`` it, read its fields, or take ``to_dict()``. Its figures of s do not depend on y;
        with x, auditors also predict x from z and look for s there, and may find more.

    Raises
    ------
    DataError
        An array cannot be used; the message names the array and the row, and what to do.
    ConfigError
        The seed is negative, or 2**63 or more.

    Examples
    --------
    >>> report = fairbench.audit(z, s)  # doctest: +SKIP
    >>> report.i, report.i_low, report.i_high  # doctest: +SKIP
    """
    checked = check_arrays(z, s, y, x, roles, people, seed)
    # Imported here: it loads torch, which an error in the arrays need not wait for.
    from fairbench.auditing.array_measures import measure

    preset = AuditPreset.QUICK if quick else AuditPreset.STRICT
    return measure(checked, preset=preset, progress=progress or (lambda step: None))
