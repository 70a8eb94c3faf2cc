"""``fairbench run``: train, audit and rank methods on datasets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairbench.cli.configure import chosen_seeds, with_params
from fairbench.cli.options import (
    BudgetOption,
    DataRoot,
    Datasets,
    ExecutorOption,
    InProcess,
    Points,
    RayAddress,
    RealDataOnly,
    Results,
    SeedList,
    StoreUrl,
    Timeout,
    TrainOn,
    Workers,
    complete_methods,
)
from fairbench.cli.plugins import load_plugins
from fairbench.config import Rerun, RunConfig, build_config


def run_command(
    methods: Annotated[
        str | None,
        typer.Option(help="Methods, separated by commas, or all.", autocompletion=complete_methods),
    ] = None,
    dataset: Datasets = None,
    seeds: Annotated[
        int | None, typer.Option(help="Number of seeds: 0 to N-1 [default: 1].")
    ] = None,
    seed_list: SeedList = None,
    budget: BudgetOption = None,
    points: Points = None,
    params: Annotated[
        Path | None, typer.Option(help="Hyperparameters file (YAML), by method name.")
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="Configuration file (YAML) of the run; options override it.")
    ] = None,
    results: Results = None,
    device: TrainOn = None,
    executor: ExecutorOption = None,
    ray_address: RayAddress = None,
    in_process: InProcess = None,
    workers: Workers = None,
    data_root: DataRoot = None,
    require_real_data: RealDataOnly = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the jobs and an estimate, and exit.")
    ] = False,
    rerun: Annotated[
        Rerun | None, typer.Option(help="Finished jobs to repeat: those that failed, or all.")
    ] = None,
    timeout: Timeout = None,
    store: StoreUrl = None,
    tune: Annotated[
        int | None,
        typer.Option(
            metavar="TRIALS",
            help="Number of search trials per method; the best hyperparameters are run too.",
        ),
    ] = None,
) -> None:
    """Train, audit and rank methods. A rerun does only what is missing."""
    from fairbench.cli.running import run  # loads much that the help does not need

    registry = load_plugins()
    configured = build_config(
        RunConfig,
        config,
        methods=methods,
        datasets=dataset,
        seeds=chosen_seeds(seeds, seed_list),
        budget=budget,
        points=points,
        results=results,
        device=device,
        executor=executor,
        ray_address=ray_address,
        in_process=in_process,
        workers=workers,
        data_root=data_root,
        require_real_data=require_real_data,
        rerun=rerun,
        timeout=timeout,
        store=store,
    )
    if params is not None:
        configured = with_params(params, configured, registry)
    raise typer.Exit(run(configured, registry, dry_run=dry_run, tune=tune))
