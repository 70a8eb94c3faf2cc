"""What a task may be called: tables of figures make names of columns of it."""

from __future__ import annotations

MAX_TASK_LENGTH = 150

TAKEN_TASKS = ("validation", "constant", "change", "refitted")
"""Names after which the accuracy of a further task would be called as another figure is."""


def fault_of_task_name(name: object) -> str | None:
    """Say why a task cannot be called so; None where it can."""
    if not isinstance(name, str) or not name or not name.isprintable():
        return "names of tasks are printable characters"
    if len(name) > MAX_TASK_LENGTH:
        return f"names of tasks have at most {MAX_TASK_LENGTH} characters"
    if name.startswith("validation_"):
        return "what is measured on the validation set has names that begin with 'validation_'"
    if name in TAKEN_TASKS:
        return f"a figure is called accuracy_y_{name} already"
    return None
