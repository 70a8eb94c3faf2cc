"""The command line: the application, and how it ends on errors."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from fairbench.cli.commands import COMMANDS
from fairbench.cli.lazy import LazyGroup
from fairbench.cli.options import (
    DataRoot,
    Formats,
    OfMethod,
    OfPoint,
    OfSeed,
    OfUnit,
    OneDataset,
    Results,
    StoreUrl,
)
from fairbench.config import split_names
from fairbench.data.unknown import Unknown
from fairbench.errors import FairbenchError


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
        from fairbench import __version__

        print(f"fairbench {__version__}")
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
    sys.exit(_guarded(app))


_UsageError: type[Exception] = typer.BadParameter.__mro__[1]
"""Base of every mistake on the command line; typer does not export it."""


def _guarded(call: Callable[..., Any]) -> int:
    try:
        code = call(standalone_mode=False)
        return code if isinstance(code, int) else 0
    except FairbenchError as error:
        _complain(error.message, error.hint)
        return 2
    except _UsageError as error:
        return _usage(error)
    except (typer.Abort, KeyboardInterrupt):
        print("Interrupted.", file=sys.stderr)
        return 130
    except BrokenPipeError:
        return 0  # the reader of the output has closed it


def _usage(error: Any) -> int:
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
        return 2
    command = error.ctx.command_path if error.ctx else "fairbench"
    _complain(error.format_message(), f"See: {command} --help")
    return 2


def _complain(message: str, hint: str) -> None:
    print(f"Error: {message}", file=sys.stderr)
    if hint:
        print(hint, file=sys.stderr)


def _names(text: str | None) -> tuple[str, ...] | None:
    return split_names(text) if text is not None else None


# ---- commands that move to files of their own ----------------------------------------------------


def _explain(
    method: Annotated[
        str | None, typer.Argument(help="Single-shot method with bits, such as sofair.")
    ] = None,
    dataset: OneDataset = None,
    seed: OfSeed = None,
    unit: OfUnit = None,
    formats: Formats = "png,pdf",
    results: Results = None,
    store: StoreUrl = None,
    data_root: DataRoot = None,
) -> None:
    """Tell what a code's bits say, and what comes back as the fairness constraint loosens."""
    from fairbench.cli.explain import explain_command
    from fairbench.cli.plugins import load_plugins
    from fairbench.models.lookup import Place, Wanted, asked_of

    wanted = Wanted(method, dataset, seed, unit=unit)
    place = Place(results, store, data_root, asked_of(dataset))
    explain_command(load_plugins(), wanted, place, split_names(formats))


def _encode(
    input_: Annotated[
        Path, typer.Option("--input", metavar="FILE", help="New rows: CSV or Parquet, any size.")
    ],
    output: Annotated[
        Path, typer.Option(metavar="FILE", help="z, as .parquet or .csv; there when all is done.")
    ],
    method: OfMethod = None,
    dataset: OneDataset = None,
    seed: OfSeed = None,
    point: OfPoint = None,
    unit: OfUnit = None,
    unknown: Annotated[
        Unknown, typer.Option(help="Values never seen: refuse, or replace by the common one.")
    ] = Unknown.REFUSE,
    keep: Annotated[
        str | None, typer.Option(help="Columns of the input to keep, separated by commas.")
    ] = None,
    separator: Annotated[
        str | None, typer.Option(help="Between fields of a CSV input [default: found out].")
    ] = None,
    random_state: Annotated[
        int | None, typer.Option(min=0, help="Of a stochastic encoder, to repeat its draws.")
    ] = None,
    results: Results = None,
    store: StoreUrl = None,
) -> None:
    """Encode new rows with a trained model, as the rows it was trained on were."""
    from fairbench.cli.encode import Request, encode_command
    from fairbench.cli.plugins import load_plugins
    from fairbench.models.lookup import Wanted

    request = Request(
        results=results,
        store=store,
        wanted=Wanted(method, dataset, seed, point, unit),
        input=input_,
        output=output,
        unknown=unknown,
        keep=_names(keep) or (),
        separator=separator,
        random_state=random_state,
    )
    encode_command(load_plugins(), request)


def _recommend(
    max_leakage: Annotated[
        float, typer.Option(metavar="NATS", help="Most I(Z;S) that auditors found on validation.")
    ],
    min_accuracy: Annotated[
        float | None,
        typer.Option(metavar="SHARE", help="Least A_y of the main task on validation."),
    ] = None,
    dataset: OneDataset = None,
    track: Annotated[str, typer.Option(help="blind, aware: what encoders may look at.")] = "blind",
    certified: Annotated[
        bool, typer.Option("--certified", help="Only where a certificate keeps the limit, too.")
    ] = False,
    level: Annotated[
        float, typer.Option(help="Probability that any certificate fails, over all candidates.")
    ] = 0.05,
    card: Annotated[
        Path | None, typer.Option(help="Write the model card (Markdown) of what is recommended.")
    ] = None,
    results: Results = None,
    data_root: DataRoot = None,
    store: StoreUrl = None,
) -> None:
    """Choose the most useful point within a limit of leakage: by validation, reported on test."""
    from fairbench.cli.plugins import load_plugins
    from fairbench.cli.recommend import Request, recommend_command
    from fairbench.models.recommend import Limits, track_of

    request = Request(
        results=results,
        store=store,
        limits=Limits(max_leakage, min_accuracy),
        dataset=dataset,
        track=track_of(track),
        certified=certified,
        level=level,
        data_root=data_root,
        card=card,
    )
    raise typer.Exit(recommend_command(load_plugins(), request))


def _model_card(
    method: OfMethod = None,
    dataset: OneDataset = None,
    seed: OfSeed = None,
    point: OfPoint = None,
    unit: OfUnit = None,
    output: Annotated[Path | None, typer.Option(help="File to write [default: print it].")] = None,
    results: Results = None,
    data_root: DataRoot = None,
    store: StoreUrl = None,
) -> None:
    """Write what is known of a trained encoder (Markdown): data, what leaks, limits, how made."""
    from fairbench.cli.model_card import model_card_command
    from fairbench.cli.plugins import load_plugins
    from fairbench.models.lookup import Place, Wanted, asked_of

    wanted = Wanted(method, dataset, seed, point, unit)
    place = Place(results, store, data_root, asked_of(dataset))
    model_card_command(load_plugins(), wanted, place, output)


if __name__ == "__main__":
    main()
