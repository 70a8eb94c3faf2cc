"""The bits of a stored model: their disparity, and what is released as the knob allows more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from fairbench.api import Access, DatasetInfo, Floats, Ints, Role, Shots
from fairbench.errors import StoreError
from fairbench.models.lookup import StoredModel
from fairbench.models.query import ModelQuery
from fairbench.models.results import StoredResults
from fairbench.models.select import select_unit, stored_method
from fairbench.runs.audit_rows import AuditRows
from fairbench.runs.packed_bits import unpack_bits
from fairbench.runs.point_arrays import BIT_PARTS, Kind, PointArrays
from fairbench.store.records import UnitRecord

Bits = npt.NDArray[np.int8]
"""``(n, k, bits)``: 0, 1, or -1 where masked."""

_MAX_FEATURES = 3
"""Features that a sentence names."""

_MIN_CORRELATION = 0.1
"""Correlation below which a sentence does not name a feature."""

_MIN_BITS = 0.005
"""Bits per row below which a step is said to release none."""

_EXAMPLE = "Explain a single-shot method with bits, such as sofair."


@dataclass(frozen=True)
class BitTable:
    """The bits of one point of a curve.

    Parameters
    ----------
    label : str
        Setting of the knobs.
    kept : ndarray, shape (k, bits)
        Share of test rows at which the bit is released.
    ones : ndarray, shape (k, bits)
        Share of test rows at which it is released and 1.
    disparity : ndarray, shape (k, bits)
        ``max_s |P(b=1 | S=s) - P(b=1 | S!=s)|``, a masked bit counting as 0 (section 5 of the
        paper): the demographic disparity of a classifier that returns the bit.
    """

    label: str
    kept: npt.NDArray[np.float64]
    ones: npt.NDArray[np.float64]
    disparity: npt.NDArray[np.float64]


@dataclass(frozen=True)
class Step:
    """The gain of a code from one setting of the knob to the next, looser one.

    Parameters
    ----------
    before, after : str
        The two settings.
    bits : float
        Mean number of newly released bits per row.
    correlation : mapping of str to float
        Of each column of the raw table with the first principal component of the newly released
        bits, absolute; of the one-hot columns of a category the largest.
    """

    before: str
    after: str
    bits: float
    correlation: Mapping[str, float]

    def sentence(self, i_before: float | None, i_after: float | None) -> str:
        """Describe the step, with I(Z;S) in nats at both points where they were audited."""
        order = sorted(self.correlation, key=lambda name: -self.correlation[name])
        named = [n for n in order[:_MAX_FEATURES] if self.correlation[n] >= _MIN_CORRELATION]
        released = self.bits >= _MIN_BITS
        gained = f"{self.bits:.2f} more bits per row" if released else "hardly any more bits"
        what = ", ".join(f"{name} ({self.correlation[name]:.2f})" for name in named)
        correlated = f"; they correlate with {what}" if named and released else ""
        leak = ""
        if i_before is not None and i_after is not None:
            # + 0: no minus before zero.
            before, after = (f"{round(i, 3) + 0:.3f}" for i in (i_before, i_after))
            goes = f"stays at {after}" if before == after else f"goes from {before} to {after}"
            leak = f" I(Z;S) {goes} nats (access: {Access.DECODER})."
        return f"From {self.before} to {self.after}: {gained}{correlated}.{leak}"


@dataclass(frozen=True)
class BitExplanation:
    """The bits of a single-shot model at its points, the tightest first, and the steps between.

    Of images there are no steps.
    """

    tables: tuple[BitTable, ...]
    steps: tuple[Step, ...]


def find_explained_model(query: ModelQuery, results: StoredResults) -> StoredModel:
    """Find a stored model that holds a whole curve of bits.

    Raises
    ------
    ConfigError, StoreError, UnknownNameError
        There is no such model, its method has no bits, or is multi-shot.
    """
    registry = results.registry
    if query.unit is None and query.method is not None:
        method = stored_method(query.method, results.fitted_units(), registry)
        if not registry.methods[method].has_bits:
            raise _no_bits(method)
        if registry.methods[method].shots is not Shots.SINGLE:
            raise _no_curve(method)

    def has_curve_of_bits(unit: UnitRecord) -> bool:
        method = registry.methods.classes.get(unit.method)
        return unit.point is None and method is not None and method.has_bits

    unit = select_unit(query, results, lists=has_curve_of_bits, which="here with bits")
    model = StoredModel(unit, results)
    # A method that is no longer installed may have stored bits.
    if model.method is not None and not model.method.has_bits:
        raise _no_bits(model.unit.method)
    if model.unit.point is not None:
        raise _no_curve(model.unit.method)
    return model


def _no_bits(method: str) -> StoreError:
    return StoreError(f"The code of {method} is not made of bits.", _EXAMPLE)


def _no_curve(method: str) -> StoreError:
    return StoreError(
        f"Each point of {method} is a model of its own: no bit of one extends another's.",
        _EXAMPLE,
    )


def explain_bits(model: StoredModel) -> BitExplanation:
    """Explain the bits of a stored model on the test set.

    Raises
    ------
    FairbenchError
        Its representations hold no bits or are gone, or the data are not available.
    """
    info = model.data.info
    arrays = model.load_representations()
    if arrays is None:
        raise StoreError(
            f"The representations of {model.unit.method} are not in {model.results.folder}: they "
            "were deleted, or the results were imported.",
            "Train it again: the same fairbench run with --rerun all.",
        )
    points = [PointArrays(arrays, number) for number in range(len(model.unit.points))]
    if any(point.get(Kind.BITS, "shape") is None for point in points):
        raise StoreError(
            f"No bits of this {model.unit.method} are stored: an older fairbench trained it.",
            "Train it again: the same fairbench run with --rerun all.",
        )
    rows = AuditRows.encoded(model.data, arrays).data.roles[Role.TEST]
    labels = [point.label for point in model.unit.points]
    bits = [unpack_bits(point.by_part(Kind.BITS, BIT_PARTS)) for point in points]
    # From the setting that releases least to the one that releases most.
    order = np.argsort([np.mean(one >= 0) for one in bits], kind="stable")
    return BitExplanation(
        tuple(bit_table(labels[i], bits[i], rows.s) for i in order),
        # No single pixel says anything; reconstructions show what new bits bring.
        ()
        if info.architecture.image is not None
        else tuple(
            step(labels[a], labels[b], bits[a], bits[b], rows.x, info) for a, b in pairwise(order)
        ),
    )


def bit_table(label: str, bits: Bits, s: Ints) -> BitTable:
    """Shares and disparities of the bits of one point.

    Parameters
    ----------
    bits : ndarray of int8, shape (n, k, bits)
    s : ndarray of int64, shape (n,)
    """
    ones = (bits == 1).reshape(len(bits), -1).astype(np.float64)
    overall, n = ones.sum(axis=0), len(s)
    disparity = np.zeros(ones.shape[1])
    for group in np.unique(s):
        member = s == group
        inside = ones[member].sum(axis=0)
        outside = (overall - inside) / max(n - member.sum(), 1)
        disparity = np.maximum(disparity, np.abs(inside / member.sum() - outside))
    return BitTable(
        label,
        kept=(bits >= 0).mean(axis=0),
        ones=(bits == 1).mean(axis=0),
        disparity=disparity.reshape(bits.shape[1:]),
    )


def step(before: str, after: str, tight: Bits, loose: Bits, x: Floats, info: DatasetInfo) -> Step:
    """Compare the bits of two settings of one model, the tighter first (the paper's Figure 6).

    Parameters
    ----------
    before, after : str
        Labels of the settings.
    tight, loose : ndarray of int8, shape (n, k, bits)
    x : ndarray, shape (n, d)
        Features of the same rows.
    info : DatasetInfo
        Names the features.
    """
    new = (tight < 0) & (loose >= 0)
    # Signs, not zeros and ones: a bit that is still masked is neither.
    values = np.where(new, np.where(loose == 1, 1.0, -1.0), 0.0).reshape(len(x), -1)
    values = values[:, new.reshape(len(x), -1).any(axis=0)]
    component = _first_component(values)
    correlation: dict[str, float] = {}
    for feature, column in zip(info.features, x.T, strict=True):
        own = _correlation(component, column.astype(np.float64))
        correlation[feature.source] = max(correlation.get(feature.source, 0.0), own)
    return Step(before, after, float(new.sum() / len(x)), correlation)


def _first_component(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    centred = values - values.mean(axis=0)
    if not centred.any():
        return np.zeros(len(values))
    _, vectors = np.linalg.eigh(centred.T @ centred)
    component: npt.NDArray[np.float64] = centred @ vectors[:, -1]
    return component


def _correlation(a: npt.NDArray[np.float64], b: npt.NDArray[np.float64]) -> float:
    a, b = a - a.mean(), b - b.mean()
    size = np.sqrt((a @ a) * (b @ b))
    return float(abs(a @ b) / size) if size > 0 else 0.0
