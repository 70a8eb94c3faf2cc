"""``fairbench search``: search one method's hyperparameters on one dataset."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from fairbench.cli import options, setup
from fairbench.cli.configure import chosen_seeds, fields_of, with_params
from fairbench.cli.console import err, out, show_columns
from fairbench.cli.plugins import load_plugins
from fairbench.cli.progress import TrialDisplay, spell_value
from fairbench.config import Rerun, RunConfig, build_config, split_names
from fairbench.errors import ConfigError
from fairbench.files import is_writable
from fairbench.files.paths import split_paths
from fairbench.registry import Registry
from fairbench.report import search_files
from fairbench.report.format import format_count, format_seconds
from fairbench.runs.hyperparameters import params_by_method, params_on
from fairbench.search.config import Objective, SamplerName, SearchConfig
from fairbench.search.estimate import trial_seconds
from fairbench.search.space import held_params, search_space
from fairbench.search.study import FIRST_SEED, Search
from fairbench.search.trials import TrialOutcome
from fairbench.store.secrets import redact_words
from fairbench.training.device import cores, resolve_device


def search_command(
    ctx: typer.Context,
    method: Annotated[
        str | None, typer.Option(help="Method.", autocompletion=options.complete_methods)
    ] = None,
    dataset: Annotated[
        str | None,
        typer.Option(
            help="Dataset or dataset card (.yaml).", autocompletion=options.complete_datasets
        ),
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option(
            help="Most trials in all, earlier ones included [default: 50; 1000 with --work]."
        ),
    ] = None,
    work: Annotated[
        str | None,
        typer.Option(
            help="Processor time, such as 2h, after which no trial starts; earlier trials count."
        ),
    ] = None,
    objectives: Annotated[
        str | None,
        typer.Option("--objective", help="Objectives: aufdc, or aufdc,cost [default: aufdc]."),
    ] = None,
    sampler: Annotated[
        SamplerName | None, typer.Option(help="Optuna sampler [default: tpe].")
    ] = None,
    parallel: Annotated[
        int | None,
        typer.Option(
            help="Number of concurrent trials; affects which trials are drawn [default: 4]."
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Sampler seed [default: 0].")] = None,
    seeds: Annotated[
        int | None, typer.Option(help="Number of seeds per trial, numbered from 1000 [default: 1].")
    ] = None,
    seed_list: options.SeedList = None,
    splits: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Number of splits per trial, 2 to 20: the area is the mean over their validation "
            "sets. With 2, half of the rows are test rows: trials train on fewer rows than with 5 "
            "[default: the official split].",
        ),
    ] = None,
    budget: options.BudgetOption = None,
    finalists: Annotated[
        int | None,
        typer.Option(
            help="Best trials that are trained once more, beside the defaults, with --final-budget "
            "and beyond --work; the best of these is the result [default: 0]."
        ),
    ] = None,
    final_budget: Annotated[
        str | None, typer.Option(help="Budget of the finalists [default: full].")
    ] = None,
    points: options.Points = None,
    params_file: Annotated[
        Path | None,
        typer.Option("--params", help="File of hyperparameters (YAML) that are held fixed."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="Another file (YAML) for the best hyperparameters.")
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
        bool, typer.Option("--dry-run", help="Print the space and an estimate, and exit.")
    ] = False,
    rerun: Annotated[
        Rerun | None, typer.Option(metavar="<failed>", help="Repeat failed jobs.")
    ] = None,
    timeout: options.Timeout = None,
    store: options.StoreUrl = None,
) -> None:
    """Search a method's hyperparameters on the validation set.

    The same command resumes.
    """
    registry = load_plugins()
    given = fields_of(RunConfig, ctx) | {
        "methods": _one_name("--method", method, "methods"),
        "datasets": _one_name("--dataset", dataset, "datasets", split_paths),
        "seeds": chosen_seeds(seeds, seed_list, first=FIRST_SEED) or (FIRST_SEED,),
    }
    run = build_config(RunConfig, **given)
    if params_file is not None:
        run = with_params(params_file, run, registry)
    config = build_config(SearchConfig, run=run, **fields_of(SearchConfig, ctx))
    raise typer.Exit(_run(config, registry, output, dry_run=dry_run))


def _one_name(
    option: str, text: str | None, kind: str, split: Callable[[str], tuple[str, ...]] = split_names
) -> tuple[str, ...]:
    """Return the only name of an option; ConfigError if there is none, or more than one."""
    names = split(text or "")
    if len(names) != 1 or names == ("all",):
        problem = f"{','.join(names)} is more than one" if names else "is missing"
        raise ConfigError(
            f"{option} {problem}: a search is of one method on one dataset.",
            f"To see the names: fairbench list {kind}",
        )
    return names


def _run(config: SearchConfig, registry: Registry, output: Path | None, *, dry_run: bool) -> int:
    """Search, or print what would be searched; return the exit code."""
    run = config.run
    device = resolve_device(run.device)
    # Everything that can be wrong with the command is reported before any data is read.
    method = registry.methods[registry.methods.resolve(run.methods[0])]
    params_by_method(run.params, [method.name], registry)  # none of another method
    search_space(method, held_params(run.params, method, registry))
    if output is not None:
        if not output.absolute().parent.is_dir():
            raise ConfigError(f"--output {output}: there is no folder {output.parent}.")
        if output.is_dir():
            raise ConfigError(f"--output {output} is a folder.", "Name a file.")
        if not is_writable(output.absolute().parent):
            raise ConfigError(f"--output {output}: nothing can be written there.")
        search_files.keep_others(output)
    datasets = setup.load_datasets(run, registry)
    store = setup.open_store(run.results, run.store, dry_run=dry_run)
    # With --splits the official split comes after the folds, as a run reports it; trials need no
    # third split.
    splits = [data for data in datasets if data.split.folds] or datasets
    setup.describe(splits, device)
    workers = run.workers or cores()
    with Search(
        config, registry, splits, store, device, workers=workers, command=setup.command_line()
    ) as study:
        if not study.defaults:
            err.print(
                f"Note: no trial has the defaults of {method.name}: its search space is without "
                "them.",
                markup=False,
            )
        if dry_run:
            show_space(study)
            return 0
        try:
            run_search(study)
        except KeyboardInterrupt:
            return setup.interrupted()
    return _report(study, output)


def run_search(search: Search) -> None:
    """Run all trials, printing one line per trial."""
    config = search.config
    each = [format_count(len(search.splits), "split"), format_count(len(config.run.seeds), "seed")]
    err.print(
        f"search: {search.method.name} on {search.data.info.name}, {_length(config)}, "
        f"{config.parallel} at a time, {' and '.join(each)} each"
        f"{', ' + _finalists(search) if config.finalists else ''}; on the "
        f"validation set{'s' if len(search.splits) > 1 else ''}",
        markup=False,
    )
    display = TrialDisplay(search)
    search.run(display.watch, display.report)
    if search.exhausted:
        trials = format_count(len(search.trials), "trial")
        err.print(f"The search ended after {trials}: {search.exhausted}.", markup=False)


def show_space(search: Search) -> None:
    """Print what would be searched and how long it would take."""
    defaults = params_on(search.method, search.held, search.data.info).model_dump(mode="json")
    rows = [[name, str(defaults[name]), _range(values)] for name, values in search.space.items()]
    out.print(f"search {search.method.name} on {search.data.info.name}:", markup=False)
    show_columns(["hyperparameter", "default", "searched"], rows, words=3)
    one = trial_seconds(search, search.budget)
    # A setting that is drawn again costs nothing.
    most = min(search.config.most_trials, search.settings or math.inf)
    total = min(most * one, search.config.work or math.inf)
    text = f"{_length(search.config)}, of about {format_seconds(one)} of work each"
    if search.config.finalists:
        final = trial_seconds(search, search.final_budget)
        total += search.most_finalists * final
        text += f", {_finalists(search)}, of about {format_seconds(final)} each"
    out.print(
        f"{text}: about {format_seconds(total / search.workers)} on "
        f"{format_count(search.workers, 'worker')}, less what is in the store.",
        markup=False,
    )


def _length(config: SearchConfig) -> str:
    """Say how many trials a search has."""
    if config.work is None:
        return format_count(config.most_trials, "trial")
    work = f"{format_seconds(config.work)} of processor time"
    return f"as many trials as fit into {work}, at most {config.most_trials:,}"


def _finalists(search: Search) -> str:
    """Say what follows the trials."""
    best = format_count(search.config.finalists, "finalist")
    defaults = " and the defaults" if search.defaults else ""
    return f"then {best}{defaults} with budget {search.config.final_budget}"


def _range(distribution: Any) -> str:
    choices = getattr(distribution, "choices", None)
    if choices is not None:
        return ", ".join(str(choice) for choice in choices)
    scale = ", on a log scale" if distribution.log else ""
    return f"{distribution.low} .. {distribution.high}{scale}"


def _report(search: Search, output: Path | None) -> int:
    written = search_files.write(search, output)
    if search.best is None:
        err.print(f"None of {len(search.trials)} trials is complete.", markup=False)
    elif len(search.config.objectives) > 1:
        _show_front(search)
    else:
        _show_best(search)
    if search.finals and search.best is not None and not search.best.final:
        problem = search.finals[0].error
        err.print(
            f"None of {len(search.finals)} finalists is complete ({problem}): the best trial is "
            "the result.",
            markup=False,
        )
    ended = [*search.trials, *search.finals]
    failed = sum(trial.outcome is TrialOutcome.FAILED for trial in ended)
    if failed:
        err.print(
            f"{format_count(failed, 'trial')} failed; try again with --rerun failed.", markup=False
        )
    for path in written:
        err.print(str(path), markup=False)
    if search.best is not None and not any(path.name == "importance.csv" for path in written):
        err.print(
            f"No importance.csv: it needs {search_files.IMPORTANCE_TRIALS} complete trials whose "
            "areas differ.",
            markup=False,
        )
    if search.best is None:
        return 1
    if len(search.config.objectives) == 1:
        _show_how_to_use(search.config, output or search_files.folder_of(search) / "best.yaml")
    return 0


def _show_how_to_use(config: SearchConfig, file: Path) -> None:
    """Print the command that runs the best hyperparameters."""
    run = config.run
    words = ["fairbench", "run", "--methods", run.methods[0], "--dataset", run.datasets[0]]
    words += ["--params", str(file)]
    budget = config.final_budget if config.finalists else run.budget
    if budget != "full":
        words += ["--budget", str(budget)]
    if run.points is not None:
        words += ["--points", str(run.points)]
    for option, value in (("--data-root", run.data_root), ("--store", run.store)):
        if value is not None:
            words += [option, str(value)]
    if run.results != RunConfig.model_fields["results"].default:
        words += ["--results", str(run.results)]
    command = shlex.join(redact_words(words))
    err.print(f"Run the best hyperparameters with:\n  {command}", markup=False)


def _show_best(search: Search) -> None:
    best = search.best
    assert best is not None
    first = search.trial_of_defaults
    default = params_on(search.method, search.held, search.data.info).model_dump(mode="json")
    rows = [
        [
            "aufdc on the validation set",
            spell_value(best.values[0]),
            spell_value(first.values[0]) if first is not None else "-",
        ]
    ]
    rows += [[name, str(value), str(default[name])] for name, value in best.params.items()]
    show_columns(["", f"best (trial {best.number})", "default"], rows)


def _show_front(search: Search) -> None:
    names = list(search.space)
    columns = ["trial", *(Objective(o).value for o in search.config.objectives), *names]
    rows = [
        [
            str(trial.number),
            *(spell_value(value) for value in trial.values),
            *(str(trial.params[name]) for name in names),
        ]
        for trial in search.front
    ]
    show_columns(columns, rows)
