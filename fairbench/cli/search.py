"""``fairbench search``: search one method's hyperparameters on one dataset."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairbench.cli.configure import chosen_seeds, with_params
from fairbench.cli.options import (
    BudgetOption,
    DataRoot,
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
    complete_datasets,
    complete_methods,
)
from fairbench.cli.plugins import load_plugins
from fairbench.config import (
    Rerun,
    RunConfig,
    SamplerName,
    SearchConfig,
    build_config,
    split_names,
)
from fairbench.errors import ConfigError


def search_command(
    method: Annotated[
        str | None, typer.Option(help="Method.", autocompletion=complete_methods)
    ] = None,
    dataset: Annotated[
        str | None,
        typer.Option(help="Dataset or dataset card (.yaml).", autocompletion=complete_datasets),
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option(help="Number of trials in all, earlier ones included [default: 50]."),
    ] = None,
    objective: Annotated[
        str | None, typer.Option(help="Objectives: aufdc, or aufdc,cost [default: aufdc].")
    ] = None,
    sampler: Annotated[
        SamplerName | None, typer.Option(help="Optuna sampler [default: tpe].")
    ] = None,
    parallel: Annotated[
        int | None,
        typer.Option(help="Number of trials at a time; changes the search [default: 4]."),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Sampler seed [default: 0].")] = None,
    seeds: Annotated[
        int | None, typer.Option(help="Number of seeds per trial: 1000 to 999+N [default: 1].")
    ] = None,
    seed_list: SeedList = None,
    budget: BudgetOption = None,
    points: Points = None,
    params: Annotated[
        Path | None, typer.Option(help="File of hyperparameters (YAML) that are held fixed.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="Another file (YAML) for the best hyperparameters.")
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
        bool, typer.Option("--dry-run", help="Print the space and an estimate, and exit.")
    ] = False,
    rerun: Annotated[
        Rerun | None, typer.Option(help="Finished jobs to repeat; a search takes failed only.")
    ] = None,
    timeout: Timeout = None,
    store: StoreUrl = None,
) -> None:
    """Search a method's hyperparameters on the validation set.

    The same command resumes.
    """
    from fairbench.cli.searching import search  # loads much that the help does not need
    from fairbench.search.study import FIRST_SEED

    registry = load_plugins()
    run = build_config(
        RunConfig,
        methods=_one_name("--method", method, "methods"),
        datasets=_one_name("--dataset", dataset, "datasets"),
        seeds=chosen_seeds(seeds, seed_list, first=FIRST_SEED) or (FIRST_SEED,),
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
        run = with_params(params, run, registry)
    config = build_config(
        SearchConfig,
        run=run,
        trials=trials,
        objectives=objective,
        sampler=sampler,
        parallel=parallel,
        seed=seed,
    )
    raise typer.Exit(search(config, registry, output, dry_run=dry_run))


def _one_name(option: str, text: str | None, kind: str) -> tuple[str, ...]:
    """Return the only name of an option; ConfigError if there is none, or more than one."""
    names = split_names(text or "")
    if len(names) != 1 or names == ("all",):
        problem = f"{','.join(names)} is more than one" if names else "is missing"
        raise ConfigError(
            f"{option} {problem}: a search is of one method on one dataset.",
            f"To see the names: fairbench list {kind}",
        )
    return names
