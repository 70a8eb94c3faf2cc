"""Passwords in URLs: taken out of whatever is stored, shown or logged.

Everything goes through here: the command and the configuration of a run, errors, lines to be typed
again, texts of plugins. User names are kept, passwords become ``***``. It works on text alone, as
an URL that cannot be parsed has a password too.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

HIDDEN = "***"
"""What stands for a password."""

_HARMLESS = frozenset(
    {
        "application_name",
        "cache",
        "client_encoding",
        "connect_timeout",
        "dbname",
        "host",
        "hostaddr",
        "mode",
        "port",
        "sslmode",
        "target_session_attrs",
        "timeout",
        "uri",
        "user",
    }
)
"""Options of database URLs that are shown; the values of all others are hidden."""

_SECRET = re.compile("pass|pw|secret|token|key|sig|auth|cred", re.IGNORECASE)
"""In the names of options of web addresses that are hidden; without the others, links break."""

# Of bounded length: else a megabyte without a colon takes minutes.
_SCHEME = r"[A-Za-z][A-Za-z0-9+.-]{0,40}://"
_START = re.compile(_SCHEME)
# A password may hold quotes: up to the last @ they do not end the URL.
_IN_TEXT = re.compile(_SCHEME + r"(?:(?:(?!://)\S)*@[^\s'\"<>]*|[^\s'\"<>]+)")
_NO_PORT = re.compile(r"([^:/?\[]*):(?!\d*(?:[/?]|$))[^/?]*")
# From where an option begins: tried at each character, one without a value takes minutes.
_OPTION = re.compile(r"(?<![^&])([^=&]*)=([^&]*)")


def redact_url(url: str) -> str:
    """Return a URL without its password and without the values of options that may be secret."""
    head = _START.match(url)
    if head is None:
        return url
    rest = url[head.end() :]
    # A password may hold any character, unquoted: it ends at the last @ there is.
    before, at, after = rest.rpartition("@")
    user, colon, _ = before.partition(":")
    if at and colon and "/" not in user:
        rest = f"{user}:{HIDDEN}@{after}"
    elif not at and (mistyped := _NO_PORT.match(rest)):  # user:password without the host
        rest = f"{mistyped[1]}:{HIDDEN}{rest[mistyped.end() :]}"
    place, question, options = rest.partition("?")
    if question:
        web = head[0].lower() in ("http://", "https://")
        place += question + _OPTION.sub(_hide_on_web if web else _hide, options)
    return head[0] + place


def redact_text(text: str) -> str:
    """Return a text with all URLs in it redacted."""
    return _IN_TEXT.sub(lambda found: redact_url(found[0]), text)


def redact_words(words: Sequence[str]) -> list[str]:
    """Return the words of a command redacted; of a word, all behind ``scheme://`` is a URL."""
    redacted = []
    for word in words:
        start = _START.search(word)
        at = start.start() if start else len(word)
        redacted.append(word[:at] + redact_url(word[at:]))
    return redacted


def redact_command(command: str) -> str:
    """Return a command line, as it is typed, redacted."""
    try:
        return shlex.join(redact_words(shlex.split(command)))
    except ValueError:  # a quote that does not end
        return redact_text(command)


def redact_values(value: Any) -> Any:
    """Return plain data with every text in it redacted, as in a stored configuration."""
    if isinstance(value, str):
        return redact_words([value])[0]
    if isinstance(value, Mapping):
        return {name: redact_values(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [redact_values(one) for one in value]
    return value


def _hide(option: re.Match[str]) -> str:
    return option[0] if option[1].lower() in _HARMLESS else f"{option[1]}={HIDDEN}"


def _hide_on_web(option: re.Match[str]) -> str:
    return f"{option[1]}={HIDDEN}" if _SECRET.search(option[1]) else option[0]
