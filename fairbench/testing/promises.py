"""A promise of an interface, its check on one plugin, and the outcome."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from typing import Any

from fairbench.errors import CheckError, FairbenchError, say_raised
from fairbench.testing.check_results import BrokenPromise, CheckResult, Unmet


@dataclass(frozen=True)
class Promise:
    """One sentence of an interface."""

    text: str  # what is promised, in a few words
    why: str  # the harm to others where it is broken; one plain sentence
    # Takes a trial of the plugin; raises :class:`BrokenPromise` or :class:`Unmet`
    look: Callable[[Any], None]


def promise(text: str) -> Callable[[Callable[[Any], None]], Promise]:
    """Decorate the function that checks a promise; its docstring is why the promise matters."""
    return lambda look: Promise(text, " ".join((look.__doc__ or "").split()), look)


@dataclass(frozen=True)
class CheckOutcome:
    """The outcome of one check.

    ``what``: what was observed, or the reason for skipping. ``todo``: what the author can do.
    """

    promise: Promise
    verdict: CheckResult
    what: str = ""
    todo: str = ""


@dataclass(frozen=True)
class Check:
    """The check of a promise on one plugin; call it to run it.

    ``kind``: ``method``, ``dataset`` or ``metric``. ``name``: name of the plugin. ``trial``: the
    plugin on trial; all checks of a plugin share it, and its fits.
    """

    kind: str
    name: str
    promise: Promise
    trial: Any

    def outcome(self) -> CheckOutcome:
        """Run the check; errors of the plugin are outcomes."""
        from fairbench.testing.surroundings import restored

        try:
            # What a plugin prints must not stand among the results of its checks.
            with restored(), redirect_stdout(sys.stderr):
                self.promise.look(self.trial)
        except Unmet as reason:
            return CheckOutcome(self.promise, CheckResult.SKIPPED, str(reason))
        except BrokenPromise as broken:
            return CheckOutcome(self.promise, CheckResult.FAILED, broken.what, broken.todo)
        except FairbenchError as error:
            return CheckOutcome(self.promise, CheckResult.FAILED, error.message, error.hint)
        # A plugin may raise anything, sys.exit included.
        except (Exception, SystemExit) as error:
            return CheckOutcome(
                self.promise, CheckResult.FAILED, say_raised(error), "Fix what raised it."
            )
        return CheckOutcome(self.promise, CheckResult.OK)

    def __call__(self) -> None:
        """Run the check in a test.

        Raises CheckError: the promise is broken. unittest.SkipTest: it is impossible here; pytest
        shows the reason.
        """
        from unittest import SkipTest

        outcome = self.outcome()
        if outcome.verdict is CheckResult.SKIPPED:
            raise SkipTest(outcome.what)
        if outcome.verdict is CheckResult.FAILED:
            raise self.error(outcome)

    def error(self, outcome: CheckOutcome) -> CheckError:
        """Return a failed outcome as an error, with promise, fault, reason and remedy."""
        return CheckError(
            f"{self.kind.capitalize()} {self.name!r} breaks the promise "
            f"'{self.promise.text}': {outcome.what}",
            f"Why it matters: {self.promise.why} {outcome.todo}".rstrip(),
        )


def demand(checks: Sequence[Check]) -> None:
    """Run all checks in turn; CheckError for the first broken promise."""
    for check in checks:
        outcome = check.outcome()
        if outcome.verdict is CheckResult.FAILED:
            raise check.error(outcome)


@contextmanager
def convert_errors(doing: str, todo: str = "Fix what raised it.") -> Iterator[None]:
    """Convert any error of the plugin, SystemExit included, to BrokenPromise."""
    try:
        yield
    except (BrokenPromise, Unmet):
        raise
    except (Exception, SystemExit) as error:
        raise BrokenPromise(f"{doing} raised {say_raised(error)}.", todo) from None
