"""A model card in Markdown: what a trained encoder is, what leaks, and who found it on which data.

A pure function of what the store and its files hold. Sections follow Mitchell et al. 2019, "Model
Cards for Model Reporting".
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairbench.api import Role
from fairbench.api.dataset import Dataset
from fairbench.api.method import Method
from fairbench.api.metric import Certificate
from fairbench.data.prepare import Prepared
from fairbench.models.lookup import changed_params
from fairbench.report.format import with_interval
from fairbench.store.database import Row
from fairbench.store.encoders import Encoder


@dataclass(frozen=True)
class Certified:
    """A certificate that holds for all of several candidates at once.

    Parameters
    ----------
    bound : Certificate
    level : float
        Probability, over the test rows, that a bound of any candidate fails.
    candidates : int
    """

    bound: Certificate
    level: float
    candidates: int


@dataclass(frozen=True)
class Facts:
    """All that a card is made of.

    Parameters
    ----------
    unit, point : Row
        Of the store.
    method : type of Method, optional
        None where its plugin is not installed.
    dataset : type of Dataset, optional
        None where it is not to be found any more.
    reference : mapping of str to float
        What x itself tells; empty where it was not measured.
    encoder : Encoder, optional
        As kept; None where it was not.
    data : Prepared, optional
        What the unit was trained on; None where it is not at hand.
    certified : Certified, optional
        In place of the certificate of this point alone.
    run, encode : sequence of str
        Words of the commands that train it again, and that use it.
    """

    unit: Row
    point: Row
    method: type[Method] | None
    dataset: type[Dataset] | None
    reference: Mapping[str, float]
    encoder: Encoder | None
    data: Prepared | None
    certified: Certified | None
    run: Sequence[str]
    encode: Sequence[str]

    @property
    def values(self) -> Mapping[str, float | None]:
        """The point's figures."""
        found: Mapping[str, float | None] = self.point["values"]
        return found

    @property
    def title(self) -> str:
        """Method, dataset, point."""
        knobs = f", {self.point['label']}" if self.point["knobs"] else ""
        return f"{self.unit['method']} on {self.unit['dataset']}{knobs}"


def model_card(facts: Facts) -> str:
    """The card's Markdown."""
    parts = [
        _head(facts),
        _what(facts),
        _data(facts),
        _preprocessing(facts),
        _leaks(facts),
        _certificate(facts),
        _useful(facts),
        _cost(facts),
        _limits(facts),
        _again(facts),
    ]
    return "\n".join("\n".join(part) for part in parts if part) + "\n"


def _head(facts: Facts) -> list[str]:
    lines = [f"# {_shown(facts.title)}", ""]
    if facts.unit["data_source"] == "simulated":
        lines += [
            "> **Simulated data.** This encoder was trained and audited on a simulated twin, not "
            "on real people. Nothing here is a result on the real data.",
            "",
        ]
    values = facts.values
    useful = _number(values.get("accuracy_y"))
    dataset = _shown(facts.unit["dataset"])
    lines.append(
        f"An encoder that maps a row of {dataset} to a representation z. What "
        "these auditors read of the sensitive attribute from z, on rows nothing was trained on: "
        f"I(Z;S) = {_interval(values, 'i')} nats"
        + (
            f"; x itself tells {facts.reference['mutual_information_max']:.3f}"
            if facts.reference
            else ""
        )
        + (f". Accuracy of the main task from z: {useful}" if useful else "")
        + ". That is a lower bound of what leaks, no guarantee.\n"
    )
    return lines


def _what(facts: Facts) -> list[str]:
    unit = facts.unit
    rows = [("method", unit["method"])]
    if facts.method is not None:
        rows += [("what it does", facts.method.summary), ("reference", facts.method.reference)]
        for knob in facts.method.knobs:
            rows.append((f"knob {knob.name}", knob.summary))
    rows += [
        ("point", facts.point["label"]),
        ("seed", unit["seed"]),
        ("track", f"{unit['track']}: {_TRACKS.get(unit['track'], '')}"),
        ("kind", " ".join(unit["tags"])),
        ("training", f"budget {unit['budget']}, {unit['iterations']:,} iterations"),
        ("parameters", ", ".join(f"{k} = {v}" for k, v in unit["params"].items()) or "none"),
        ("plugin", unit["plugin"]),
        ("trained", unit["finished"]),
        ("encoder file", f"encoders/{unit['encoder']}" if unit["encoder"] else "not kept"),
    ]
    return ["## What it is", "", *_table(("", ""), rows), ""]


