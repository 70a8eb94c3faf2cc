"""A model card in Markdown: what a trained encoder is, what leaks, and how that was measured.

A pure function of a stored point. Its words stand in ``model_card.md.j2``; sections follow Mitchell
et al. 2019, "Model Cards for Model Reporting".
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from functools import partial
from importlib.resources import files

import numpy as np

from fairbench.api import Access, Role, Track
from fairbench.api.metric import Certificate
from fairbench.data.card_dataset import CardDataset
from fairbench.data.prepared import Prepared
from fairbench.data.preprocessing import Preprocessing
from fairbench.errors import FairbenchError
from fairbench.metrics.access import BY_ACCESS
from fairbench.models.certify import SelectedCertificate
from fairbench.models.lookup import StoredModel, StoredPoint
from fairbench.report.about_data import column_of_s, describe_data
from fairbench.report.format import format_figure, format_interval
from fairbench.report.markdown import escape, table
from fairbench.stats.scores import entropy
from fairbench.store.encoders import Encoder

Rows = list[tuple[str, ...]]

_TRACKS = {
    "blind": "the encoder sees x alone",
    "aware": "the encoder also takes the sensitive attribute of every new row",
}


def model_card(stored: StoredPoint, certificate: SelectedCertificate | None = None) -> str:
    """Write the model card of a stored point, as Markdown.

    What is not available (data, encoder, plugin) is left out. A certificate that the point was
    chosen by stands in place of the certificate of this point alone.
    """
    import jinja2

    model, unit, figures = stored.model, stored.unit, stored.figures
    data = None if isinstance(model.data_or_error, FairbenchError) else model.data_or_error
    read = model.encoder_or_error
    encoder = None if isinstance(read, FairbenchError) else read
    preprocessing = encoder and encoder.preprocessing
    reference = {} if stored.reference is None else stored.reference.figures
    bound, holds = _certificate(figures, certificate)
    knobs = f", {stored.point.label}" if stored.point.knobs else ""
    commands = [shlex.join(model.run_command())]
    if preprocessing and unit.track != Track.AWARE:
        encode = model.encode_command(stored.point)
        commands.append(shlex.join([*encode, "--input", "new.csv", "--output", "z.parquet"]))
        s = f"new.csv:{column_of_s(model.dataset) or 'SENSITIVE'}"
        commands.append(shlex.join(["fairbench", "audit", "--z", "z.parquet:z*", "--s", s]))
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"escaped": escape, "json": json.dumps}
    text = (files("fairbench.report") / "model_card.md.j2").read_text("utf-8")
    return environment.from_string(text).render(
        title=f"{unit.method} on {unit.dataset}{knobs}",
        unit=unit,
        point=stored.point,
        reference=reference,
        figure=partial(_figure, figures),
        interval=partial(_interval, figures),
        table=table,
        about=_about(stored),
        sources=_sources(model, encoder, data),
        groups=list(data.info.groups) if data else [],
        roles=_roles(data) if data else [],
        columns=_columns(preprocessing) if preprocessing else [],
        unused=", ".join(stored.unused_columns),
        leaks=_leaks(figures, reference, data),
        auditors=_auditors(stored),
        bound=bound,
        holds=holds,
        tasks=_tasks(figures, data),
        costs=_costs(stored),
        params=model.changed_params,
        commands=commands,
        s_to_make=bool(preprocessing) and column_of_s(model.dataset) is None,
    )


def _about(stored: StoredPoint) -> Rows:
    unit, method = stored.unit, stored.model.method
    rows = [("method", unit.method)]
    if method is not None:
        rows += [("what it does", method.summary), ("reference", method.reference)]
        rows += [(f"knob {knob.name}", knob.summary) for knob in method.knobs]
    return [
        *rows,
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


def _sources(model: StoredModel, encoder: Encoder | None, data: Prepared | None) -> Rows:
    unit, dataset = model.unit, model.dataset
    rows: Rows = [
        ("dataset", unit.dataset),
        ("source", "simulated twin" if unit.simulated else unit.data_source),
        ("fingerprint", f"{unit.fingerprint[:12]} (sha256 of data and split)"),
    ]
    if dataset is not None:
        rows += [("citation", dataset.citation), ("licence", dataset.licence)]
        # A card may have been edited since: it describes these data if they are the same still.
        if data is not None or not issubclass(dataset, CardDataset):
            rows += describe_data(dataset)
    groups = encoder.info.groups if encoder else ()
    if groups:
        rows.append(("sensitive attribute", f"{len(groups)} groups: {', '.join(groups)}"))
    rows += [("warning", note) for note in (data.notes if data else ())]
    return rows


def _roles(data: Prepared) -> Rows:
    rows: Rows = []
    for role in Role:
        s = data.roles[role].s
        share = np.bincount(s, minlength=len(data.info.groups)) / len(s)
        rows.append((role.value, f"{len(s):,}", *(f"{part:.1%}" for part in share)))
    return rows


def _columns(steps: Preprocessing) -> Rows:
    rows: Rows = []
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
    return rows


def _leaks(
    figures: Mapping[str, float | None], reference: Mapping[str, float], data: Prepared | None
) -> Rows:
    rows: Rows = [
        (
            f"I(Z;S), nats; access: {Access.DECODER}",
            _figure(figures, "mutual_information_validation"),
            _interval(figures, "mutual_information"),
        ),
        *(
            (f"I(Z;S), nats; access: {access}", "", _figure(figures, column))
            for access, column in BY_ACCESS.items()
            if figures.get(column) is not None
        ),
        (
            "A_s, accuracy",
            _figure(figures, "accuracy_s_validation"),
            _figure(figures, "accuracy_s"),
        ),
        ("A_s, balanced", "", _figure(figures, "balanced_accuracy_s")),
        ("A_s, AUC", "", _figure(figures, "auc_s")),
    ]
    if reference:
        rows.append(("I(X;S), nats: x itself", "", _figure(reference, "mutual_information_max")))
    if data is not None:
        s = data.roles[Role.TEST].s
        share = np.bincount(s) / len(s)
        rows.append(("H(S), nats: the largest possible", "", f"{entropy(s):.3f}"))
        rows.append(("A_s of always predicting the largest group", "", f"{share.max():.3f}"))
    return rows


def _auditors(stored: StoredPoint) -> Rows:
    return [
        (
            reading.auditor,
            reading.view,
            format_figure(reading.mutual_information_validation, empty=""),
            format_figure(reading.mutual_information, empty=""),
            "chosen" if reading.chosen else "",
        )
        for reading in sorted(stored.point.auditors or (), key=lambda a: (a.auditor, a.view))
    ]


def _certificate(
    figures: Mapping[str, float | None], selected: SelectedCertificate | None
) -> tuple[Certificate | None, str]:
    """The bounds that hold, and with which probability."""
    if selected is not None:
        return selected.bound, (
            f"with probability {1 - selected.level:.4g} over the test rows, for all "
            f"{selected.candidates:,} points it was chosen among at once (each certified at 1 - "
            f"{selected.level:g}/{selected.candidates})"
        )
    gap = figures.get("certified_parity_gap")
    information = figures.get("certified_mutual_information")
    if gap is None or information is None:
        return None, ""
    bound = Certificate(
        gap=gap,
        information=information,
        confidence=0.95,
        cells=int(figures["certified_codes"] or 0),
        overflow=figures["certified_overflow"] or 0.0,
        rows=0,  # not shown
    )
    return bound, (
        "with probability .95 over the test rows for this point by itself; not for one that was "
        "chosen among many by its certificate (fairbench recommend --certified corrects for that)"
    )


def _tasks(figures: Mapping[str, float | None], data: Prepared | None) -> Rows:
    if "accuracy_y" not in figures:
        return []
    names = list(data.roles[Role.TEST].y) if data else []
    suffixes = [""] + [n.removeprefix("auc_y") for n in figures if n.startswith("auc_y_")]
    columns = (
        *("accuracy_y", "balanced_accuracy_y", "auc_y"),
        *("demographic_parity_gap", "equalized_odds_gap", "equal_opportunity_gap"),
    )
    return [
        (
            suffix.removeprefix("_") or next(iter(names), "main task"),
            *(_figure(figures, f"{column}{suffix}") for column in columns),
        )
        for suffix in suffixes
    ]


def _costs(stored: StoredPoint) -> Rows:
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
    versions = (unit.versions or {}).items()
    return [*rows, *versions, ("protocol", str(unit.protocol)), ("code of the method", unit.code)]


def _interval(figures: Mapping[str, float | None], column: str) -> str:
    value = figures.get(column)
    if value is None:
        return ""
    return format_interval(value, figures.get(f"{column}_low"), figures.get(f"{column}_high"))


def _figure(figures: Mapping[str, float | None], column: str) -> str:
    return format_figure(figures.get(column), empty="")
