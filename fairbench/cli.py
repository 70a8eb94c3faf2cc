"""The command line: parse, call, print; no logic.

Everything heavy is imported where it is used: ``fairbench --help`` answers within a second.
"""

from __future__ import annotations

import enum
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fairbench.config import Device, ExecutorName, Rerun, split_names
from fairbench.errors import FairbenchError

if TYPE_CHECKING:
    from fairbench.registry import Registry

app = typer.Typer(
    help="Benchmark suite for fair representation learning.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
data_app = typer.Typer(
    help="Datasets: which are here, what they hold, and a table of your own.", no_args_is_help=True
)
results_app = typer.Typer(help="Move results between machines.", no_args_is_help=True)
app.add_typer(data_app, name="data")
app.add_typer(results_app, name="results")


class Kind(enum.StrEnum):
    """What can be listed."""

    METHODS = "methods"
    DATASETS = "datasets"
    METRICS = "metrics"


Results = Annotated[
    Path | None, typer.Option("--results", help="Results folder [default: ./fairbench-results].")
]
DataRoot = Annotated[
    Path | None,
    typer.Option("--data-root", help="Folder with data files [default: FAIRBENCH_DATA]."),
]


def _show_version(asked: bool) -> None:
    if asked:
        from fairbench import __version__

        print(f"fairbench {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print and exit."),
    ] = False,
) -> None:
    pass


@app.command()
def run(
    methods: Annotated[
        str | None, typer.Option(help="Names, separated by commas; 'all' for every one.")
    ] = None,
    dataset: Annotated[
        str | None, typer.Option(help="Names, or cards (.yaml) of own tables, separated by commas.")
    ] = None,
    seeds: Annotated[int | None, typer.Option(help="Number of seeds: 0 .. N-1.")] = None,
    seed_list: Annotated[str | None, typer.Option(help="Seeds, separated by commas.")] = None,
    budget: Annotated[
        str | None, typer.Option(help="full, quick, or a number of iterations [default: full].")
    ] = None,
    points: Annotated[int | None, typer.Option(help="Points a curve [default: the grid].")] = None,
    params: Annotated[
        Path | None, typer.Option(help="YAML file of hyperparameters, by method name.")
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="YAML file of a whole run; options override it.")
    ] = None,
    results: Results = None,
    device: Annotated[Device | None, typer.Option(help="Where to train.")] = None,
    executor: Annotated[ExecutorName | None, typer.Option(help="How to run jobs.")] = None,
    ray_address: Annotated[
        str | None, typer.Option(help="Ray cluster to join [default: one of this machine alone].")
    ] = None,
    in_process: Annotated[
        bool, typer.Option("--in-process", help="Jobs in this process, for debuggers.")
    ] = False,
    workers: Annotated[int | None, typer.Option(help="Jobs at a time [default: cores].")] = None,
    data_root: DataRoot = None,
    require_real_data: Annotated[
        bool, typer.Option("--require-real-data", help="Refuse simulated twins.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print jobs and an estimate, and exit.")
    ] = False,
    rerun: Annotated[Rerun | None, typer.Option(help="Do failed, or all, jobs again.")] = None,
    timeout: Annotated[str | None, typer.Option(help="Limit for a job: 90s, 30m, 2h.")] = None,
    store: Annotated[str | None, typer.Option(help="Database URL [default: SQLite].")] = None,
) -> None:
    """Train, audit and rank methods on datasets; a rerun does only what is missing."""
    from fairbench.commands.run import run_command

    given = {
        "methods": _names(methods),
        "datasets": _names(dataset),
        "budget": budget,
        "points": points,
        "results": results,
        "device": device.value if device else None,
        "executor": executor.value if executor else None,
        "ray_address": ray_address,
        "in_process": in_process or None,
        "workers": workers,
        "data_root": data_root,
        "require_real_data": require_real_data or None,
        "rerun": rerun.value if rerun else None,
        "timeout": timeout,
        "store": store,
    }
    raise typer.Exit(
        run_command(
            given, seeds=seeds, seed_list=seed_list, params=params, config=config, dry_run=dry_run
        )
    )


@app.command("list")
def list_(kind: Annotated[Kind, typer.Argument(help="What to list.")]) -> None:
    """List methods, datasets or metrics, built-in and from plugins."""
    from fairbench.console import show_table

    registry = _registry()
    rows: list[list[str]]
    if kind is Kind.METHODS:
        columns = ["method", "track", "tags", "summary"]
        rows = [
            [_with_aliases(m), m.track.value, " ".join(m().tags), m.summary]
            for m in registry.methods.classes.values()
        ]
    elif kind is Kind.DATASETS:
        columns = ["dataset", "licence", "summary"]
        rows = [
            [_with_aliases(d), d.licence, d.summary] for d in registry.datasets.classes.values()
        ]
    else:
        columns = ["metric", "level", "columns", "summary"]
        rows = [
            [m.name, m.level, " ".join(m.columns), m.summary]
            for m in registry.metrics.classes.values()
        ]
    show_table(columns, rows)


