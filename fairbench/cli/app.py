"""The command line: the application, and how it ends on errors."""

from __future__ import annotations

import errno
import signal
import sys
import traceback
from collections.abc import Callable
from types import FrameType
from typing import Annotated, Any

import typer

from fairbench.cli import streams
from fairbench.cli.commands import COMMANDS
from fairbench.cli.given import UsageError
from fairbench.cli.lazy import LazyGroup
from fairbench.errors import FairbenchError, say_why_and_what


class Commands(LazyGroup):
    """All commands of fairbench."""

    entries = COMMANDS


app = typer.Typer(
    cls=Commands,
    help="Benchmark suite for fair representation learning.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)


def _show_version(value: bool) -> None:
    if value:
        from fairbench.versions import PACKAGE_VERSION

        print(f"fairbench {PACKAGE_VERSION}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    pass


def command_tree() -> Any:
    """Import all commands, and return the root of the tree: for the docs and for tests."""
    root = typer.main.get_command(app)
    for name in COMMANDS:
        root.load(name)  # type: ignore[attr-defined]
    return root


def main() -> None:
    """Run the command line; errors of the user end in one or two lines and exit code 2."""
    streams.secure()
    ended = _EndedBySigterm()
    signal.signal(signal.SIGTERM, ended)
    code = _guarded(app)
    sys.exit(_SIGTERM if ended.happened and code == _INTERRUPTED else code)


_INTERRUPTED, _SIGTERM = 130, 143
"""Exit codes of a command that was ended by Ctrl-C, and by a scheduler or a container."""
_CRASHED = 70
"""Exit code of a command that met an error of fairbench's own."""


class _EndedBySigterm:
    """Has SIGTERM end a command as Ctrl-C does, so that it too says how to resume."""

    happened = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if not self.happened:  # once: the second must not cut off what the first began
            self.happened = True
            raise KeyboardInterrupt


_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""Where files of fairbench's own cannot be written, a FairbenchError says so."""

_NO_PATH = (errno.ENAMETOOLONG, errno.ELOOP, errno.ENOTDIR, errno.EISDIR)
"""Where a path that was given can lead nowhere, or not to what is wanted there."""


def _guarded(call: Callable[..., Any]) -> int:
    try:
        code = call(standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except FairbenchError as error:
        _complain(error.message, error.hint)
        return 2
    except UsageError as error:
        return _usage(error)
    except (typer.Abort, KeyboardInterrupt):
        print("Interrupted.", file=sys.stderr)
        return _INTERRUPTED
    except BrokenPipeError:
        # Who reads a pipe that --output names has ended; of the standard output, see streams.
        streams.abandon_output()
        return 0
    except OSError as error:
        if error.errno in (errno.EMFILE, errno.ENFILE):
            _complain("Too many files are open.", "Raise the limit: ulimit -n 1024.")
            return 2
        if error.errno in (errno.EACCES, errno.EPERM) and error.filename:
            _complain(
                f"{error.filename}: {error.strerror}.",
                "Check who may read and write it, and the folders that it lies in.",
            )
            return 2
        if error.errno in _NO_PATH and error.filename:
            _complain(f"{error.filename}: {error.strerror}.", "Give another path.")
            return 2
        if error.errno not in _FULL:
            return _crash()
        streams.abandon_output()
        where = f" to {error.filename}" if error.filename else ""
        _complain(
            f"Output cannot be written{where}: {error.strerror}.",
            "What is in the results folder is kept, and fairbench leaderboard prints it again.",
        )
        return 2
    except Exception:
        return _crash()


def _crash() -> int:
    """Print the traceback of an error of fairbench's own; return the exit code.

    Python's would be 1: for scripts, that models failed or a figure differs.
    """
    traceback.print_exc()
    return _CRASHED


def _usage(error: Any) -> int:
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
        return 2
    command = error.ctx.command_path if error.ctx else "fairbench"
    text = " ".join(error.format_message().split())  # choices stand on lines of their own
    # A number of an option is read by pydantic; what a parser of ours has said stays as it is.
    for details in getattr(error.__cause__, "errors", list)():
        if details["type"] != "value_error":
            text = text.replace(details["msg"], f"{say_why_and_what(details)}.")
    text = text.replace("Value error, ", "")
    _complain(text, f"See: {command} --help")
    return 2


def _complain(message: str, hint: str) -> None:
    from fairbench.store.text import clean

    print(f"Error: {clean(message)}", file=sys.stderr)
    if hint:
        print(clean(hint), file=sys.stderr)
