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

from fairbench.auditing.config import Audit
from fairbench.cli.encode import encode_command
from fairbench.cli.explain import explain_command
from fairbench.cli.model_card import model_card_command
from fairbench.cli.options import (
    AskedBudget,
    AskedPoints,
    DataRoot,
    DatasetName,
    Executing,
    Formats,
    InProcess,
    RayAddress,
    RealDataOnly,
    Results,
    SeedList,
    StoreUrl,
    Timeout,
    TrainOn,
    Workers,
)
from fairbench.cli.recommend import recommend_command
from fairbench.config import (
    ExecutorName,
    PrunerName,
    Rerun,
    SamplerName,
    split_names,
)
from fairbench.errors import FairbenchError
from fairbench.report.tables import TableFormat
from fairbench.scaffold import PluginKind

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
plugin_app = typer.Typer(help="Write a plugin of your own.", no_args_is_help=True)
app.add_typer(data_app, name="data")
app.add_typer(results_app, name="results")
app.add_typer(plugin_app, name="plugin")


class Kind(enum.StrEnum):
    """What can be listed."""

    METHODS = "methods"
    DATASETS = "datasets"
    METRICS = "metrics"


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
    seed_list: SeedList = None,
    budget: AskedBudget = None,
    points: AskedPoints = None,
    params: Annotated[
        Path | None, typer.Option(help="YAML file of hyperparameters, by method name.")
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="YAML file of a whole run; options override it.")
    ] = None,
    results: Results = None,
    device: TrainOn = None,
    executor: Executing = None,
    ray_address: RayAddress = None,
    in_process: InProcess = False,
    workers: Workers = None,
    data_root: DataRoot = None,
    require_real_data: RealDataOnly = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print jobs and an estimate, and exit.")
    ] = False,
    rerun: Annotated[Rerun | None, typer.Option(help="Do failed, or all, jobs again.")] = None,
    timeout: Timeout = None,
    store: StoreUrl = None,
    tune: Annotated[
        int | None,
        typer.Option(help="Search each method's parameters with N trials, and run the best too."),
    ] = None,
) -> None:
    """Train, audit and rank methods on datasets; a rerun does only what is missing."""
    from fairbench.cli.run import run_command

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
            given,
            seeds=seeds,
            seed_list=seed_list,
            params=params,
            config=config,
            dry_run=dry_run,
            tune=tune,
        )
    )


