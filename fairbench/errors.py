"""Every error a user can cause, in one tree; each has a hint on what to do next.

The command line prints ``message`` and ``hint`` of a :class:`FairbenchError` in one or two lines
and exits with 2. Anything else is a bug and keeps its traceback.
"""

from __future__ import annotations

import difflib
import sys
import traceback
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

_MAX_NAMES = 60
"""Most names in one message."""


class FairbenchError(Exception):
    """An error of the user or of an input, with a hint.

    Parameters
    ----------
    message : str
        The error, with the offending value.
    hint : str, optional
        What to do next: a command to type, or a value that would work.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n{self.hint}" if self.hint else self.message


def in_one_line(error: FairbenchError) -> str:
    """Return message and hint in one line, for lists."""
    return str(error).replace("\n", " ")


class ConfigError(FairbenchError):
    """A value of the command line or of a configuration file cannot be used."""


class ExecutorError(FairbenchError):
    """What runs the jobs is gone: no job can be run any more."""


class CheckError(FairbenchError):
    """A plugin does not keep a promise of its interface."""


class UnknownNameError(FairbenchError):
    """No method, dataset, metric or parameter has this name.

    ``command`` lists the names, where plugins can add some; ``left_out`` are the plugins that could
    not be loaded, one of which may have the name.
    """

    def __init__(
        self,
        kind: str,
        name: str,
        known: Iterable[str],
        *,
        command: str = "",
        left_out: Sequence[str] = (),
    ) -> None:
        if left_out:
            may_be = f"It may be of a plugin that was left out: {', '.join(left_out)}."
            hint = " ".join(part for part in (_similar(name, set(known)), may_be) if part)
        else:
            hint = nearest(name, known)
        if command:
            hint += f" See them all: {command}."
        if command and not left_out:
            hint += " A plugin must be installed first."
        super().__init__(f"Unknown {kind} {name!r}.", hint)


def nearest(name: str, known: Iterable[str]) -> str:
    """Return ``Did you mean 'this'?``, or all known names where none is similar."""
    names = sorted(set(known))
    if similar := _similar(name, names):
        return similar
    more = f", and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
    return f"Known: {', '.join(names[:_MAX_NAMES]) or 'none'}{more}."


def _similar(name: str, known: Iterable[str]) -> str:
    """Return ``Did you mean 'this'?``, or nothing where no name is similar."""
    # Whether letters are small or large says nothing: PCA is near pca.
    by_letters = {other.lower(): other for other in sorted(known)}
    near = difflib.get_close_matches(name.lower(), by_letters, n=3, cutoff=0.5)
    found = " or ".join(repr(by_letters[other]) for other in near)
    return f"Did you mean {found}?" if found else ""


class PluginError(FairbenchError):
    """A plugin breaks the rules of the registry (a bad name, or a name in use)."""


class DataError(FairbenchError):
    """A data file is missing, altered or malformed."""


class InputError(DataError, ValueError):
    """An array or argument from Python cannot be used: a ValueError too, as scikit-learn has it."""


class MissingValueError(DataError):
    """A table has missing values, where its card allows none."""


class UnknownValueError(DataError):
    """A row has a category that the training table has not, or no number: both can be replaced.

    ``correction``: how to correct the values, where to replace them would lose what they say.
    """

    def __init__(self, message: str, hint: str = "", *, correction: str = "") -> None:
        super().__init__(message, hint)
        self.correction = correction


class FitError(FairbenchError):
    """A fit returned nothing that can encode."""


class StoreError(FairbenchError):
    """The results database cannot be opened, read or written."""


class BusyStoreError(StoreError):
    """Another process holds the results database, for longer than was waited."""


class UnstorableError(StoreError):
    """The database does not take the content of a row; the store itself is sound."""


class DeviceError(FairbenchError):
    """The requested device does not exist."""


_NO_PLUGINS = frozenset(
    {"fairbench", "numpy", "optuna", "pandas", "pluggy", "pydantic", "ray", "scipy", "sklearn"}
    | {"torch", *sys.stdlib_module_names}
)
"""Packages that the suite itself calls."""


def place_of(error: BaseException) -> str:
    """Return ``package/file.py:12``: the line of a plugin that raised, or called what raised.

    Empty where no plugin took part.
    """
    frames = [
        (str(frame.f_globals.get("__name__", "")).partition(".")[0], frame.f_code, line)
        for frame, line in traceback.walk_tb(error.__traceback__)
    ]
    # The first foreign package is the plugin's; what it calls, numpy for one, comes after it.
    theirs = [name for name, _, _ in frames if name not in _NO_PLUGINS]
    for name, code, line in reversed(frames):
        if theirs and name == theirs[0]:
            path = Path(code.co_filename)
            return f"{path.parent.name}/{path.name}:{line}"
    return ""


def text_of(error: BaseException) -> str:
    """Return the text of an error, also of one whose text cannot be had."""
    try:
        return str(error)
    except KeyboardInterrupt:  # the user's, at this very moment
        raise
    except BaseException:  # a plugin's may raise anything, SystemExit included
        return "(an error that raises when its text is asked for)"


def say_raised(error: BaseException) -> str:
    """Return ``ValueError: text (package/file.py:12)``: the text's first line, and the place."""
    text = f"{type(error).__name__}: {text_of(error)}".splitlines()[0].rstrip(".: ")
    place = place_of(error)
    return f"{text} ({place})" if place else text


_REASONS = {
    "greater_than_equal": "at least {ge} is needed",
    "greater_than": "more than {gt} is needed",
    "less_than_equal": "at most {le} is allowed",
    "less_than": "less than {lt} is needed",
    "finite_number": "a finite number is needed",
    "missing": "it is missing",
    "extra_forbidden": "it is not known",
    "string_too_short": "it is empty",
    "too_short": "at least {min_length} is needed",
    "string_too_long": "at most {max_length} characters are allowed",
    "string_pattern_mismatch": "it has characters that are not allowed",
    "literal_error": "it is none of {expected}",
    "enum": "it is none of {expected}",
    **dict.fromkeys(("int_parsing", "int_type", "int_from_float"), "a whole number is needed"),
    **dict.fromkeys(("float_parsing", "float_type"), "a number is needed"),
    **dict.fromkeys(("bool_parsing", "bool_type"), "true or false is needed"),
    **dict.fromkeys(("string_type",), "a text is needed"),
    **dict.fromkeys(("list_type", "tuple_type"), "a list is needed"),
    **dict.fromkeys(("dict_type", "mapping_type", "model_type"), "names with values are needed"),
}
"""What is wrong with a value, in words of ours, by the validator's name for it."""


def say_where(details: Mapping[str, Any]) -> str:
    """Return where the value is that a validator refused, as ``labels.0.column``."""
    return ".".join(str(part) for part in details["loc"])


def say_why(details: Mapping[str, Any]) -> str:
    """Return why a validator refused a value, in plain words; ``details`` as pydantic has them."""
    reason = _REASONS.get(str(details["type"]))
    if reason is not None:
        return reason.format_map({**details.get("ctx", {})})
    return str(details["msg"]).removeprefix("Value error, ")


def say_why_and_what(details: Mapping[str, Any]) -> str:
    """Return the same, and the value, where the words do not name it already."""
    reason, value = say_why(details), details["input"]
    told = isinstance(value, str) and repr(value) in reason
    return reason if told else f"{reason} (got {value!r})"
