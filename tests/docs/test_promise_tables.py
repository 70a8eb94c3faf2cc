"""The page of promises has all that a plugin is checked for, in the same words."""

import re

import pytest

from fairbench.testing.promises import Promise
from promise_tables import CONTRACTS
from tables import ROOT, rewrite

PAGE = (ROOT / "docs" / "promises.md").read_text(encoding="utf-8")


def test_the_page_is_what_the_checks_say() -> None:
    assert rewrite(PAGE) == PAGE, "run `python docs/tables.py`"


@pytest.mark.parametrize("kind", CONTRACTS)
def test_each_promise_stands_on_the_page_in_the_order_of_the_checks(kind: str) -> None:
    (section,) = re.findall(rf"^## Of a {kind}$.*?(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE)
    shown = re.findall(r"^\| (.+?) \| .+? \|$", section, re.MULTILINE)[1:]
    assert shown == [promise.text for promise in CONTRACTS[kind]]


@pytest.mark.parametrize(
    "promise",
    [promise for promises in CONTRACTS.values() for promise in promises],
    ids=lambda promise: promise.text,
)
def test_each_promise_has_one_reason_and_fits_a_table(promise: Promise) -> None:
    assert re.fullmatch(r"[A-Z'][^|]*[^.|]\.", promise.why), promise.why
    assert "|" not in promise.text