_TRACKS = {
    "blind": "the encoder sees x alone",
    "aware": "the encoder also takes the sensitive attribute of every new row",
}


def _data(facts: Facts) -> list[str]:
    unit = facts.unit
    rows = [
        ("dataset", unit["dataset"]),
        ("source", {"simulated": "simulated twin"}.get(unit["data_source"], unit["data_source"])),
        ("fingerprint", f"{unit['fingerprint'][:12]} (sha256 of data and split)"),
    ]
    if facts.dataset is not None:
        rows += [("citation", facts.dataset.citation), ("licence", facts.dataset.licence)]
    groups = facts.encoder.info.groups if facts.encoder else ()
    if groups:
        rows.append(("sensitive attribute", f"{len(groups)} groups: {', '.join(groups)}"))
    lines = ["## Data", "", *_table(("", ""), rows), ""]
    if facts.data is None:
        return [*lines, "The data are not at hand, so the rows of each role are not told.", ""]
    names = facts.data.info.groups
    shares = []
    for role in Role:
        s = facts.data.roles[role].s
        share = np.bincount(s, minlength=len(names)) / len(s)
        shares.append((role.value, f"{len(s):,}", *(f"{part:.1%}" for part in share)))
    return [
        *lines,
        "The encoder was trained on encoder-train, auditors on auditor-train; auditors and points "
        "were chosen on validation; figures below are of test.",
        "",
        *_table(("role", "rows", *names), shares),
        "",
    ]


def _preprocessing(facts: Facts) -> list[str]:
    kept = facts.encoder and facts.encoder.preprocessing
    if not kept:
        return []
    rows = []
    for source in kept.sources:
        places = [i for i, f in enumerate(kept.features) if f.source == source]
        categories = kept.features[places[0]].categories
        if categories:
            shown = ", ".join(categories[:8]) + (", ..." if len(categories) > 8 else "")
            code = "one-hot" if kept.features[places[0]].name != source else "integer codes"
            rows.append((source, f"category, {code}", f"{len(categories)}: {shown}"))
        else:
            mean, scale = kept.mean[places[0]], kept.scale[places[0]]
            rows.append((source, "number", f"mean {mean:.4g}, standard deviation {scale:.4g}"))
    return [
        "## What it takes",
        "",
        "All columns are standardised by mean and standard deviation of encoder-train. Values "
        "it has never seen are refused, or replaced where that is asked for.",
        "",
        *_table(("column", "kind", "values"), rows),
        "",
    ]


def _leaks(facts: Facts) -> list[str]:
    values = facts.values
    rows = [
        (
            "I(Z;S), nats",
            _number(values.get("mutual_information_validation")),
            _interval(values, "mutual_information"),
        ),
        (
            "A_s, accuracy",
            _number(values.get("accuracy_s_validation")),
            _number(values.get("accuracy_s")),
        ),
        ("A_s, balanced", "", _number(values.get("balanced_accuracy_s"))),
        ("A_s, AUC", "", _number(values.get("auc_s"))),
    ]
    if facts.reference:
        rows.append(
            ("I(X;S), nats: x itself", "", _number(facts.reference["mutual_information_max"]))
        )
    if facts.data is not None:
        share = np.bincount(facts.data.roles[Role.TEST].s) / len(facts.data.roles[Role.TEST].s)
        entropy = -sum(p * math.log(p) for p in share if p > 0)
        rows.append(("H(S), nats: all there is", "", f"{entropy:.3f}"))
        rows.append(("guessing the largest group", "", f"{share.max():.3f}"))
    found = sorted(facts.point["auditors"] or (), key=lambda a: (a["auditor"], a["view"]))
    return [
        "## What leaks",
        "",
        f"By the {facts.point['audit']} audit, version {facts.point['audit_version'] or 1}. Every "
        "figure is a lower bound: a stronger auditor may find more. Square brackets hold the 95% "
        "interval over test rows of what this auditor finds.",
        "",
        *_table(("", "validation", "test"), rows),
        "",
        "Each auditor, the view of z it looked at, and the information it found (nats). The "
        "figures above are of the one chosen on validation.",
        "",
        *_table(
            ("auditor", "view", "validation", "test", ""),
            [
                (
                    a["auditor"],
                    a["view"],
                    _number(a["mutual_information_validation"]),
                    _number(a["mutual_information"]),
                )
                + (("chosen",) if a["chosen"] else ("",))
                for a in found
            ],
        ),
        "",
    ]


