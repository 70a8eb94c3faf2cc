"""A stored encoder encodes new rows as when it was fitted, and refuses what it cannot read."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fairbench.api import FitContext, Point, Role, Track, TrainingRows, Unit
from fairbench.api.dataset import Table
from fairbench.data.prepare import prepare
from fairbench.data.prepared import Prepared
from fairbench.data.preprocessing import Preprocessing
from fairbench.data.unknown import Replaced, Unknown
from fairbench.errors import DataError, StoreError
from fairbench.registry import load_registry
from fairbench.store import encoders
from fairbench.store.encoders import Encoder
from fairbench.training.neural_method import NeuralMethod
from fairbench_datasets.adults import AdultsGender
from tests.support.small_table import make_table

REGISTRY = load_registry()


def fitted(name: str, data: Prepared) -> Encoder:
    cls: Any = REGISTRY.methods[name]
    small = cls.Params(hidden=(16,), latent=3) if issubclass(cls, NeuralMethod) else cls.Params()
    method = cls(small)
    unit = Unit(3, None if method.shots.value == "single-shot" else method.points()[-1])
    rows = data.roles[Role.ENCODER_TRAIN]
    train = TrainingRows(rows.x, rows.s, data.info)
    (outcome,) = method.fit(train, [unit], FitContext(iterations=20))
    return Encoder(method, unit, data.info, outcome, data.preprocessing)


@pytest.mark.thorough
@pytest.mark.parametrize("name", REGISTRY.methods.classes)
def test_a_stored_encoder_encodes_as_it_did(name: str, prepared: Prepared, tmp_path: Path) -> None:
    encoder = fitted(name, prepared)
    path = tmp_path / "encoder.safetensors"
    if encoder.fitted.state() is None:
        with pytest.raises(StoreError, match="no form that could be stored"):
            encoders.write(path, encoder)
        assert name == "conditional-quantile"  # boosted trees within its encoder
        return
    encoders.write(path, encoder)
    back = encoders.read(path, REGISTRY)
    assert back.info == prepared.info
    assert back.unit == encoder.unit
    assert back.method.params == encoder.method.params
    test = prepared.roles[Role.TEST]
    s = test.s if encoder.method.track is Track.AWARE else None

    def codes(one: Encoder) -> np.ndarray:
        knobs = one.method.knobs
        points = getattr(one.fitted, "points", None)
        point = points[0] if points else None
        if knobs and point is None:
            point = Point.of(**{knobs[0].name: 0.5})
        generator = np.random.default_rng(1) if one.method.coding.value == "stochastic" else None
        return one.at(point).encode(test.x, s=s, generator=generator)

    np.testing.assert_array_equal(codes(back), codes(encoder))


def test_a_stored_encoder_says_what_is_wrong_with_it(prepared: Prepared, tmp_path: Path) -> None:
    path = tmp_path / "encoder.safetensors"
    encoders.write(path, fitted("leace", prepared))
    content = path.read_bytes()
    with pytest.raises(StoreError, match="no file"):
        encoders.read(tmp_path / "other", REGISTRY)
    path.write_text("patient_id,sex\n1,f\n")
    with pytest.raises(StoreError, match="is not an encoder: it is another kind of file"):
        encoders.read(path, REGISTRY)
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(StoreError, match="damaged"):
        encoders.read(path, REGISTRY)
    path.write_bytes(content.replace(b'format\\": 1', b'format\\": 9'))
    with pytest.raises(StoreError, match="newer fairbench"):
        encoders.read(path, REGISTRY)
    # As a method wrote it that named its arrays otherwise; there was no digest to give it away.
    other = rewritten(content, lambda d: d.pop("sha256"))
    path.write_bytes(other.replace(b'"erase"', b'"other"'))
    with pytest.raises(StoreError, match="does not fit leace as it is installed"):
        encoders.read(path, REGISTRY)


def rewritten(content: bytes, change: Callable[[dict[str, Any]], object]) -> bytes:
    """An encoder's file with another description, and the same arrays."""
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    described = json.loads(header["__metadata__"]["fairbench"])
    change(described)
    header["__metadata__"]["fairbench"] = json.dumps(described)
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + content[8 + length :]


@pytest.mark.parametrize(
    "change",
    [
        lambda d: [d.pop(key) for key in list(d) if key != "format"],
        lambda d: d.update(format="one"),
        lambda d: d.update(params=[1]),
        lambda d: d.update(info=[]),
        lambda d: d["info"]["architecture"].update(colour=1),
        lambda d: d["preprocessing"].pop("mean"),
        lambda d: d["preprocessing"].update(scale=["wide"], mean=3),
        lambda d: d.update(point=3),
    ],
)
def test_a_description_that_lacks_something_is_damage(
    change: Callable[[dict[str, Any]], object], prepared: Prepared, tmp_path: Path
) -> None:
    path = tmp_path / "encoder.safetensors"
    encoders.write(path, fitted("leace", prepared))
    path.write_bytes(rewritten(path.read_bytes(), change))
    with pytest.raises(StoreError, match="damaged"):
        encoders.read(path, REGISTRY)


def test_a_flipped_byte_is_found_where_the_file_says_what_it_held(
    prepared: Prepared, tmp_path: Path
) -> None:
    path = tmp_path / "encoder.safetensors"
    encoders.write(path, fitted("leace", prepared))
    content = path.read_bytes()
    flipped = content[:-1] + bytes([content[-1] ^ 1])
    path.write_bytes(flipped)
    with pytest.raises(StoreError, match="damaged: its arrays are not those"):
        encoders.read(path, REGISTRY)
    # Files of before say nothing, and are read.
    path.write_bytes(rewritten(content, lambda d: d.pop("sha256")))
    assert encoders.read(path, REGISTRY).info == prepared.info


