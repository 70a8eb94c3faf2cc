"""Wrong methods of every kind are caught, and told what is wrong; the built-in ones keep all."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from fairbench.api import Architecture, Role
from fairbench.api.dataset import Dataset, Images
from fairbench.api.method import Method
from fairbench.data.card_dataset import dataset_from_card
from fairbench.data.loading import load_dataset
from fairbench.errors import CheckError
from fairbench.registry import load_registry
from fairbench.runs.declared import declared
from fairbench.runs.fit_job import FitJob
from fairbench.store.status import Status
from fairbench.testing import CheckResult, check_method, method_checks, parametrize
from fairbench.testing.method_trial import MethodTrial, rows_apart
from fairbench.training.neural_method import NeuralMethod
from tests.support import wrong_curves as curves
from tests.support import wrong_declarations as declarations
from tests.support import wrong_encoders as encoders
from tests.support import wrong_fits as fits
from tests.support.right_method import Released, Right

pytestmark = pytest.mark.thorough

ROOT = Path(__file__).parents[2]
METHODS = load_registry().methods.classes
NEURAL = [name for name, cls in METHODS.items() if issubclass(cls, NeuralMethod)]
QUICK = {"identity", "constant", "leace", "fare-tree", "random-projection"}


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[] if n in QUICK else [pytest.mark.slow]) for n in METHODS]
)
def test_every_method_keeps_its_promises(name: str) -> None:
    check_method(METHODS[name])


@parametrize(
    Right,
    curves.RightCurve,
    curves.DecodesToLists,
    encoders.DecodesToLists,
    encoders.CountsInNumpy,
    encoders.Kept,
)
def test_the_decorator_makes_a_test_of_each_promise(promise) -> None:
    promise()


WRONG = [
    (fits.PeeksThroughFrames, "task labels change nothing", "it uses y"),
    (fits.PeeksAtFiles, "it reads no file of a registered dataset", "the file labels.csv"),
    (fits.PeeksAtDatasets, "it reads no file of a registered dataset", "the dataset 'simple'"),
    (fits.WritesIntoX, "fit leaves its rows", "writes into train.x"),
    (fits.WritesIntoS, "fit leaves its rows", "writes into train.s"),
    (fits.WritesWhenEncoding, "encode leaves its rows", "x.copy()"),
    (fits.MovesAway, "leaves its process", "the working directory"),
    (fits.SeedsEverybody, "leaves its process", "NumPy's global random state"),
    (fits.DrawsFromEverybody, "leaves its process", "Python's global random state"),
    (fits.SetsTheEnvironment, "leaves its process", "the environment"),
    (fits.IgnoresEverybodysErrors, "leaves its process", "NumPy's handling of errors"),
    (fits.ComputesInDoublePrecision, "leaves its process", "torch's default dtype"),
    (fits.SeesSAtTheEnd, "blind means blind", "With s permuted"),
    (fits.NamedAll, "its name and texts", "stands for all methods"),
    (fits.Unseeded, "the same seed", "unit.seed"),
    (fits.GloballyUnseeded, "the same seed", "unit.seed"),
    (fits.UnseededEncoder, "codes as it declares", "declare coding = Coding.STOCHASTIC"),
    (fits.DrawsForAllAtOnce, "one by one", "Seed 8, fitted alone"),
    (fits.OnlyTwoGroups, "more than two groups", "s must be binary"),
    (fits.TooFew, "one result per unit", "0 results for 1 unit."),
    (fits.NotAList, "one result per unit", "a Released for 1 unit."),
    (fits.NoCurve, "one result per unit", "return a Curve"),
    (fits.ACurveForAPoint, "one result per unit", "return a Representation"),
    (curves.PointsAreNumbers, "one result per unit", "give a tuple of fairbench.api.Point"),
    (curves.PointsAreGenerated, "one result per unit", "give a tuple of fairbench.api.Point"),
    (curves.PointsAreAMethod, "one result per unit", "give a tuple of fairbench.api.Point"),
    (curves.LogarithmOfZero, "one result per unit", "'k' of the curve of right-curve is logar"),
    (curves.WithoutEnd, "one result per unit", "'k' of the curve of right-curve has no end"),
    (fits.BreaksAtTheEnd, "both ends of its knob", "At beta=1 it raised ZeroDivisionError"),
    (curves.WiderThanDeclared, "both ends of its knob", "the declared one 0 .. 1"),
    (curves.PointsOutside, "both ends of its knob", "k=2 lies outside 0 .. 1"),
    (curves.PointsOfAnotherKnob, "both ends of its knob", "beta=0.5 does not set the knobs k"),
    (fits.AlwaysDiverges, "one result per unit", "diverged: loss nan at step 1"),
    (
        fits.Raises,
        "one result per unit",
        "fit raised KeyError: 'weights' (support/wrong_fits.py",
    ),
    (fits.Exits, "one result per unit", "fit raised SystemExit: enough"),
    (encoders.WrongShape, "codes are float32", "returned shape (300,)"),
    (encoders.WrongRows, "codes are float32", "for 300 rows"),
    (encoders.WrongType, "codes are float32", "returned float64"),
    (encoders.GivesNan, "codes are float32", "NaN or infinity"),
    (encoders.FarFromHomeNan, "far ones too", "not finite"),
    (encoders.ScalesByBatch, "among others", "from the training rows in fit"),
    (encoders.ScalesDrawsByBatch, "among others", "64 draws"),
    (encoders.NeedsS, "codes are float32", "TypeError"),
    (encoders.UsesSIfThere, "blind means blind", "Track.AWARE"),
    (fits.ReadsMoreThanItSays, "input columns that it names", "codes are others"),
    (fits.ReadsWhatIsNotThere, "input columns that it names", "[0, 99] of"),
    (fits.NamesColumnsInAnArray, "input columns that it names", "returned array([0, 1, 2, 3])"),
    (encoders.LosesFloat64, "float64 rows", "x.astype"),
    (encoders.DecodesUndeclared, "decodes if it declares a decoder", "has_decoder = True"),
    (encoders.HasNoDecoder, "decodes if it declares a decoder", "has_decoder = False"),
    (encoders.DecodesToLittle, "decodes if it declares a decoder", "(300, 2) where x is (300, 4)"),
    (encoders.WritesWhenDecoding, "decode leaves its codes", "z = z.copy()"),
    (encoders.DecodesByBatch, "decoded as it is among others", "from the training rows in fit"),
    (encoders.DecodesFromMemory, "remembers nothing of the rows", "keep nothing in encode"),
    (encoders.KnobDoesNothing, "knobs change something", "the same at both ends"),
    (encoders.BreaksAsAJob, "runs as a job of the suite", "all of one group"),
    (encoders.IsNotQuantised, "codes as it declares", "quantised; a dimension has"),
    (encoders.DrawsNothing, "codes as it declares", "another generator gives the same"),
    (encoders.BadBits, "rate, bits and parameters", "0, 1, or -1"),
    (encoders.FlatBits, "rate, bits and parameters", "shape (300, 2)"),
    (encoders.CountsInWords, "rate, bits and parameters", "multiply_adds() is 'many'"),
    (
        encoders.CannotRestore,
        "restored from its state",
        "restore raised NotImplementedError: right",
    ),
    (encoders.LosesInKeeping, "restored from its state", "other codes than the fit"),
    (encoders.LosesItsDecoder, "state decodes the same", "decodes otherwise than the fit"),
    (encoders.RestoresAnother, "restored from its state", "a NoneType for a released"),
    (encoders.KeepsNoArrays, "restored from its state", "Return a mapping of names to arrays"),
    (
        declarations.NeverClips,
        "runs as a job of the suite",
        "hyperparameters of right cannot be stored",
    ),
    (declarations.SizesInWords, "runs as a job of the suite", "Return a fairbench.api.Workload"),
    (declarations.BadName, "name and texts", "'My Method' is not a name"),
    (declarations.NoSummary, "name and texts", "summary is ''"),
    (declarations.OneAlias, "name and texts", "aliases = ('other-name',)"),
    (declarations.WordForATrack, "name and texts", "track = Track.BLIND"),
    (declarations.NeedsParams, "parameters have defaults", "'width' has no default"),
    (declarations.TakesAnything, "parameters have defaults", "extra='forbid'"),
    (
        declarations.KnobsUndeclared,
        "knobs and points agree",
        "beta=0.1 does not set the knobs (none)",
    ),
    (declarations.PointsOutside, "knobs and points agree", "beta=2 lies outside 0 .. 1"),
    (declarations.PointsAlike, "knobs and points agree", "the same label"),
    (declarations.SearchesElsewhere, "search space", "'beta', which is not a parameter"),
    (declarations.SearchesTooFar, "search space", "width = 'wide'"),
    (declarations.SearchesBetweenWholeNumbers, "search space", "width = 1.5"),
    (declarations.SearchesAList, "search space", "search_space() of right returned ['width']"),
    (declarations.SupportsIsABool, "supports()", "returned False"),
    (declarations.local_method(), "another process", "at the top of an importable module"),
]


@pytest.mark.parametrize(
    ("method", "promise", "says"), WRONG, ids=lambda v: getattr(v, "__name__", "")
)
def test_a_wrong_method_is_told_which_promise_it_breaks(
    method: type[Method],
    promise: str,
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "labels.csv").write_text("0.25")
    monkeypatch.setenv("FAIRBENCH_DATA", str(tmp_path))
    before = np.geterr(), torch.get_default_dtype()
    with pytest.raises(CheckError) as caught:
        check_method(method)
    assert (np.geterr(), torch.get_default_dtype()) == before
    assert promise in caught.value.message
    assert says in str(caught.value)
    assert "Why it matters: " in caught.value.hint


def test_codes_that_are_no_numbers_are_told_once() -> None:
    outcomes = [check.outcome() for check in method_checks(encoders.GivesObjects)]
    (failed,) = [one for one in outcomes if one.verdict is CheckResult.FAILED]
    assert "returned object" in failed.what


def test_a_method_that_loads_torch_itself_is_seen_to_change_its_default_dtype() -> None:
    code = (
        "import sys; from fairbench.testing import check_method; "
        "from tests.support.wrong_fits import ComputesInDoublePrecision as method; "
        "assert 'torch' not in sys.modules; check_method(method)"
    )
    told = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert "changes torch's default dtype" in told.stderr


def test_what_a_plugin_prints_does_not_stand_among_the_results(
    capsys: pytest.CaptureFixture[str],
) -> None:
    class Talkative(Right):
        def fit(self, train, units, context):
            print("epoch 1, loss .5")
            return super().fit(train, units, context)

    (check,) = [c for c in method_checks(Talkative) if "one result per unit" in c.promise.text]
    assert check.outcome().verdict is CheckResult.OK
    printed = capsys.readouterr()
    assert "epoch 1" not in printed.out
    assert "epoch 1" in printed.err


def test_reading_the_table_of_a_users_own_card_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "labels.csv").write_text("0.25")
    (tmp_path / "own.yaml").write_text("file: labels.csv\nsensitive: a\nlabels: b\n")
    own = dataset_from_card(tmp_path / "own.yaml")
    assert own.home == tmp_path
    monkeypatch.delenv("FAIRBENCH_DATA", raising=False)

    class PeeksAtTheCardsTable(Right):
        def fit(self, train, units, context):
            return [Released(float((tmp_path / "labels.csv").read_text())) for _ in units]

    promised = "it reads no file of a registered dataset"
    (check,) = [c for c in method_checks(PeeksAtTheCardsTable) if c.promise.text == promised]
    outcome = check.outcome()
    assert outcome.verdict is CheckResult.FAILED
    assert "the file labels.csv" in outcome.what


class Flat(Released):
    def encode(self, x, *, s=None, generator=None):
        return x[:, 0]


class Blown(Released):
    """Deterministic, with a value in some rows that is no number."""

    def encode(self, x, *, s=None, generator=None):
        return np.where(x > 1, np.nan, x).astype(np.float32)


class Narrow(Released):
    def encode(self, x):
        return x


class Ends(Released):
    def encode(self, x, *, s=None, generator=None):
        raise SystemExit(0)


class Odd(Right):
    """Its encoder is set by a test."""


@pytest.mark.parametrize("encoder", [Flat, Blown, Narrow, Ends])
def test_an_encoder_without_codes_breaks_one_promise_and_the_others_wait(
    encoder: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Odd, "released", encoder)
    outcomes = [check.outcome() for check in method_checks(Odd)]
    (failed,) = [one for one in outcomes if one.verdict is CheckResult.FAILED]
    assert failed.promise.text == "codes are float32, one row each, and finite"
    waiting = [one for one in outcomes if one.what == "there are no codes to look at; see above"]
    assert len(waiting) > 10
    assert outcomes.index(failed) < min(map(outcomes.index, waiting))


class Pictures(Dataset):
    """A few small images; their upper half tells of s."""

    name = "pictures"
    summary = "8 x 8 pixels"
    architecture = Architecture(hidden=(16,), latent=3, image=(1, 8, 8), channels=(4,))
    optional = True
    iterations = 10

    def load(self, folder):
        rng = np.random.default_rng(0)
        bits = np.unique(rng.random((600, 64)) < 0.3, axis=0)[rng.permutation(600)]
        s = (bits[:, :32].sum(axis=1) > bits[:, 32:].sum(axis=1)).astype(np.int64)
        parts = {role: slice(i, None, 4) for i, role in enumerate(Role)}
        return Images(
            {role: np.packbits(bits[part], axis=1) for role, part in parts.items()},
            {role: s[part] for role, part in parts.items()},
            ("lower", "upper"),
            {role: {"corner": bits[part, 0].astype(np.int64)} for role, part in parts.items()},
            "rendered",
        )


@pytest.mark.parametrize(
    "name", ["identity", "leace", *(pytest.param(n, marks=pytest.mark.slow) for n in NEURAL)]
)
def test_methods_keep_their_promises_on_images_too(name: str) -> None:
    check_method(METHODS[name], data=load_dataset(Pictures))


def test_what_a_gpu_computes_otherwise_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a GPU it says that it did not look; with one, it looks."""
    (check,) = [c for c in method_checks(fits.GoesByTheDevice) if "GPU" in c.promise.text]
    monkeypatch.setattr("fairbench.testing.method_fits.resolve_device", lambda asked: "cpu")
    assert (check.outcome().verdict, check.outcome().what) == (
        CheckResult.SKIPPED,
        "there is no GPU here",
    )
    monkeypatch.setattr("fairbench.testing.method_fits.resolve_device", lambda asked: "cuda")
    assert "fitted on the GPU, has other codes in 100%" in check.outcome().what


