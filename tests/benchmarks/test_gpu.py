"""The benchmark of GPUs: it resumes and merges, finds a wrong device, and runs whole on a CPU."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from fairbench.api import TrainingRows
from fairbench.api.types import Role
from fairbench.data.prepared import Prepared

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))
try:
    import gpu
    from gpu_stages import board, images, losses, products, resume, stacks
    from gpu_stages.records import (
        Outcome,
        Part,
        PartRecord,
        Row,
        Stage,
        StageRecord,
        of_unit,
        run_stage,
    )
    from gpu_stages.settings import Settings
finally:
    sys.path.pop(0)


@dataclass(frozen=True)
class Speed(Row):
    method: str
    rate: float = of_unit("steps/s")


@dataclass
class Fake:
    """A stage of two parts; counts their runs, and the second part can be made to fail."""

    number: int
    runs: list[str] = field(default_factory=list)
    error: BaseException | None = None
    over: tuple[str, ...] = ()
    finished: bool = True

    def stage(self) -> Stage:
        def first(settings: Settings) -> Outcome:
            self.runs.append("first")
            return Outcome([Speed("sofair", 3.0)], "3 steps/s", "as measured")

        def second(settings: Settings) -> Outcome:
            self.runs.append("second")
            if self.error is not None:
                raise self.error
            return Outcome([Speed("latfr", 4.0)], "4 steps/s", "", self.over, self.finished)

        parts = [Part("first", first), Part("second", second)]
        return Stage(self.number, f"fake{self.number}", lambda settings: parts)


Call = Callable[..., int]


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prepared: Prepared) -> Call:
    """Give the command, with stages in place of the real ones."""
    monkeypatch.setattr(gpu, "adults", lambda root: prepared)

    def give(*words: str, stages: list[Stage]) -> int:
        folders = ["--data-root", str(tmp_path), "--out", str(tmp_path / "out")]
        return int(gpu.main(["--device", "cpu", *folders, *words], stages))

    return give


def merged(folder: Path) -> Mapping[str, Any]:
    return json.loads((folder / "out" / "gpu.json").read_text())  # type: ignore[no-any-return]


def test_what_is_measured_is_not_measured_again(
    call: Call, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fake = Fake(1, error=ValueError("the card fell out"))
    assert call(stages=[fake.stage()]) == 1
    assert "second: FAILED: ValueError: the card fell out" in capsys.readouterr().out
    (stage,) = merged(tmp_path)["stages"]
    assert not stage["finished"]
    assert "Traceback" in stage["parts"][1]["error"]
    fake.error = None
    assert call(stages=[fake.stage()]) == 0
    assert "first: done before: 3 steps/s" in capsys.readouterr().out
    assert fake.runs == ["first", "second", "second"]
    assert call(stages=[fake.stage()]) == 0
    assert fake.runs == ["first", "second", "second"]
    assert "stage 1, fake1: finished before" in capsys.readouterr().out
    assert merged(tmp_path)["finished"]


def test_stages_are_merged_with_their_units(call: Call, tmp_path: Path) -> None:
    one, two = Fake(1), Fake(2)
    stages = [one.stage(), two.stage()]
    assert call("--stage", "2", stages=stages) == 0
    assert [stage["finished"] for stage in merged(tmp_path)["stages"]] == [False, True]
    assert one.runs == []
    assert call(stages=stages) == 0
    whole = merged(tmp_path)
    assert whole["finished"]
    assert [stage["name"] for stage in whole["stages"]] == ["fake1", "fake2"]
    part = whole["stages"][1]["parts"][0]
    assert part["rows"] == [{"method": "sofair", "rate": 3.0}]
    assert part["units"] == {"rate": "steps/s"}
    assert part["note"] == "as measured"
    assert whole["stages"][0]["machine"]["torch"] == torch.__version__
    record = StageRecord.read(stages[0].path(tmp_path / "out"))
    assert record.parts[0].rows_as(Speed) == [Speed("sofair", 3.0)]


def test_an_exceeded_limit_is_told_again_and_again(
    call: Call, capsys: pytest.CaptureFixture[str]
) -> None:
    fake = Fake(1, over=("2e-3 (limit 1e-3)",))
    assert call(stages=[fake.stage()]) == 1
    assert "OVER THE LIMIT: 2e-3 (limit 1e-3)" in capsys.readouterr().out
    assert call(stages=[fake.stage()]) == 1
    assert fake.runs == ["first", "second"]


def test_an_unfinished_part_goes_on_and_keeps_its_rows(call: Call, tmp_path: Path) -> None:
    fake = Fake(1, finished=False)
    assert call(stages=[fake.stage()]) == 0
    assert not merged(tmp_path)["finished"]
    fake.error = ValueError("no power")
    assert call(stages=[fake.stage()]) == 1
    (stage,) = merged(tmp_path)["stages"]
    assert stage["parts"][1]["rows"] == [{"method": "latfr", "rate": 4.0}]
    fake.error, fake.finished = None, True
    assert call(stages=[fake.stage()]) == 0
    assert fake.runs == ["first", "second", "second", "second"]


def test_interrupted_it_says_how_to_go_on(
    call: Call, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fake = Fake(1, error=KeyboardInterrupt())
    assert call(stages=[fake.stage()]) == 130
    assert "The same command goes on" in capsys.readouterr().out
    fake.error = None
    assert call(stages=[fake.stage()]) == 0
    assert fake.runs == ["first", "second", "second"]


def test_no_part_is_begun_when_time_is_up(tmp_path: Path) -> None:
    fake = Fake(1)
    settings = Settings(tmp_path, tmp_path, "cpu", True, time.monotonic() + 1)
    record = run_stage(fake.stage(), settings, {})
    assert fake.runs == []
    assert not record.finished


def finished_part(name: str, seconds: float) -> PartRecord:
    return PartRecord(name, finished=True, seconds=seconds, last_seconds=seconds, text="")


def three_parts(begun: list[str], *, keeps_time: str = "") -> Stage:
    """A stage of three parts that take no time."""

    def part(name: str) -> Part:
        def run(settings: Settings) -> Outcome:
            begun.append(name)
            return Outcome([], name)

        return Part(name, run, keeps_time=name == keeps_time)

    parts = [part(name) for name in ("first", "second", "third")]
    return Stage(1, "fake", lambda settings: parts)


@pytest.mark.parametrize(("took", "begins"), [(100.0, ["second"]), (30.0, ["second", "third"])])
def test_a_part_is_begun_only_where_the_longest_so_far_would_end(
    took: float, begins: list[str], tmp_path: Path
) -> None:
    """One part of the call is begun anyway, so that a stage with a long one ends some day."""
    begun: list[str] = []
    stage = three_parts(begun)
    settings = Settings(tmp_path, tmp_path, "cpu", True, time.monotonic() + 60)
    stage.stored(settings).with_part(finished_part("first", took)).write(stage.path(tmp_path))
    record = run_stage(stage, settings, {})
    assert begun == begins
    assert record.finished == (len(begins) == 2)


def test_a_part_that_takes_the_time_there_is_says_nothing_of_others(tmp_path: Path) -> None:
    begun: list[str] = []
    stage = three_parts(begun, keeps_time="first")
    settings = Settings(tmp_path, tmp_path, "cpu", True, time.monotonic() + 60)
    stage.stored(settings).with_part(finished_part("first", 400.0)).write(stage.path(tmp_path))
    assert run_stage(stage, settings, {}).finished
    assert begun == ["second", "third"]


def test_a_file_of_a_stage_that_was_divided_otherwise_is_read(tmp_path: Path) -> None:
    """What it has is kept; a part that failed and is none any more does not fail for ever."""
    begun: list[str] = []
    stage = three_parts(begun)
    settings = Settings(tmp_path, tmp_path, "cpu", True)
    record = stage.stored(settings).with_part(finished_part("checkpoints", 118.0))
    broken = PartRecord("audits", finished=False, seconds=5.0, text="FAILED", error="Traceback")
    record.with_part(broken).write(stage.path(tmp_path))
    plain = json.loads(stage.path(tmp_path).read_text())
    for part in plain["parts"]:
        del part["last_seconds"]
    stage.path(tmp_path).write_text(json.dumps(plain))
    names = [part.name for part in run_stage(stage, settings, {}).parts]
    assert names == ["checkpoints", "first", "second", "third"]


def test_each_method_continues_from_its_checkpoint_in_a_part_of_its_own(tmp_path: Path) -> None:
    parts = resume.parts(Settings(tmp_path, tmp_path, "cpu", True))
    assert [part.name for part in parts] == ["checkpoint of sofair", "checkpoint of beta-vae"]


@pytest.mark.parametrize(
    ("repeated", "resumed", "says", "over"),
    [
        (0.0, 0.0, "resumes to the last bit", 0),
        (0.0, 2e-3, "2.0e-03 apart", 1),
        (1e-3, 2e-3, "2.0e-03 apart", 0),
    ],
)
def test_a_continued_training_is_judged_where_the_device_repeats_itself(
    repeated: float, resumed: float, says: str, over: int
) -> None:
    outcome = resume._outcome(resume.ResumeComparison("sofair", 2, 60, repeated, resumed))
    assert outcome.text == f"2 models, 60 steps: {says}"
    assert len(outcome.over) == over


def test_a_folder_of_other_settings_is_refused(
    call: Call, capsys: pytest.CaptureFixture[str]
) -> None:
    stages = [Fake(1).stage()]
    assert call("--quick", stages=stages) == 0
    with pytest.raises(SystemExit, match="2"):
        call(stages=stages)
    assert "has results of --device cpu --quick: name another folder" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--stage", "7"], "there is no stage 7: --stage takes 1 (correctness), 2 (speed)"),
        (["--data-root", "/no/such/folder"], "--data-root is not a folder: /no/such/folder"),
        (["--device", "tpu"], "invalid choice: 'tpu'"),
        (["--out", __file__], "is not a folder"),
    ],
)
def test_bad_input_is_one_line(
    words: list[str],
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(gpu, "adults", lambda root: None)
    with pytest.raises(SystemExit, match="2"):
        gpu.main(["--device", "cpu", "--data-root", str(tmp_path), *words])
    told = capsys.readouterr().err
    assert says in told
    assert told.count("\n") == 1


def test_no_data_folder_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("FAIRBENCH_DATA", raising=False)
    with pytest.raises(SystemExit, match="2"):
        gpu.main(["--device", "cpu"])
    assert "give the folder that holds the data files: --data-root DIR" in capsys.readouterr().err


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_no_gpu_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        gpu.main(["--data-root", str(tmp_path)])
    told = capsys.readouterr().err
    assert "no CUDA device was found" in told
    assert "--device cpu --quick" in told


# ---- What stages measure -------------------------------------------------------------------------


@pytest.fixture
def quick(tmp_path: Path) -> Settings:
    return Settings(tmp_path, tmp_path, "cpu", True)


@pytest.fixture
def rows(prepared: Prepared) -> TrainingRows:
    train = prepared.roles[Role.ENCODER_TRAIN]
    return TrainingRows(train.x, train.s, prepared.info)


def test_a_difference_is_a_share_of_the_mean_size() -> None:
    cpu = {"model": np.array([[1.0, -4.0], [3.0, 4.0]]), "adversary": np.ones((2, 2))}
    other = {"model": cpu["model"] + [[0.0, 0.0], [0.2, 0.2]], "adversary": np.ones((2, 2))}
    assert losses.difference(cpu, cpu) == 0
    assert losses.difference(cpu, other) == pytest.approx(0.1)  # .2 of a mean of 2
    other["adversary"] = np.array([[1.0, 1.0], [1.0, np.nan]])
    assert losses.difference(cpu, other) == np.inf


def test_a_loss_of_0_throughout_differs_from_itself_by_nothing() -> None:
    cpu, other = {"critic": np.zeros((2, 1))}, {"critic": np.array([[0.0], [1e-9]])}
    assert losses.difference(cpu, cpu) == 0
    assert losses.difference(cpu, other) == np.inf


@pytest.mark.parametrize(("factor", "found"), [(1.0, False), (1.002, True)])
def test_a_device_that_computes_otherwise_is_found(
    factor: float,
    found: bool,
    rows: TrainingRows,
    quick: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The third and the fourth stack are those of the device; here its losses are too large."""
    built: list[stacks.Stack] = []

    def build(*words: Any) -> stacks.Stack:
        stack = stacks.build_stack(*words)
        built.append(stack)
        if len(built) > 2:
            own = stack.model.encoder.forward
            stack.model.encoder.forward = lambda x: factor * own(x)  # type: ignore[method-assign]
        return stack

    monkeypatch.setattr(losses, "build_stack", build)
    one = losses.compare(stacks.method_named("latfr")(), rows, quick)
    assert len(built) == 4
    assert (one.same_weights > 1e-5) == found
    assert (one.free_running > 1e-5) == found
    assert one.cpu_disturbed < 1e-5
    assert one.free_running_judged


