"""Anyone's arrays audited: known channels, what changes nothing, and every bad input's one line."""

import dataclasses
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import fairbench
from fairbench.api import Role
from fairbench.auditing.array_checks import SHARES, split
from fairbench.data.array_checks import check_classes, check_features
from fairbench.data.precision import single_precision
from fairbench.errors import FairbenchError

N = 3000


def people(n: int = N, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """z = 2 s + noise in its first column: I(Z;S) = .338 nats, by quadrature."""
    rng = np.random.default_rng(seed)
    s = rng.integers(0, 2, n)
    return np.stack([2 * s + rng.normal(size=n), rng.normal(size=n)], 1), s


def quick(z: Any, s: Any, **more: Any) -> fairbench.AuditReport:
    return fairbench.audit(z, s, quick=True, **{"seed": 0, **more})


@pytest.mark.thorough
def test_a_gaussian_channel_is_measured() -> None:
    report = quick(*people(8000))
    assert report.i == pytest.approx(0.338, abs=0.04)
    assert report.i_low < report.i < report.i_high
    assert report.h_s == pytest.approx(np.log(2), abs=1e-3)
    assert report.i_share == pytest.approx(report.i / report.h_s)
    assert report.a_s.accuracy == pytest.approx(0.841, abs=0.03)
    assert report.a_s.majority == pytest.approx(0.5, abs=0.02)
    assert report.rows == {"auditor-train": 4000, "validation": 1600, "test": 2400}
    found = [r for r in report.auditors if (r.auditor, r.view) == (report.auditor, report.view)]
    assert found[0].test_information == report.i
    assert found[0].validation_information == max(r.validation_information for r in report.auditors)
    assert report.hidden is None
    assert "the plain views of z" not in str(report)


def test_nothing_is_found_where_nothing_is() -> None:
    s = np.random.default_rng(1).integers(0, 3, N)
    report = quick(people()[0][:, 1:], s)
    assert report.i < 0.01
    assert report.i_low <= 0
    assert "found nothing of s" in str(report)
    assert report.certificate is None
    assert "certificate vacuous: z takes too many" in " ".join(str(report).split())


def test_labels_change_nothing_of_what_is_said_of_s_and_features_add_a_view() -> None:
    z, s = people()
    alone = quick(z, s)
    assert dataclasses.replace(quick(z, s, y=(z[:, 1] > 0)), a_y={}) == alone
    frame = pd.DataFrame({"a": z[:, 0], "colour": np.where(z[:, 1] > 0, "red", "blue")})
    more = quick(z, s, y=(z[:, 1] > 0), x=frame)
    assert more.a_y["y"].accuracy > 0.95
    assert 0 <= more.d < 0.3 * more.d_max
    assert more.i_max == pytest.approx(more.i, abs=0.05)
    assert more.i == pytest.approx(alone.i, abs=0.02)
    assert more.certificate == alone.certificate
    of_z = [one for one in more.auditors if one.view != "reconstruction"]
    assert of_z == list(alone.auditors)


def test_several_rows_of_one_person_are_noticed() -> None:
    """Auditors recognise people: it is told, and is not where their rows are kept together."""
    rng = np.random.default_rng(0)
    z, s = np.tile(rng.normal(size=(600, 4)), (2, 1)), np.tile(rng.integers(0, 2, 600), 2)
    report = quick(z, s)
    assert report.repeated == pytest.approx(0.5, abs=0.1)
    assert "if people have several rows, I(Z;S) is too high" in " ".join(str(report).split())
    people = rng.choice(["train", "validation", "test"], 600, p=[0.5, 0.2, 0.3])
    together = quick(z, s, roles=np.tile(people, 2))
    assert together.repeated is None


@pytest.mark.parametrize("levels", [2, 60])
def test_equal_codes_of_different_people_are_not_taken_for_one(levels: int) -> None:
    rng = np.random.default_rng(0)
    z = rng.integers(0, levels, (1200, 2))
    report = quick(z, rng.integers(0, 2, 1200))
    assert report.repeated is None
    assert report.to_dict()["repeated"] is None


def test_a_constant_loses_all_of_x() -> None:
    x, s = people()
    report = quick(np.zeros((N, 1)), s, x=x)
    assert report.d == pytest.approx(report.d_max, rel=0.05)
    assert report.i == pytest.approx(0, abs=0.005)


def test_whatever_holds_the_rows_gives_the_same_report() -> None:
    z, s = people(600)
    z = z.astype(np.float32)
    names = np.where(s == 1, "m", "f")
    wanted = quick(z, names)
    same = (
        (pd.DataFrame(z, columns=["a", "b"]), pd.Series(names, name="sex")),
        (torch.from_numpy(z), list(names)),
        (z.tolist(), names.astype(object)),
        (torch.from_numpy(z).to_sparse(), names.astype(np.dtypes.StringDType())),
        (z, pd.DataFrame({"sex": pd.Categorical(names)})),
        (pd.DataFrame(z, index=[f"p{i}" for i in range(600)]), pd.Series(names, index=[0] * 600)),
    )
    for other_z, other_s in same:
        assert quick(other_z, other_s) == wanted
    assert quick(z, s.astype(float)).i == wanted.i
    assert json.loads(json.dumps(wanted.to_dict())) == wanted.to_dict()
    assert all(len(line) <= 80 for line in str(wanted).splitlines())


def test_rows_in_different_orders_by_their_index_are_refused() -> None:
    z, s = people(300)
    frame, series = pd.DataFrame(z), pd.Series(s)
    with pytest.raises(FairbenchError, match=r"different orders.*give s.loc\[z.index\]"):
        quick(frame, series.sample(frac=1.0, random_state=0))
    shuffled = frame.sample(frac=1.0, random_state=0)
    aligned = quick(shuffled, series.loc[shuffled.index])
    assert aligned == quick(shuffled.to_numpy(), series.loc[shuffled.index].to_numpy())
    # Another index, which says nothing of people
    assert quick(frame, series.set_axis(range(300, 600))) == quick(z, s)


def test_every_two_indices_are_compared() -> None:
    """s lies between z and y, and its own index says nothing of either."""
    rng = np.random.default_rng(0)
    z = pd.DataFrame(rng.normal(size=(300, 2)))
    s = pd.Series(rng.integers(0, 2, 300), index=[f"r{i}" for i in range(300)])
    y = pd.Series(rng.integers(0, 2, 300)).sample(frac=1, random_state=0)
    with pytest.raises(FairbenchError, match="z and y have the same index, but in different"):
        fairbench.audit(z, s, y=y, quick=True)


def test_rows_that_are_not_all_the_same_by_their_index_are_refused() -> None:
    z, s = people(300)
    frame, series = pd.DataFrame(z[:-1]), pd.Series(s[1:], index=range(1, 300))
    says = r"different rows by their index, with 298 of 299 labels.*s.to_numpy\(\)"
    with pytest.raises(FairbenchError, match=says):
        quick(frame, series)
    assert quick(frame, series.to_numpy()) == quick(z[:-1], s[1:])
    twice = series.set_axis([1, 1, *range(3, 300)])
    assert quick(frame, twice) == quick(z[:-1], s[1:]), "no label of a row"


def test_a_weak_leak_is_not_excluded_where_no_auditor_is_better_than_a_guess() -> None:
    """I(Z;S) = .0098 nats, by quadrature, and 1,000 rows to learn from.

    Auditors may read less than there is, so not always: of 40 seeds in 36.
    """
    found = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        s = rng.integers(0, 2, 2000)
        z = rng.normal(size=(2000, 3))
        z[:, 0] += 0.28 * s
        found.append(quick(z, s, seed=seed))
    by_prior = [report for report in found if report.auditor == "prior"]
    assert by_prior
    assert np.mean([report.i_high > 0.0098 for report in by_prior]) > 0.75
    assert "no auditor was clearly better than a guess" in str(by_prior[0]).replace("\n", " ")


@pytest.mark.slow
def test_the_interval_contains_the_estimate_however_many_groups_there_are() -> None:
    rng = np.random.default_rng(0)
    report = quick(rng.normal(size=(3000, 2)), rng.integers(0, 77, 3000))
    assert report.i_low <= report.i <= report.i_high


def test_another_seed_is_another_split() -> None:
    z, s = people(600)
    assert quick(z, s, seed=1).i != quick(z, s, seed=0).i


@pytest.mark.parametrize(
    "column",
    [
        lambda s: 1.7e9 + 1e-3 * s,  # a time stamp in seconds: float32 has no thousandths left
        lambda s: 1e-60 * (1 + s),  # float32 has no such numbers
        lambda s: np.where(s == 1, 1.5e308, -1.5e308),
        lambda s: 2**60 + s,
    ],
)
def test_what_single_precision_would_hide_is_seen(column: Any) -> None:
    s = people()[1]
    z = np.stack([column(s)], 1)
    assert len(np.unique(single_precision(z))) == 2


def test_one_huge_number_hides_nothing_of_the_others() -> None:
    s = people()[1]
    z = np.random.default_rng(3).normal(size=(N, 1)) + 3.0 * s[:, None]
    z[0] = 1e60
    assert quick(z, s).i > 0.3


def test_hiding_in_double_precision_is_found() -> None:
    s = people()[1]
    noise = np.random.default_rng(3).normal(size=N)
    report = quick(np.stack([noise, 1e9 + 1e-3 * s], 1), s)
    assert report.i > 0.6


@pytest.mark.parametrize(
    "marked",
    [
        lambda s: np.where(s == 1, -0.0, 0.0),  # equal numbers, of other signs
        lambda s: np.random.default_rng(4).integers(1, 4, N) * 2**60 + s,  # rounded by 2^7
    ],
)
def test_what_double_precision_would_hide_is_seen(marked: Any) -> None:
    s = people()[1]
    column = np.asarray(marked(s))
    noise = np.random.default_rng(3).normal(size=N)
    report = quick(column[:, None], s)
    assert report.i > 0.6
    assert report.columns == 1
    # Beside fractions whole numbers become fractions.
    assert quick(pd.DataFrame({"noise": noise, "marked": column}), s).i > 0.6


def test_whoever_makes_z_cannot_mark_the_rows_that_train_auditors() -> None:
    """By s and the seed alone the rows could be known: marked with s there, by chance elsewhere.

    Trees that trust the mark would read less than the other column tells.
    """
    rng = np.random.default_rng(0)
    z, s = people()
    draft = np.column_stack([z, rng.integers(0, 2, N)]).astype(np.float64)
    known = split(s, 0, draft)
    draft[known[Role.AUDITOR_TRAIN], -1] = s[known[Role.AUDITOR_TRAIN]]
    assert quick(draft, s).i > 0.9 * quick(z, s).i


def test_whoever_makes_z_does_not_know_the_seed() -> None:
    """Or they try many z until the auditors of one split find little."""
    z, s = people(400)
    first, second = (fairbench.audit(z, s, quick=True) for _ in range(2))
    assert first.seed != second.seed
    assert quick(z, s, seed=first.seed).to_dict() == first.to_dict()


def test_the_split_is_stratified_and_disjoint() -> None:
    s = np.repeat([0, 1, 2], [20, 300, 1680])
    rows = split(s, 0, s[:, None])
    assert sorted(np.concatenate(list(rows.values()))) == list(range(len(s)))
    for role, share in SHARES.items():
        counts = np.bincount(s[rows[role]])
        assert np.abs(counts - share * np.array([20, 300, 1680])).max() <= 1


def test_own_roles_are_kept_and_rows_of_the_encoder_left_out() -> None:
    z, s = people(1600)
    z[:, 0] = z[:, 1]
    roles = np.repeat(["encoder-train", "train", "validation", "test"], 400)
    z[:400, 0] = 100 * s[:400]  # found, were they audited
    report = quick(z, s, roles=roles)
    assert report.rows == {"auditor-train": 400, "validation": 400, "test": 400}
    assert report.i < 0.02
    assert sum(report.groups.values()) == 1200


def test_the_earlier_word_for_the_validation_set_is_accepted_with_a_warning() -> None:
    z, s = people(600)
    roles = np.repeat(["train", "validation", "test"], 200)
    with pytest.warns(FutureWarning, match="'selection' is called 'validation' now"):
        earlier = quick(z, s, roles=np.where(roles == "validation", "selection", roles))
    assert earlier.to_dict() == quick(z, s, roles=roles).to_dict()


def test_the_certificate_is_of_test_rows_as_released(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Any] = {}

    @dataclasses.dataclass(frozen=True)
    class Certificate:
        gap: float = 0.25
        information: float = 0.125
        confidence: float = 0.95
        cells: int = 4
        overflow: float = 0.01
        rows: int = 900

    def certify(z_cells: Any, z: Any, s: Any, *, groups: int) -> Certificate:
        seen.update(cells=z_cells, z=z, s=s, groups=groups)
        return Certificate()

    monkeypatch.setattr("fairbench.auditing.array_measures.certify", certify)
    rng = np.random.default_rng(0)
    z, s = 1e9 + rng.integers(0, 4, (N, 1)), rng.integers(0, 2, N)
    report = quick(z, s)
    rows = split(s, 0, z)
    assert np.array_equal(seen["cells"], z[rows[Role.AUDITOR_TRAIN]])
    assert np.array_equal(seen["z"], z[rows[Role.TEST]])
    assert np.array_equal(seen["s"], s[rows[Role.TEST]])
    assert seen["groups"] == 2
    assert report.to_dict()["certificate"]["gap"] == 0.25
    assert "gap above 0.250" in " ".join(str(report).split())


def test_categories_are_coded_as_in_datasets() -> None:
    frame = pd.DataFrame({"n": [3.0, 1.0, 2.0], "c": ["b", "a", "b"], "t": [True, False, True]})
    assert check_features(frame, "x").tolist() == [[3, 1, 1], [1, 0, 0], [2, 1, 1]]
    text = np.array([["1", "u"], ["2", "v"]])
    assert check_features(text, "x").tolist() == [[1, 0], [2, 1]]


def test_groups_of_periods_have_their_names() -> None:
    quarters = pd.Series(pd.period_range("2020Q1", "2020Q2", freq="Q")).repeat(5)
    assert check_classes(quarters, "s")[0] == ("2020Q1", "2020Q2")


Z, S = people(200)
NAN = Z.copy()
NAN[17, 1] = np.nan
INF = Z.copy()
INF[0, 0] = np.inf

BAD = {
    "nan": (NAN, S, r"z\[17, 1\] is nan"),
    "inf": (INF, S, r"z\[0, 0\] is inf"),
    "object": (Z.astype(object), S, "holds object values"),
    "text": (Z.astype(str), S, "not numbers"),
    "complex": (Z.astype(complex), S, "complex"),
    "complex in a frame": (pd.DataFrame(Z.astype(complex)), S, "holds complex numbers"),
    "1-D": (Z[:, 0], S, r"1-D, \(200,\).*reshape\(-1, 1\)"),
    "3-D": (Z[:, :, None], S, r"reshape\(len\(z\), -1\)"),
    "0-D": (3.0, S, "not an array"),
    "ragged": ([[1.0], [1.0, 2.0]], S, "not all of one length"),
    "none": (None, S, "z is None"),
    "no rows": (Z[:0], S[:0], r"empty, \(0, 2\)"),
    "no columns": (Z[:, :0], S, r"empty, \(200, 0\)"),
    "lengths": (Z, S[:-1], "z has 200 rows and s has 199"),
    "one group": (Z, np.zeros(200), "only one value, '0'"),
    "fractions": (Z, S + 0.5, r"s\[0\] is .*whole numbers"),
    "missing in s": (Z, np.where(S == 1, 1.0, np.nan), r"s\[\d+\] is nan"),
    "None in s": (Z, [None if i == 5 else "a" for i in range(200)], "mixes kinds"),
    "missing in a series": (Z, pd.Series(["a", None] * 100, name="sex"), "row 2.*'sex'"),
    "many groups": (Z, np.arange(200), "200 distinct values"),
    "ages": (Z, 20 + np.arange(200) % 64, "cut the 64 different numbers of s into ranges, or"),
    "names with digits": (Z, np.char.add("p", (np.arange(200) % 64).astype(str)), "merge it"),
    "a small group": (Z, np.where(np.arange(200) < 4, "rare", "usual"), "'rare' of s has 4 rows"),
    "wide s": (Z, np.stack([S, S], 1), r"s has the shape \(200, 2\)"),
    "text in a frame": (pd.DataFrame({"a": S, "b": ["x"] * 200}), S, "'b' of z holds 'x'"),
    "a stray word": (pd.DataFrame({"a": ["1", "2", "?", "4"] * 50}), S, "row 3.*'a'.*'[?]'"),
    "a series": (pd.Series(Z[:, 0]), S, r"1-D, \(200,\)"),
    "no column of a frame": (pd.DataFrame(index=range(200)), S, r"empty, \(200, 0\)"),
    "an infinity by name": (
        pd.DataFrame(
            np.where(np.arange(200)[:, None] == 7, np.inf, Z), index=[f"p{i}" for i in range(200)]
        ),
        S,
        "row 8.*'inf'",
    ),
    "masked": (np.ma.masked_greater(Z, 3.0), S, r"z\[\d+, \d\] is masked"),
    "masked s": (Z, np.ma.masked_equal(S, S[2]), r"s\[\d+\] is masked"),
    "nan beside names": (Z, [np.nan if i % 2 else "a" for i in range(200)], r"s\[1\] is nan \(100"),
    "nan in a frame": (pd.DataFrame(NAN, columns=["a", "b"]), S, "row 18.*'b' has no value"),
}


@pytest.mark.parametrize(
    ("written", "groups"),
    [
        (["01", "1", "10"], ("01", "1", "10")),
        (["1", "2", "10"], ("1", "2", "10")),
        (["1e3", "1000", "2"], ("1000", "1e3", "2")),
        ([10**30, 1, 2], ("1", "1" + "0" * 30, "2")),
    ],
)
def test_codes_are_other_groups_than_the_numbers_that_they_read_as(
    written: list[Any], groups: tuple[str, ...]
) -> None:
    values = pd.Series(written * 3) if isinstance(written[0], str) else written * 3
    assert check_classes(values, "s")[0] == groups


@pytest.mark.parametrize("case", BAD)
def test_bad_arrays_get_one_line(case: str) -> None:
    z, s, says = BAD[case]
    with pytest.raises(FairbenchError, match=says) as caught:
        fairbench.audit(z, s)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"y": S[:-1]}, "z has 200 rows and y has 199"),
        ({"y": np.ones(200)}, "y has only one value"),
        ({"y": np.arange(200) % 67}, "class '.*' of y has"),
        ({"y": pd.DataFrame({0: S, "0": 1 - S})}, "y has several columns called '0'"),
        ({"x": Z[:, 0]}, "x is 1-D"),
        ({"x": NAN}, r"x\[17, 1\] is nan"),
        ({"x": [["a", 1.0], ["b", np.nan]] * 100}, r"x\[1, 1\] is nan \(100 such values\)"),
        ({"roles": ["train"] * 200}, "no row the role 'validation'"),
        ({"roles": ["trian"] * 200}, "'trian' in row 1.*Did you mean 'train'"),
        ({"roles": ["test"] * 199}, "roles has 199"),
        ({"seed": -1}, "seed -1"),
        ({"seed": 1.5}, "seed 1.5 is not a whole number"),
        ({"seed": "1"}, "seed '1' is not a whole number"),
        ({"seed": True}, "seed True is not a whole number"),
    ],
)
def test_other_bad_arguments_get_one_line(more: dict[str, Any], says: str) -> None:
    with pytest.raises(FairbenchError, match=says) as caught:
        fairbench.audit(Z, S, **more)
    assert "\n" not in str(caught.value)


def test_the_example_of_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    page = (Path(__file__).parents[2] / "docs" / "audit.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    exec(compile(code, "docs/audit.md", "exec"), {})
    assert "I(Z;S)" in capsys.readouterr().out


def test_importing_fairbench_loads_nothing_heavy() -> None:
    code = "import sys, fairbench; print({'numpy', 'torch', 'pandas'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
    assert not hasattr(fairbench, "adit")