@app.command()
def search(
    method: Annotated[str | None, typer.Option(help="One method.")] = None,
    dataset: Annotated[
        str | None, typer.Option(help="One dataset, or the card (.yaml) of an own table.")
    ] = None,
    trials: Annotated[
        int | None, typer.Option(help="Trials in all, earlier ones included [default: 50].")
    ] = None,
    objective: Annotated[
        str | None, typer.Option(help="aufdc, or aufdc,cost [default: aufdc].")
    ] = None,
    sampler: Annotated[
        SamplerName | None, typer.Option(help="What chooses parameters [default: tpe].")
    ] = None,
    pruner: Annotated[
        PrunerName | None,
        typer.Option(help="Which trials end before their last seed [default: none]."),
    ] = None,
    parallel: Annotated[
        int | None, typer.Option(help="Trials at a time; part of the search [default: 4].")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Of the sampler [default: 0].")] = None,
    seeds: Annotated[
        int | None, typer.Option(help="Seeds of each trial: 1000 .. 999+N [default: 1].")
    ] = None,
    seed_list: SeedList = None,
    budget: AskedBudget = None,
    points: AskedPoints = None,
    params: Annotated[
        Path | None, typer.Option(help="YAML file of hyperparameters that are not searched.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="Write the best parameters here too (YAML).")
    ] = None,
    results: Results = None,
    device: TrainOn = None,
    executor: Executing = None,
    ray_address: RayAddress = None,
    in_process: InProcess = False,
    workers: Workers = None,
    data_root: DataRoot = None,
    require_real_data: RealDataOnly = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the space and an estimate, and exit.")
    ] = False,
    rerun: Annotated[Rerun | None, typer.Option(help="failed: do failed jobs again.")] = None,
    timeout: Timeout = None,
    store: StoreUrl = None,
) -> None:
    """Search a method's hyperparameters on the validation role; the same command resumes."""
    from fairbench.cli.search import search_command

    given = {
        "methods": _names(method),
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
    searched = {
        "trials": trials,
        "objectives": objective,
        "sampler": sampler.value if sampler else None,
        "pruner": pruner.value if pruner else None,
        "parallel": parallel,
        "seed": seed,
    }
    raise typer.Exit(
        search_command(
            given,
            searched,
            seeds=seeds,
            seed_list=seed_list,
            params=params,
            output=output,
            dry_run=dry_run,
        )
    )


@app.command("list")
def list_(kind: Annotated[Kind, typer.Argument(help="What to list.")]) -> None:
    """List methods, datasets or metrics, built-in and from plugins."""
    from fairbench.cli.console import show_table

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
def check(
    name: Annotated[
        str, typer.Argument(help="Method, dataset or metric, or the card (.yaml) of an own table.")
    ],
    dataset: Annotated[
        str | None, typer.Option(help="What a method is tried on [default: a small table].")
    ] = None,
    data_root: DataRoot = None,
) -> None:
    """Check that a plugin keeps the promises of its interface; 1 where one is broken."""
    from fairbench.cli.check import check_command

    raise typer.Exit(check_command(_registry(), name, dataset, data_root))


@app.command()
def leaderboard(
    results: Results = None,
    compare: Annotated[
        tuple[str, str] | None,
        typer.Option(
            metavar="A B",
            help="Only print how far apart two methods are: difference, interval, p.",
        ),
    ] = None,
    form: Annotated[
        TableFormat, typer.Option("--format", help="What is printed.")
    ] = TableFormat.TABLE,
    store: StoreUrl = None,
) -> None:
    """Write the leaderboard CSVs anew from the store, and print them."""
    from fairbench.cli.results import compare_command, leaderboard_command

    if compare is not None:
        raise typer.Exit(compare_command(_registry(), results, store, *compare))
    raise typer.Exit(leaderboard_command(_registry(), results, store, form))


@app.command()
def audit(
    z: Annotated[
        str | None,
        typer.Option(
            metavar="FILE[:COLUMNS]",
            help="Representation: npy, npz:NAME, or CSV or Parquet, all columns or those named.",
        ),
    ] = None,
    s: Annotated[
        str | None, typer.Option(metavar="FILE[:COLUMN]", help="Sensitive attribute, a row of z.")
    ] = None,
    y: Annotated[
        str | None, typer.Option(metavar="FILE[:COLUMNS]", help="Task labels: how useful is z?")
    ] = None,
    x: Annotated[
        str | None, typer.Option(metavar="FILE[:COLUMNS]", help="What z was made from: D, I(X;S).")
    ] = None,
    roles: Annotated[
        str | None,
        typer.Option(
            metavar="FILE[:COLUMN]",
            help="train, validation or test of each row [default: a split].",
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Of split and auditors [default: 0].")] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A light audit of the arrays: a first look.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
    results: Annotated[
        Path | None,
        typer.Option("--results", help="Measure the representations kept in this folder again."),
    ] = None,
    dataset: Annotated[
        str | None, typer.Option(help="Of the store: only these, and cards (.yaml) of own tables.")
    ] = None,
    preset: Annotated[
        Audit | None, typer.Option("--audit", help="Of the store [default: what each point had].")
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Measure also what these auditors have measured.")
    ] = False,
    executor: Executing = None,
    ray_address: RayAddress = None,
    in_process: InProcess = False,
    workers: Workers = None,
    data_root: DataRoot = None,
    timeout: Timeout = None,
    store: StoreUrl = None,
) -> None:
    """Audit anyone's arrays (--z, --s), or measure a store's representations again (--results)."""
    from fairbench.cli import audit_arrays as commands

    arrays = {"z": z, "s": s, "y": y, "x": x, "roles": roles}
    files = {name: text for name, text in arrays.items() if text is not None}
    of_arrays = [f"--{name}" for name in files]
    of_arrays += [n for n, v in {"--seed": seed, "--quick": quick, "--json": as_json}.items() if v]
    of_store = {
        "--results": results,
        "--dataset": dataset,
        "--audit": preset,
        "--again": again,
        "--executor": executor,
        "--ray-address": ray_address,
        "--in-process": in_process,
        "--workers": workers,
        "--data-root": data_root,
        "--timeout": timeout,
        "--store": store,
    }
    commands.check_form(of_arrays, [name for name, value in of_store.items() if value])
    if "z" in files:
        commands.arrays_command(files, seed=seed or 0, quick=quick, as_json=as_json)
        return
    from fairbench.cli.audit_results import Request, results_command

    request = Request(
        results=results,
        store=store,
        datasets=_names(dataset) or (),
        audit=preset,
        again=again,
        executor=executor or ExecutorName.INLINE,
        workers=workers,
        data_root=data_root,
        timeout=timeout,
        ray_address=ray_address,
        in_process=in_process,
    )
    raise typer.Exit(results_command(_registry(), request))


@app.command()
def status(
    results: Results = None,
    store: StoreUrl = None,
) -> None:
    """Tell how far a run is, from another terminal: models and points by status, failures."""
    from fairbench.cli.status import status_command

    status_command(results, store)


@app.command()
def report(
    results: Results = None,
    store: StoreUrl = None,
    output: Annotated[
        Path | None, typer.Option(help="File to write [default: report.html in the results].")
    ] = None,
) -> None:
    """Write one page of everything measured: opens offline, in any browser."""
    from fairbench.cli.report import report_command

    report_command(_registry(), results, store, output)


@app.command()
def plot(
    kind: Annotated[str, typer.Argument(help="curves, fronts, cost, auditors, or all.")] = "all",
    dataset: Annotated[str | None, typer.Option(help="One dataset [default: every one].")] = None,
    formats: Formats = "png,pdf",
    results: Results = None,
    store: StoreUrl = None,
    output: Annotated[
        Path | None, typer.Option(help="Folder to write to [default: figures in the results].")
    ] = None,
) -> None:
    """Draw the figures of a paper: curves, fronts, cost, auditors."""
    from fairbench.cli.report import plot_command

    plot_command(
        _registry(),
        kind,
        results=results,
        url=store,
        dataset=dataset,
        formats=split_names(formats),
        output=output,
    )


app.command("explain")(explain_command)
app.command("encode")(encode_command)
app.command("recommend")(recommend_command)
app.command("model-card")(model_card_command)


@app.command()
def clean(
    results: Results = None,
    yes: Annotated[bool, typer.Option("--yes", help="Delete without asking.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell.")] = False,
) -> None:
    """Delete stored representations and encoders: tells what goes and what stays, and asks."""
    from fairbench.cli.results import clean_command

    clean_command(results, yes=yes, dry_run=dry_run)


@app.command()
def calibrate(
    channels: Annotated[
        str | None, typer.Option(help="Names, separated by commas [default: all].")
    ] = None,
    rows: Annotated[int, typer.Option(help="Rows to train on, and as many to test on.")] = 10_000,
    seeds: Annotated[int, typer.Option(help="Draws of every channel: seeds 0 .. N-1.")] = 1,
    json: Annotated[bool, typer.Option("--json", help="Print JSON, with every figure.")] = False,
) -> None:
    """Audit channels whose I(Z;S) is known: the truth against each auditor and the family."""
    from fairbench.cli.calibrate import calibrate_command

    raise typer.Exit(calibrate_command(_names(channels), rows=rows, seeds=seeds, as_json=json))


@data_app.command("list")
def data_list(data_root: DataRoot = None) -> None:
    """List datasets: rows, what S is made of, and whether the files are on this machine."""
    from fairbench.cli.data import list_command

    list_command(_registry(), data_root)


@data_app.command("describe")
def data_describe(name: DatasetName, data_root: DataRoot = None) -> None:
    """Tell what a dataset holds: groups, H(S), I(X;S), labels, columns, licence, citation."""
    from fairbench.cli.data import describe_command

    describe_command(_registry(), name, data_root)


@data_app.command("check")
def data_check(name: DatasetName, data_root: DataRoot = None) -> None:
    """Check a dataset's files or an own table, and print each group's rows by role."""
    from fairbench.cli.data import check_command

    check_command(_registry(), name, data_root)


@data_app.command("fetch")
def data_fetch(
    name: Annotated[str, typer.Argument(help="Dataset.")], data_root: DataRoot = None
) -> None:
    """Download a dataset's files into the cache, unless they are there."""
    from fairbench.cli.data import fetch_command

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
    from fairbench.cli.data_new import Wanted, new_command

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
    file: Annotated[Path, typer.Argument(help="File to write (JSON lines; .gz: packed).")],
    results: Results = None,
    store: StoreUrl = None,
) -> None:
    """Write all records as text that can be committed; representations stay behind."""
    from fairbench.cli.results import export_command

    export_command(file, results, store)


@results_app.command("import")
def results_import(
    file: Annotated[Path, typer.Argument(help="File to read; .gz is unpacked.")],
    results: Results = None,
    store: StoreUrl = None,
) -> None:
    """Merge exported records by key; what is done here is kept."""
    from fairbench.cli.results import import_command

    import_command(file, results, store)


@plugin_app.command("new")
def plugin_new(
    name: Annotated[str, typer.Argument(help="Its name: lower-case words joined by hyphens.")],
    kind: Annotated[PluginKind, typer.Option(help="What it adds.")],
    neural: Annotated[
        bool, typer.Option("--neural", help="A method on the engine of stacked networks.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option(help="Folder to write [default: NAME in this folder].")
    ] = None,
) -> None:
    """Write an installable package with a module, a test and a README, to start from."""
    from fairbench.cli.plugin import new_command

    new_command(_registry(), name, kind, neural=neural, output=output)


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