def _certificate(facts: Facts) -> list[str]:
    lines = ["## Certificate", ""]
    if facts.certified is not None:
        bound, n = facts.certified.bound, facts.certified.candidates
        gap, information, cells = bound.gap, bound.information, bound.cells
        overflow = bound.overflow
        holds = (
            f"with probability {1 - facts.certified.level:.4g} over the test rows, for all {n:,} "
            "points it was chosen among at once (each certified at 1 - "
            f"{facts.certified.level:g}/{n})"
        )
    elif facts.values.get("certified_parity_gap") is not None:
        gap = facts.values["certified_parity_gap"] or 0.0
        information = facts.values["certified_mutual_information"] or 0.0
        cells = int(facts.values["certified_codes"] or 0)
        overflow = facts.values["certified_overflow"] or 0.0
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
        f"- I(Z;S) is at most {information:.4f} nats, whatever anyone makes of z.",
        f"- No classifier of z alone can have a demographic-parity gap above {gap:.3f}.",
        "",
        f"Each of the two holds {holds}. {cells:,} codes are known beforehand; {overflow:.1%} of "
        "the test rows have another, and count as fully unfair. It speaks of the population that "
        "the test rows were drawn from, and of z alone, without x, s or another table beside it.",
        "",
    ]


def _useful(facts: Facts) -> list[str]:
    values = facts.values
    tasks = [""] + [name.removeprefix("auc_y") for name in values if name.startswith("auc_y_")]
    rows = []
    for suffix in tasks if "accuracy_y" in values else []:
        rows.append(
            (
                suffix.removeprefix("_") or _main_task(facts),
                *(
                    _number(values.get(f"{c}{suffix}"))
                    for c in ("accuracy_y", "balanced_accuracy_y", "auc_y")
                ),
                *(
                    _number(values.get(f"gap_{c}{suffix}"))
                    for c in ("parity", "odds", "opportunity")
                ),
            )
        )
    lines = ["## What it is good for", ""]
    if rows:
        columns = ("task", "accuracy", "balanced", "AUC", "parity", "odds", "opportunity")
        lines += [
            "The downstream classifier of each task, chosen on validation, measured on test; the "
            "last three are gaps between the groups in what it predicts. The encoder knew no task.",
            "",
            *_table(columns, rows),
            "",
        ]
        if "accuracy_y_constant" in facts.reference:
            constant = facts.reference["accuracy_y_constant"]
            lines += [f"Always guessing the commonest class of the main task: {constant:.3f}.", ""]
    kept = f"D = {_number(values.get('distortion'))}"
    if "distortion_max" in facts.reference:
        kept += f" of {facts.reference['distortion_max']:.3f} where nothing of x is released"
    lines.append(
        f"Distortion: {kept}: squared error of standardised x rebuilt from z and s, summed over "
        "columns.\n"
    )
    return lines


def _main_task(facts: Facts) -> str:
    tasks = list(facts.data.roles[Role.TEST].y) if facts.data else []
    return tasks[0] if tasks else "main task"


