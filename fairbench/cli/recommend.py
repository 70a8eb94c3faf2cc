"""``fairbench recommend``: which stored point to use, and what is known of it."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fairbench.api import Coding, Track
from fairbench.api.metric import Certificate
from fairbench.cli.console import out, show_columns
from fairbench.cli.model_card import write_card
from fairbench.cli.results import existing_store
from fairbench.cli.stored_data import data_of
from fairbench.errors import ConfigError
from fairbench.models.certify import Certificates, certificates
from fairbench.models.lookup import Place, asked_of, card_of, encode_words
from fairbench.models.recommend import (
    Candidate,
    Field,
    Limits,
    field_of,
    fitting,
    most_useful,
    nearest_to,
    untried,
)
from fairbench.registry import Registry
from fairbench.report.format import with_interval
from fairbench.store.database import Store

_RUNNERS_UP = 5

_ABOVE_GUESSING = 0.005
"""Accuracy by which a classifier must be better than a guess to be worth a word."""

_LEAST_LEVEL = 1e-9
"""Below, 1 - level / candidates could be rounded to 1: a certificate that never fails."""


@dataclass(frozen=True)
class Request:
    """What was asked for on the command line; names as there."""

    results: Path | None
    store: str | None
    limits: Limits
    dataset: str | None
    track: Track
    certified: bool
    level: float
    data_root: Path | None
    card: Path | None

    @property
    def place(self) -> Place:
        """Where results and data are."""
        return Place(self.results, self.store, self.data_root, asked_of(self.dataset))


def recommend_command(registry: Registry, request: Request) -> int:
    """Print what is recommended, and how to use it; 1 where nothing fits."""
    if not 0 < request.level < 1:
        raise ConfigError(f"--level {request.level:g}: it is a probability, such as .05.")
    if request.level < _LEAST_LEVEL:
        raise ConfigError(
            f"--level {request.level:g} is less than can be told from never failing.",
            f"The least is {_LEAST_LEVEL:g}.",
        )
    store = existing_store(request.results, request.store)
    found = field_of(store, registry, dataset=request.dataset, track=request.track)
    chosen = fitting(found, request.limits)
    bounds = None
    if request.certified:
        bounds = _certified(found, store, registry, request)
    _head(found, request, chosen)
    if bounds is not None:
        _tell_bounds(bounds)
        chosen = [c for c in chosen if _is_certified(bounds.of.get(c.key), request.limits)]
    if not chosen:
        _nothing(found, store, registry, request, bounds)
        return 1
    best = chosen[0]
    _show(best, found, request.limits)
    if bounds is not None:
        _show_certificate(bounds.of[best.key], bounds)
    _show_others(chosen[1 : 1 + _RUNNERS_UP], len(chosen) - 1, bounds)
    _show_command(best, store, registry, request)
    if request.card is not None:
        write_card(best, store, registry, request.place, request.card, bounds=bounds)
    return 0


def _certified(found: Field, store: Store, registry: Registry, request: Request) -> Certificates:
    unit, place = found.candidates[0].unit, request.place
    data = data_of(unit, store, registry, asked=place.asked, root=place.data_root)
    return certificates(found.candidates, data, place.folder, level=request.level)


def _is_certified(bound: Certificate | None, limits: Limits) -> bool:
    return bound is not None and bound.information <= limits.leakage


# ---- what is printed -----------------------------------------------------------------------


def _say(text: str) -> None:
    out.print(textwrap.fill(" ".join(text.split()), width=80), markup=False)


def _head(found: Field, request: Request, chosen: Sequence[Candidate]) -> None:
    if found.simulated:
        out.print("SIMULATED DATA: figures of a simulated twin, not of real people.", markup=False)
    methods = len({c.unit["method"] for c in found.candidates})
    seeds = len({c.unit["seed"] for c in found.candidates})
    out.print(
        f"{found.table} · {request.track.value} track · {found.audit} audit: "
        f"{_count(len(found.candidates), 'point')} of {_count(methods, 'method')}, "
        f"{_count(seeds, 'seed')}",
        markup=False,
    )
    for note in found.notes:
        out.print(note, markup=False)
    accuracy = request.limits.accuracy
    asked = f"I(Z;S) <= {request.limits.leakage:g} nats"
    asked += "" if accuracy is None else f" and A_y >= {accuracy:g}"
    ceiling = ""
    if found.reference is not None:
        ceiling = f"; x itself tells {found.reference['mutual_information_max']:.3f} nats (test)"
    out.print(f"{asked} on validation: {_count(len(chosen), 'point')} fit{ceiling}", markup=False)


def _show(best: Candidate, found: Field, limits: Limits) -> None:
    values = best.values
    baseline = " (baseline)" if best.is_baseline else ""
    out.print(f"\nRecommended: {best.title}{baseline}", markup=False, style="bold")
    out.print(
        f"params {best.unit['params_label']}, budget {best.unit['budget']}, chosen by "
        + ("I(Z;Y)" if found.has_task else "D")
        + " on validation",
        markup=False,
    )
    figures = [
        ("I(Z;S), nats", "mutual_information_validation", "mutual_information"),
        ("A_s", "accuracy_s_validation", "accuracy_s"),
        ("A_y", "accuracy_y_validation", "accuracy_y"),
        ("D", "distortion_validation", "distortion"),
        ("demographic_parity_gap", None, "demographic_parity_gap"),
    ]
    rows = []
    for title, on_selection, on_test in figures:
        value = values.get(on_test)
        if value is not None:
            ends = values.get(f"{on_test}_low"), values.get(f"{on_test}_high")
            before = values.get(on_selection) if on_selection else None
            rows.append([title, _figure(before), with_interval(value, *ends)])
    show_columns(["", "validation", "test"], rows)
    auditor = next((a for a in best.point["auditors"] or () if a["chosen"]), None)
    by = f" ({auditor['auditor']} on {auditor['view']})" if auditor else ""
    if auditor and auditor["auditor"] == "prior":
        by = " (none of them did better than the groups' shares alone)"
    _say(
        f"I and A_s are what these auditors found{by}: lower bounds of what leaks, no guarantee. "
        "Chosen on validation; test had no part in it."
    )
    if best.figure("mutual_information") > limits.leakage:
        _say(
            f"ABOVE THE LIMIT ON TEST: {best.figure('i'):.3f} > {limits.leakage:g} nats. The "
            "choice was a lucky one on validation: take a lower --max-leakage for some margin."
        )
    high = values.get("mutual_information_high")
    if high is not None and best.figure("mutual_information") <= limits.leakage < high:
        _say(f"The interval on test reaches above the limit of {limits.leakage:g} nats.")
    accuracy, guess = values.get("accuracy_y"), (found.reference or {}).get("accuracy_y_constant")
    if accuracy is not None and guess is not None and accuracy < guess + _ABOVE_GUESSING:
        _say(f"Its A_y is hardly that of guessing the commonest class, {guess:.3f}.")
    if best.values.get("distinct_codes") == 1:
        _say("It releases the same z for everybody: nothing leaks, and nothing is told.")


def _tell_bounds(bounds: Certificates) -> None:
    many = f"; {bounds.many:,} whose z takes too many values cannot" if bounds.many else ""
    gone = f"; {bounds.gone:,} have no representation on disk" if bounds.gone else ""
    out.print(f"{_count(len(bounds.of), 'point')} can be certified{many}{gone}", markup=False)


def _show_certificate(bound: Certificate, bounds: Certificates) -> None:
    n = len(bounds.of)
    _say(
        f"Certified: I(Z;S) is at most {bound.information:.4f} nats, whatever anyone makes of z; "
        f"and no classifier of z can have a demographic-parity gap above {bound.gap:.3f}. Each of "
        f"the two holds with {1 - bounds.level:.4g} probability over the {bound.rows:,} test rows, "
        f"for all {n:,} certifiable points at once, so also for the one chosen (each was certified "
        f"at 1 - {bounds.level:g}/{n}). {bound.cells:,} codes known beforehand; "
        f"{bound.overflow:.1%} of the test rows have another and count as fully unfair. It speaks "
        "of this population, and of z alone."
    )


def _show_others(others: Sequence[Candidate], count: int, bounds: Certificates | None) -> None:
    if not others:
        return
    out.print(f"\nRunners-up ({len(others)} of {count})", markup=False)
    columns = ["method", "point", "seed", "I sel.", "I test", "A_s", "A_y", "D"]
    rows = [
        [
            f"{c.unit['method']}*" if c.is_baseline else c.unit["method"],
            c.point["label"],
            str(c.unit["seed"]),
            _figure(c.values["mutual_information_validation"]),
            *(
                _figure(c.values.get(name))
                for name in ("mutual_information", "accuracy_s", "accuracy_y", "distortion")
            ),
            *([f"{bounds.of[c.key].information:.4f}"] if bounds else []),
        ]
        for c in others
    ]
    show_columns([*columns, *(["I cert."] if bounds else [])], rows, words=2)
    if any(c.is_baseline for c in others):
        out.print("* baseline", markup=False)


def _show_command(best: Candidate, store: Store, registry: Registry, request: Request) -> None:
    unit = best.unit
    if request.track is Track.AWARE:
        _say(
            f"{unit['method']} is of the aware track: it takes s of every new row, which fairbench "
            "encode does not read."
        )
        return
    command = encode_words(unit, best.point, store, registry, request.place)
    command += ["--input", "new.csv", "--output", "z.parquet"]
    out.print("\nTo use it:", markup=False)
    out.print(f"  {shlex.join(command)}", markup=False)
    if unit["encoder"] is None:
        out.print("  (its encoder was not kept: this command says how to get one)", markup=False)


# ---- where nothing fits --------------------------------------------------------------------


def _nothing(
    found: Field, store: Store, registry: Registry, request: Request, bounds: Certificates | None
) -> None:
    limits = request.limits
    out.print("\nNothing fits.", markup=False, style="bold")
    if bounds is not None and fitting(found, limits):
        _nothing_certified(found, store, registry, request, bounds)
        return
    near = nearest_to(found, limits)
    tries = []
    if near.tight is not None and limits.accuracy is not None:
        accuracy = near.tight.values.get("accuracy_y_validation") or 0.0
        _say(
            f"Within {limits.leakage:g} nats the most accurate is {near.tight.title}: A_y = "
            f"{accuracy:.3f} on validation."
        )
        tries.append(f"--min-accuracy {int(accuracy * 1000) / 1000:g}")
    if near.accurate is not None:
        leakage = near.accurate.figure("mutual_information_validation")
        enough = "" if limits.accuracy is None else f"Of those with A_y >= {limits.accuracy:g} "
        _say(f"{enough}{near.accurate.title} leaks least: I = {leakage:.4f} nats on validation.")
        tries.append(f"--max-leakage {int(leakage * 1000 + 1) / 1000:g}")
    elif limits.accuracy is not None:
        _say(f"No point at all has A_y >= {limits.accuracy:g} on validation.")
    _tries(found, store, registry, request, tries)


def _nothing_certified(
    found: Field, store: Store, registry: Registry, request: Request, bounds: Certificates
) -> None:
    accurate = [c for c in found.candidates if request.limits.keeps_accuracy(c)]
    known = [c for c in accurate if c.key in bounds.of]
    tries = []
    if known:
        best = min(known, key=lambda c: bounds.of[c.key].information)
        least = bounds.of[best.key].information
        _say(f"The least certified bound is that of {best.title}: I(Z;S) <= {least:.4f} nats.")
        tries.append(f"--max-leakage {int(least * 1000 + 1) / 1000:g}")
    quantised = sorted(
        name
        for name, cls in registry.methods.classes.items()
        if cls.coding is Coding.QUANTISED and cls.track is request.track
    )
    _say(
        "A certificate needs z of few values: only quantised methods have them "
        f"({', '.join(quantised) or 'none is registered'}), and fewer codes, or more test rows, "
        "make it tighter. So do fewer candidates, but only where they are decided before the test "
        "rows are looked at: to leave some out now that these bounds are known would make the "
        "statement untrue. Without --certified there is what auditors found: a lower bound."
    )
    _tries(found, store, registry, request, tries)


def _tries(
    found: Field, store: Store, registry: Registry, request: Request, tries: Sequence[str]
) -> None:
    out.print("What to try:", markup=False)
    if tries:
        out.print(f"  {' or '.join(tries)}", markup=False)
    if new := untried(found, registry, request.track):
        unit = found.candidates[0].unit
        dataset = card_of(unit, store, registry) or unit["dataset"]
        out.print(
            f"  other methods: fairbench run --dataset {dataset} --methods {','.join(new)}",
            markup=False,
        )
    best = most_useful(found.candidates)[0].unit["method"]
    out.print(
        f"  other parameters: fairbench run --methods {best} ... --tune 20; more points: --points "
        "32",
        markup=False,
    )


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{round(value, 3) + 0.0:.3f}"  # no minus before zero


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
