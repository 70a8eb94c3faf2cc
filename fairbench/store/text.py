"""Text from outside, as it is stored and shown: short, printable, and without passwords.

What a plugin says may be of any length and hold anything: bytes that are no text, commands to the
terminal, characters that a database does not take.
"""

from __future__ import annotations

import re
import traceback

from fairbench.errors import place_of, text_of
from fairbench.store.secrets import redact_text

MAX_BYTES, MAX_LINE_BYTES = 10_000, 1_000
"""Length in UTF-8 of a text, such as a traceback, and of a line, such as a message."""
_MAX_PLACE_BYTES = 200
"""Of the file and line at the end of a message."""

_NO_TEXT = re.compile(
    # Controls but tab and newline; marks that turn or break lines; halves of surrogate pairs.
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)


def escape(text: str) -> str:
    """Return a text that does nothing but stand there: ``\\x1b`` is spelled out, and the like."""
    return _NO_TEXT.sub(_spell, text.replace("\r\n", "\n"))


def clean(text: str) -> str:
    """Return a text of at most ``MAX_BYTES``, escaped, without passwords; its middle gives way."""
    # Cut first: escaping 100 MB, of which 10 kB are kept, is no use.
    cut = _cut(escape(redact_text(_cut(str(text), 2 * MAX_BYTES))), MAX_BYTES)
    whole = cut.encode()
    if len(whole) <= MAX_BYTES:
        return cut
    half = (MAX_BYTES - 60) // 2
    first, last = whole[:half].decode(errors="ignore"), whole[-half:].decode(errors="ignore")
    return f"{first}\n[... the middle is left out ...]\n{last}"


def clean_line(text: str, most: int = MAX_LINE_BYTES) -> str:
    """Return the first line of a text, cleaned."""
    line = str(text)[: 2 * most].strip().split("\n", 1)[0].rstrip()
    whole = escape(redact_text(line)).encode()
    return (
        whole.decode() if len(whole) <= most else whole[: most - 3].decode(errors="ignore") + "..."
    )


def describe(error: BaseException) -> str:
    """Return ``ValueError: text (file.py:12)``: its first line, cleaned, and its place if known."""
    place = place_of(error)
    where = f" ({clean_line(place, _MAX_PLACE_BYTES)})" if place else ""
    most = MAX_LINE_BYTES - len(where.encode())
    return clean_line(f"{type(error).__name__}: {text_of(error)}", most) + where


def describe_fully(error: BaseException) -> str:
    """Return the traceback of an error, cleaned."""
    try:
        return clean("".join(traceback.format_exception(error)))
    except KeyboardInterrupt:
        raise
    except BaseException:  # an error of a plugin may break whoever looks at it
        return describe(error)


def _cut(text: str, most: int) -> str:
    """Leave the middle of a text out where it is longer than ``most`` characters."""
    if len(text) <= most:
        return text
    half = (most - 60) // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half:,} characters left out ...]\n{text[-half:]}"


def _spell(character: re.Match[str]) -> str:
    code = ord(character[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
