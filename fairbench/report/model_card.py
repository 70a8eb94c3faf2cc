"""A model card in Markdown: what a trained encoder is, what leaks, and how that was measured.

A pure function of a stored point. Sections follow Mitchell et al. 2019, "Model Cards for Model
Reporting".
"""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Mapping

import numpy as np

from fairbench.api import Role
from fairbench.data.prepare import Prepared
from fairbench.errors import FairbenchError
from fairbench.models.certify import SelectedCertificate
from fairbench.models.lookup import StoredModel, StoredPoint
from fairbench.report.format import format_figure, format_interval
from fairbench.report.markdown import escape, table
from fairbench.store.encoders import Encoder


def model_card(stored: StoredPoint, certificate: SelectedCertificate | None = None) -> str:
    """Write the model card of a stored point, as Markdown.

    What is not available (data, encoder, plugin) is left out.

    Parameters
    ----------
    stored : StoredPoint
    certificate : SelectedCertificate, optional
        The one that the point was chosen by, in place of the certificate of this point alone.
    """
    parts = [
        _head(stored),
        _what(stored),
        _data(stored.model),
        _preprocessing(stored.model),
        _leaks(stored),
        _certificate(stored, certificate),
        _useful(stored),
        _cost(stored),
        _limits(stored),
        _again(stored),
    ]
    return "\n".join("\n".join(part) for part in parts if part) + "\n"


def _available_data(model: StoredModel) -> Prepared | None:
    return None if isinstance(model.data_or_error, FairbenchError) else model.data_or_error


def _available_encoder(model: StoredModel) -> Encoder | None:
    return None if isinstance(model.encoder_or_error, FairbenchError) else model.encoder_or_error


def _reference(stored: StoredPoint) -> Mapping[str, float]:
    return {} if stored.reference is None else stored.reference.figures


def _head(stored: StoredPoint) -> list[str]:
    unit, figures, reference = stored.unit, stored.figures, _reference(stored)
    knobs = f", {stored.point.label}" if stored.point.knobs else ""
    lines = [f"# {escape(f'{unit.method} on {unit.dataset}{knobs}')}", ""]
    if unit.simulated:
        lines += [
            "> **Simulated data.** This encoder was trained and audited on a simulated twin, not "
            "on real data. Nothing here is a result on the real data.",
            "",
        ]
    accuracy = _figure(figures.get("accuracy_y"))
    lines.append(
        f"An encoder that maps a row of {escape(unit.dataset)} to a representation z. The "
        "auditors' estimate of what z says of the sensitive attribute, on held-out rows: "
        f"I(Z;S) = {_interval(figures, 'mutual_information')} nats"
        + (f"; I(X;S) of x itself: {reference['mutual_information_max']:.3f}" if reference else "")
        + (f". Accuracy of the main task from z: {accuracy}" if accuracy else "")
        + ". The estimate is a lower bound of what leaks, no guarantee.\n"
    )
    return lines


def _what(stored: StoredPoint) -> list[str]:
    unit, method = stored.unit, stored.model.method
    rows = [("method", unit.method)]
    if method is not None:
        rows += [("what it does", method.summary), ("reference", method.reference)]
        rows += [(f"knob {knob.name}", knob.summary) for knob in method.knobs]
    rows += [
        ("point", stored.point.label),
        ("seed", str(unit.seed)),
        ("track", f"{unit.track}: {_TRACKS.get(unit.track, '')}"),
        ("kind", " ".join(unit.tags)),
        ("training", f"budget {unit.budget}, {unit.iterations:,} iterations"),
        ("hyperparameters", ", ".join(f"{k} = {v}" for k, v in unit.params.items()) or "none"),
        ("plugin", unit.plugin),
        ("trained", unit.finished or ""),
        ("encoder file", f"encoders/{unit.encoder}" if unit.encoder else "not stored"),
    ]
    return ["## What it is", "", *table(("", ""), rows), ""]


_TRACKS = {
    "blind": "the encoder sees x alone",
    "aware": "the encoder also takes the sensitive attribute of every new row",
}


def _data(model: StoredModel) -> list[str]:
    unit, dataset = model.unit, model.dataset
    encoder, data = _available_encoder(model), _available_data(model)
    rows = [
        ("dataset", unit.dataset),
        ("source", "simulated twin" if unit.simulated else unit.data_source),
        ("fingerprint", f"{unit.fingerprint[:12]} (sha256 of data and split)"),
    ]
    if dataset is not None:
        rows += [("citation", dataset.citation), ("licence", dataset.licence)]
    groups = encoder.info.groups if encoder else ()
    if groups:
        rows.append(("sensitive attribute", f"{len(groups)} groups: {', '.join(groups)}"))
    lines = ["## Data", "", *table(("", ""), rows), ""]
    if data is None:
        return [*lines, "The data are not available, so the rows of each role are not listed.", ""]
    names = data.info.groups
    shares = []
    for role in Role:
        s = data.roles[role].s
        share = np.bincount(s, minlength=len(names)) / len(s)
        shares.append((role.value, f"{len(s):,}", *(f"{part:.1%}" for part in share)))
    return [
        *lines,
        "The encoder was trained on the training set (encoder-train), auditors on the auditor "
        "training set; auditors and points were chosen on the validation set; the figures below "
        "are of the test set.",
        "",
        *table(("role", "rows", *names), shares),
        "",
    ]


