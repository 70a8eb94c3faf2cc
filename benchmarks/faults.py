"""What a run survives: kills, full disks, damaged files, several drivers.

    python benchmarks/faults.py [NAME ...] [--kills 20] [--seed 0] [--methods plain,latfr]

Everything runs on the small dataset of the tests. Figures are times, memory, and counts of what was
lost or done twice. Exits with 1 if a count is over its limit, or if a run ended as it should not.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import resource
import shlex
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import psutil
from figures import Figures

ROOT = Path(__file__).parent.parent
TOY = ROOT / "tests" / "support" / "toy"
MEMORY_LIMIT = 1
"""Gigabytes of a driver, whatever its jobs do."""
CODE = "import sys; from fairbench.__main__ import main; sys.argv[0] = 'fairbench'; main()"


class Bench:
    """Runs the command line in one folder."""

    def __init__(self, folder: Path, methods: str) -> None:
        self.folder, self.methods = folder, methods
        self.whole: pd.DataFrame | None = None

    def words(self, results: str, *more: str) -> list[str]:
        """The command."""
        words = ["run", "--dataset", "toy", "--budget", "quick", "--methods", self.methods]
        return [*words, "--points", "4", "--results", results, *more]

    def environment(self) -> dict[str, str]:
        given = os.environ.get("PYTHONPATH", "")
        return os.environ | {
            "PYTHONPATH": os.pathsep.join([str(TOY), *([given] if given else [])]),
            "FAIRBENCH_OFFLINE": "1",
        }

    def start(self, results: str, *more: str, **options: Any) -> subprocess.Popen[str]:
        process: subprocess.Popen[str] = subprocess.Popen(
            [sys.executable, "-c", CODE, *self.words(results, *more)],
            cwd=self.folder,
            env=self.environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            **options,
        )
        return process

    def run(self, results: str, *more: str, **options: Any) -> tuple[int, str]:
        """Exit code and what was told."""
        process = self.start(results, *more, **options)
        _, text = process.communicate()
        return process.returncode, text

    def metrics(self, results: str) -> pd.DataFrame:
        """Measured columns of all points; times and memory differ from run to run."""
        path = self.folder / results / "leaderboards" / "toy-simulated-points.csv"
        frame = pd.read_csv(path, dtype=str)
        timed = [c for c in frame.columns if "seconds" in c or "memory" in c or "ms_" in c]
        return frame.drop(columns=timed)

    def same(self, results: str) -> bool:
        """Whether every figure is bit by bit that of an uninterrupted run."""
        if self.whole is None:
            assert self.run("whole")[0] == 0
            self.whole = self.metrics("whole")
        return self.metrics(results).equals(self.whole)

    def finished(self, results: str) -> dict[str, str]:
        """What is DONE, and when it was."""
        path = self.folder / results / "fairbench.sqlite"
        if not path.exists():
            return {}
        records: dict[str, str] = {}
        with sqlite3.connect(path, timeout=60) as connection:
            for table in ("units", "points", "references"):
                query = f"SELECT key, finished FROM \"{table}\" WHERE status = 'DONE'"
                try:
                    records |= dict(connection.execute(query).fetchall())
                except sqlite3.OperationalError:  # killed before there was a table
                    continue
        return records


def jobs_of(text: str) -> int:
    """Jobs that a run started."""
    return sum(line.startswith("start ") for line in text.splitlines())


def kills(bench: Bench, options: argparse.Namespace, figures: Figures) -> bool:
    """kill -9 of the driver at random moments, each time with a resume by the same command."""
    began = time.monotonic()
    bench.run("timed")
    length = time.monotonic() - began
    rng = random.Random(options.seed)
    redone = lost = count = killed = 0
    different = 0
    while count < options.kills:
        results = f"killed-{count}"
        done: dict[str, str] = {}
        while count < options.kills:
            process = bench.start(results)
            pause = rng.uniform(0.15, 0.7) * length
            try:
                process.wait(pause)
            except subprocess.TimeoutExpired:
                process.kill()
                killed += 1
            process.communicate()
            count += 1
            now = bench.finished(results)
            redone += sum(now.get(key) != when for key, when in done.items())
            lost += sum(key not in now for key in done)
            done = now
            if process.returncode == 0:
                break
        code, _ = bench.run(results)
        now = bench.finished(results)
        redone += sum(now.get(key) != when for key, when in done.items())
        different += code != 0 or not bench.same(results)
    figures.seconds("small run of the tests, undisturbed", length)
    what, note = "small run of the tests, killed and resumed", f"{killed} times kill -9"
    figures.other(f"{what}: finished work lost", lost, "records", limit=0, note=note)
    figures.other(f"{what}: finished work redone", redone, "records", limit=0, note=note)
    figures.other(f"{what}: tables that differ", different, "tables", limit=0, note=note)
    return True


def two_runs(bench: Bench, options: argparse.Namespace, figures: Figures) -> bool:
    """The same command twice at once on one store."""
    alone = jobs_of(bench.run("alone")[1])
    both = [bench.start("shared"), bench.start("shared")]
    texts = [process.communicate()[1] for process in both]
    jobs = [jobs_of(text) for text in texts]
    codes = [process.returncode for process in both]
    print(f"two runs: exit codes {codes}")
    note = f"{jobs[0]} + {jobs[1]}"
    figures.other("two runs at once: their jobs", sum(jobs), "jobs", limit=alone, note=note)
    return codes == [0, 0] and bench.same("shared")


def two_folders(bench: Bench, options: argparse.Namespace, figures: Figures) -> bool:
    """Twice at once on one store, but what one trained the other cannot read."""
    alone = jobs_of(bench.run("here")[1])
    url = f"sqlite:///{bench.folder / 'shared.sqlite'}"
    both = [bench.start(name, "--store", url) for name in ("there", "yonder")]
    texts = [process.communicate()[1] for process in both]
    jobs, codes = [jobs_of(text) for text in texts], [process.returncode for process in both]
    print(f"two folders: exit codes {codes}")
    what, note = "two runs at once in two folders, one store: their jobs", f"{jobs[0]} + {jobs[1]}"
    figures.other(what, sum(jobs), "jobs", limit=alone, note=note)
    return codes == [0, 0] and bench.same("there") and bench.same("yonder")


def one_of_two_killed(bench: Bench, options: argparse.Namespace, figures: Figures) -> bool:
    """The same command twice at once; the one that started first is killed."""
    first, second = bench.start("widow"), bench.start("widow")
    assert first.stderr is not None
    for line in first.stderr:
        if line.startswith("start "):
            break
    first.kill()
    first.communicate()
    _, text = second.communicate()
    print(f"one of two killed: the other ends with {second.returncode}, {jobs_of(text)} jobs")
    return second.returncode == 0 and bench.same("widow")


def interrupt(bench: Bench, options: argparse.Namespace, figures: Figures) -> bool:
    """Ctrl-C, under both executors."""
    good = True
    for executor in ("inline", "ray"):
        results = f"interrupted-{executor}"
        process = bench.start(results, "--executor", executor)
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("done "):
                break
        began = time.monotonic()
        os.killpg(process.pid, signal.SIGINT)
        _, text = process.communicate()
        seconds = time.monotonic() - began
        kept = bench.finished(results)
        code, again = bench.run(results, "--executor", executor)
        if code != 0:
            print(f"Ctrl-C, {executor}: the resumed run ended with {code} and said:\n{again}")
            good = False
            continue
        redone = sum(bench.finished(results).get(k) != when for k, when in kept.items())
        same = bench.same(results)
        print(f"Ctrl-C, {executor}: exit code {process.returncode}; the same figures: {same}")
        figures.seconds(f"Ctrl-C, {executor}: until the run has ended", seconds)
        what, note = f"Ctrl-C, {executor}, resumed: finished work redone", f"of {len(kept)}"
        figures.other(what, redone, "records", limit=0, note=note)
        good &= process.returncode == 130 and "Resume with:" in text and same and bool(kept)
    return good


def full_disk(bench: Bench, options: argparse.Namespace, figures: Figures) -> bool:
    """No file may grow beyond a limit, as on a full disk."""
    good, resumed, sizes = True, 0, (30_000, 120_000)
    for limit in sizes:
        results = f"full-{limit}"

        def limited(limit: int = limit) -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        code, text = bench.run(results, preexec_fn=limited)
        error = next((x for x in text.splitlines() if x.startswith("Error:")), "no error")
        again, _ = bench.run(results)
        resumed += again == 0 and bench.same(results)
        print(f"full disk at {limit:,} bytes: exit code {code}, {error}; resumed: {again}")
        good &= code == 2 and "Traceback" not in text
    what = "full disks, resumed with space: runs with the same figures"
    figures.other(what, resumed, "runs", limit=len(sizes), at_least=True)
    return good


def damage(bench: Bench, options: argparse.Namespace, figures: Figures) -> bool:
    """Each file of a finished run's folder cut in half, or overwritten, and the command again."""
    good = True
    ways: dict[str, Callable[[bytes], bytes]] = {
        "cut in half": lambda content: content[: len(content) // 2],
        "garbled": lambda content: b"garbled " * (len(content) // 8 + 1),
    }
    for way, change in ways.items():
        results = f"damaged-{way.split()[0]}"
        bench.run(results)
        folder = bench.folder / results
        files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
        messages = recomputed = 0
        for path in files:
            path.write_bytes(change(path.read_bytes()))
            code, text = bench.run(results)
            if path.suffix == ".sqlite":
                messages += code == 2 and "Move the file away" in text
                path.unlink()
                code, text = bench.run(results)
            recomputed += code == 0 and bench.same(results)
        print(f"{way}: {len(files)} files, one after the other; {messages} messages")
        what = f"each file of a folder {way} in turn: runs with the same figures"
        figures.other(what, recomputed, "runs", limit=len(files), at_least=True)
        good &= messages == 1
    return good


def leak(bench: Bench, options: argparse.Namespace, figures: Figures) -> bool:
    """Ten jobs that leave a gigabyte behind each."""
    leaky = Bench(bench.folder, "leaks")
    process = leaky.start("leaks", "--seeds", "10", "--workers", "1")
    driver, peak, largest = psutil.Process(process.pid), 0, 0
    while process.poll() is None:
        try:
            peak = max(peak, driver.memory_info().rss)
            sizes = [child.memory_info().rss for child in driver.children(recursive=True)]
            largest = max([largest, *sizes])
        except psutil.Error:
            pass
        time.sleep(0.05)
    process.communicate()
    print(f"leak: exit code {process.returncode}")
    what = "ten jobs that leak a gigabyte each: peak memory of"
    figures.other(f"{what} the driver", peak / 1e9, "GB", limit=MEMORY_LIMIT)
    figures.other(f"{what} the largest job", largest / 1e9, "GB")
    return process.returncode == 0


def executors_agree(bench: Bench, options: argparse.Namespace, figures: Figures) -> bool:
    """The same request under Ray."""
    code, _ = bench.run("by-ray", "--executor", "ray")
    same = bench.same("by-ray")
    print(f"inline and ray: exit code {code}, the same figures: {same}")
    return code == 0 and same


def hostile_plugins(bench: Bench, options: argparse.Namespace, figures: Figures) -> bool:
    """Plugins that report no numbers, raise odd texts, print 100 MB, spoil descriptors."""
    bad = "reports-nan,reports-text,reports-names,odd-text,loud,tells-secrets,spoils-descriptors"
    process = Bench(bench.folder, f"{bad},plain").start("hostile")
    driver, peak = psutil.Process(process.pid), 0
    assert process.stderr is not None
    lines = []
    for line in process.stderr:
        lines.append(line)
        with contextlib.suppress(psutil.Error):
            peak = max(peak, driver.memory_info().rss)
    code, text = process.wait(), "".join(lines)
    failed = sum(f"fit {name} on toy" in text for name in bad.split(","))
    stored = (bench.folder / "hostile" / "fairbench.sqlite").stat().st_size
    kept = len(bench.finished("hostile"))
    harmless = "\x1b" not in text and "S3NTINEL" not in text and "Traceback" not in text
    print(
        f"hostile plugins: exit code {code}; {failed} of 7 reported, {kept} records of the others "
        f"kept; {len(text):,} bytes printed; harmless: {harmless}"
    )
    what = "plugins that print 100 MB and raise odd texts"
    figures.other(f"{what}: peak memory of the driver", peak / 1e9, "GB", limit=MEMORY_LIMIT)
    figures.other(f"{what}: size of the store", stored / 1e6, "MB", limit=2)
    return code == 1 and failed == 7 and kept > 0 and harmless


def children(bench: Bench, options: argparse.Namespace, figures: Figures) -> bool:
    """A plugin that starts processes, under both executors, and with a driver that is killed."""
    good = True
    for how in ("inline", "ray", "killed"):
        file = bench.folder / f"pids-{how}"
        os.environ["TOY_CHILDREN"] = str(file)
        process = Bench(bench.folder, "leaves-children").start(
            f"children-{how}", "--executor", "ray" if how == "ray" else "inline"
        )
        if how == "killed":
            while not file.exists() and process.poll() is None:
                time.sleep(0.01)
            process.kill()
        process.communicate()
        time.sleep(3.0 if how == "killed" else 0.0)
        pids = [int(word) for word in file.read_text().split()]
        living = [pid for pid in pids if psutil.pid_exists(pid)]
        for pid in living:
            os.kill(pid, signal.SIGKILL)
        what = f"processes that a plugin leaves behind, {how}: still alive"
        figures.other(what, len(living), "processes", limit=0, note=f"of {len(pids)}")
        good &= bool(pids)
    return good


def passwords(bench: Bench, options: argparse.Namespace, figures: Figures) -> bool:
    """A password in --store, searched for in all that is printed and written."""
    url = "postgresql+psycopg://ann:S3NTINEL@localhost:1/x?sslpassword=S3NTINEL"
    code, text = bench.run("password", "--store", url)
    written = [path for path in bench.folder.rglob("*") if path.is_file()]
    found = sum(b"S3NTINEL" in path.read_bytes() for path in written) + text.count("S3NTINEL")
    print(f"passwords: exit code {code}")
    what, note = "a password in `--store`: found in files and output", f"{len(written)} files"
    figures.other(what, found, "times", limit=0, note=note)
    return code == 2


def folder_taken(bench: Bench, options: argparse.Namespace, figures: Figures) -> bool:
    """The results folder is deleted, or replaced by another, during a run."""
    good = True
    for how in ("deleted", "replaced"):
        results = bench.folder / f"folder-{how}"
        process = bench.start(results.name)
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("done "):
                break
        results.rename(bench.folder / f"aside-{how}")
        if how == "replaced":
            assert bench.run(results.name, "--dry-run")[0] == 0
            assert bench.run(results.name, "--methods", "constant")[0] == 0
        _, text = process.communicate()
        kept = len(bench.finished(f"aside-{how}"))
        said = "while this command used it" in text and "Traceback" not in text
        print(f"results folder {how}: exit code {process.returncode}, told: {said}")
        good &= process.returncode == 2 and said and kept > 0
    return good


def outputs(bench: Bench, options: argparse.Namespace, figures: Figures) -> bool:
    """Standard streams that are closed, full, or closed by their reader."""
    assert bench.run("printed")[0] == 0
    wanted = {
        "1>&-": 0,
        "2>&-": 0,
        "1>&- 2>&-": 0,
        "2>/dev/full": 0,
        ">/dev/full": 2,
        ">/dev/full 2>&1": 2,
        "| head -n 1 >/dev/null": 0,
    }
    good, program = True, [sys.executable, "-c", CODE]
    commands = (
        bench.words("printed"),
        ["leaderboard", "--results", "printed"],
        ["list", "methods"],
        ["--help"],
    )
    for words in commands:
        for redirected, code in wanted.items():
            line = f"{shlex.join([*program, *words])} {redirected}"
            done = subprocess.run(
                ["bash", "-o", "pipefail", "-c", line],
                cwd=bench.folder,
                env=bench.environment(),
                capture_output=True,
                text=True,
                check=False,
            )
            told = done.stdout + done.stderr
            if done.returncode != code or "Traceback" in told or "Exception ignored" in told:
                print(f"{words[0]} {redirected}: exit code {done.returncode}\n{told}")
                good = False
    return good


def few_descriptors(bench: Bench, options: argparse.Namespace, figures: Figures) -> bool:
    """A process may open few files."""
    good = True
    for limit in (8, 14, 20, 30, 40):

        def limited(limit: int = limit) -> None:
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))

        results = f"descriptors-{limit}"
        code, text = bench.run(results, preexec_fn=limited)
        again, _ = bench.run(results)
        same = again == 0 and bench.same(results)
        error = next((x for x in text.splitlines() if x.startswith("Error:")), "no error")
        print(f"{limit} open files: exit code {code}, {error}; resumed without limit: {same}")
        good &= same and "Traceback" not in text and code == (0 if error == "no error" else 2)
    return good


