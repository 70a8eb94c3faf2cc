"""``fairbench audit`` as a user meets it, on files."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairbench.cli.app import main
from fairbench.data.loading import load_twin
from tests.conftest import Call
from tests.support.toy.toy_plugin import Toy

Here = Callable[..., tuple[int, str, str]]


@pytest.fixture
def here(files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    """``fairbench audit`` in this process, in the folder of the files: code, stdout, stderr."""

    def call(*words: str) -> tuple[int, str, str]:
        monkeypatch.chdir(files)
        monkeypatch.setattr(sys, "argv", ["fairbench", "audit", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return int(ended.value.code or 0), said.out, said.err

    return call


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """The same 400 people as npy, npz, CSV and Parquet."""
    rng = np.random.default_rng(0)
    n = 400
    s = rng.choice(["f", "m"], n)
    z = rng.normal(size=(n, 2))
    z[:, 0] += 2 * (s == "m")
    frame = pd.DataFrame({"z1": z[:, 0], "z2": z[:, 1], "sex": s, "y": (z[:, 1] > 0).astype(int)})
    np.save(tmp_path / "z.npy", z)
    np.save(tmp_path / "s.npy", s)
    np.save(tmp_path / "names.npy", s.astype(object))
    np.savez(tmp_path / "both.npz", z=z, s=s)
    np.savez(tmp_path / "one.npz", z)
    frame.to_csv(tmp_path / "people.csv", index=False)
    frame.to_parquet(tmp_path / "people.parquet")
    frame[["sex"]].to_csv(tmp_path / "s.csv", index=False)
    np.savetxt(tmp_path / "z.csv", z, delimiter=",", fmt="%.17g")  # no line of names
    frame[:-1].to_csv(tmp_path / "short.csv", index=False)
    (tmp_path / "empty.npy").write_bytes(b"")
    (tmp_path / "cut.npy").write_bytes((tmp_path / "z.npy").read_bytes()[:200])
    (tmp_path / "longer.npy").write_bytes((tmp_path / "z.npy").read_bytes() + s.tobytes())
    header = {"descr": "<f8", "fortran_order": False, "shape": (30_000_000, 1_000_000)}
    with (tmp_path / "huge.npy").open("wb") as stream:  # row 12: 218 TiB
        np.lib.format.write_array_header_1_0(stream, header)
    (tmp_path / "cut.npz").write_bytes((tmp_path / "both.npz").read_bytes()[:300])
    (tmp_path / "words.npy").write_text("these are words\n" * 30)
    (tmp_path / "z.pkl").write_bytes(b"x")
    (tmp_path / "folder.npy").mkdir()
    return tmp_path


@pytest.mark.thorough
def test_every_format_gives_the_same_json(here: Here) -> None:
    said = []
    for z, s in (
        ("z.npy", "s.npy"),
        ("both.npz:z", "people.csv:sex"),
        ("people.parquet:z1,z2", "people.parquet:sex"),
        ("z.csv", "s.csv"),
    ):
        code, out, err = here("--z", z, "--s", s, "--seed", "0", "--quick", "--json")
        assert (code, err) == (0, "")
        said.append(json.loads(out))
    assert all(found == said[0] for found in said)
    assert said[0]["mutual_information"] > 0.1
    assert said[0]["groups"].keys() == {"f", "m"}
    assert said[0]["audit"] == "quick"


def test_the_report_is_for_people(fairbench_here: Call, files: Path) -> None:
    one = "people.csv"
    done = fairbench_here(
        *("audit", "--z", f"{one}:z*", "--s", f"{one}:sex", "--y", f"{one}:y"),
        *("--x", f"{one}:z1,sex", "--seed", "3", "--quick"),
    )
    assert done.returncode == 0, done.stderr
    for words in (
        "I(Z;S)",
        "I(X;S)",
        "A_s",
        "A_y",
        "D  ",
        "boosted-trees",
        "seed 3",
        "no guarantee",
    ):
        assert words in done.stdout
    assert max(len(line) for line in done.stdout.splitlines()) <= 80


GOOD_S = ("--s", "s.npy")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--z", "zz.npy", *GOOD_S], "zz.npy does not exist. Did you mean 'z.npy'"),
        (["--z", "folder.npy", *GOOD_S], "is a folder"),
        (["--z", ".", *GOOD_S], "--z: . is a folder"),
        (["--z", "z.pkl", *GOOD_S], "npy, npz, CSV or Parquet"),
        (["--z", "z.npy:z", *GOOD_S], "no name: give z.npy"),
        (["--z", "both.npz", *GOOD_S], "holds 2 arrays: name one"),
        (["--z", "both.npz:x", *GOOD_S], "no array 'x'"),
        (["--z", "empty.npy", *GOOD_S], "empty.npy"),
        (["--z", "cut.npy", *GOOD_S], "cut.npy is damaged"),
        (["--z", "longer.npy", *GOOD_S], "bytes stand behind its array"),
        (["--z", "cut.npz", *GOOD_S], "cut.npz is damaged"),
        (["--z", "huge.npy", *GOOD_S], "its header promises 240,000,000,000,000 bytes"),
        (["--z", "words.npy", *GOOD_S], "words.npy holds pickled objects or is not a npy file"),
        (["--z", "z.npy", "--s", "names.npy"], "astype(str)"),
        (["--z", "z.npy", "--s", "people.csv:sxe"], "no column 'sxe'. Did you mean 'sex'"),
        (["--z", "z.npy", "--s", "people.csv"], "s has 4 columns, and one is needed"),
        (["--z", "z.npy", "--s", "short.csv:sex"], "z has 400 rows and s has 399"),
        (["--z", "people.csv", "--s", "people.csv:sex"], "'sex' of people.csv is in z and in s"),
        (["--z", "one.npz", "--s", "one.npz"], "z and s are the same array"),
        (["--z", "both.npz:s", *GOOD_S], "z is 1-D"),
        (["--z", "people.csv:z1,sex", *GOOD_S], "'sex' of z holds"),
        (["--z", "z.npy", "--s", "people.csv:z1"], "s[0] is"),
        (["--z", "z.npy"], "--s FILE is missing"),
        (["--quick"], "--z FILE is missing"),
        ([], "Nothing to audit"),
        (
            ["--results", "out", *GOOD_S],
            "--s is an option of audit --z FILE --s FILE, not of",
        ),
        (
            ["--z", "z.npy", *GOOD_S, "--results", "out"],
            "--results is an option of audit --results DIR, not of",
        ),
        (["--results", "nowhere"], "no results in nowhere"),
        (["--again"], "Nothing to audit"),
        (["--results", "out", "--timeout", "soon"], "not a duration"),
    ],
)
def test_a_users_mistake_is_one_line(here: Here, words: list[str], says: str) -> None:
    code, out, err = here(*words)
    assert code == 2
    assert says in err
    assert len(err.splitlines()) == (2 if "nowhere" in words else 1)
    assert not out


def test_every_option_is_on_the_page_and_in_the_help(fairbench_here: Call) -> None:
    page = (Path(__file__).parents[2] / "docs" / "audit.md").read_text(encoding="utf-8")
    options = set(re.findall(r"--[a-z-]+", fairbench_here("audit", "--help").stdout)) - {"--help"}
    assert options == {f"--{name}" for name in OPTIONS.split()}
    for option in options - {"--results"}:
        assert re.search(rf"`{option}[ `]|, `{option}`", page), option


OPTIONS = (
    "z s y x roles people seed quick json against results dataset audit again executor ray-address "
    "in-process workers data-root timeout store"
)


@pytest.mark.parametrize("as_json", [False, True])
def test_encodings_are_not_taken_for_those_of_real_people(
    fairbench_here: Call, tmp_path: Path, as_json: bool
) -> None:
    rows = sum(len(part.s) for part in load_twin(Toy).roles.values())
    np.save(tmp_path / "z.npy", np.zeros((rows, 2), np.float32))
    words = ["--z", "z.npy", "--dataset", "toy", "--quick", *(["--json"] if as_json else [])]
    told = fairbench_here("audit", *words)
    assert told.returncode == 0, told.stderr
    assert "SIMULATED" in told.stderr
    if as_json:
        assert json.loads(told.stdout)["data_source"] == "simulated"
    else:
        assert "Encodings of toy (SIMULATED DATA)" in told.stdout
