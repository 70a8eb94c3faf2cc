"""``fairbench run``: train, audit and rank methods on datasets. Its options; run_steps runs it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairbench.cli import options
from fairbench.cli.configure import chosen_seeds, fields_of, with_params
from fairbench.config import Rerun, RunConfig, build_config
from fairbench.errors import ConfigError


def run_command(
    ctx: typer.Context,
    methods: Annotated[
        str | None,
        typer.Option(
            metavar=options.LIST,
            help="Methods, separated by commas, or all.",
            autocompletion=options.complete_methods,
        ),
    ] = None,
    datasets: options.Datasets = None,
    seeds: Annotated[
        int | None, typer.Option(help="Number of seeds: 0 to N-1 [default: 1].")
    ] = None,
    seed_list: options.SeedList = None,
    splits: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Number of test folds, 2 to 20, for ranks; published boards have 5 "
            "[default: one split, no ranks].",
        ),
    ] = None,
    shift: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN[=VALUE]",
            help="Train on the rows where COLUMN has VALUE [default: its most frequent], and "
            "audit on the others too.",
        ),
    ] = None,
    budget: options.BudgetOption = None,
    points: options.Points = None,
    params_file: Annotated[
        Path | None, typer.Option("--params", help="Hyperparameters file (YAML), by method name.")
    ] = None,
    label: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Name of the rows with these hyperparameters [default: the file's name].",
        ),
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="Configuration file (YAML) of the run; options override it.")
    ] = None,
    results: options.Results = None,
    device: options.TrainOn = None,
    executor: options.ExecutorOption = None,
    ray_address: options.RayAddress = None,
    in_process: options.InProcess = None,
    workers: options.Workers = None,
    data_root: options.DataRoot = None,
    require_real_data: options.RealDataOnly = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the jobs and an estimate, and exit.")
    ] = False,
    rerun: Annotated[
        Rerun | None,
        typer.Option(help="Jobs to repeat: failed ones, or all (deletes audits of old models)."),
    ] = None,
    timeout: options.Timeout = None,
    store: options.StoreUrl = None,
    against: options.Against = None,
    tune: Annotated[
        int | None,
        typer.Option(
            metavar="TRIALS",
            help="Number of search trials per method; the best hyperparameters are run too.",
        ),
    ] = None,
) -> None:
    """Train, audit and rank methods. A rerun does only what is missing."""
    # Imported when it is called: the help of a command should be there at once.
    from fairbench.cli.plugins import load_plugins
    from fairbench.cli.run_steps import run

    registry = load_plugins()
    given = fields_of(RunConfig, ctx) | {"seeds": chosen_seeds(seeds, seed_list)}
    configured = build_config(RunConfig, config, **given)
    if params_file is not None:
        configured = with_params(params_file, configured, registry)
    elif configured.label is not None and not configured.params and tune is None:
        raise ConfigError(
            f"The label {configured.label!r} names rows with hyperparameters of their own, and "
            "there are none.",
            "Add --params FILE, or leave --label out.",
        )
    raise typer.Exit(run(configured, registry, dry_run=dry_run, tune=tune))
