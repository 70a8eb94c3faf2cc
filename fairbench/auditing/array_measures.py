"""Measure checked arrays: auditors, certificate, distortion, usefulness for tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict

import numpy as np
import torch

from fairbench.api import Floats, Ints, Role
from fairbench.api.metric import Prediction
from fairbench.auditing.array_checks import CheckedArrays
from fairbench.auditing.auditors.samples import index_equal_rows
from fairbench.auditing.certificate import certify
from fairbench.auditing.config import MAX_COLUMNS, PRESETS, AuditConfig, AuditPreset
from fairbench.auditing.decoder import RefittedDecoder, refit_decoder
from fairbench.auditing.ensemble import audit
from fairbench.auditing.largest_distortion import largest_distortions
from fairbench.auditing.members import split_auditor_rows
from fairbench.auditing.report import Accuracy, AuditReport, Usefulness
from fairbench.auditing.sample import AuditSample
from fairbench.auditing.tasks import classify_task
from fairbench.data.precision import single_precision
from fairbench.data.preprocessing import mean_and_scale
from fairbench.data.repeated_rows import seem_repeated
from fairbench.metrics import gaps
from fairbench.stats.scores import accuracy, auc, balanced_accuracy, entropy, interval
from fairbench.stats.seeds import derive_seed

_LARGEST = 1e30
"""Larger numbers are made smaller, so that auditors can square them in single precision."""
RESAMPLES = 1000
"""Bootstrap resamples of the test rows behind the confidence interval of I."""

ByRole = Mapping[Role, np.ndarray]


def measure(
    checked: CheckedArrays, *, preset: AuditPreset, progress: Callable[[str], None]
) -> AuditReport:
    """Run every audit of arrays; ``progress`` is called with the name of each step."""
    config, seed, count = PRESETS[preset], checked.seed, len(checked.groups)
    seed_of_s = derive_seed("arrays", seed)
    with _one_thread():
        wide = preset is AuditPreset.STRICT
        sample = sample_of(checked, wide=wide)
        original = None if checked.x is None else _standardised(_by_role(checked.x, checked.rows))
        refitted = None
        if original is not None:
            progress("fitting a decoder of x")
            refitted = _refit(sample, original, config, seed)
        progress("auditing z")
        view = None if refitted is None else refitted.reconstruction
        result = audit(sample, config=config, seed=seed_of_s, reconstruction=view, wide=wide)
        low, high = interval(result.strict.test, resamples=RESAMPLES)
        for other in result.untrusted:
            # No auditor is clearly better than the prior, but I(Z;S) may still be above 0.
            high = max(high, interval(other.test, resamples=RESAMPLES)[1])
        a_y = {}
        for task, labels in checked.tasks.items():
            progress(f"downstream classifiers of {task}")
            a_y[task] = _usefulness(sample, _by_role(labels, checked.rows), config, seed)
        d = d_max = i_max = None
        if original is not None and refitted is not None:
            progress("auditing x itself")
            everything = sample.seen_as(original)
            reference = audit(everything, config=config, seed=seed_of_s, wide=wide)
            i_max = float(reference.chosen.test_information)
            d = float(refitted.squared_errors[Role.TEST].mean())
            d_max = float(
                largest_distortions(original, sample.labels, Role.TEST, groups=count).mean()
            )
    everyone = np.concatenate(list(sample.labels.values()))
    return AuditReport(
        audit=config.preset.value,
        seed=seed,
        rows={role.value: len(where) for role, where in checked.rows.items()},
        columns=checked.columns,
        groups=dict(
            zip(checked.groups, np.bincount(everyone, minlength=count).tolist(), strict=True)
        ),
        h_s=entropy(sample.labels[Role.TEST]),
        i=result.chosen.test_information,
        i_low=low,
        i_high=high,
        auditor=result.chosen.auditor,
        view=result.chosen.view,
        auditors=result.results,
        a_s=_accuracy(result.strict.test),
        a_y=a_y,
        d=d,
        d_max=d_max,
        i_max=i_max,
        # z as released: values that float32 merges differ to the holder of z.
        certificate=certify(
            checked.z[checked.rows[Role.AUDITOR_TRAIN]],
            checked.z[checked.rows[Role.TEST]],
            sample.labels[Role.TEST],
            groups=count,
        ),
        repeated=_share_repeated(checked),
        people=checked.people,
    )


def _share_repeated(checked: CheckedArrays) -> float | None:
    """Return the share of test rows whose z trains auditors too, where they seem to be one person.

    That is where equal rows of z have one s, and would not by chance. None elsewhere, and for codes
    that many rows share, of which nothing can be said.
    """
    used = np.concatenate(list(checked.rows.values()))
    _, code = index_equal_rows(checked.z[used])
    if not seem_repeated(code, checked.s[used]):
        return None
    counts = np.cumsum([len(rows) for rows in checked.rows.values()])[:-1]
    of_role = dict(zip(checked.rows, np.split(code, counts), strict=True))
    share = float(np.isin(of_role[Role.TEST], of_role[Role.AUDITOR_TRAIN]).mean())
    return share if share > 0 else None


def sample_of(checked: CheckedArrays, *, wide: bool) -> AuditSample:
    """Return z and s as auditors see them, in a wide search or not."""
    z = _in_detail(checked.z) if wide else single_precision(checked.z)
    released = _by_role(z, checked.rows)
    return AuditSample(released, _by_role(checked.s, checked.rows), len(checked.groups))


def _in_detail(z: np.ndarray) -> np.ndarray:
    """Return z in double precision, where it needs that and has no more columns than trees take.

    A digit of a number, or a ratio of two, must be that of the number as released. Constant columns
    and copies must not make z too wide for trees.
    """
    if z.shape[1] > MAX_COLUMNS:
        z = z[:, np.sort(index_equal_rows(z.T)[0])]
        varies = np.ptp(z, axis=0) > 0
        z = z[:, varies] if varies.any() else z[:, :1]
    narrow, wide = single_precision(z), z.astype(np.float64)
    if z.shape[1] > MAX_COLUMNS or np.array_equal(wide, narrow):
        return narrow
    far = np.flatnonzero(np.abs(wide).max(axis=0) > _LARGEST)
    if wide.shape[1] + len(far) > MAX_COLUMNS:
        wide[:, far] = narrow[:, far]
        return wide
    return np.column_stack([*map(_within_reach, wide.T), *(_scaled(wide[:, k]) for k in far)])


def _within_reach(column: np.ndarray) -> np.ndarray:
    """Return a column whose huge numbers are smaller, in their order; others keep their digits."""
    huge = np.abs(column) > _LARGEST
    sizes, ranks = np.unique(np.abs(column[huge]), return_inverse=True)
    moved = column.copy()
    moved[huge] = np.sign(column[huge]) * _LARGEST * (1 + (1 + ranks) / (1 + len(sizes)))
    return moved


def _scaled(column: np.ndarray) -> np.ndarray:
    """Return a column of huge numbers scaled to at most 1 by a power of two: they keep all bits."""
    return np.asarray(np.ldexp(column, -np.frexp(np.abs(column).max())[1]))


@contextmanager
def _one_thread() -> Iterator[None]:
    """Use one thread of torch: networks as small as these only wait for a second one.

    Trees and linear auditors keep the settings of OpenMP and BLAS, all cores by default.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _by_role(array: np.ndarray, rows: Mapping[Role, Ints]) -> dict[Role, np.ndarray]:
    return {role: array[where] for role, where in rows.items()}