def test_one_fault_is_told_once() -> None:
    """What cannot be looked at without a fit is skipped, and says why."""
    outcomes = [check.outcome() for check in method_checks(fits.Raises)]
    assert [o.promise.text for o in outcomes if o.verdict is CheckResult.FAILED] == [
        "fit gives one result per unit, of the declared kind"
    ]
    assert {o.what for o in outcomes if o.verdict is CheckResult.SKIPPED} >= {
        "there is no fit to look at; see above"
    }


def test_reconstructions_that_are_not_finite_are_told_once_and_by_the_job() -> None:
    outcomes = [check.outcome() for check in method_checks(encoders.DecodesToNan)]
    assert [o.promise.text for o in outcomes if o.verdict is CheckResult.FAILED] == [
        "it decodes if it declares a decoder",
        "it runs as a job of the suite",
    ]
    waiting = [o for o in outcomes if o.what == "decode gives no finite rows; see above"]
    assert len(waiting) == 3


def test_what_cannot_be_kept_is_no_fault_and_is_told() -> None:
    outcomes = {c.promise.text: c.outcome() for c in method_checks(Right)}
    found = outcomes["what is restored from its state gives the same codes"]
    assert found.verdict is CheckResult.SKIPPED
    assert "state() is None" in found.what
    kept = {c.promise.text: c.outcome() for c in method_checks(encoders.Kept)}
    assert kept[found.promise.text].verdict is CheckResult.OK


