"""Audit the attacks: what auditors read of a base code in plain, and hidden.

An attack passes where its distortion is credited and auditors read at least 90% of what they read
from the base code in plain, or where its distortion is not credited. Decoys are another code than
their base, of other D and I: they pass where their area is that of a release of their
reconstructions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from fairbench.api import FitContext, Floats, Role, TrainingRows, Unit
from fairbench.api.method import Fitted, Method, Representation
from fairbench.auditing.config import PRESETS, AuditPreset
from fairbench.auditing.evaluate import evaluate
from fairbench.auditing.largest_distortion import largest_distortions
from fairbench.auditing.soft_labels import estimate, soft_labels
from fairbench.data.prepared import Prepared
from fairbench.runs.cost import Meter
from fairbench.runs.declared import declared
from fairbench.runs.encoding import FittedPoint, RowsToEncode, encode_point
from fairbench.runs.point_arrays import PointArrays
from fairbench.testing.attacks import (
    Base,
    Decoys,
    Drowned,
    EncryptedCode,
    FirstHalf,
    Marks,
    Plain,
    Shy,
    Waves,
)
from fairbench.testing.ciphers import ciphers

DECOYS = "decoys"
"""Family of the attack whose decoder returns other people's rows."""
SHARE = 0.9
"""Of the information of the base code that auditors must read."""
SAME_AREA = 0.95
"""Of the area of a release of their reconstructions that decoys must have."""
CREDITED = 0.1
"""Distortion of an attack, beyond that of its base, as a share of the largest distortion, from
which it counts as not credited."""


@dataclass(frozen=True)
class AttackReading:
    """The audit of one attack on one base code."""

    base: str
    attack: str
    family: str
    plain_information: float  # of the base code in plain, nats
    information: float  # of the attack, nats
    plain_distortion: float  # squared units of standardised x
    distortion: float
    largest_distortion: float  # of a constant representation
    largest_information: float  # of x itself, nats
    auditor: str
    view: str

    @property
    def is_credited(self) -> bool:
        """Whether its decoder was believed: its distortion is about that of the base."""
        return self.distortion - self.plain_distortion < CREDITED * self.largest_distortion

    @property
    def passed(self) -> bool:
        """Whether hiding gained nothing."""
        if self.family == DECOYS:
            return self.area >= SAME_AREA * self.plain_area
        return not self.is_credited or self.information >= SHARE * self.plain_information

    @property
    def area(self) -> float:
        """AUFDC of the attack alone: of the lines from x to it, and from it to nothing."""
        return self._area(self.distortion, self.information)

    @property
    def plain_area(self) -> float:
        """AUFDC of the base code in plain; of decoys, of a release of their reconstructions."""
        return self._area(self.plain_distortion, self.plain_information)

    def _area(self, distortion: float, information: float) -> float:
        shares = distortion / self.largest_distortion + information / self.largest_information
        return min(0.5, 0.5 * shares)


class _Attacker(Method):
    name = "attack"
    summary = "an encoder that hides what it keeps"
    has_decoder = True

    def fit(
        self, train: TrainingRows, units: Sequence[Unit], context: FitContext
    ) -> Sequence[Fitted]:
        raise NotImplementedError


def bases(data: Prepared) -> dict[str, Base]:
    """Base codes by name: x itself, a coarse code of it, and x without every other column."""
    kept = np.arange(data.roles[Role.TEST].x.shape[1]) % 2 == 0
    return {
        "x": lambda x: x,
        "coarse": lambda x: (np.round(x) + 0.0).astype(np.float32),
        "every-other-column": lambda x: np.where(kept, x, 0).astype(np.float32),
    }


def attacks(data: Prepared, base: Base) -> Iterator[tuple[str, str, Representation]]:
    """Name, family and encoder of every attack but decoys, on a base code."""
    for cipher in ciphers():
        yield cipher.name, cipher.family, EncryptedCode(base, cipher)
    watched = data.roles[Role.AUDITOR_TRAIN].x
    yield "waves", "warp", Waves(base)
    yield "shy", "other rows for auditors", Shy(base, ciphers()[1], watched)
    marks = Marks(base, watched, data.roles[Role.AUDITOR_TRAIN].s)
    yield "marks", "other rows for auditors", marks
    yield "first-half", "other rows for auditors", FirstHalf(base, ciphers()[1])
    train = data.roles[Role.ENCODER_TRAIN]
    decoder = Drowned(base, ciphers()[3], train.x, train.s)
    yield "drowned", "huge values in reconstructions", decoder


