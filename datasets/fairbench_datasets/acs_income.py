"""ACSIncome (Ding et al. 2021): working adults of the US, 2018; S is sex, race, or both.

The task ACSIncome of folktables, on the 2018 one-year microdata of the American Community Survey:
people over 16 with an income above 100 dollars and at least one working hour a week, all states,
1,664,500 people. The file here is a part of it, 332,900 rows, a fifth, drawn at random (its
``index`` column holds the rows' places in the whole). It is at no public address. All rows have all
values, and nothing is filtered: 332,900 rows before and after. The state is not a column. 3,028
rows repeat an earlier one: other people with equal answers.

What the file holds is coded as the Census Bureau's 2018 dictionary of the public use microdata has
it, with two differences: PINCP is 1 where the income is above 50,000 dollars and else 0, and RAC1P
counts from 0, one below the official code.

X are the ten features of the task without those that are S: by sex, race stays in X, and the other
way round. Age, schooling (24 ordered steps) and weekly hours are numbers. The rest are categories,
numbered in the order of the official codes, so that integer codes keep it. Two features
have hundreds of codes, of which a squared error can make nothing, so they are grouped:

- OCCP, 529 occupations here, into the 23 major groups of the Standard Occupational Classification
  of 2018, by the code ranges of the Census list, from management to the military;
- POBP, 223 places of birth here, into the four Census regions of the US, its island areas, and the
  Bureau's six world regions.

S by race has seven groups: the Census Bureau's three codes for American Indians and Alaska Natives
are one race of its own classification, and Alaska Natives alone, 177 people, are too few for four
roles.

Y is ``income``; the second task, ``married``, is a column of X, as on Adults. In the variant for
unseen tasks it is one of them. X is then five columns: what the tasks are asked of is left out, and
RELP would tell who is married.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from fairbench.api import Architecture
from fairbench.api.dataset import DataFile, Dataset
from fairbench.hookspecs import hookimpl
from fairbench_datasets.acs_codes import (
    BIRTHPLACES,
    BORN_ABROAD,
    MARITAL,
    MARRIED,
    OCCUPATIONS,
    RACES,
    RELATIONSHIPS,
    SEXES,
    WORKERS,
)
from fairbench_datasets.declared import ByMeaning, Category, DeclaredTable, Label, Number
from fairbench_datasets.reading import words

COLUMNS: Mapping[str, Number | Category] = {
    "AGEP": Number(17, 99, "years of age"),
    "COW": Category(WORKERS, "class of worker"),
    "SCHL": Number(1, 24, "schooling, from none to a doctorate"),
    "MAR": Category(MARITAL, "marital status"),
    "OCCP": Category(OCCUPATIONS, "occupation, by major group"),
    "POBP": Category(BIRTHPLACES, "place of birth, by region"),
    "RELP": Category(RELATIONSHIPS, "relationship to the reference person"),
    "WKHP": Number(1, 99, "usual hours of work per week"),
    "SEX": Category(SEXES, "sex"),
    "RAC1P": Category(RACES, "race"),
    "PINCP": Number(0, 1, "whether income is above 50,000 dollars"),
}
"""The features of the task, in its order, and the label."""

INCOME = Label("income", "PINCP", "an income above 50,000 dollars", above=0)

_NAME = "acs_income_2018_part.parquet"
_SIZE = 4_109_137


class AcsIncomeSex(DeclaredTable):
    """S is sex."""

    name = "acs-income-sex"
    aliases: ClassVar[tuple[str, ...]] = ("acs-income",)
    summary = "ACSIncome 2018, a fifth of it, S = sex (2 groups)"
    citation = (
        "F. Ding, M. Hardt, J. Miller and L. Schmidt. Retiring Adult: New Datasets for Fair "
        "Machine Learning. NeurIPS 2021. doi:10.48550/arXiv.2108.04884; US Census Bureau. "
        "American Community Survey, Public Use Microdata Sample, 2018"
    )
    licence = "US Census Bureau's terms of use for public microdata; folktables itself is MIT"
    url = "https://github.com/socialfoundations/folktables"
    folder = "acs_income"
    files = (
        DataFile(
            _NAME,
            (),  # the whole task can be had through folktables, this part of it at no address
            "050a84d27232b70c14992ce996c9cd04fa1c6eccc8e1394760b6de3e01de9fc5",
            _SIZE,
        ),
    )
    # X is as wide as that of Adults (8 or 9 columns), so the sizes are those of Adults.
    architecture = Architecture(hidden=(128, 128), latent=8)

    rows = 332_900
    audit_rows: ClassVar[int | None] = 20_000

    columns = COLUMNS
    features = words("AGEP COW SCHL MAR OCCP POBP RELP WKHP SEX RAC1P")
    attributes: ClassVar[Mapping[str, ByMeaning]] = {
        "sex": ByMeaning("SEX"),
        "race": ByMeaning("RAC1P"),
    }
    sensitive: ClassVar[tuple[str, ...]] = ("sex",)
    labels: ClassVar[tuple[Label, ...]] = (INCOME, Label("married", "MAR", "married", (MARRIED,)))

    @classmethod
    def get_again(cls) -> str:
        return f"Get the original {_NAME} again ({_SIZE:,} bytes)."


class AcsIncomeRace(AcsIncomeSex):
    """S is race."""

    name = "acs-income-race"
    aliases = ()
    summary = "ACSIncome 2018, a fifth of it, S = race (7 groups)"
    audit_rows = None  # its smallest group would have too few
    sensitive = ("race",)


class AcsIncomeSexRace(AcsIncomeSex):
    """S is sex x race."""

    name = "acs-income-sex-race"
    aliases = ()
    summary = "ACSIncome 2018, a fifth of it, S = sex x race (14 groups)"
    audit_rows = None
    sensitive = ("sex", "race")


class AcsIncomeUnseen(AcsIncomeSex):
    """S is sex; for unseen tasks."""

    name = "acs-income-unseen"
    aliases = ()
    summary = "ACSIncome 2018, a fifth of it, S = sex, five unseen tasks"
    labels = (INCOME,)
    unseen = (
        Label("married", "MAR", "married", (MARRIED,), also=("RELP",)),
        Label("lives_with_parents", "RELP", "child of the reference person", (2, 3, 4)),
        Label("born_abroad", "POBP", "born outside the US and its island areas", BORN_ABROAD),
        Label("public_employee", "COW", "works for a government", (3, 4, 5)),
        Label("self_employed", "COW", "self-employed", (6, 7)),
    )
    is_unseen = True


@hookimpl
def register_datasets() -> Sequence[type[Dataset]]:
    """ACSIncome, by sex, by race, by both, and for unseen tasks."""
    return [AcsIncomeSex, AcsIncomeRace, AcsIncomeSexRace, AcsIncomeUnseen]