class StateRaises(Right):
    """A mistake in what only keeping uses."""

    class released(Released):
        def state(self):
            raise RuntimeError("no such weights")


def whole_job(trial: MethodTrial) -> FitJob:
    return FitJob(
        id="1",
        title="",
        estimate=1.0,
        point_estimate=1.0,
        method=trial.method,
        declared=declared(trial.method),
        params=trial.method.Params(),
        data=trial.data,
        keys=("a",),
        units=tuple(trial.units()),
        iterations=1,
        device="cpu",
        curve_points=None,
    )


def test_a_mistake_in_state_costs_the_encoder_and_not_the_training() -> None:
    trial = MethodTrial(StateRaises)
    (result,) = whole_job(trial).run(lambda fraction, note: None)
    assert result.status is Status.DONE
    assert result.arrays
    assert result.encoder is None
    assert str(result.not_stored).startswith(
        "RuntimeError: no such weights (testing/test_methods.py:"
    )


class Curious(Right):
    """Keeps what it is given."""

    seen: tuple = ()

    def fit(self, train, units, context):
        Curious.seen = (train, units, context)
        return super().fit(train, units, context)


def reachable(things: object) -> Iterator[object]:
    """All that attributes, items, closures and array bases lead to, modules and classes aside."""
    stack, known = [things], set()
    while stack:
        thing = stack.pop()
        if id(thing) in known or isinstance(thing, type | types.ModuleType):
            continue
        known.add(id(thing))
        yield thing
        if isinstance(thing, dict):
            stack += [*thing.keys(), *thing.values()]
        elif isinstance(thing, list | tuple | set):
            stack += thing
        elif isinstance(thing, types.FunctionType):
            stack += [cell.cell_contents for cell in thing.__closure__ or ()]
        elif isinstance(thing, np.ndarray) and thing.base is not None:
            stack.append(thing.base)
        elif dataclasses.is_dataclass(thing) or hasattr(thing, "__dict__"):
            stack += vars(thing).values() if hasattr(thing, "__dict__") else ()
        if isinstance(thing, types.MethodType | types.BuiltinMethodType):
            stack.append(thing.__self__)


