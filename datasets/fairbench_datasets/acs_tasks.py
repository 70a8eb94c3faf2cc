"""ACS public coverage, travel time and mobility (Ding et al. 2021): three tasks; S is sex.

Three tasks of folktables on the 2018 one-year microdata of the American Community Survey, for
California and Michigan. The files are from the FairGround project's cache of datasets. They hold
everybody of the two states who passes the filters of folktables; nothing more is filtered here.

====================  ==============================================  ==========  ========  =======
name                  who is in it                                    California  Michigan  all
====================  ==============================================  ==========  ========  =======
acs-public-coverage   below 65, income of at most 30,000 dollars      138,554     35,624    174,178
acs-travel-time       civilians over 16 at work in the last week      172,508     43,877    216,385
acs-mobility          from 19 to 34                                   80,329      17,752    98,081
====================  ==============================================  ==========  ========  =======

**Y** is ``public_coverage``, insured through a public programme such as Medicaid (36.5%);
``long_commute``, a way to work of more than 20 minutes (47.0%); and ``moved``, lived elsewhere a
year ago (23.8%). Folktables asks the last the other way round. It counts who works at home, 12,836
people, as having a short way.

**X** are the features of the tasks, except:

- SEX, which is S, and the state, which is a domain;
- FER of public coverage, whether a woman of at most 50 gave birth: it tells who is a woman;
- PUMA and POWPUMA of travel time, the areas of home and work: hundreds of numbers without order;
- ESP of mobility, the work of a child's parents: nobody there is a child, so it is constant.

Age, schooling, money and hours are numbers. The rest are categories, numbered in the order of the
official codes. OCCP, 524 occupations, is grouped as in ACSIncome.

**Codes.** FairGround subtracts from each column of categories the least code in it. Most official
codes start at 1, so they count from 0 here. OCCP starts at 10: with 10 added, all its codes are
occupations of ACSIncome; as they are, 212 of 524 would be. Folktables writes 0 for what was not
asked, and then nothing is subtracted: COW and GCL of mobility, ESP, and ESR and MIL of public
coverage, where the youngest are 15. The same 0 stands in the numbers WKHP and JWMNP (no work, no
way to work) and in POVPIP, where it may also be a real 0: of 1,684 people with it 1,508 live in
group quarters.

**States.** ST is 0 and 20: with 6 added, the codes of California and Michigan. FairGround's scripts
(github.com/reliable-ai/fairground) name these two, and the rows of California are as many as Han et
al. count, who use California alone (*FFB: A Fair Fairness Benchmark*, arXiv:2306.09468, table 3).
Mobility has no ST. But California comes first in the other two files, and here the shares of races
and citizens change most after row 80,329, which is the number in that table, too. So the state of a
row is known by its place.

**What to know.** S is sex as reported, male or female. Many rows repeat an earlier one, of people
with equal answers: 30,197 of public coverage, 483 of travel time, 6,438 of mobility. The files have
no weights, so shares are those of the people asked. Meanings are those of the Bureau's 2018
dictionary, checked against the shares, ages and combinations of codes in the files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np

from fairbench.api import Architecture
from fairbench.api.dataset import DataFile, Dataset
from fairbench.hookspecs import hookimpl
from fairbench_datasets.acs_codes import (
    ANCESTRIES,
    CITIZENSHIP,
    EMPLOYMENT,
    MARITAL,
    MOVES,
    NATIVITIES,
    OCCUPATIONS,
    PARENTS,
    RACES,
    RELATIONSHIPS,
    SERVICE,
    SEXES,
    STATES,
    TRANSPORT,
    WORKERS,
    YES_NO,
    from_zero,
)
from fairbench_datasets.declared import (
    ByMeaning,
    Category,
    DeclaredTable,
    Label,
    Number,
    Values,
    fairground,
    read_parquet,
)
from fairbench_datasets.reading import words

CALIFORNIANS = 80_329
"""Rows of California in the file of mobility, which has them first."""

NO_CHILD = "no child below 18 with a parent here"

ALL: Mapping[str, Number | Category] = {
    "SCHL": Number(1, 24, "schooling, from none to a doctorate"),
    "MAR": Category(from_zero(MARITAL), "marital status"),
    "SEX": Category(from_zero(SEXES), "sex"),
    "DIS": Category(from_zero(YES_NO), "has a disability"),
    "CIT": Category(from_zero(CITIZENSHIP), "citizenship"),
    "RAC1P": Category(RACES, "race"),
    "ST": Category(from_zero(STATES), "state"),
}
"""Columns of all three tasks."""

ORIGINS: Mapping[str, Number | Category] = {
    "ANC": Category(from_zero(ANCESTRIES), "number of ancestries"),
    "NATIVITY": Category(from_zero(NATIVITIES), "native or foreign-born"),
    "DEAR": Category(from_zero(YES_NO), "has difficulty hearing"),
    "DEYE": Category(from_zero(YES_NO), "has difficulty seeing"),
    "DREM": Category(from_zero(YES_NO), "has difficulty remembering or deciding"),
}
"""Columns of public coverage and of mobility."""

COVERAGE: Mapping[str, Number | Category] = {
    "AGEP": Number(15, 64, "years of age"),
    **ALL,
    "ESP": Category({0: NO_CHILD, **PARENTS}, "employment of a child's parents"),
    "MIG": Category(from_zero(MOVES), "home a year ago"),
    "MIL": Category({0: "below 17", **SERVICE}, "military service"),
    **ORIGINS,
    "PINCP": Number(-19_998, 30_000, "income of the last 12 months, dollars"),
    "ESR": Category({0: "below 16", **EMPLOYMENT}, "employment"),
    "PUBCOV": Category({0: "no", 1: "yes"}, "has public health coverage"),
}

TRAVEL: Mapping[str, Number | Category] = {
    "AGEP": Number(17, 99, "years of age"),
    **ALL,
    "ESP": Category({0: NO_CHILD, **PARENTS}, "employment of a child's parents"),
    "MIG": Category(from_zero(MOVES), "home a year ago"),
    "RELP": Category(RELATIONSHIPS, "relationship to the reference person"),
    "OCCP": Category(from_zero(OCCUPATIONS), "occupation, by major group"),
    "JWTR": Category(from_zero(TRANSPORT), "way to work"),
    "POVPIP": Number(0, 501, "family income, percent of the poverty line; 501: more than 500"),
    "JWMNP": Category({0: "no", 1: "yes"}, "more than 20 minutes to work"),
}

MOBILITY: Mapping[str, Number | Category] = {
    "AGEP": Number(19, 34, "years of age"),
    **ALL,
    "MIL": Category(from_zero(SERVICE), "military service"),
    **ORIGINS,
    "RELP": Category(RELATIONSHIPS, "relationship to the reference person"),
    "GCL": Category({0: "below 30, or in an institution", **YES_NO}, "lives with a grandchild"),
    "COW": Category(
        {0: "no job in five years", **WORKERS, 9: "unemployed, no job in five years"},
        "class of worker",
    ),
    "ESR": Category(from_zero(EMPLOYMENT), "employment"),
    "WKHP": Number(0, 99, "usual hours of work per week; 0: none"),
    "JWMNP": Number(0, 200, "minutes to work; 0: none"),
    "PINCP": Number(-19_998, 4_209_995, "income of the last 12 months, dollars"),
    "MIG": Category({0: "moved", 1: "same house"}, "home a year ago"),
}


class AcsPublicCoverage(DeclaredTable):
    """Who has public health coverage; S is sex."""

    name = "acs-public-coverage"
    summary = "ACSPublicCoverage 2018, California and Michigan, S = sex (2 groups)"
    citation = (
        "F. Ding, M. Hardt, J. Miller and L. Schmidt. Retiring Adult: New Datasets for Fair "
        "Machine Learning. NeurIPS 2021. doi:10.48550/arXiv.2108.04884; US Census Bureau. "
        "American Community Survey, Public Use Microdata Sample, 2018"
    )
    licence = "US Census Bureau's terms of use for public microdata; folktables itself is MIT"
    url = "https://github.com/reliable-ai/fairground-dataset-cache"
    folder = "acs_tasks"
    files = (
        DataFile(
            "folktables_acspubliccoverage_small.parquet",
            fairground("folktables_acspubliccoverage_small.parquet"),
            "17c583e86a115a9d23545d0620651ece61d1766d32b83185e778dfb00143344c",
            2_020_531,
        ),
    )
    rows = 174_178
    audit_rows = 20_000
    # About as wide as Adults and ACSIncome, of which it is a relative: their sizes.
    architecture = Architecture(hidden=(128, 128), latent=8)

    columns = COVERAGE
    features = words(
        "AGEP SCHL MAR DIS ESP CIT MIG MIL ANC NATIVITY DEAR DEYE DREM PINCP ESR RAC1P"
    )
    attributes: ClassVar[Mapping[str, ByMeaning]] = {
        "sex": ByMeaning("SEX"),
        "state": ByMeaning("ST"),
    }
    sensitive = ("sex",)
    labels = (Label("public_coverage", "PUBCOV", "has public health coverage", (1,)),)
    unseen = (
        Label("employed", "ESR", "has a job, or serves", (1, 2, 4, 5)),
        Label("disabled", "DIS", "has a disability", (0,), also=("DEAR", "DEYE", "DREM")),
        Label("moved", "MIG", "lived elsewhere a year ago", (1, 2)),
        Label("married", "MAR", "married", (0,)),
        Label("foreign_born", "NATIVITY", "no citizen by birth", (1,), also=("CIT",)),
    )
    domains = ("state",)


class AcsPublicCoverageUnseen(AcsPublicCoverage):
    """Who has public health coverage; S is sex; for unseen tasks."""

    name = "acs-public-coverage-unseen"
    summary = "ACSPublicCoverage 2018, California and Michigan, S = sex, five unseen tasks"
    is_unseen = True


class AcsTravelTime(AcsPublicCoverage):
    """Who travels more than 20 minutes to work; S is sex."""

    name = "acs-travel-time"
    summary = "ACSTravelTime 2018, California and Michigan, S = sex (2 groups)"
    files = (
        DataFile(
            "folktables_acstraveltime_small.parquet",
            fairground("folktables_acstraveltime_small.parquet"),
            "91bed30160db0348a75e2b09256458e55f3d4a21591907bdb75d20de6e356e2c",
            3_409_861,
        ),
    )
    rows = 216_385

    columns = TRAVEL
    features = words("AGEP SCHL MAR DIS ESP MIG RELP RAC1P CIT OCCP JWTR POVPIP")
    labels = (Label("long_commute", "JWMNP", "more than 20 minutes to work", (1,)),)
    unseen = (
        Label("by_car", "JWTR", "goes to work by car, truck or van", (0,)),
        Label("bachelor", "SCHL", "has a bachelor's or a higher degree", above=20),
        Label("moved", "MIG", "lived elsewhere a year ago", (1, 2)),
        Label("foreign_born", "CIT", "no citizen by birth", (3, 4)),
        Label("well_off", "POVPIP", "income of over four times the poverty line", above=400),
    )


class AcsTravelTimeUnseen(AcsTravelTime):
    """Who travels more than 20 minutes to work; S is sex; for unseen tasks."""

    name = "acs-travel-time-unseen"
    summary = "ACSTravelTime 2018, California and Michigan, S = sex, five unseen tasks"
    is_unseen = True


class AcsMobility(AcsPublicCoverage):
    """Which young adults moved in the last year; S is sex."""

    name = "acs-mobility"
    summary = "ACSMobility 2018, California and Michigan, S = sex (2 groups)"
    files = (
        DataFile(
            "folktables_acsmobility_small.parquet",
            fairground("folktables_acsmobility_small.parquet"),
            "50974b145fae0e0b274f9d7c244baa1f1f450c4e553c9e3ad82993e98f721671",
            1_501_382,
        ),
    )
    rows = 98_081

    columns = MOBILITY
    features = words(
        "AGEP SCHL MAR DIS CIT MIL ANC NATIVITY RELP DEAR DEYE DREM RAC1P GCL COW ESR WKHP JWMNP "
        "PINCP"
    )
    labels = (Label("moved", "MIG", "lived elsewhere a year ago", (0,)),)
    unseen = (
        # RELP would tell who is married, and leaves X by itself for the task below.
        Label("married", "MAR", "married", (0,)),
        Label("lives_with_parents", "RELP", "child of the reference person", (2, 3, 4)),
        Label("bachelor", "SCHL", "has a bachelor's or a higher degree", above=20),
        Label("foreign_born", "NATIVITY", "no citizen by birth", (1,), also=("CIT",)),
        Label("long_commute", "JWMNP", "more than 20 minutes to work", above=20),
    )

    def read(self, path: Path) -> Mapping[str, Values]:
        """Read the file, and add the state of each row, which follows from its place."""
        names = tuple(name for name in self.columns if name != "ST")
        raw = read_parquet(path, names, self.get_again())
        california, michigan = from_zero(STATES)
        is_first = np.arange(len(raw["SEX"])) < CALIFORNIANS
        return {**raw, "ST": np.where(is_first, california, michigan)}


class AcsMobilityUnseen(AcsMobility):
    """Which young adults moved in the last year; S is sex; for unseen tasks."""

    name = "acs-mobility-unseen"
    summary = "ACSMobility 2018, California and Michigan, S = sex, five unseen tasks"
    is_unseen = True


@hookimpl
def register_datasets() -> Sequence[type[Dataset]]:
    """Public coverage, travel time and mobility by sex, each also for unseen tasks."""
    return [
        AcsPublicCoverage,
        AcsPublicCoverageUnseen,
        AcsTravelTime,
        AcsTravelTimeUnseen,
        AcsMobility,
        AcsMobilityUnseen,
    ]
