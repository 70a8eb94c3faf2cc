"""``fairbench audit --results DIR``: audit stored representations again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairbench.auditing.config import Audit
from fairbench.cli.options import (
    DataRoot,
    ExecutorOption,
    InProcess,
    RayAddress,
    StoreUrl,
    Timeout,
    Workers,
    complete_datasets,
)
from fairbench.cli.plugins import load_plugins
from fairbench.config import build_config


def audit_results_command(
    results: Annotated[
        Path | None,
        typer.Option(help="Results folder. Required unless --store is given."),
    ] = None,
    dataset: Annotated[
        str | None,
        typer.Option(
            help="Datasets or dataset cards (.yaml), separated by commas [default: all].",
            autocompletion=complete_datasets,
        ),
    ] = None,
    audit: Annotated[
        Audit | None, typer.Option(help="Audit preset [default: that of each point].")
    ] = None,
    again: Annotated[
        bool | None,
        typer.Option("--again", help="Repeat measurements of the same version of the auditors."),
    ] = None,
    executor: ExecutorOption = None,
    ray_address: RayAddress = None,
    in_process: InProcess = None,
    workers: Workers = None,
    data_root: DataRoot = None,
    timeout: Timeout = None,
    store: StoreUrl = None,
) -> None:
    """Audit stored representations again, with the current auditors and metrics.

    Nothing is trained.
    """
    from fairbench.cli.reauditing import StoredAudit, reaudit  # loads much

    config = build_config(
        StoredAudit,
        results=results,
        store=store,
        datasets=dataset,
        audit=audit,
        again=again,
        executor=executor,
        ray_address=ray_address,
        in_process=in_process,
        workers=workers,
        data_root=data_root,
        timeout=timeout,
    )
    raise typer.Exit(reaudit(config, load_plugins()))
