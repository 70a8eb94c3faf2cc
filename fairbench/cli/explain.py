"""``fairbench explain``: what the bits of a method's code say, for methods that have bits."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from fairbench.api import Role
from fairbench.cli.console import err, out
from fairbench.cli.report import FORMATS, drawn, write
from fairbench.cli.results import existing_store
from fairbench.cli.stored_data import data_of
from fairbench.data.prepare import Prepared
from fairbench.errors import StoreError, UnknownNameError
from fairbench.leaderboard.frames import to_frame
from fairbench.models.lookup import KEY_DIGITS, Place, Wanted, audited, find_unit
from fairbench.registry import Registry
from fairbench.report.explain import BitTable, Step, bit_table, rows_of, step
from fairbench.runs.fit_job import unpack_bits
from fairbench.store import files as artefacts
from fairbench.store.database import Row, Store
from fairbench.store.records import UnitRecord
from fairbench.store.status import Status


def explain_command(
    registry: Registry, wanted: Wanted, place: Place, formats: Sequence[str]
) -> None:
    """Write the table of bits and two figures, and print a sentence a step of the knob."""
    from fairbench.report.bits import bits_figure, information_figure

    for name in formats:
        if name not in FORMATS:
            raise UnknownNameError("format", name, FORMATS)
    store = existing_store(place.results, place.store)
    unit = _unit(store, registry, wanted)
    data = data_of(unit, store, registry, asked=place.asked, root=place.data_root)
    tables, steps = _explained(unit, data, place.folder)
    stem = f"{data.info.name}-{unit['method']}-seed{unit['seed']}"
    title = f"{unit['method']} on {data.info.name}, seed {unit['seed']}"
    if unit["params_label"] != "default":
        stem += f"-{unit['key'][:KEY_DIGITS]}"
        title += f", model {unit['key'][:KEY_DIGITS]}"
    target = place.folder / "explain"
    figures = {"bits": bits_figure(tables, title)}
    if steps:
        figures["information"] = information_figure(steps, title)
    write(target / f"{stem}-bits.csv", _csv(rows_of(tables)))
    columns = [{"from": s.before, "to": s.after, "bits": s.bits, **s.correlation} for s in steps]
    write(target / f"{stem}-information.csv", _csv(columns))
    err.print(str(target / f"{stem}-bits.csv"), markup=False)
    for kind, figure in figures.items():
        for extension in formats:
            path = target / f"{stem}-{kind}.{extension}"
            write(path, drawn(figure, extension))
            err.print(str(path), markup=False)
    information = {
        row["label"]: row["values"]["mutual_information"] for row in audited(store, [unit])
    }
    for found in steps:
        before, after = information.get(found.before), information.get(found.after)
        out.print(found.sentence(before, after), markup=False)


def _unit(store: Store, registry: Registry, wanted: Wanted) -> Row:
    """The model that is meant, which holds a whole curve."""
    if wanted.unit is None and wanted.method is not None:
        method = registry.methods.resolve(wanted.method)
        units = store.records(UnitRecord, method=method, status=Status.DONE.value)
        if not units:
            raise StoreError(
                f"The store holds no fitted model of {method}.",
                f"Run it first: fairbench run --methods {method}",
            )
        if all(row["point"] is not None for row in units):
            raise _not_one_model(method)
    unit = find_unit(store, registry, wanted)
    method = unit["method"]
    # A method that is no longer installed may have stored bits.
    if method in registry.methods and not registry.methods[method].has_bits:
        raise StoreError(
            f"The code of {method} is not made of bits.",
            "Explain a single-shot method with bits, such as sofair.",
        )
    if unit["point"] is not None:
        raise _not_one_model(method)
    return unit


def _not_one_model(method: str) -> StoreError:
    return StoreError(
        f"Each point of {method} is a model of its own: no bit of one extends another's.",
        "Explain a single-shot method with bits, such as sofair.",
    )


def _explained(unit: Row, data: Prepared, folder: Path) -> tuple[list[BitTable], list[Step]]:
    arrays = artefacts.load(folder, unit["artefact"])
    if arrays is None:
        raise StoreError(
            f"The representations of {unit['method']} are no longer in {folder}.",
            "Train it again: the same fairbench run with --rerun all.",
        )
    rows = data.roles[Role.TEST]
    labels = [point["label"] for point in unit["read_points"]]
    if "0/bits/shape" not in arrays:
        raise StoreError(
            f"No bits of this {unit['method']} are stored: an older fairbench fitted it.",
            "Train it again: the same fairbench run with --rerun all.",
        )
    found = [
        unpack_bits({k: arrays[f"{i}/bits/{k}"] for k in ("ones", "kept", "shape")})
        for i in range(len(labels))
    ]
    # From the setting that releases least to the one that releases most.
    order = np.argsort([np.mean(bits >= 0) for bits in found], kind="stable")
    tables = [bit_table(labels[i], found[i], rows.s) for i in order]
    steps = [
        step(labels[a], labels[b], found[a], found[b], rows.x, data.info)
        for a, b in pairwise(order)
    ]
    return tables, steps


def _csv(rows: Sequence[dict[str, Any]]) -> bytes:
    text: str = to_frame(rows).to_csv(index=False, lineterminator="\n")
    return text.encode()
