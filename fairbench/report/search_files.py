"""What a search leaves for people: the best parameters, all trials, importances, figures."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairbench.errors import ConfigError
from fairbench.files import remove_file, write_file
from fairbench.files.paths import within
from fairbench.leaderboard.frames import to_csv
from fairbench.search.study import Search
from fairbench.search.trials import Trial

if TYPE_CHECKING:
    import pandas as pd

IMPORTANCE_TRIALS = 4
"""Complete trials below which importances would be made of nothing."""

NAMES = (
    "best.yaml",
    "history.png",
    "importance.csv",
    "importance.png",
    "pareto.csv",
    "pareto.png",
    "pareto.yaml",
)
"""Files that not every search writes."""

_FIRST_LINE = b"# fairbench search "
"""How the files of hyperparameters that a search writes begin: with its command."""


def folder_of(search: Search) -> Path:
    """``<results>/search/<method>-<dataset>``; a simulated twin has a folder of its own."""
    data = search.data
    name = f"{search.method.name}-{data.table}"
    return within(search.config.run.results / "search", name)


def keep_others(output: Path) -> None:
    """Raise ConfigError where the file to write is there, and no earlier search has written it."""
    if output.is_file() and not output.read_bytes().startswith(_FIRST_LINE):
        raise ConfigError(
            f"--output {output} is there already, and is not of a search: it is kept.",
            "Name another file to write.",
        )


def write(search: Search, output: Path | None = None) -> list[Path]:
    """Write all files of a search that has ended; return their paths, or raise StoreError."""
    from fairbench.report.search_figures import draw_front, draw_history, draw_importance

    folder = folder_of(search)
    two = len(search.config.objectives) > 1
    files = {folder / "trials.csv": _csv(_frame(search, search.trials))}
    if search.best is not None:
        if two:
            files[folder / "pareto.yaml"] = pareto_yaml(search).encode()
            files[folder / "pareto.csv"] = _csv(_frame(search, search.front))
            files[folder / "pareto.png"] = draw_front(search)
        files[folder / "best.yaml"] = best_yaml(search, search.best).encode()
        files[folder / "history.png"] = draw_history(search)
        importance = importances(search)
        if importance is not None:
            files[folder / "importance.csv"] = _csv(importance)
            files[folder / "importance.png"] = draw_importance(search, importance)
        if output is not None:
            files[output] = files[folder / ("pareto.yaml" if two else "best.yaml")]
    for path, content in files.items():
        write_file(path, content)
    # What an earlier search left and this one does not make would be read as this one's.
    for name in NAMES:
        if folder / name not in files:
            remove_file(folder / name)
    return list(files)


def best_yaml(search: Search, trial: Trial) -> str:
    """Parameters of one trial as a file for ``run --params``."""
    import yaml

    params = {search.method.name: search.full_params(trial)}
    body: str = yaml.safe_dump(params, sort_keys=True)
    text = f"trial {trial.number} of {len(search.trials)}: "
    if trial.final:
        text = f"best of {len(search.finals)} finalists, {text}"
    splits = len(search.splits)
    where = f"the validation sets of {splits} splits" if splits > 1 else "the validation set"
    text += f"area {trial.values[0]:.4f} on {where}"
    if trial.final:
        text += f", trained with budget {search.config.final_budget}"
    first = search.trial_of_defaults
    if first is not None:
        text += f", {first.values[0]:.4f} with the defaults"
    return f"# {search.command}\n# {text}\nlabel: tuned\n{body}"


def pareto_yaml(search: Search) -> str:
    """The Pareto set as a list; one of its ``params`` is a file for ``run --params``."""
    import yaml

    names = [objective.value for objective in search.config.objectives]
    entries = [
        {
            "trial": trial.number,
            **dict(zip(names, trial.values, strict=True)),
            "params": {search.method.name: search.full_params(trial)},
        }
        for trial in search.front
    ]
    body: str = yaml.safe_dump(entries, sort_keys=False)
    return f"# {search.command}\n# Figures are of the validation set.\n{body}"


def _frame(search: Search, trials: Sequence[Trial]) -> pd.DataFrame:
    """The trials, one row each."""
    import pandas as pd

    names = [objective.value for objective in search.config.objectives]
    finals = {trial.number: trial for trial in search.finals}
    rows = [
        {
            "number": trial.number,
            **{name: _whole(value) for name, value in trial.params.items()},
            **dict(zip(names, trial.values or (None,) * len(names), strict=True)),
            "state": trial.outcome.value,
            "seconds": round(trial.seconds, 3),
            "curves": trial.curves,
            "points": trial.points,
            "error": trial.error,
            **(_final_columns(finals.get(trial.number)) if finals else {}),
        }
        for trial in trials
    ]
    return pd.DataFrame(rows)


def _whole(value: Any) -> Any:
    """A value as a cell: whole numbers stay whole beside empty cells."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _final_columns(final: Trial | None) -> dict[str, Any]:
    """What a trial gave as a finalist; empty cells if it was none."""
    if final is None:
        return dict.fromkeys(("aufdc_final", "state_final", "seconds_final", "error_final"))
    return {
        "aufdc_final": final.values[0] if final.values else None,
        "state_final": final.outcome.value,
        "seconds_final": round(final.seconds, 3),
        "error_final": final.error,
    }


def importances(search: Search) -> pd.DataFrame | None:
    """Importance of each parameter for each objective, shares of 1; None: too few trials.

    By fANOVA: Hutter, Hoos and Leyton-Brown 2014, as Optuna implements it.
    """
    import pandas as pd

    columns: dict[str, Mapping[str, float]] = {}
    for number, objective in enumerate(search.config.objectives):
        importance = _importance(search, number)
        if importance is not None:
            columns[objective.value] = importance
    if not columns:
        return None
    frame = pd.DataFrame(columns).rename_axis("parameter")
    return frame.sort_values(list(frame.columns), ascending=False, kind="stable").reset_index()


def _importance(search: Search, number: int) -> dict[str, float] | None:
    import optuna
    from optuna.importance import FanovaImportanceEvaluator, get_param_importances

    complete = search.study.get_trials(states=(optuna.trial.TrialState.COMPLETE,))
    if len(complete) < IMPORTANCE_TRIALS or len({t.values[number] for t in complete}) == 1:
        return None

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        importance: dict[str, float] = get_param_importances(
            search.study,
            evaluator=FanovaImportanceEvaluator(seed=0),
            target=lambda trial: float(trial.values[number]),
        )
    return importance


def _csv(frame: pd.DataFrame) -> bytes:
    return to_csv(frame).encode()
