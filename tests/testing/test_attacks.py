"""Encoders that hide what they keep gain nothing by it."""

from __future__ import annotations

import re
from itertools import takewhile
from pathlib import Path

import numpy as np
import pytest

from fairbench.api import Role
from fairbench.auditing.config import AuditPreset
from fairbench.data.loading import load_twin
from fairbench.data.prepare import prepare
from fairbench.data.prepared import Prepared
from fairbench.testing.attack_suite import attacks, audit_attacks, bases
from fairbench.testing.attacks import EncryptedCode
from fairbench.testing.ciphers import Cipher, ciphers
from fairbench_datasets.adults import AdultsGender
from tests.support.small_table import make_table

NAMES = [cipher.name for cipher in ciphers()]


@pytest.mark.parametrize("cipher", ciphers(), ids=NAMES)
def test_a_cipher_is_read_back_by_its_holder(cipher: Cipher) -> None:
    words = np.random.default_rng(0).integers(0, 2**18, 500)
    released = cipher.hide(words, np.random.default_rng(1)).astype(np.float32)
    assert np.isfinite(released).all()
    np.testing.assert_array_equal(cipher.reveal(released.astype(np.float64)), words)


def test_families_have_the_names_of_the_page(prepared: Prepared) -> None:
    page = Path(__file__).parents[2] / "docs" / "limits.md"
    rows = re.findall(r"^\| `([\w-]+)` \| ([^|]+) \| \.\d", page.read_text(encoding="utf-8"), re.M)
    found = attacks(prepared, bases(prepared)["x"])
    assert dict(rows) == {name: family for name, family, _ in found}


def test_every_honest_decoder_of_an_attack_gives_the_base(prepared: Prepared) -> None:
    x = prepared.roles[Role.TEST].x
    for name, family, attack in attacks(prepared, bases(prepared)["x"]):
        if family == "other rows for auditors":
            continue
        z = attack.encode(x)
        decoded = attack.decode(z, np.zeros(len(z), np.int64))
        assert decoded is not None
        np.testing.assert_allclose(decoded, x, atol=2e-2, err_msg=name)


@pytest.mark.thorough
def test_hiding_gains_nothing() -> None:
    """At the quick audit, of a small table; ``fairbench calibrate --attacks`` has a real one."""
    data = prepare(make_table(9000), AdultsGender, source="simulated", origin="test")
    names = ["salted", "parity", "tokens", "shy", "marks", "first-half", "decoys"]
    every = audit_attacks(data, audit=AuditPreset.QUICK, names=names)
    readings = list(takewhile(lambda one: one.base == "x", every))
    assert [f"{one.attack} on {one.base}" for one in readings if not one.passed] == []
    assert {one.attack for one in readings if not one.is_credited} == {"shy", "first-half"}


@pytest.mark.slow
def test_no_attack_wins_on_the_simulated_twin() -> None:
    readings = list(audit_attacks(load_twin(AdultsGender), audit=AuditPreset.QUICK))
    assert [f"{one.attack} on {one.base}" for one in readings if not one.passed] == []


def test_a_hidden_code_does_not_look_like_the_base(prepared: Prepared) -> None:
    x = prepared.roles[Role.TEST].x
    for cipher in ciphers()[1:]:
        z = EncryptedCode(lambda rows: rows, cipher).encode(x)
        correlation = np.corrcoef(np.hstack([z, x]).T)[: z.shape[1], z.shape[1] :]
        assert np.nanmax(np.abs(correlation)) < 0.25, cipher.name
