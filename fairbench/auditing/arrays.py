"""Audit arrays of a user: how much a released representation reveals of a sensitive attribute.

Only auditors are trained. Rows are split into an auditor training, a validation and a test set, and
the auditors are those that rank the leaderboards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fairbench.api import Floats, Ints, Role
from fairbench.api.metric import Prediction
from fairbench.auditing.config import PRESETS, Audit, AuditConfig
from fairbench.auditing.report import Accuracy, AuditReport, Usefulness
from fairbench.data import arrays
from fairbench.data.preprocessing import mean_and_scale
from fairbench.data.roles import deal
from fairbench.errors import ConfigError, DataError
from fairbench.metrics import gaps
from fairbench.stats.scores import accuracy, auc, balanced_accuracy, entropy, interval
from fairbench.stats.seeds import derive_seed

if TYPE_CHECKING:
    from fairbench.auditing.auditors.views import View
    from fairbench.auditing.decoder import RefittedDecoder
    from fairbench.auditing.ensemble import EnsembleAudit

SHARES = {Role.AUDITOR_TRAIN: 0.5, Role.VALIDATION: 0.2, Role.TEST: 0.3}
"""Shares of the rows where no roles are checked."""

LEAST_ROWS = {Role.AUDITOR_TRAIN: 10, Role.VALIDATION: 2, Role.TEST: 2}
"""Fewest rows of a group, or of a class, in each role."""

RESAMPLES = 1000
"""Bootstrap resamples of the test rows behind the confidence interval of I."""

ByRole = Mapping[Role, np.ndarray]


def audit(
    z: Any,
    s: Any,
    *,
    y: Any = None,
    x: Any = None,
    roles: Any = None,
    seed: int = 0,
    quick: bool = False,
    progress: Callable[[str], None] = lambda step: None,
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
    seed : int
        Seed of the split and of all auditors. The same seed and arrays give the same report.
    quick : bool
        A light audit, for a first look: one MLP and small boosted trees.
    progress : callable
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

    Examples
    --------
    >>> report = fairbench.audit(z, s)  # doctest: +SKIP
    >>> report.i, report.i_low, report.i_high  # doctest: +SKIP
    """
    from fairbench.auditing.certificate import certify

    config = PRESETS[Audit.QUICK if quick else Audit.STRICT]
    checked = _check_arrays(z, s, y, x, roles, seed)
    count = len(checked.groups)
    with _threads():
        released = _by_role(arrays.single_precision(checked.z), checked.rows)
        codes = _by_role(checked.s, checked.rows)
        original = None if checked.x is None else _standardised(_by_role(checked.x, checked.rows))
        refitted = None
        if original is not None:
            progress("fitting a decoder of x")
            refitted = _refit(released, codes, original, count, config, seed)
        progress("auditing z")
        view = None if refitted is None else refitted.reconstruction
        result = _audit(released, codes, count, config, seed, view)
        low, high = interval(result.prediction, resamples=RESAMPLES)
        a_y = {}
        for task, labels in checked.tasks.items():
            progress(f"downstream classifiers of {task}")
            a_y[task] = _usefulness(released, codes, _by_role(labels, checked.rows), config, seed)
        d = d_max = i_max = None
        if original is not None and refitted is not None:
            progress("auditing x itself")
            reference = _audit(original, codes, count, config, seed)
            i_max = float(reference.chosen.test_information)
            d = float(refitted.squares[Role.TEST].mean())
            d_max = largest_distortion(original, codes, count)
    sizes = np.bincount(np.concatenate(list(codes.values())), minlength=count)
    as_given = [checked.z[checked.rows[role]] for role in (Role.AUDITOR_TRAIN, Role.TEST)]
    return AuditReport(
        audit=config.preset.value,
        seed=seed,
        rows={role.value: len(where) for role, where in checked.rows.items()},
        columns=checked.z.shape[1],
        groups=dict(zip(checked.groups, sizes.tolist(), strict=True)),
        h_s=entropy(codes[Role.TEST]),
        i=result.chosen.test_information,
        i_low=low,
        i_high=high,
        auditor=result.chosen.auditor,
        view=result.chosen.view,
        auditors=result.results,
        a_s=_accuracy(result.prediction),
        a_y=a_y,
        d=d,
        d_max=d_max,
        i_max=i_max,
        # z as released: values that float32 merges differ to the holder of z.
        certificate=certify(as_given[0], as_given[1], codes[Role.TEST], groups=count),
    )


@dataclass(frozen=True)
class _CheckedArrays:
    """Checked arrays of n rows each, and the rows of each role."""

    z: np.ndarray
    s: Ints
    groups: tuple[str, ...]
    tasks: Mapping[str, Ints]
    x: np.ndarray | None
    rows: Mapping[Role, Ints]


