"""Whether a stored model is still what was audited: its figures are of the code that made them."""

from __future__ import annotations

import shlex

from fairbench.cli.console import err
from fairbench.models.lookup import StoredModel
from fairbench.runs.plan import code_of


def warn_of_changed_code(model: StoredModel) -> bool:
    """Warn, and return True, where the installed code is not the one that a model was made with."""
    unit, method = model.unit, model.method
    if method is None or unit.code == code_of(method):
        return False
    err.print(
        f"WARNING: the code of {unit.method} (or of fairbench) has changed since {unit.title} was "
        "trained. The audited figures are of the earlier code, and z may differ from what was "
        f"audited. Install what it was trained with ({unit.plugin}), or train it again: "
        f"{shlex.join(model.run_command())}",
        markup=False,
    )
    return True
