"""``fairbench recommend``: which stored point to use, and what is known of it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from fairbench.api import Access, Track
from fairbench.cli.console import out, print_folded, say_unused_columns, show_columns
from fairbench.cli.model_card import check_card_file, make_card, write_card
from fairbench.cli.options import DataRoot, OneDataset, Results, StoreUrl
from fairbench.cli.plugins import load_plugins
from fairbench.cli.recommend_misses import show_misses
from fairbench.cli.stored_code import warn_of_changed_code
from fairbench.errors import ConfigError
from fairbench.metrics.rows import Variant
from fairbench.models.certify import Certificates, SelectedCertificate
from fairbench.models.lookup import StoredPoint
from fairbench.models.query import ResultsLocation, dataset_cards
from fairbench.models.recommend import (
    CandidateSet,
    Limits,
    Recommendation,
    RecommendQuery,
    parse_track,
    recommend,
)
from fairbench.registry import Registry
from fairbench.report.format import format_count, format_figure, format_interval

_LEVEL = 0.05
"""Allowed probability that any certificate is wrong, where none is given."""

_RUNNERS_UP = 5

_MIN_ADVANTAGE = 0.005
"""Accuracy by which a classifier must beat the largest class not to be warned of."""


def recommend_command(
    max_leakage: Annotated[
        float, typer.Option(metavar="NATS", help="Largest I(Z;S) on the validation set.")
    ],
    min_accuracy: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE", help="Smallest accuracy of the main task on the validation set."
        ),
    ] = None,
    dataset: OneDataset = None,
    track: Annotated[
        str, typer.Option(help="Track of the methods: blind, aware (the encoder takes s too).")
    ] = "blind",
    certified: Annotated[
        bool,
        typer.Option(
            "--certified", help="Require a certified upper bound within the leakage limit."
        ),
    ] = False,
    level: Annotated[
        float | None,
        typer.Option(
            help="With --certified: allowed probability that any certificate is wrong, over all "
            f"candidates [default: {_LEVEL:g}]."
        ),
    ] = None,
    card: Annotated[
        Path | None, typer.Option(help="File for the model card (Markdown) of the point.")
    ] = None,
    results: Results = None,
    data_root: DataRoot = None,
    store: StoreUrl = None,
) -> None:
    """Recommend a stored point within a leakage limit. Exit code 1 where none fits."""
    if level is not None and not certified:
        raise ConfigError("--level is of certificates.", "Add --certified, or leave it out.")
    check_card_file(card)
    limits = Limits(max_leakage, min_accuracy)
    given = _LEVEL if level is None else level
    query = RecommendQuery(limits, dataset, parse_track(track), certified, given)
    location = ResultsLocation(results, store, data_root, dataset_cards(dataset))
    registry = load_plugins()
    recommendation = recommend(query, location, registry)
    _show_recommendation(recommendation, registry)
    if recommendation.chosen is None:
        raise typer.Exit(1)
    if card is not None:
        write_card(card, make_card(recommendation.chosen, recommendation.certificate))


def _show_recommendation(answer: Recommendation, registry: Registry) -> None:
    """Print what is recommended, the runners-up and how to use it; or how near the best came."""
    _show_query(answer)
    if answer.certificates is not None:
        _show_certifiable(answer.certificates)
    if answer.chosen is None:
        show_misses(answer, registry)
        return
    _show_chosen(answer.chosen, answer.candidates, answer.query.limits)
    if answer.certificate is not None:
        _show_certificate(answer.certificate)
    _show_runners_up(answer.accepted, answer.certificates)
    _show_command(answer.chosen)


def _show_query(answer: Recommendation) -> None:
    candidates, limits = answer.candidates, answer.query.limits
    if candidates.simulated:
        out.print("SIMULATED DATA: figures of a simulated twin, not of real data.", markup=False)
    methods = len({point.unit.method for point in candidates.points})
    seeds = len({point.unit.seed for point in candidates.points})
    out.print(
        f"{candidates.dataset} · {answer.query.track.value} track · {candidates.audit} audit: "
        f"{format_count(len(candidates.points), 'point')} of {format_count(methods, 'method')}, "
        f"{format_count(seeds, 'seed')}",
        markup=False,
    )
    for note in candidates.notes:
        out.print(note, markup=False)
    wanted = f"I(Z;S) <= {limits.leakage:g} nats"
    wanted += "" if limits.accuracy is None else f" and A_y >= {limits.accuracy:g}"
    ceiling = ""
    if candidates.reference is not None:
        most = candidates.reference.figures["mutual_information_max"]
        ceiling = f"; I(X;S) of x itself: {most:.3f} nats (test set)"
    count = format_count(len(answer.within_limits), "point")
    out.print(f"{wanted} on the validation set: {count} fit{ceiling}", markup=False)
    if (leakage := answer.leakage_of_x) is not None:
        print_folded(
            f"x itself is within the limit: the auditors find {max(leakage, 0.0):.3f} nats in it "
            "on the validation set. By that estimate nothing needs to be done to keep the limit."
        )


def _show_chosen(chosen: StoredPoint, candidates: CandidateSet, limits: Limits) -> None:
    baseline = " (baseline)" if chosen.is_baseline else ""
    out.print(f"\nRecommended: {chosen.title}{baseline}", markup=False, style="bold")
    out.print(
        f"params {chosen.unit.params_label}, budget {chosen.unit.budget}, chosen by "
        + ("I(Z;Y)" if candidates.has_task else "D")
        + " on the validation set",
        markup=False,
    )
    if unused := chosen.unused_columns:
        print_folded(say_unused_columns(unused))
    _show_figures(chosen)
    auditor = chosen.point.chosen_auditor
    by = f" ({auditor.auditor} on {auditor.view})" if auditor else ""
    if auditor and auditor.auditor == "prior":
        others = [one for one in chosen.point.auditors or () if one is not auditor]
        by = " (none of them was clearly better than a guess by the shares of the groups"
        if others:
            best = max(others, key=lambda one: one.mutual_information_validation)
            by += f"; the best found {format_figure(best.mutual_information)} nats on the test set"
        by += ")"
    print_folded(
        f"I and A_s are what the auditors found{by}, with access {Access.DECODER}: z once, and the "
        "method's own reconstructions. They are lower bounds of what leaks, no guarantee. The "
        "point was chosen on the validation set; the test set had no part in it."
    )
    for warning in _warnings(chosen, candidates, limits):
        print_folded(warning)


def _show_figures(chosen: StoredPoint) -> None:
    columns = [
        ("I(Z;S), nats", "mutual_information_validation", "mutual_information"),
        ("A_s", "accuracy_s_validation", "accuracy_s"),
        ("A_y", "accuracy_y_validation", "accuracy_y"),
        ("D", "distortion_validation", "distortion"),
        ("parity gap", None, "demographic_parity_gap"),
    ]
    rows = []
    for title, on_validation, on_test in columns:
        value = chosen.figures.get(on_test)
        if value is not None:
            ends = chosen.figures.get(f"{on_test}_low"), chosen.figures.get(f"{on_test}_high")
            before = chosen.figures.get(on_validation) if on_validation else None
            rows.append([title, format_figure(before), format_interval(value, *ends)])
    show_columns(["", "validation", "test"], rows)


def _warnings(chosen: StoredPoint, candidates: CandidateSet, limits: Limits) -> list[str]:
    warnings = []
    leakage = chosen.figure("mutual_information")
    if leakage > limits.leakage:
        warnings.append(
            f"ABOVE THE LIMIT ON TEST: {leakage:.3f} > {limits.leakage:g} nats. The estimate on "
            "the validation set was low by chance: take a lower --max-leakage for some margin."
        )
    high = chosen.figures.get("mutual_information_high")
    if high is not None and leakage <= limits.leakage < high:
        warnings.append(
            "The confidence interval on the test set reaches above the limit of "
            f"{limits.leakage:g} nats."
        )
    reference = candidates.reference.figures if candidates.reference else {}
    accuracy, constant = chosen.figures.get("accuracy_y"), reference.get("accuracy_y_constant")
    if accuracy is not None and constant is not None and accuracy < constant + _MIN_ADVANTAGE:
        warnings.append(
            f"Its A_y is hardly that of always predicting the largest class, {constant:.3f}."
        )
    if chosen.figures.get("distinct_codes") == 1:
        warnings.append("Its z is the same for every row: nothing leaks, and nothing is released.")
    return warnings


def _show_certifiable(certificates: Certificates) -> None:
    many, missing = certificates.too_many_codes, certificates.not_on_disk
    out.print(
        f"{format_count(len(certificates.by_point), 'point')} can be certified"
        + (f"; {many:,} cannot, as their z takes too many values" if many else "")
        + (f"; {missing:,} have no representation on disk" if missing else ""),
        markup=False,
    )


def _show_certificate(certificate: SelectedCertificate) -> None:
    bound, n = certificate.bound, certificate.candidates
    print_folded(
        f"Certified: I(Z;S) is at most {bound.information:.4f} nats, whatever anyone computes from "
        f"z; and no classifier of z can have a demographic-parity gap above {bound.gap:.3f}. Each "
        f"of the two holds with {1 - certificate.level:.4g} probability over the {bound.rows:,} "
        f"test rows, for all {n:,} certifiable points at once, so also for the one chosen (each "
        f"was certified at 1 - {certificate.level:g}/{n}). {format_count(bound.cells, 'code')} "
        f"known beforehand; {bound.overflow:.1%} of the test rows have another and count as fully "
        "unfair. The certificate holds for this population, and for z alone."
    )


def _show_runners_up(accepted: Sequence[StoredPoint], certificates: Certificates | None) -> None:
    """Print the best model of each other setting: a method, its hyperparameters and its point."""
    settings: dict[tuple[str, str, str], list[StoredPoint]] = {}
    for point in accepted:
        unit = point.unit
        settings.setdefault((unit.method, unit.params_label, point.point.label), []).append(point)
    others = list(settings.values())[1:]
    if not others:
        return
    shown = [alike[0] for alike in others[:_RUNNERS_UP]]
    several = any(len(alike) > 1 for alike in settings.values())
    title = "Runners-up by setting, the best model of each" if several else "Runners-up"
    out.print(f"\n{title} ({len(shown)} of {len(others)})", markup=False)
    on_test = ("mutual_information", "accuracy_s", "accuracy_y", "distortion")
    counted = "models" if several else "seed"
    columns = ["method", "point", counted, "I val.", "I test", "A_s", "A_y", "D"]
    rows = [
        [
            Variant(point.unit.method, point.unit.params_label).label
            + ("*" if point.is_baseline else ""),
            point.point.label,
            str(len(alike) if several else point.unit.seed),
            *(
                format_figure(point.figures.get(column))
                for column in ("mutual_information_validation", *on_test)
            ),
        ]
        for point, alike in zip(shown, others, strict=False)
    ]
    if certificates is not None:
        columns.append("I cert.")
        for point, row in zip(shown, rows, strict=True):
            row.append(f"{certificates.by_point[point.key].information:.4f}")
    show_columns(columns, rows, words=2)
    if any(point.is_baseline for point in shown):
        out.print("* baseline", markup=False)


def _show_command(chosen: StoredPoint) -> None:
    unit = chosen.unit
    if unit.track == Track.AWARE:
        print_folded(
            f"{unit.method} is of the aware track: it takes s of every new row, which fairbench "
            "encode does not read."
        )
        return
    if chosen.model.method is None:
        print_folded(
            f"{unit.method} is not installed here: to encode new rows, install {unit.plugin}."
        )
    warn_of_changed_code(chosen.model)
    words = chosen.model.encode_command(chosen.point)
    words += ["--input", "new.csv", "--output", "z.parquet"]
    if unit.encoder is not None and not chosen.model.has_encoder:
        out.print(
            "\nIts encoder is not in this results folder. To train it here:\n"
            f"  {shlex.join(chosen.model.retrain_command())}{chosen.model.command_note}",
            markup=False,
        )
    out.print(f"\nTo use it:\n  {shlex.join(words)}", markup=False)
    if unit.encoder is None:
        out.print("  (its encoder was not stored: this command says how to get one)", markup=False)