@pytest.mark.parametrize("declared", [False, True])
def test_missing_is_a_word_like_any_other_unless_a_dataset_made_it(declared: bool) -> None:
    made = make_table()
    x = made.x.assign(colour=made.x["colour"].replace("red", "missing"))
    table = Table(x, made.s, made.groups, made.y)
    plain = prepare(table, AdultsGender, source="simulated", origin="test")
    data = prepare(
        replace(table, missing=("colour",) if declared else ()),
        AdultsGender,
        source="simulated",
        origin="test",
    )
    assert data.fingerprint == plain.fingerprint
    assert data.preprocessing is not None
    written = data.preprocessing.to_json()
    kept = Preprocessing.from_json(written)
    for colours in (["missing", None], pd.Categorical(["missing", None])):
        frame = x.iloc[:2].assign(colour=colours)
        if declared:
            codes, replaced = kept.apply(frame, where="new.csv")
            assert not replaced
            np.testing.assert_array_equal(codes[0, 2], codes[1, 2])
        else:
            with pytest.raises(DataError, match=r"row 2: colour has no value"):
                kept.apply(frame, where="new.csv")
    # Files of before do not say, and were read as if it had been asked.
    del written["missing"]
    assert Preprocessing.from_json(written).missing == ("colour",)


@pytest.mark.parametrize("onehot", [False, True])
def test_raw_rows_become_the_x_they_were(onehot: bool) -> None:
    made = make_table()
    table = Table(made.x, made.s, made.groups, made.y, onehot=onehot)
    data = prepare(table, AdultsGender, source="simulated", origin="test")
    assert data.preprocessing is not None
    kept = Preprocessing.from_json(data.preprocessing.to_json())
    x, replaced = kept.apply(table.x.sample(frac=1.0, random_state=0), where="here")
    assert not replaced
    every = np.concatenate([data.roles[role].x for role in Role])
    order = np.lexsort(x.T), np.lexsort(every.T)
    np.testing.assert_array_equal(x[order[0]], every[order[1]])


@pytest.mark.parametrize("codes", [["1", "2", "1"], ["1.0", "2.0", "1.0"], [1.0, 2.0, 1.0]])
def test_whole_numbers_are_known_however_a_file_writes_them(codes: list[object]) -> None:
    """pandas writes integers as 1.0 where a value of their column is missing."""
    kept = Preprocessing.from_json(
        {
            "features": [{"name": "zip", "source": "zip", "categories": ["1", "2"]}],
            "mean": [0.0],
            "scale": [1.0],
            "common": {"zip": "1"},
        }
    )
    x, replaced = kept.apply(pd.DataFrame({"zip": codes}), where="new.csv")
    assert x[:, 0].tolist() == [0.0, 1.0, 0.0]
    assert not replaced
    with pytest.raises(DataError, match=r"zip is '1\.00'"):
        kept.apply(pd.DataFrame({"zip": ["1.00", None]}), where="new.csv")


def test_marks_of_missing_numbers_are_known_however_a_file_writes_them() -> None:
    kept = Preprocessing.from_json(
        {
            "features": [{"name": "pay", "source": "pay", "categories": []}],
            "mean": [5.0],
            "scale": [1.0],
            "common": {},
            "marks": ["-999"],
        }
    )
    rows = pd.DataFrame({"pay": ["-999.0", "-999", "7"]})
    x, replaced = kept.apply(rows, where="new.csv", unknown=Unknown.COMMON)
    assert x[:, 0].tolist() == [0.0, 0.0, 2.0]
    assert replaced["pay"].missing == 2


def test_values_that_were_not_there_are_named_or_replaced(prepared: Prepared) -> None:
    kept = prepared.preprocessing
    assert kept is not None
    frame = pd.DataFrame(
        {
            "noise": ["1.5", None, "2"],
            "shifted": ["0", "1", "2"],
            "colour": ["red", "blue", "violet"],
            "other": ["", "", ""],
        }
    )
    with pytest.raises(DataError, match=r"new.csv, row 2: noise has no value"):
        kept.apply(frame, where="new.csv")
    with pytest.raises(DataError, match=r"row 3: colour is 'violet' \(1 such row here\); .*blue"):
        kept.apply(frame.fillna("0"), where="new.csv")
    both = frame.fillna("0").assign(colour=[None, "violet", "violet"])
    told = r"row 2: colour is 'violet' \(2 such rows here, and 1 without a value\)"
    with pytest.raises(DataError, match=told):
        kept.apply(both, where="new.csv")
    with pytest.raises(DataError, match="no column 'noise'"):
        kept.apply(frame.drop(columns="noise"), where="new.csv")
    x, replaced = kept.apply(frame, where="new.csv", unknown=Unknown.COMMON)
    assert replaced == {"noise": Replaced(1, missing=1), "colour": Replaced(1, example="violet")}
    columns = [feature.source for feature in kept.features]
    assert x[1, columns.index("noise")] == 0  # the mean
    with pytest.raises(DataError, match=r"row 1: the column 'noise'.*not a finite number"):
        kept.apply(frame.assign(noise="lots"), where="new.csv", unknown=Unknown.COMMON)
