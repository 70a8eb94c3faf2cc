"""Files in the format of the Heritage Health Prize's release 3: a few rows by hand, or any number.

Nothing here is data: identities, counts and codes are drawn at random or made up.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from fairbench_datasets.heritage.columns import AGES, CHARLSON, CONDITIONS, PROCEDURES, YEARS

MEMBERS_HEADER = "MemberID,AgeAtFirstClaim,Sex"
CLAIMS_HEADER = (
    "MemberID,ProviderID,Vendor,PCP,Year,Specialty,PlaceSvc,PayDelay,LengthOfStay,DSFS,"
    "PrimaryConditionGroup,CharlsonIndex,ProcedureGroup,SupLOS"
)
DRUGS_HEADER = "MemberID,Year,DSFS,DrugCount"
LABS_HEADER = "MemberID,Year,DSFS,LabCount"

SMALL = {
    "Members.csv": f"""{MEMBERS_HEADER}
101,0-9,F
102,80+,M
103,,F
104,30-39,
105,40-49,M
""",
    "Claims.csv": f"""{CLAIMS_HEADER}
101,1,1,1,Y1,Pediatrics,Office,28,,0- 1 month,RESPR4,0,EM,0
101,1,1,1,Y1,Pediatrics,Office,162+,,1- 2 months,RESPR4,0,PL,0
101,,,,Y3,,,0,,,,0,,0
102,2,1,1,Y2,Internal,Inpatient Hospital,40,2 days,2- 3 months,CHF,1-2,MED,0
"102","2","1","1","Y3","Internal","Inpatient Hospital","162+","","11-12 months","CHF","0","EM","1"
102,2,1,1,Y3,Internal,Office,10,26+ weeks,11-12 months,SEPSIS,3-4,SCS,0
102,2,1,1,Y1,Other,Other,,1- 2 weeks,,NOSUCH,0,NEW,0
103,2,1,1,Y1,Surgery,Office,50,,,CANCRM,5+,ANES,0
104,2,1,1,Y1,Surgery,Office,50,,,AMI,0,ANES,0
""",
    "DrugCount.csv": f"""{DRUGS_HEADER}
101,Y1,0- 1 month,7+
101,Y2,,3
102,Y3,11-12 months,7+
104,Y1,2- 3 months,1
""",
    "LabCount.csv": f"""{LABS_HEADER}
102,Y1,0- 1 month,10+
102,Y1,1- 2 months,9
105,Y2,3- 4 months,2
""",
}
"""Five members with every oddity of the release: 103 lacks an age, 104 a sex, 105 any claim."""

MONTHS = ("0- 1 month", *(f"{i}-{i + 1:2d} months" for i in range(1, 12)))
SPECIALTIES = ("Internal", "Laboratory", "General Practice", "Surgery", "Pediatrics", "Other")
PLACES = ("Office", "Independent Lab", "Urgent Care", "Outpatient Hospital", "Home")
STAYS = ("1 day", "2 days", "1- 2 weeks", "26+ weeks")

Column = list[Any]


def write_small(folder: Path, **changes: str) -> Path:
    """Write ``SMALL``; ``Claims="text"`` writes that instead."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in SMALL.items():
        (folder / name).write_text(changes.get(name.removesuffix(".csv"), text))
    return folder


def write_release(
    folder: Path, *, members: int, claims: int, drugs: int, labs: int, seed: int = 0
) -> Path:
    """Draw files of the release's shape, with all its oddities.

    Parameters
    ----------
    folder : Path
        Where to write; made if it is not there.
    members, claims, drugs, labs : int
        Rows of each file. The release has 113,000, 2,668,990, 818,241 and 361,484.
    seed : int
        Same seed, same bytes.
    """
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True, exist_ok=True)
    identity = rng.permutation(np.arange(members) * (99_999_999 // members) + 4)

    def member(n: int) -> Column:
        return [*rng.choice(identity, n).tolist()]

    def counts(values: Sequence[str]) -> Callable[[int], Sequence[Column]]:
        return lambda n: (
            member(n),
            _pick(rng, YEARS, n),
            _pick(rng, MONTHS, n, 0.02),
            _pick(rng, values, n),
        )

    everybody = iter(identity.tolist())
    _write(
        folder / "Members.csv",
        MEMBERS_HEADER,
        members,
        lambda n: (
            list(islice(everybody, n)),
            _pick(rng, AGES, n, 0.05),
            _pick(rng, "FM", n, 0.15),
        ),
    )
    _write(
        folder / "Claims.csv",
        CLAIMS_HEADER,
        claims,
        lambda n: (
            member(n),
            _numbers(rng, 9_999_999, n),
            _numbers(rng, 999_999, n),
            _numbers(rng, 99_999, n),
            _pick(rng, YEARS, n),
            _pick(rng, SPECIALTIES, n, 0.003),
            _pick(rng, PLACES, n, 0.003),
            _pick(rng, [*map(str, range(162)), "162+"], n),
            _pick(rng, STAYS, n, 0.95),
            _pick(rng, MONTHS, n, 0.02),
            _pick(rng, [*CONDITIONS, "SEPSIS", "NOSUCH"], n, 0.004),
            _pick(rng, CHARLSON, n),
            _pick(rng, [*PROCEDURES, "NEW"], n, 0.001),
            _pick(rng, "01", n),
        ),
    )
    for name, header, count, largest in (
        ("DrugCount.csv", DRUGS_HEADER, drugs, 7),
        ("LabCount.csv", LABS_HEADER, labs, 10),
    ):
        values = [*map(str, range(1, largest)), f"{largest}+"]
        _write(folder / name, header, count, counts(values))
    return folder


def _pick(rng: np.random.Generator, values: Sequence[str], n: int, missing: float = 0.0) -> Column:
    """Draw fields; some are empty."""
    column = rng.choice(np.array(list(values)), n)
    column[rng.random(n) < missing] = ""
    return [*column.tolist()]


def _numbers(rng: np.random.Generator, below: int, n: int) -> Column:
    return [*rng.integers(1, below, n).tolist()]


def _write(path: Path, header: str, rows: int, draw: Callable[[int], Sequence[Column]]) -> None:
    """Write ``rows`` rows, part by part; every other part has all its fields in quotes."""
    part = min(100_000, -(-rows // 4))
    with path.open("w", newline="") as stream:
        stream.write(header + "\r\n")
        for i, start in enumerate(range(0, rows, part)):
            writer = csv.writer(stream, quoting=csv.QUOTE_ALL) if i % 2 else csv.writer(stream)
            writer.writerows(zip(*draw(min(part, rows - start)), strict=True))