def _preprocessing(model: StoredModel) -> list[str]:
    encoder = _available_encoder(model)
    steps = encoder and encoder.preprocessing
    if not steps:
        return []
    rows = []
    for source in steps.sources:
        places = [i for i, f in enumerate(steps.features) if f.source == source]
        categories = steps.features[places[0]].categories
        if categories:
            shown = ", ".join(categories[:8]) + (", ..." if len(categories) > 8 else "")
            code = "one-hot" if steps.features[places[0]].name != source else "integer codes"
            rows.append((source, f"category, {code}", f"{len(categories)}: {shown}"))
        else:
            mean, scale = steps.mean[places[0]], steps.scale[places[0]]
            rows.append((source, "number", f"mean {mean:.4g}, standard deviation {scale:.4g}"))
    return [
        "## What it takes",
        "",
        "All columns are standardised by the mean and standard deviation of the training set. "
        "Values that did not occur there are refused, or replaced where that is requested.",
        "",
        *table(("column", "kind", "values"), rows),
        "",
    ]


def _leaks(stored: StoredPoint) -> list[str]:
    point, figures, reference = stored.point, stored.figures, _reference(stored)
    data = _available_data(stored.model)
    rows = [
        (
            "I(Z;S), nats",
            _figure(figures.get("mutual_information_validation")),
            _interval(figures, "mutual_information"),
        ),
        (
            "A_s, accuracy",
            _figure(figures.get("accuracy_s_validation")),
            _figure(figures.get("accuracy_s")),
        ),
        ("A_s, balanced", "", _figure(figures.get("balanced_accuracy_s"))),
        ("A_s, AUC", "", _figure(figures.get("auc_s"))),
    ]
    if reference:
        rows.append(("I(X;S), nats: x itself", "", _figure(reference["mutual_information_max"])))
    if data is not None:
        share = np.bincount(data.roles[Role.TEST].s) / len(data.roles[Role.TEST].s)
        entropy = -sum(p * math.log(p) for p in share if p > 0)
        rows.append(("H(S), nats: the largest possible", "", f"{entropy:.3f}"))
        rows.append(("A_s of always predicting the largest group", "", f"{share.max():.3f}"))
    readings = sorted(point.auditors or (), key=lambda a: (a.auditor, a.view))
    return [
        "## What leaks",
        "",
        f"By the {point.audit} audit, version {point.version}. Every figure is a lower bound: a "
        "stronger auditor may find more. Square brackets hold the 95% confidence interval of this "
        "auditor's figure over test rows.",
        "",
        *table(("", "validation", "test"), rows),
        "",
        "Each auditor, its view of z, and the mutual information it found (nats). The figures "
        "above are those of the one chosen on the validation set.",
        "",
        *table(
            ("auditor", "view", "validation", "test", ""),
            [
                (
                    reading.auditor,
                    reading.view,
                    _figure(reading.mutual_information_validation),
                    _figure(reading.mutual_information),
                    "chosen" if reading.chosen else "",
                )
                for reading in readings
            ],
        ),
        "",
    ]


def _certificate(stored: StoredPoint, certificate: SelectedCertificate | None) -> list[str]:
    lines, figures = ["## Certificate", ""], stored.figures
    if certificate is not None:
        bound, n = certificate.bound, certificate.candidates
        gap, information, cells = bound.gap, bound.information, bound.cells
        overflow = bound.overflow
        holds = (
            f"with probability {1 - certificate.level:.4g} over the test rows, for all {n:,} "
            "points it was chosen among at once (each certified at 1 - "
            f"{certificate.level:g}/{n})"
        )
    elif figures.get("certified_parity_gap") is not None:
        gap = figures["certified_parity_gap"] or 0.0
        information = figures["certified_mutual_information"] or 0.0
        cells = int(figures["certified_codes"] or 0)
        overflow = figures["certified_overflow"] or 0.0
        holds = (
            "with probability .95 over the test rows for this point by itself; not for one that "
            "was chosen among many by its certificate (fairbench recommend --certified corrects "
            "for that)"
        )
    else:
        return [
            *lines,
            "None: z takes too many values for one: nothing bounds it from above.",
            "",
        ]
    return [
        *lines,
        f"- I(Z;S) is at most {information:.4f} nats, whatever anyone computes from z.",
        f"- No classifier of z alone can have a demographic-parity gap above {gap:.3f}.",
        "",
        f"Each of the two holds {holds}. {cells:,} codes are known beforehand; {overflow:.1%} of "
        "the test rows have another, and count as fully unfair. The certificate holds for the "
        "population that the test rows were drawn from, and for z alone, without x, s or another "
        "table beside it.",
        "",
    ]