def test_nothing_that_fit_is_given_leads_to_labels_or_to_other_roles() -> None:
    trial = MethodTrial(Curious)
    whole_job(trial).run(lambda fraction, note: None)
    arrays = [a for a in reachable(Curious.seen) if isinstance(a, np.ndarray)]
    train = trial.data.roles["encoder-train"]
    assert any(a is train.x for a in arrays)
    for role, rows in trial.data.roles.items():
        for hidden in (*rows.y.values(), *(() if role == "encoder-train" else (rows.x, rows.s))):
            assert not any(np.shares_memory(a, hidden) for a in arrays)


def test_outliers_hide_no_other_codes() -> None:
    """Other codes of all rows but a hundredth, which is huge."""
    z = (np.random.default_rng(0).random((1000, 2)) < 0.5).astype(np.float32)
    other = 1 - z
    for codes in (z, other):
        codes[:10] = 1e25
    assert rows_apart(z, other) == pytest.approx(0.99)
    assert rows_apart(z, z * np.float32(1 + 1e-6)) == 0


def test_codes_far_from_zero_hide_no_other_codes() -> None:
    z = (2.0**23 + np.random.default_rng(0).integers(0, 160, (1000, 2))).astype(np.float32)
    assert rows_apart(z, np.full_like(z, 2.0**23 + 80)) > 0.9
    assert rows_apart(z, z + np.float32(1)) == 0