def _cost(facts: Facts) -> list[str]:
    unit = facts.unit
    costs, hardware = unit["costs"] or {}, unit["hardware"] or {}
    rows = [("processor", hardware.get("accelerator", hardware.get("processor", "")))]
    if "train_seconds" in costs:
        rows.append(("training", f"{costs['train_seconds']:.3g} s"))
    if costs.get("energy_joules"):
        rows.append(("energy", f"{costs['energy_joules']:.3g} J"))
    if costs.get("parameters"):
        rows.append(("trained numbers", f"{costs['trainable_parameters']:,.0f}"))
    rows += [("audit of this point", f"{facts.point['seconds']:.3g} s")]
    rows += [(name, version) for name, version in (unit["versions"] or {}).items()]
    rows += [("protocol", unit["protocol"]), ("code of the method", unit["code"])]
    return ["## Compute and versions", "", *_table(("", ""), rows), ""]


def _limits(facts: Facts) -> list[str]:
    lines = [
        "## What this does not say",
        "",
        "- Nothing about attributes that were not audited: z may tell of age, health or anything "
        "else that x tells.",
        "- Nothing about other people: next year's, another place's, a table that was filtered. "
        "Audit again on rows like those it is used on.",
        "- Nothing about z together with other columns or other tables.",
        "- A small figure of auditors is an absence of evidence. Only a certificate bounds what "
        "leaks from above.",
        "- Group gaps are of the classifiers trained here, not of those that others will train.",
    ]
    if facts.unit["budget"] != "full":
        lines.append(f"- It was trained at budget {facts.unit['budget']}, not at the full one.")
    if facts.point["audit"] != "strict":
        lines.append("- The audit was a quick one: the strict one may find more.")
    if facts.unit["data_source"] == "simulated":
        lines.append("- The data are simulated: nothing about real people at all.")
    return [*lines, ""]


def _again(facts: Facts) -> list[str]:
    commands = [shlex.join(facts.run)]
    if facts.encoder is not None and facts.encoder.preprocessing is not None:
        commands.append(shlex.join([*facts.encode, "--input", "new.csv", "--output", "z.parquet"]))
        commands.append("fairbench audit --z 'z.parquet:z*' --s new.csv:SENSITIVE")
    lines = ["## How to do it again", ""]
    if changed := changed_params(facts.unit):
        body = "\n".join(f"  {name}: {_yaml(value)}" for name, value in changed.items())
        lines += ["`params.yaml`:", "", f"```yaml\n{facts.unit['method']}:\n{body}\n```", ""]
    lines += ["```sh", *commands, "```", ""]
    lines.append(
        "The first trains it anew where it is not in the results yet, the second encodes new rows, "
        "the last audits them on people the encoder never saw."
    )
    return lines


def _yaml(value: Any) -> str:
    import json

    return json.dumps(value)


def _interval(values: Mapping[str, float | None], column: str) -> str:
    value = values.get(column)
    if value is None:
        return ""
    return with_interval(value, values.get(f"{column}_low"), values.get(f"{column}_high"))


def _number(value: float | None) -> str:
    return "" if value is None else f"{round(value, 3) + 0.0:.3f}"  # no minus before zero


def _table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Iterator[str]:
    """Lines of a Markdown table; rows whose cells but the first are all empty are left out."""
    yield _line(columns)
    yield _line(["---"] * len(columns))
    for row in rows:
        if any(str(cell) for cell in row[1:]):
            yield _line([*row, *[""] * (len(columns) - len(row))])


def _line(cells: Sequence[Any]) -> str:
    return f"| {' | '.join(map(_shown, cells))} |"


def _shown(text: Any) -> str:
    """Markdown that shows a text as it is, whatever marks of Markdown or HTML are in it."""
    shown = " ".join(str(text).split())
    shown = re.sub(r"([\\`*~|]|\](?=[(\[]))", r"\\\1", shown)
    shown = re.sub(r"(?<![^\W_])_+|_+(?![^\W_])", lambda marks: "\\_" * len(marks[0]), shown)
    return shown.replace("&", "&amp;").replace("<", "&lt;")
