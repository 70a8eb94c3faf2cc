"""Certificates that hold for whichever of many points is chosen by them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fairbench.api import Floats, Role
from fairbench.api.metric import Certificate
from fairbench.auditing.certificate import certify
from fairbench.data.prepare import Prepared
from fairbench.models.recommend import Candidate
from fairbench.store import files as artefacts


@dataclass(frozen=True)
class Certificates:
    """Certificates of all candidates at once.

    Parameters
    ----------
    of : mapping of str to Certificate
        By the point's key; each at ``1 - level / len(of)``.
    level : float
        The most probability, over the test rows, that the bound of any of them fails: one such
        statement for I(Z;S), and one for the gap.
    many : int
        Candidates whose z takes too many values.
    gone : int
        Candidates without a representation on disk.
    """

    of: Mapping[str, Certificate]
    level: float
    many: int
    gone: int


def certificates(
    candidates: Sequence[Candidate], data: Prepared, results: Path, *, level: float
) -> Certificates:
    """Certify every candidate that can be, corrected for how many they are.

    Whether one can be is seen on auditor-train, and nothing of test goes into it: so only those
    that can be count. They count whatever is asked of them: one may ask for another limit, and
    what was said before still holds. What is said holds for one call, on one set of candidates that
    was decided before anybody looked at test: a second set, chosen after the certificates of the
    first were seen, is not covered.

    Parameters
    ----------
    candidates : sequence of Candidate
        Of one dataset.
    data : Prepared
        That dataset.
    results : Path
        The folder that keeps the representations.
    level : float
    """
    codes: dict[str, tuple[Floats, Floats]] = {}
    many = gone = 0
    loaded: tuple[str | None, Mapping[str, np.ndarray] | None] = (None, None)
    rows = {role: len(data.roles[role].s) for role in (Role.AUDITOR_TRAIN, Role.TEST)}
    s, groups = data.roles[Role.TEST].s, len(data.info.groups)
    for candidate in sorted(candidates, key=lambda c: str(c.unit["artefact"])):
        name = candidate.unit["artefact"]
        if name != loaded[0]:
            loaded = name, None if name is None else artefacts.load(results, name)
        arrays = loaded[1]
        if arrays is None:
            gone += 1
            continue
        number = _number(candidate)
        # Rows must be independent: one draw a person.
        known, new = (arrays[f"{number}/z/{role}"][:n] for role, n in rows.items())
        if certify(known, new, s, groups=groups) is None:
            many += 1
        else:
            codes[candidate.key] = known, new
    confidence = 1 - level / max(len(codes), 1)
    found = {
        key: certify(known, new, s, groups=groups, confidence=confidence)
        for key, (known, new) in codes.items()
    }
    return Certificates({k: c for k, c in found.items() if c is not None}, level, many, gone)


def _number(candidate: Candidate) -> int:
    """Place of the point among those its unit was read at."""
    labels = [point["label"] for point in candidate.unit["read_points"]]
    return labels.index(candidate.point["label"])
