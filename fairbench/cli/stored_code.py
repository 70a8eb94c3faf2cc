"""Whether a stored model is still what was audited: its figures are of the code that made them."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from fairbench.cli.console import err
from fairbench.models.lookup import StoredModel
from fairbench.registry import Registry
from fairbench.runs.plan import code_of
from fairbench.store.records import UnitRecord


def warn_of_changed_code(model: StoredModel) -> bool:
    """Warn, and return True, where the installed code is not the one that a model was made with."""
    unit, method = model.unit, model.method
    if method is None or unit.code == code_of(method):
        return False
    err.print(
        f"WARNING: the code of {unit.method} (or of fairbench) has changed since {unit.title} was "
        "trained. The audited figures are of the earlier code, and z may differ from what was "
        f"audited. Install what it was trained with ({unit.plugin}), or train it again: "
        f"{shlex.join(model.run_command())}{model.command_note}",
        markup=False,
    )
    return True


def note_other_code(units: Iterable[UnitRecord], registry: Registry) -> None:
    """Say which methods of own models were trained by other code than is installed, or by none."""
    own = [unit for unit in units if unit.origin is None]
    known = {unit.method for unit in own} & set(registry.methods.classes)
    codes = {name: code_of(registry.methods[name]) for name in known}
    changed = sorted(
        {one.method for one in own if one.method in known and one.code != codes[one.method]}
    )
    if changed:
        err.print(
            f"Trained by other code than is installed: {', '.join(changed)}. The same run trains "
            "them again.",
            markup=False,
        )
    gone = sorted({f"{u.method} ({u.plugin})" for u in own if u.method not in known})
    if gone:
        err.print(f"Not installed here: {', '.join(gone)}.", markup=False)