@pytest.mark.parametrize("offset", [0.0, 1.0, 100.0, 1e4])
def test_rounding_of_codes_is_no_difference(offset: float) -> None:
    """Also of a constant, and of a column whose spread is small beside its values."""
    z = (offset + np.random.default_rng(0).normal(size=(1000, 2))).astype(np.float32)
    z[:, 1] = offset + 0.7
    assert rows_apart(z, z + 4 * np.spacing(np.abs(z))) == 0


class Counts(METHODS["beta-vae-ss"]):  # type: ignore[misc]
    """Weighs its losses by the number of the step, which it counts in Python."""

    name = "counts"

    def build(self, *given):
        model = super().build(*given)
        own, steps = model.losses, iter(range(1, 1000))

        def losses(batch):
            weight = 1 / next(steps)
            return {who: weight * loss for who, loss in own(batch).items()}

        model.losses = losses
        return model


class Asks(METHODS["beta-vae-ss"]):  # type: ignore[misc]
    """Asks for the value of a loss."""

    name = "asks"

    def build(self, *given):
        model = super().build(*given)
        own = model.losses
        model.losses = lambda batch: {w: one for w, one in own(batch).items() if one.sum() < 1e9}
        return model


@pytest.mark.parametrize(
    ("method", "says"),
    [(Counts, "it has other losses at step "), (Asks, "A step cannot be traced: ")],
)
def test_what_only_looks_recordable_is_found(method: type[Method], says: str) -> None:
    outcomes = {c.promise.text: c for c in method_checks(method)}
    found = outcomes["a recordable model trains as declared"].outcome()
    assert found.verdict is CheckResult.FAILED
    assert says in found.what
    assert "recordable = False" in found.todo