def _check_arrays(z: Any, s: Any, y: Any, x: Any, roles: Any, seed: int) -> _CheckedArrays:
    if not 0 <= seed < 2**63:
        raise ConfigError(f"The seed {seed} is not a whole number of 0 or more.")
    released = arrays.matrix(z, "z")
    groups, codes = arrays.classes(s, "s")
    tasks = {} if y is None else arrays.tasks(y, "y")
    original = None if x is None else arrays.features(x, "x")
    lengths = {"z": len(released), "s": len(codes)}
    if tasks:
        lengths["y"] = len(next(iter(tasks.values()))[1])
    if original is not None:
        lengths["x"] = len(original)
    arrays.check_rows(lengths)
    rows = split(codes, seed) if roles is None else arrays.role_rows(roles, "roles", len(codes))
    _check_classes(codes, groups, rows, "group", "s")
    for task, (names, labels) in tasks.items():
        _check_classes(labels, names, rows, "class", task)
    labels_of = {task: labels for task, (_, labels) in tasks.items()}
    return _CheckedArrays(released, codes, groups, labels_of, original, rows)


def split(s: Ints, seed: int) -> dict[Role, Ints]:
    """Split rows by SHARES, stratified by s; return the sorted row numbers of each role."""
    rng = np.random.default_rng(derive_seed("roles", seed))
    parts = deal(np.arange(len(s)), s, list(SHARES.values()), rng)
    return {role: np.sort(part) for role, part in zip(SHARES, parts, strict=True)}


@contextmanager
def _threads() -> Iterator[None]:
    """Use one thread of torch: networks as small as these only wait for a second one.

    Trees and linear auditors keep the settings of OpenMP and BLAS, all cores by default.
    """
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _by_role(array: np.ndarray, rows: Mapping[Role, Ints]) -> dict[Role, np.ndarray]:
    return {role: array[where] for role, where in rows.items()}


def _check_classes(
    codes: Ints, names: tuple[str, ...], rows: Mapping[Role, Ints], kind: str, name: str
) -> None:
    """Raise DataError for a group or a class that has too few rows in a role."""
    for role, where in rows.items():
        counts = np.bincount(codes[where], minlength=len(names))
        fewest = int(np.argmin(counts))
        if counts[fewest] < LEAST_ROWS[role]:
            total = int((codes == fewest).sum())
            raise DataError(
                f"The {kind} {names[fewest]!r} of {name} has {total:,} rows, {counts[fewest]} of "
                f"them in {role}, where {LEAST_ROWS[role]} are needed: merge it with another, or "
                "leave its rows out of all arrays."
            )


def _refit(
    z: ByRole, s: ByRole, x: ByRole, groups: int, config: AuditConfig, seed: int
) -> RefittedDecoder:
    # Imported here: it loads torch, which an error in the arrays need not wait for.
    from fairbench.auditing.decoder import refit_decoder
    from fairbench.auditing.members import sides

    return refit_decoder(
        z,
        s,
        x,
        sides(len(x[Role.AUDITOR_TRAIN]), derive_seed("arrays", seed)),
        groups=groups,
        config=config,
        seed=derive_seed("arrays-decoder", seed),
    )


def _audit(
    z: ByRole,
    s: ByRole,
    groups: int,
    config: AuditConfig,
    seed: int,
    reconstruction: View | None = None,
) -> EnsembleAudit:
    from fairbench.auditing.ensemble import audit as audit_by_ensemble

    return audit_by_ensemble(
        z,
        s,
        classes=groups,
        config=config,
        seed=derive_seed("arrays", seed),
        reconstruction=reconstruction,
    )


def _usefulness(z: ByRole, s: ByRole, labels: ByRole, config: AuditConfig, seed: int) -> Usefulness:
    """Measure A_y of one task by the downstream classifiers of the leaderboards."""
    from fairbench.auditing.tasks import classify_task

    result = classify_task(z, labels, config=config, seed=derive_seed("arrays-task", seed))
    own = asdict(_accuracy(result.prediction))
    parity, odds, opportunity = gaps.gaps_of(result.prediction, s[Role.TEST])
    return Usefulness(**own, gap_parity=parity, gap_odds=odds, gap_opportunity=opportunity)


def _accuracy(prediction: Prediction) -> Accuracy:
    counts = np.bincount(prediction.labels)
    return Accuracy(
        accuracy=accuracy(prediction),
        balanced=balanced_accuracy(prediction),
        auc=auc(prediction),
        majority=float(counts.max() / counts.sum()),
    )


def _standardised(x: ByRole) -> dict[Role, Floats]:
    """Scale columns to mean 0 and variance 1 on the auditor training set."""
    train = x[Role.AUDITOR_TRAIN]
    names = [f"column {number} of x" for number in range(1, train.shape[1] + 1)]
    mean, scale = mean_and_scale(train, names)
    return {role: ((rows - mean) / scale).astype(np.float32) for role, rows in x.items()}


def largest_distortion(x: ByRole, s: ByRole, groups: int) -> float:
    """Measure D_max: that of the groups' means on the auditor training set."""
    train, labels = x[Role.AUDITOR_TRAIN], s[Role.AUDITOR_TRAIN]
    means = np.stack([train[labels == group].mean(axis=0) for group in range(groups)])
    return float(((x[Role.TEST] - means[s[Role.TEST]]) ** 2).sum(axis=1).mean())