def _useful(stored: StoredPoint) -> list[str]:
    figures, reference = stored.figures, _reference(stored)
    suffixes = [""] + [n.removeprefix("auc_y") for n in figures if n.startswith("auc_y_")]
    accuracies = ("accuracy_y", "balanced_accuracy_y", "auc_y")
    gaps = ("demographic_parity_gap", "equalized_odds_gap", "equal_opportunity_gap")
    rows = [
        (
            suffix.removeprefix("_") or _main_task(stored.model),
            *(_figure(figures.get(f"{column}{suffix}")) for column in (*accuracies, *gaps)),
        )
        for suffix in (suffixes if "accuracy_y" in figures else [])
    ]
    lines = ["## What it is good for", ""]
    if rows:
        columns = ("task", "accuracy", "balanced", "AUC", "parity", "odds", "opportunity")
        lines += [
            "The downstream classifier of each task, chosen on the validation set, measured on the "
            "test set; the last three are gaps between the groups in its predictions. The encoder "
            "was trained without task labels.",
            "",
            *table(columns, rows),
            "",
        ]
        if "accuracy_y_constant" in reference:
            constant = reference["accuracy_y_constant"]
            lines += [f"Always predicting the largest class of the main task: {constant:.3f}.", ""]
    distortion = f"D = {_figure(figures.get('distortion'))}"
    if "distortion_max" in reference:
        distortion += f" of {reference['distortion_max']:.3f} where nothing of x is released"
    lines.append(
        f"Distortion: {distortion}: squared error of standardised x rebuilt from z and s, summed "
        "over columns.\n"
    )
    return lines


def _main_task(model: StoredModel) -> str:
    data = _available_data(model)
    tasks = list(data.roles[Role.TEST].y) if data else []
    return tasks[0] if tasks else "main task"


def _cost(stored: StoredPoint) -> list[str]:
    unit = stored.unit
    costs, hardware = unit.costs or {}, unit.hardware or {}
    rows = [("processor", str(hardware.get("accelerator", hardware.get("processor", ""))))]
    if "train_seconds" in costs:
        rows.append(("training", f"{costs['train_seconds']:.3g} s"))
    if costs.get("energy_joules"):
        rows.append(("energy", f"{costs['energy_joules']:.3g} J"))
    if costs.get("trainable_parameters"):
        rows.append(("trainable parameters", f"{costs['trainable_parameters']:,.0f}"))
    if stored.point.seconds is not None:
        rows.append(("audit of this point", f"{stored.point.seconds:.3g} s"))
    rows += list((unit.versions or {}).items())
    rows += [("protocol", str(unit.protocol)), ("code of the method", unit.code)]
    return ["## Compute and versions", "", *table(("", ""), rows), ""]


def _limits(stored: StoredPoint) -> list[str]:
    unit = stored.unit
    lines = [
        "## What this does not say",
        "",
        "- Nothing about attributes that were not audited: z may reveal age, health or anything "
        "else that x reveals.",
        "- Nothing about other populations: another year, another place, a filtered table. Audit "
        "again on rows like those it is used on.",
        "- Nothing about z together with other columns or other tables.",
        "- A small estimate is an absence of evidence. Only a certificate bounds what leaks from "
        "above.",
        "- Group gaps are of the classifiers trained here, not of those that others will train.",
    ]
    if unit.budget != "full":
        lines.append(f"- It was trained at budget {unit.budget}, not at the full one.")
    if stored.point.audit != "strict":
        lines.append("- The audit was a quick one: the strict one may find more.")
    if unit.simulated:
        lines.append("- The data are simulated: nothing about the real data at all.")
    return [*lines, ""]


def _again(stored: StoredPoint) -> list[str]:
    model = stored.model
    commands = [shlex.join(model.run_command())]
    encoder = _available_encoder(model)
    if encoder is not None and encoder.preprocessing is not None:
        encode = [*stored.encode_command(), "--input", "new.csv", "--output", "z.parquet"]
        commands.append(shlex.join(encode))
        commands.append("fairbench audit --z 'z.parquet:z*' --s new.csv:SENSITIVE")
    lines = ["## How to do it again", ""]
    if changed := model.changed_params:
        body = "\n".join(f"  {name}: {json.dumps(value)}" for name, value in changed.items())
        lines += ["`params.yaml`:", "", f"```yaml\n{model.unit.method}:\n{body}\n```", ""]
    lines += ["```sh", *commands, "```", ""]
    lines.append(
        "The first command trains the model where it is not in the results yet, the second encodes "
        "new rows, the last audits them on rows that the encoder was not trained on."
    )
    return lines


def _interval(figures: Mapping[str, float | None], column: str) -> str:
    value = figures.get(column)
    if value is None:
        return ""
    return format_interval(value, figures.get(f"{column}_low"), figures.get(f"{column}_high"))


def _figure(value: float | None) -> str:
    return format_figure(value, empty="")