EXPERIMENTS: dict[str, Callable[[Bench, argparse.Namespace, Figures], bool]] = {
    "kills": kills,
    "two-runs": two_runs,
    "two-folders": two_folders,
    "one-of-two-killed": one_of_two_killed,
    "interrupt": interrupt,
    "full-disk": full_disk,
    "damage": damage,
    "leak": leak,
    "executors-agree": executors_agree,
    "hostile-plugins": hostile_plugins,
    "children": children,
    "passwords": passwords,
    "folder-taken": folder_taken,
    "outputs": outputs,
    "few-descriptors": few_descriptors,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(EXPERIMENTS))
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--methods", default="plain,latfr")
    options = parser.parse_args()
    if unknown := sorted(set(options.names) - set(EXPERIMENTS)):
        parser.error(f"no experiment {', '.join(unknown)}; there are {', '.join(EXPERIMENTS)}")
    # A shell's background jobs ignore Ctrl-C, and so would all that they start.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    wrong = []
    with Figures("faults") as figures:
        for name in options.names or EXPERIMENTS:
            print(f"== {name}", flush=True)
            with tempfile.TemporaryDirectory() as folder:
                bench = Bench(Path(folder), options.methods)
                if not EXPERIMENTS[name](bench, options, figures):
                    wrong.append(name)
    if wrong:
        print(f"ended as they should not: {', '.join(wrong)}")
    return int(bool(wrong) or figures.failed)


if __name__ == "__main__":
    sys.exit(main())