def test_losses_from_the_same_weights_do_not_depend_on_the_optimizer(
    rows: TrainingRows, quick: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A device that only updates otherwise departs where it runs free, and not from each state."""
    trained = []

    def train(self: stacks.Stack, *args: Any, **kwargs: Any) -> list[str | None]:
        trained.append(self)
        if len(trained) > 2:
            self.method.params = self.method.params.model_copy(update={"learning_rate": 1e-2})
        return whole(self, *args, **kwargs)

    whole = stacks.Stack.train
    monkeypatch.setattr(stacks.Stack, "train", train)
    one = losses.compare(stacks.method_named("latfr")(), rows, quick)
    assert one.same_weights < 1e-6
    assert one.free_running > 1e-3


def test_tf32_is_reported_and_not_judged() -> None:
    given: dict[str, Any] = {"method": "sofair", "data": "images", "models": 2, "steps": 5}
    apart = {"same_weights": 0.01, "free_running": 0.02}
    exact = losses.LossComparison(**given, **apart, tf32_convolutions=False)
    assert len(losses._outcome([exact]).over) == 2
    rough = losses.LossComparison(**given, **apart, tf32_convolutions=True)
    assert losses._outcome([rough]).over == ()


def test_products_of_a_step_are_counted_as_the_networks_say(rows: TrainingRows) -> None:
    """Forwards once, and twice backwards, but for the gradient of x, which nobody needs."""
    method = stacks.method_named("beta-vae")()
    units = stacks.units_of(method, seeds=1, points=3)
    content = products.content_of(method, units, rows)
    d, batch = rows.x.shape[1], method.params.batch_size
    encoder, decoder = (d, 128, 128, 16), (8 + 2, 128, 128, d)
    weights = sum(a * b for sizes in (encoder, decoder) for a, b in pairwise(sizes))
    assert content.flops == 2 * len(units) * batch * (3 * weights - d * 128)
    assert {draw.kind for draw in content.draws} == {"indices", "normal"}


def test_losses_beyond_the_checkpoint_are_measured_again(tmp_path: Path) -> None:
    def log(steps: range, value: float) -> list[tuple[int, int, float]]:
        one = images._LossLog(tmp_path, 100, 10)
        for step in steps:
            one.add(torch.tensor(value))
            one.watch(step / 100, "")
        return [(p.step, p.steps, p.loss) for p in images.read_losses(tmp_path)]

    assert log(range(35), 1.0) == [(10, 10, 1.0), (20, 10, 1.0), (30, 10, 1.0)]
    # The checkpoint was of step 24: 21 to 24 were summed up, and lost with the process.
    assert log(range(24, 40), 2.0) == [
        *((10, 10, 1.0), (20, 10, 1.0)),
        *((30, 6, 2.0), (40, 10, 2.0)),
    ]


def test_a_run_is_interrupted_when_its_time_is_up(tmp_path: Path) -> None:
    script = "import time\ntry:\n    time.sleep(60)\nexcept KeyboardInterrupt:\n    print('told')"
    start = time.monotonic()
    code = board._interruptible([sys.executable, "-u", "-c", script], tmp_path / "log", 1.0)
    assert code is None
    assert time.monotonic() - start < 30
    assert (tmp_path / "log").read_text() == "told\n"
    assert (
        board._interruptible([sys.executable, "-c", "raise SystemExit(1)"], tmp_path / "l", 60) == 1
    )


# ---- The whole of it -----------------------------------------------------------------------------


@pytest.mark.slow
def test_killed_half_way_it_goes_on(tmp_path: Path) -> None:
    data = os.environ.get("FAIRBENCH_DATA") or str(tmp_path)
    out = tmp_path / "out"
    command = [sys.executable, str(BENCHMARKS / "gpu.py"), "--device", "cpu", "--quick"]
    command += ["--data-root", data, "--out", str(out)]
    environment = os.environ | {"FAIRBENCH_OFFLINE": "1"}

    def parts_done(name: str) -> list[str]:
        path = out / "stages" / name
        return [part.name for part in StageRecord.read(path).parts] if path.exists() else []

    first = subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, start_new_session=True
    )
    try:
        deadline = time.monotonic() + 200
        while len(parts_done("2-speed.json")) < 2 and time.monotonic() < deadline:
            assert first.poll() is None
            time.sleep(0.1)
    finally:
        os.killpg(first.pid, signal.SIGKILL)
        first.wait()
    known = parts_done("2-speed.json")
    assert known == ["jobs on one device", "speed of sofair, one replicate"]
    again = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=400, check=False
    )
    assert again.returncode == 0, again.stdout + again.stderr
    assert "stage 1, correctness: finished before" in again.stdout
    for name in known:
        assert f"{name}: done before" in again.stdout
    whole = json.loads((out / "gpu.json").read_text())
    assert whole["finished"]
    assert [stage["name"] for stage in whole["stages"]] == [
        *("correctness", "speed", "board", "images"),
    ]
    for name in ("speed.png", "losses.png", "board.png"):
        assert (out / name).read_bytes().startswith(b"\x89PNG")
    third = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=100, check=True
    )
    assert third.stdout.count("finished before") == 4
