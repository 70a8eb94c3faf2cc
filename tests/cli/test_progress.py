"""A run's progress: on a terminal a live view, elsewhere one line per job."""

import io
import re
import types
from typing import Any, cast

import pytest
from rich.console import Console

from fairbench.cli import progress as live
from fairbench.cli.progress import ProgressDisplay
from fairbench.cli.remaining import Remaining
from fairbench.runs.audit_job import AuditJob
from fairbench.runs.executors.base import DoneElsewhere, Failed, Finished, Idle, Progressed, Started
from fairbench.runs.fit_job import FitJob
from fairbench.runs.unit_result import UnitResult
from fairbench.store.status import Status


def job(kind: type, title: str, estimate: float = 10.0, **more: Any) -> Any:
    made = object.__new__(kind)
    fields = {"id": title, "title": title, "estimate": estimate, **more}
    for name, value in fields.items():
        object.__setattr__(made, name, value)
    return made


def fit(title: str) -> FitJob:
    return cast(FitJob, job(FitJob, title, keys=("k",), curve_points=4, point_estimate=10.0))


def audited(*points: tuple[float, float]) -> list[Any]:
    return [
        types.SimpleNamespace(values={"distortion": d, "mutual_information": i}) for d, i in points
    ]


def planned() -> Remaining:
    remaining = Remaining(workers=2)
    remaining.plan(20.0, fits=True)
    remaining.plan(80.0, fits=False)
    return remaining


FIT = "fit sofair on adults-gender (1 model)"
AUDIT = "audit sofair on adults-gender, seed 0 (3 points from beta=0)"


def go(display: ProgressDisplay) -> None:
    """One fit of four points, the audit of three of them, a job that breaks, and one under way."""
    first, second = fit(FIT), job(AuditJob, AUDIT, 30.0)
    display(Started(first))
    display(Progressed(first, 0.5, "step 500 of 1,000"))
    result = [types.SimpleNamespace(points=(1, 2, 3, 4), status=Status.DONE)]
    display(Finished(first, result, 5.0))
    display(Started(second))
    display(Finished(second, audited((1.9, 0.161), (3.67, 0.048), (5.1, -0.01)), 9.0))
    broken = fit("fit latfr on adults-gender (4 models)")
    display(Started(broken))
    display(Failed(broken, Status.OOM, "out of memory", None, 1.0))
    display(Started(job(AuditJob, "audit pca on adults-gender, seed 0 (-)")))
    display(Idle())


def terminal(monkeypatch: pytest.MonkeyPatch, width: int, *, is_one: bool) -> io.StringIO:
    text = io.StringIO()
    console = Console(
        file=text, force_terminal=is_one, width=width, height=30, color_system=None, highlight=False
    )
    monkeypatch.setattr(live, "err", console)
    return text


def seen(display: ProgressDisplay, width: int) -> list[str]:
    text = io.StringIO()
    Console(file=text, width=width, color_system=None).print(display._view())
    return text.getvalue().splitlines()


@pytest.mark.parametrize("width", [80, 120])
def test_a_terminal_shows_jobs_by_status_the_curve_the_time_left_and_memory(
    monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    printed = terminal(monkeypatch, width, is_one=True)
    with ProgressDisplay(planned(), 3) as display:
        go(display)
        lines = [line.rstrip() for line in seen(display, width)]
    assert max(map(len, lines)) <= width
    assert lines[0].startswith("all jobs")
    assert "%" in lines[0]
    assert lines[1].startswith("audit pca")
    # Of three planned and three audits that came of the first fit, four have started.
    assert re.fullmatch(
        r"\d+ to \d+ s left · jobs: 2 waiting, 1 running, 2 done, 1 failed · memory \d+\.\d GB",
        lines[2],
    )
    assert lines[3] == "newest: sofair on adults-gender, seed 0"
    assert lines[4] == "  D, I: 1.90 0.161  3.67 0.048  5.10 0.000"
    assert "OOM  fit latfr" in printed.getvalue()


def test_elsewhere_there_is_one_line_per_job(monkeypatch: pytest.MonkeyPatch) -> None:
    printed = terminal(monkeypatch, 200, is_one=False)
    with ProgressDisplay(planned(), 3) as display:
        go(display)
        display(DoneElsewhere(job(AuditJob, "audit x")))
    lines = printed.getvalue().splitlines()
    assert [line.split()[0] for line in lines] == [
        *("start", "done", "start", "done", "start", "OOM", "start", "seen")
    ]
    assert FIT in lines[1]
    assert "left" in lines[1]


def test_a_fit_whose_models_failed_is_not_done(monkeypatch: pytest.MonkeyPatch) -> None:
    printed = terminal(monkeypatch, 200, is_one=False)
    sound = UnitResult("a", Status.DONE)
    failed = UnitResult("b", Status.FAILED, "ValueError: one column (plug/in.py:7)")
    with ProgressDisplay(planned(), 2) as display:
        first = fit("fit one on toy (2 models)")
        display(Started(first))
        display(Finished(first, [sound, failed], 1.0))
        assert display._counts["failed"] == 1
        assert display._counts["done"] == 0
    assert printed.getvalue().splitlines()[-1] == (
        "FAILED  fit one on toy (2 models): 1 of 2 models: ValueError: one column (plug/in.py:7)"
    )


def test_a_job_whose_points_are_tried_again_has_not_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    printed = terminal(monkeypatch, 200, is_one=False)
    with ProgressDisplay(planned(), 1) as display:
        three = job(AuditJob, "audit x")
        display(Started(three))
        display(Failed(three, Status.OOM, "out of memory", None, 1.0, parts=3))
        assert display._counts == {"waiting": 3, "running": 0, "done": 0, "failed": 0}
    assert "one by one" in printed.getvalue()


def test_brackets_in_titles_and_notes_are_text(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal(monkeypatch, 80, is_one=True)
    with ProgressDisplay(planned(), 1) as display:
        odd = fit("fit [bold]x[/bold]")
        display(Started(odd))
        display(Progressed(odd, 0.1, "[red]"))
        text = "\n".join(seen(display, 80))
    assert "[bold]x[/bold]" in text
    assert "[red]" in text


def test_of_what_another_run_did_only_what_is_left_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal(monkeypatch, 80, is_one=False)
    remaining = Remaining(workers=1)
    job_of_fit, left = fit(FIT), job(AuditJob, AUDIT, 30.0)
    remaining.add(job_of_fit)
    assert remaining.seconds() == 10.0 + 4 * 10.0
    with ProgressDisplay(remaining, 1) as display:
        display(DoneElsewhere(job_of_fit, (left,)))
        assert remaining.seconds() == 30.0
        display(DoneElsewhere(left))
        assert remaining.seconds() == 0.0
