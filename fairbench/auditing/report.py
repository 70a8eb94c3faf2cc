"""The report of an audit of arrays: figures with names, as text, and as plain values."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from fairbench.api.metric import Access, AuditorResult
from fairbench.auditing.tolerance import tolerance
from fairbench.auditing.view_rules import PLAIN_VIEWS, RULES
from fairbench.versions import AUDIT_VERSION, PACKAGE_VERSION

if TYPE_CHECKING:
    from fairbench.api.metric import Certificate

_WIDTH = 80
_INDENT = 12

_MAX_GROUPS = 8
"""Most groups that are listed by name."""


@dataclass(frozen=True)
class Accuracy:
    """Accuracy of one classifier on the test set.

    Parameters
    ----------
    accuracy : float
        Share of rows predicted correctly.
    balanced : float
        Mean over classes of the share of each predicted correctly; chance is 1 / classes.
    auc : float
        Area under the ROC curve; the mean of one-versus-rest beyond two classes; chance is .5.
    majority : float
        Share of the largest class: the accuracy of a constant guess.
    """

    accuracy: float
    balanced: float
    auc: float
    majority: float


@dataclass(frozen=True)
class Usefulness(Accuracy):
    """Accuracy of a downstream classifier, and its gaps between groups.

    Parameters
    ----------
    demographic_parity_gap, equalized_odds_gap, equal_opportunity_gap : float or None
        Demographic parity, equalized odds and equal opportunity gaps on the test set; None where a
        group has too few rows, and the last also for more than two classes.
    """

    demographic_parity_gap: float | None = None
    equalized_odds_gap: float | None = None
    equal_opportunity_gap: float | None = None


@dataclass(frozen=True)
class Hidden:
    """A view of z that reveals information about s which the plain views do not.

    ``plain``: the largest I(Z;S) of the plain views on the validation set, nats.
    """

    view: str
    plain: float


@dataclass(frozen=True)
class AuditReport:
    """The result of an audit of arrays; ``print`` it, or read its fields.

    Fields are the symbols of the protocol; ``to_dict`` has the leaderboards' names of those figures
    that leaderboards have too. All figures are of the test set; information is in nats.

    Parameters
    ----------
    audit : str
        ``strict`` or ``quick``.
    seed : int
        Seed of the split and of the auditors.
    rows : mapping of str to int
        Number of rows by role: auditor-train, validation, test.
    columns : int
        Columns of z.
    groups : mapping of str to int
        Number of rows of each group of s, all roles together.
    h_s : float
        Entropy H(S), the largest possible I(Z;S).
    i : float
        Lower bound on I(Z;S) by the auditor chosen on the validation set; may be below 0. Its
        access is ``release``: auditors see z once.
    i_low : float
        Lower end of its 95% bootstrap confidence interval over test rows.
    i_high : float
        Upper end of the same interval; where no auditor is clearly better than a constant guess,
        that of any auditor, if it is higher.
    auditor : str
        The chosen auditor.
    view : str
        The view of z on which it was trained.
    auditors : tuple of AuditorResult
        The estimate of every auditor.
    a_s : Accuracy
        Accuracy of the chosen auditor.
    a_y : mapping of str to Usefulness
        By task, of the downstream classifier; empty without labels.
    d : float or None
        Squared error of standardised x as decoded from (z, s), summed over columns. None without x.
    d_max : float or None
        The same where only s is released.
    i_max : float or None
        I(X;S) by the same auditors, the ceiling of I(Z;S). None without x.
    certificate : Certificate or None
        Upper bounds; None where z takes too many distinct values.
    repeated : float or None
        Share of the test rows whose z stands in the auditor training set too, if z takes many
        distinct values and equal rows of it have the same s: maybe they are of the same people.
        None where that is not so.
    people : int or None
        Number of people in the test set, one row of each. None: each row counts as a person.
    """

    audit: str
    seed: int
    rows: Mapping[str, int]
    columns: int
    groups: Mapping[str, int]
    h_s: float
    i: float
    i_low: float
    i_high: float
    auditor: str
    view: str
    auditors: tuple[AuditorResult, ...]
    a_s: Accuracy
    a_y: Mapping[str, Usefulness]
    d: float | None
    d_max: float | None
    i_max: float | None
    certificate: Certificate | None
    repeated: float | None = None
    people: int | None = None

    @property
    def hidden(self) -> Hidden | None:
        """The view that finds more I(Z;S) than the plain views, by more than the tolerance.

        None where there is none.
        """
        plain = max(r.validation_information for r in self.auditors if r.view in PLAIN_VIEWS)
        rest = [result for result in self.auditors if result.view in RULES]
        if not rest:
            return None
        best = max(rest, key=lambda result: result.validation_information)
        more = best.validation_information - plain
        if more <= tolerance(plain):  # auditors of one view differ by less
            return None
        return Hidden(best.view, plain)

    @property
    def i_share(self) -> float:
        """I(Z;S) as a share of H(S), at least 0."""
        return max(self.i, 0.0) / self.h_s

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; the same arrays and seed give the same ones."""
        return {
            "fairbench": PACKAGE_VERSION,
            "audit_version": AUDIT_VERSION,
            "audit": self.audit,
            "seed": self.seed,
            "rows": dict(self.rows),
            "columns": self.columns,
            "groups": dict(self.groups),
            "h_s": self.h_s,
            "mutual_information": self.i,
            "access": Access.RELEASE.value,
            "mutual_information_low": self.i_low,
            "mutual_information_high": self.i_high,
            "i_share": self.i_share,
            "auditor": self.auditor,
            "view": self.view,
            "hidden": asdict(self.hidden) if self.hidden else None,
            "repeated": self.repeated,
            "people": self.people,
            "auditors": [
                {
                    "auditor": result.auditor,
                    "view": result.view,
                    "mutual_information_validation": result.validation_information,
                    "mutual_information": result.test_information,
                    "chosen": self._chosen(result),
                }
                for result in self.auditors
            ],
            "accuracy_s": asdict(self.a_s),
            "accuracy_y": {task: asdict(value) for task, value in self.a_y.items()},
            "distortion": self.d,
            "distortion_max": self.d_max,
            "mutual_information_max": self.i_max,
            "certificate": asdict(self.certificate) if self.certificate else None,
        }

    def __str__(self) -> str:
        lines = [
            *self._about(),
            "",
            *self._information(),
            "",
            *self._accuracies(),
            *self._distortion(),
            *self._certificate(),
            "",
            *self._auditors(),
            "",
            *_wrapped("", _LIMITS if self.certificate is None else _LIMITS_CERTIFIED, 0),
        ]
        return "\n".join(lines)

    def _chosen(self, result: AuditorResult) -> bool:
        return (result.auditor, result.view) == (self.auditor, self.view)

    def _about(self) -> list[str]:
        train, validation, test = self.rows.values()
        total = sum(self.groups.values())
        named = sorted(self.groups.items(), key=lambda item: -item[1])
        shares = [f"{name} {count / total:.1%}" for name, count in named[:_MAX_GROUPS]]
        if len(named) > _MAX_GROUPS:
            shares.append(f"and {len(named) - _MAX_GROUPS} smaller")
        columns = "1 column" if self.columns == 1 else f"{self.columns:,} columns"
        return [
            *_wrapped("z", f"{train + validation + test:,} rows, {columns}"),
            *_wrapped("s", f"{len(named)} groups: {', '.join(shares)}"),
            *_wrapped(
                "audit",
                f"{self.audit}, seed {self.seed}: {train:,} rows train the auditors, "
                f"{validation:,} validate, {test:,} test",
            ),
            *_wrapped(
                "",
                ""
                if self.people is None
                else "one row of each person, drawn by chance, validates or tests: figures and "
                "certificate are about people, so that who has many rows does not count more",
            ),
        ]

    def _found_by(self) -> str:
        if self.auditor == "prior":
            return "no auditor was clearly better than a guess by the shares of the groups"
        return f"by {self.auditor} on the {self.view} view"

    def _information(self) -> list[str]:
        measured = f"measured {self.i:.3f}, " if self.i < 0 else ""
        lines = [
            *_wrapped(
                "I(Z;S)",
                f"{max(self.i, 0.0):.3f} nats ({measured}95% confidence interval "
                f"{self.i_low:.3f} to {self.i_high:.3f}), "
                f"{self.i_share:.1%} of H(S) = {self.h_s:.3f}",
            ),
            *_wrapped("", f"{self._found_by()}; access: {Access.RELEASE}, z once"),
        ]
        if (hidden := self.hidden) is not None:
            lines += _wrapped(
                "",
                f"the plain views of z give {max(hidden.plain, 0.0):.3f} nats; the rest is found "
                f"on the {hidden.view} view: {RULES[hidden.view]}",
            )
        if self.i_low <= 0:
            lines += _wrapped(
                "", "not significantly above 0: these auditors found nothing of s in z"
            )
        if self.repeated is not None:
            lines += _wrapped(
                "",
                f"{self.repeated:.1%} of the test rows have a z that stands among those that train "
                "the auditors too, with the same s: if people have several rows, I(Z;S) is too "
                "high, and intervals and certificate are not valid. Then give people (--people), "
                "the person of each row",
            )
        if self.i_max is not None:
            lines += _wrapped(
                "I(X;S)",
                f"{max(self.i_max, 0.0):.3f} nats, of x itself by the same auditors: the ceiling",
            )
        return lines

    def _accuracies(self) -> list[str]:
        by_name = {"A_s": self.a_s} | {
            "A_y" if len(self.a_y) == 1 else f"A_y {task}": value
            for task, value in self.a_y.items()
        }
        width = max(_INDENT, 2 + max(len(name) for name in by_name))
        return [
            f"{'':{width}}accuracy  balanced    AUC  constant guess",
            *(
                f"{name:{width}}{value.accuracy:8.3f}  {value.balanced:8.3f}  {value.auc:5.3f}"
                f"  {value.majority:14.3f}"
                for name, value in by_name.items()
            ),
            *self._gaps(width),
        ]

    def _gaps(self, width: int) -> list[str]:
        lines = []
        for task, value in self.a_y.items():
            gaps = (
                value.demographic_parity_gap,
                value.equalized_odds_gap,
                value.equal_opportunity_gap,
            )
            if any(gap is not None for gap in gaps):
                shown = ("-" if gap is None else f"{gap:.3f}" for gap in gaps)
                name = "A_y" if len(self.a_y) == 1 else f"A_y {task}"
                lines.append(f"{name:{width}}" + "  ".join(f"{s:>11}" for s in shown))
        if lines:
            heads = "  ".join(f"{head:>11}" for head in ("parity", "odds", "opportunity"))
            lines = ["", f"{'group gaps':{width}}{heads}", *lines]
        return lines

    def _distortion(self) -> list[str]:
        if self.d is None or self.d_max is None:
            return []
        text = (
            f"{self.d:.3f}: squared error of x as decoded from z and s, summed over columns "
            f"(without z {self.d_max:.3f})"
        )
        return ["", *_wrapped("D", text)]

    def _certificate(self) -> list[str]:
        if self.certificate is None:
            return ["", *_wrapped("certificate", "vacuous: z takes too many distinct values")]
        bound = self.certificate
        sentences = []
        if bound.gap < 1:
            sentences.append(
                f"no classifier of z alone can have a demographic-parity gap above {bound.gap:.3f}"
            )
        if bound.information < self.h_s:
            sentences.append(f"I(Z;S) is at most {bound.information:.3f} nats")
        if sentences and self.people is not None:
            sentences[-1] += ", for one row of each person, drawn by chance"
        text = "; ".join(sentences) or "vacuous: too few rows to exclude anything"
        text += (
            f" ({'each ' if len(sentences) > 1 else ''}with {bound.confidence:.0%} confidence; "
            f"{bound.cells:,} distinct z among the "
            f"rows that train the auditors; {bound.rows:,} test rows, {bound.overflow:.1%} of them "
            "with another z)"
        )
        return ["", *_wrapped("certificate", text)]

    def _auditors(self) -> list[str]:
        name = max(len("auditor"), *(len(result.auditor) for result in self.auditors))
        view = max(len("view"), *(len(result.view) for result in self.auditors))
        lines = [f"{'auditor':{name}}  {'view':{view}}  I on validation  I on test"]
        for result in self.auditors:
            mark = "  chosen" if self._chosen(result) else ""
            lines.append(
                f"{result.auditor:{name}}  {result.view:{view}}"
                f"  {result.validation_information:14.3f}  {result.test_information:9.3f}{mark}"
            )
        return lines


_LIMITS = (
    "I(Z;S) and A_s are lower bounds, by these auditors. Another one may find more: a small figure "
    "is no guarantee."
)
_LIMITS_CERTIFIED = (
    "I(Z;S) and A_s are lower bounds, by these auditors. Only the certificate is an upper bound."
)


def _wrapped(head: str, text: str, indent: int = _INDENT) -> list[str]:
    """Wrap a text to lines of at most 80 characters; the first begins with ``head``."""
    return textwrap.wrap(
        text,
        width=_WIDTH,
        initial_indent=f"{head:{indent}}" if indent else "",
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