def _standardised(x: ByRole) -> dict[Role, Floats]:
    """Scale columns to mean 0 and variance 1 on the auditor training set."""
    train = x[Role.AUDITOR_TRAIN]
    names = [f"column {number} of x" for number in range(1, train.shape[1] + 1)]
    mean, scale = mean_and_scale(train, names)
    return {role: ((rows - mean) / scale).astype(np.float32) for role, rows in x.items()}


def _refit(
    sample: AuditSample, x: Mapping[Role, Floats], config: AuditConfig, seed: int
) -> RefittedDecoder:
    held_out = split_auditor_rows(len(x[Role.AUDITOR_TRAIN]), derive_seed("arrays", seed))
    seed = derive_seed("arrays-decoder", seed)
    return refit_decoder(sample, x, held_out, config=config, seed=seed)


def _usefulness(
    sample: AuditSample, labels: Mapping[Role, Ints], config: AuditConfig, seed: int
) -> Usefulness:
    """Measure A_y of one task by the downstream classifiers of the leaderboards."""
    seed = derive_seed("arrays-task", seed)
    result = classify_task(sample.z, labels, config=config, seed=seed)
    own = asdict(_accuracy(result.strict.test))
    found = gaps.gaps_of(result.strict.test, sample.labels[Role.TEST])
    return Usefulness(
        **own,
        demographic_parity_gap=found.parity,
        equalized_odds_gap=found.odds,
        equal_opportunity_gap=found.opportunity,
    )


def _accuracy(prediction: Prediction) -> Accuracy:
    counts = np.bincount(prediction.labels)
    return Accuracy(
        accuracy=accuracy(prediction),
        balanced=balanced_accuracy(prediction),
        auc=auc(prediction),
        majority=float(counts.max() / counts.sum()),
    )
