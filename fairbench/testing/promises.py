"""A promise of an interface, the check of it on one plugin, and what came out."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairbench.errors import CheckError, FairbenchError
from fairbench.testing.verdicts import BrokenPromise, Unmet, Verdict


@dataclass(frozen=True)
class Promise:
    """One sentence of an interface.

    Parameters
    ----------
    text : str
        What is promised, in a few words.
    why : str
        What goes wrong for others where it is broken; one plain sentence.
    look : callable
        Takes a trial of the plugin; raises :class:`BrokenPromise` or :class:`Unmet`.
    """

    text: str
    why: str
    look: Callable[[Any], None]


def promise(text: str, why: str) -> Callable[[Callable[[Any], None]], Promise]:
    """Make a promise of the function that looks whether it is kept."""
    return lambda look: Promise(text, why, look)


@dataclass(frozen=True)
class CheckOutcome:
    """What became of one promise.

    Parameters
    ----------
    promise : Promise
    verdict : Verdict
    what : str
        What was seen, or the reason for skipping.
    todo : str
        What the author can do.
    """

    promise: Promise
    verdict: Verdict
    what: str = ""
    todo: str = ""


@dataclass(frozen=True)
class Check:
    """A promise of one plugin; call it to have it looked at.

    Parameters
    ----------
    kind : str
        ``method``, ``dataset`` or ``metric``.
    name : str
        Of the plugin.
    promise : Promise
    trial : object
        What the promise is looked at on; checks of one plugin share it, and what it has fitted.
    """

    kind: str
    name: str
    promise: Promise
    trial: Any

    def outcome(self) -> CheckOutcome:
        """Look, and tell; never raises what the plugin raises."""
        from fairbench.testing.surroundings import restored

        try:
            with restored():
                self.promise.look(self.trial)
        except Unmet as reason:
            return CheckOutcome(self.promise, Verdict.SKIPPED, str(reason))
        except BrokenPromise as broken:
            return CheckOutcome(self.promise, Verdict.FAILED, broken.what, broken.todo)
        except FairbenchError as error:
            return CheckOutcome(self.promise, Verdict.FAILED, error.message, error.hint)
        # A plugin may raise anything, sys.exit included.
        except (Exception, SystemExit) as error:
            return CheckOutcome(self.promise, Verdict.FAILED, told(error), "Mend what raised it.")
        return CheckOutcome(self.promise, Verdict.OK)

    def __call__(self) -> None:
        """Look; for tests.

        Raises
        ------
        CheckError
            The promise is broken.
        unittest.SkipTest
            It cannot be looked at here; pytest shows the reason.
        """
        from unittest import SkipTest

        found = self.outcome()
        if found.verdict is Verdict.SKIPPED:
            raise SkipTest(found.what)
        if found.verdict is Verdict.FAILED:
            raise self.error(found)

    def error(self, found: CheckOutcome) -> CheckError:
        """A failed outcome as an error, with promise, fault, reason and remedy."""
        return CheckError(
            f"{self.kind.capitalize()} {self.name!r} breaks the promise "
            f"'{self.promise.text}': {found.what}",
            f"Why it matters: {self.promise.why} {found.todo}".rstrip(),
        )


def demand(checks: Sequence[Check]) -> None:
    """Look at all promises in turn; CheckError for the first that is broken."""
    for check in checks:
        found = check.outcome()
        if found.verdict is Verdict.FAILED:
            raise check.error(found)


@contextmanager
def telling(doing: str, todo: str = "Mend what raised it.") -> Iterator[None]:
    """Turn whatever a plugin raises inside, sys.exit included, into BrokenPromise: ``doing`` raised it."""
    try:
        yield
    except (BrokenPromise, Unmet):
        raise
    except (Exception, SystemExit) as error:
        raise BrokenPromise(f"{doing} raised {told(error)}.", todo) from None


def told(error: BaseException) -> str:
    """``ValueError: text (my_plugin/model.py, line 12)``: type, first line and innermost place."""
    text = f"{type(error).__name__}: {error}".splitlines()[0].rstrip(": ")
    frames = traceback.extract_tb(error.__traceback__)
    # The plugin's own line says more than the library's that it called.
    own = [f for f in frames if "fairbench/testing" not in Path(f.filename).as_posix()]
    theirs = [f for f in own if "site-packages" not in f.filename] or own
    if not theirs:
        return text
    path = Path(theirs[-1].filename)
    return f"{text} ({path.parent.name}/{path.name}, line {theirs[-1].lineno})"
