"""What to take away of the claims: a sentence stands only where the verdicts bear it."""

from dataclasses import replace

import pytest

from claims import FAILS, UNDECIDED, Claim
from claims_in_short import STATEMENTS, in_short

BORNE = [
    Claim(f"{words} and so on", "figures", statement.verdict)
    for statement in STATEMENTS
    for words in statement.claims
]
OF_IMAGES = [Claim("Table 1: this order of areas", "figures", UNDECIDED)]


def test_claims_are_counted_by_their_verdicts() -> None:
    text = " ".join(in_short(BORNE, OF_IMAGES).split())
    undecided = sum(claim.verdict == UNDECIDED for claim in BORNE)
    assert f"of {len(BORNE)} claims" in text
    assert f"and {undecided} are undecided." in text
    assert all(statement.sentence in text for statement in STATEMENTS)


@pytest.mark.parametrize("number", range(len(BORNE)))
def test_a_sentence_that_a_verdict_does_not_bear_is_not_written(number: int) -> None:
    other = FAILS if BORNE[number].verdict != FAILS else UNDECIDED
    changed = [*BORNE[:number], replace(BORNE[number], verdict=other), *BORNE[number + 1 :]]
    with pytest.raises(ValueError, match="change the sentence about it"):
        in_short(changed, OF_IMAGES)


def test_a_verdict_on_images_asks_for_a_sentence() -> None:
    with pytest.raises(ValueError, match="claim about images is decided"):
        in_short(BORNE, [replace(OF_IMAGES[0], verdict=FAILS)])