@app.command()
def leaderboard(
    results: Results = None,
    store: Annotated[str | None, typer.Option(help="Database URL [default: SQLite].")] = None,
) -> None:
    """Write the leaderboard CSVs anew from the store, and print them."""
    from fairbench.commands.results import leaderboard_command

    raise typer.Exit(leaderboard_command(_registry(), results, store))


@app.command()
def clean(
    results: Results = None,
    yes: Annotated[bool, typer.Option("--yes", help="Delete without asking.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell.")] = False,
) -> None:
    """Delete stored representations: tells what they take on disk, what goes and what stays."""
    from fairbench.commands.results import clean_command

    clean_command(results, yes=yes, dry_run=dry_run)


DatasetName = Annotated[str, typer.Argument(help="Dataset, or the card (.yaml) of an own table.")]


@data_app.command("list")
def data_list(data_root: DataRoot = None) -> None:
    """List datasets: rows, what S is made of, and whether the files are on this machine."""
    from fairbench.commands.data import list_command

    list_command(_registry(), data_root)


@data_app.command("describe")
def data_describe(name: DatasetName, data_root: DataRoot = None) -> None:
    """Tell what a dataset holds: groups, H(S), I(X;S), labels, columns, licence, citation."""
    from fairbench.commands.data import describe_command

    describe_command(_registry(), name, data_root)


@data_app.command("check")
def data_check(name: DatasetName, data_root: DataRoot = None) -> None:
    """Check a dataset's files or an own table, and print each group's rows by role."""
    from fairbench.commands.data import check_command

    check_command(_registry(), name, data_root)


@data_app.command("fetch")
def data_fetch(
    name: Annotated[str, typer.Argument(help="Dataset.")], data_root: DataRoot = None
) -> None:
    """Download a dataset's files into the cache, unless they are there."""
    from fairbench.commands.data import fetch_command

    fetch_command(_registry(), name, data_root)


@data_app.command("new")
def data_new(
    table: Annotated[Path, typer.Argument(help="CSV or Parquet file.")],
    sensitive: Annotated[
        str | None, typer.Option(help="Columns S is made of: sex,race makes intersections.")
    ] = None,
    bins: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN:CUTS", help="Cuts of a number in S, as in age:25,45."),
    ] = None,
    label: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN[:VALUE]",
            help="Task label; VALUE, or >NUMBER, is class 1. May be repeated, main task first.",
        ),
    ] = None,
    drop: Annotated[str | None, typer.Option(help="Columns left out, such as ids.")] = None,
    category: Annotated[
        str | None, typer.Option(help="Columns of numbers that are codes, such as zip codes.")
    ] = None,
    test: Annotated[
        str | None,
        typer.Option(metavar="COLUMN:VALUE", help="What marks the official test rows."),
    ] = None,
    onehot: Annotated[bool, typer.Option("--onehot", help="Encode categories one-hot.")] = False,
    name: Annotated[str | None, typer.Option(help="Name [default: the card's file name].")] = None,
    output: Annotated[
        Path | None, typer.Option(help="Card to write [default: TABLE.yaml in this folder].")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the card.")] = False,
) -> None:
    """Write the card of an own table, by these options or else by asking, and check it."""
    from fairbench.commands.new_card import Wanted, new_command

    wanted = Wanted(
        sensitive=_names(sensitive),
        bins=tuple(bins or ()),
        labels=tuple(label) if label else None,
        drop=_names(drop),
        categories=_names(category) or (),
        test=test,
        onehot=onehot,
        name=name,
    )
    new_command(_registry(), table, wanted, output=output, force=force)


@results_app.command("export")
def results_export(
    file: Annotated[Path, typer.Argument(help="File to write (JSON lines).")],
    results: Results = None,
    store: Annotated[str | None, typer.Option(help="Database URL [default: SQLite].")] = None,
) -> None:
    """Write all records as text that can be committed; representations stay behind."""
    from fairbench.commands.results import export_command

    export_command(file, results, store)


@results_app.command("import")
def results_import(
    file: Annotated[Path, typer.Argument(help="File to read.")],
    results: Results = None,
    store: Annotated[str | None, typer.Option(help="Database URL [default: SQLite].")] = None,
) -> None:
    """Merge exported records by key; what is done here is kept."""
    from fairbench.commands.results import import_command

    import_command(file, results, store)


def main() -> None:
    """Entry point of ``fairbench``: errors of the user end in one or two lines and exit code 2."""
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
        return 0  # the reader of our output has seen enough


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


def _registry() -> Registry:
    from fairbench.registry import load_registry

    registry = load_registry()
    for broken in registry.broken:
        print(f"Warning: plugin {broken.source} was left out: {broken.error}", file=sys.stderr)
    return registry


def _names(text: str | None) -> tuple[str, ...] | None:
    return split_names(text) if text is not None else None


def _with_aliases(cls: Any) -> str:
    return f"{cls.name} ({', '.join(cls.aliases)})" if cls.aliases else str(cls.name)


if __name__ == "__main__":
    main()