def audit_attacks(
    data: Prepared, *, audit: AuditPreset, names: Sequence[str] | None = None
) -> Iterator[AttackReading]:
    """Audit every attack on every base code, or the attacks of some names."""
    soft = soft_labels(data)
    found = bases(data)
    plains = {n: _Measured.of(Plain(base), data, soft, audit) for n, base in found.items()}
    most = plains["x"].information
    for base_name, base in found.items():
        plain = plains[base_name]
        for name, family, attack in attacks(data, base):
            if names is None or name in names:
                hidden = _Measured.of(attack, data, soft, audit)
                yield hidden.against(plain, base_name, name, family, data, most)
        if names is None or "decoys" in names:
            yield _audit_decoys(data, base_name, base, soft, audit, most)


def _audit_decoys(
    data: Prepared,
    base_name: str,
    base: Base,
    soft: Floats | None,
    audit: AuditPreset,
    most: float,
) -> AttackReading:
    """Audit decoys against a release of what their decoder gives for every group.

    Such a release pairs people across groups, and has the same distortion: it is fair in its own
    way, and what it tells of s is all that decoys can be held to.
    """
    train = data.roles[Role.ENCODER_TRAIN]
    groups = len(data.info.groups)

    def posterior(x: Floats) -> Floats:
        return estimate(train.x, train.s, x, groups=groups)

    decoys = Decoys(base, ciphers()[1], train.x, train.s, posterior)
    hidden = _Measured.of(decoys, data, soft, audit)
    released = _Measured.of(_Released(decoys, groups), data, soft, audit)
    return hidden.against(released, base_name, "decoys", DECOYS, data, most)


class _Released(Representation):
    """Reconstructions for all groups, in plain."""

    def __init__(self, hidden: Representation, groups: int) -> None:
        self._hidden, self._groups = hidden, groups

    def encode(
        self, x: Floats, *, s: object = None, generator: np.random.Generator | None = None
    ) -> Floats:
        z = self._hidden.encode(x)
        both = [self._hidden.decode(z, np.full(len(z), k)) for k in range(self._groups)]
        return np.hstack([part for part in both if part is not None])

    def decode(self, z: Floats, s: np.ndarray) -> Floats | None:
        by_group = z.reshape(len(z), self._groups, -1)
        chosen: Floats = by_group[np.arange(len(z)), s]
        return chosen


@dataclass(frozen=True)
class _Measured:
    information: float
    distortion: float
    auditor: str
    view: str

    @classmethod
    def of(
        cls,
        representation: Representation,
        data: Prepared,
        soft: Floats | None,
        audit: AuditPreset,
    ) -> _Measured:
        point = FittedPoint(0, representation, declared(_Attacker), 0)
        arrays = encode_point(point, RowsToEncode.of(data), Meter("cpu"))
        encoded = PointArrays(arrays, 0).encoded()
        evaluation, audited = evaluate(encoded, data, config=PRESETS[audit], seed=0, soft=soft)
        return cls(
            audited.chosen.test_information,
            float(evaluation.distortion.strict.mean()),
            audited.chosen.auditor,
            audited.chosen.view,
        )

    def against(
        self, plain: _Measured, base: str, name: str, family: str, data: Prepared, most: float
    ) -> AttackReading:
        x, s = ({role: getattr(rows, of) for role, rows in data.roles.items()} for of in "xs")
        distances = largest_distortions(x, s, Role.TEST, groups=len(data.info.groups))
        return AttackReading(
            base=base,
            attack=name,
            family=family,
            plain_information=plain.information,
            information=self.information,
            plain_distortion=plain.distortion,
            distortion=self.distortion,
            largest_distortion=float(distances.mean()),
            largest_information=most,
            auditor=self.auditor,
            view=self.view,
        )
