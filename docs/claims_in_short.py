"""What to take away of the paper's claims: how many hold, and the main ones in words.

The sentences were written for certain verdicts. Where a board gives another one, the paragraph is
not written: the sentence has to be changed first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from bit_claims import claims_of_bits

from claims import FAILS, HOLDS, UNDECIDED, Claim, claims
from image_claims import make_claims, read_images
from markdown_parts import make_paragraph
from published_figures import read_published
from race_claims import read_race_claims


@dataclass(frozen=True)
class Statement:
    """A sentence, and the verdict of the claims that it is of, by the beginnings of their words."""

    sentence: str
    verdict: str
    claims: Sequence[str]


STATEMENTS = (
    Statement(
        "It holds that a price on the length of its code controls what SoFaiR leaks, that LATFR "
        "and MaxEnt-ARL leak at every setting, and that SoFaiR and MSFaiR are, by area, at least "
        "as good as these two.",
        HOLDS,
        (
            "RQ1: a price on H(Z) is enough",
            *(f"RQ2: `{name}` leaks at every" for name in ("latfr", "maxent-arl")),
            *(
                f"RQ2: `{ours}` is as good as `{other}` or better"
                for ours in ("sofair", "msfair")
                for other in ("latfr", "maxent-arl")
            ),
        ),
    ),
    Statement(
        "It does not hold that SoFaiR and MSFaiR are as good as beta-VAE, or MSFaiR as good as "
        "CVIB; that the codes of the fair end are enough to predict marital status; that bits that "
        "predict s are released last; or, with ten groups, that LATFR keeps more of income than "
        "MSFaiR, or than SoFaiR at the wider limit, where little may leak.",
        FAILS,
        (
            *(f"RQ2: `{ours}` is as good as `beta-vae` or better" for ours in ("sofair", "msfair")),
            "RQ2: `msfair` is as good as `cvib` or better",
            "RQ3: codes at the fair end",
            "RQ3: bits that predict s are released last",
            *(
                f"RQ2: `latfr` is ahead of `{ours}`, by A_y where A_s is at most {percent}%"
                for ours, percent in (("msfair", 10), ("msfair", 25), ("sofair", 25))
            ),
        ),
    ),
    Statement(
        "The paper's main claim, that one model is as good as one for each point, is undecided: "
        "the area of SoFaiR differs much from one training to the next.",
        UNDECIDED,
        (
            "RQ1: one model is as good as one for each point",
            "RQ1: `sofair` has a smaller area than `msfair`",
        ),
    ),
    Statement(
        "With ten groups, SoFaiR-NOS, whose decoder does not see s, is worse than MSFaiR; with two "
        "groups, or compared with SoFaiR,",
        HOLDS,
        ("RQ1: `msfair` has a smaller area than `sofair-nos`",),
    ),
    Statement(
        "this is undecided.",
        UNDECIDED,
        (
            "RQ1: a decoder that does not see s is worse",
            "RQ1: and worse than MSFaiR's",
            "RQ1: `sofair` has a smaller area than `sofair-nos`",
        ),
    ),
)


def in_short(replicated: Sequence[Claim], single: Sequence[Claim]) -> str:
    """Make the paragraph of claims over splits or seeds, and of those of one training.

    ValueError where a claim has another verdict than the sentence about it was written for.
    """
    for statement in STATEMENTS:
        for words in statement.claims:
            found = [one for one in replicated if one.words.startswith(words)]
            if len(found) != 1:
                raise ValueError(f"There are {len(found)} claims that begin with {words!r}, not 1.")
            (claim,) = found
            if claim.verdict != statement.verdict:
                raise ValueError(
                    f"{claim.words!r} is {claim.verdict} now: change the sentence about it in "
                    "docs/claims_in_short.py."
                )
    counts = Counter(claim.verdict for claim in replicated)
    if any(claim.verdict != UNDECIDED for claim in single):
        raise ValueError("A claim about images is decided now: say so in docs/claims_in_short.py.")
    return make_paragraph(
        f"**In short:** of {len(replicated)} claims that are tested here over splits or seeds, "
        f"{counts[HOLDS]} hold, {counts[FAILS]} do not, and {counts[UNDECIDED]} are undecided.",
        *(statement.sentence for statement in STATEMENTS),
        "All claims about images stay undecided, as each method was trained once.",
    )


def format_in_short() -> str:
    """Format the paragraph, of the published boards."""
    replicated = [*claims(read_published()), *read_race_claims(), *claims_of_bits()]
    return in_short(replicated, list(make_claims(read_images())))
