"""COMPAS (ProPublica 2016): defendants and their recidivism; S is race, sex, or both.

People of Broward County, Florida, whom the COMPAS tool scored in 2013 and 2014, and whether they
were charged with a new crime within two years. The filters are those of ProPublica's analysis:

=============================================================  ============  =========
filter                                                         rows dropped  rows left
=============================================================  ============  =========
``compas-scores-two-years.csv``                                              7,214
screened within 30 days of the arrest (307 have no such date)  1,042         6,172
known whether they came back (``is_recid`` is not -1)          0             6,172
charged with more than a traffic offence (degree is not O)     0             6,172
scored (``score_text`` is not N/A)                             0             6,172
=============================================================  ============  =========

X are age, the counts of earlier offences, the degree of the charge, and the days in jail. The last
is ProPublica's length of stay, calendar days from ``c_jail_in`` to ``c_jail_out``, which others of
the field use too. It is a fact of the record, not one known at screening: of the 6,172 people 45%
were still in jail when the day of screening ended. Race and sex are in X of no variant, and neither
are the tool's scores: they are what is to be judged, and race may act through them.

Y is ``two_year_recid``; the second task, ``score_above_low``, is what ProPublica regressed on the
same record: whether the tool called a person's risk medium or high. Predicting it from z asks how
far the tool's judgement could be rebuilt from what was released.

``compas-unseen`` has five unseen tasks, of columns that are in no X: ``violent_recid``, a new
violent crime within two years; ``violence_score_above_low``, the tool's other score; and whether
the text of the charge is of drugs, an assault or a theft (``drug_charge``, ``assault_charge``,
``theft_charge``). X tells little of some: only those count that it predicts better than a constant
guess by .01, in most audits the assault and the score.

What to know of Y, so compare methods and do not quote its share: people screened after 1 April 2014
could not be followed for two years, and the file kept those of them who came back and left out the
others (Barenstein 2019, arXiv:1906.04711). All 868 such people here have Y = 1, so Y's share of
45.5% is too high. They stay, since results of the field are on these 6,172 rows.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from datetime import date, datetime
from pathlib import Path
from typing import ClassVar

import numpy as np

from fairbench.api import Architecture, Ints
from fairbench.api.dataset import DataFile, Dataset, Table
from fairbench.errors import DataError
from fairbench.hookspecs import hookimpl
from fairbench_datasets.reading import TextTable, groups_of, read_ascii, words

COUNTS = ("age", "priors_count", "juv_fel_count", "juv_misd_count", "juv_other_count")
"""Columns of X that are numbers in the file."""

FEATURES = (*COUNTS, "c_charge_degree", "jail_days")
"""X."""

RACES = {
    "African-American": "African-American",
    "Caucasian": "Caucasian",
    "Hispanic": "Other",
    "Other": "Other",
    "Asian": "Other",
    "Native American": "Other",
}
"""Groups by race. ProPublica compares the first two, and much of the field drops the others.
Here they stay, as one group: 31 Asians and 11 Native Americans cannot fill four roles."""

SEXES = {"Female": "Female", "Male": "Male"}
DEGREES = {"F": "felony", "M": "misdemeanour"}
SCORES = {"Low": 0, "Medium": 1, "High": 1}

CHARGES = {
    "drug_charge": (
        *words("alprazolam amobarbital amphet buprenorphine butanediol butylone cannabi"),
        *words("carisoprodol cathinon clonazepam cocaine codeine codone diazepam drug ethylone"),
        *words("fentanyl fluoro heroin jwh lsd mdma methadone methylenediox morph paraphernalia"),
        *words("phentermine piperazine pyrrolidino rx steroid subst xlr11"),
        "contr sub",
        "cont subs",
    ),
    "assault_charge": words("assault batt"),
    "theft_charge": words("burg carjack robbery stolen theft"),
}
"""Unseen tasks by what the text of a charge may contain, in lower case: drugs by their names."""

DAYS = 30
"""A screening further from the arrest may be about another offence."""

REQUIRED = COUNTS + words(
    "race sex c_charge_degree c_jail_in c_jail_out days_b_screening_arrest is_recid score_text "
    "two_year_recid is_violent_recid v_score_text c_charge_desc"
)
"""Columns that are read, of 53. ``priors_count`` occurs twice in the file, with equal values."""

_NAME = "compas-scores-two-years.csv"
_REPOSITORY = "https://raw.githubusercontent.com/propublica/compas-analysis"
_COMMIT = "bafff5da3f2e45eca6c2d5055faad269defd135a"
_URLS = (f"{_REPOSITORY}/{_COMMIT}/{_NAME}", f"{_REPOSITORY}/master/{_NAME}")
_HINT = f"Get the original file again: {_URLS[0]}"


class CompasRace(Dataset):
    """S is race, in three groups."""

    name = "compas-race"
    aliases: ClassVar[tuple[str, ...]] = ("compas",)
    summary = "COMPAS two-year recidivism, S = race (3 groups)"
    citation = (
        "J. Angwin, J. Larson, S. Mattu and L. Kirchner. Machine Bias. ProPublica, 23 May 2016; "
        "J. Larson, S. Mattu, L. Kirchner and J. Angwin. How We Analyzed the COMPAS Recidivism "
        "Algorithm. ProPublica, 23 May 2016"
    )
    licence = (
        "ProPublica's data terms: cite it, do not pass the raw data on; the repository has none"
    )
    url = "https://github.com/propublica/compas-analysis"
    folder = "compas"
    files = (
        DataFile(
            _NAME,
            _URLS,
            "c451db85908b2f7fef1d83203bedf6b71ecda0d5af468d82ae62178f91d0cc7d",
            2_546_489,
        ),
    )
    # X is about as wide as that of Adults (7 columns to its 9), so the sizes are those of Adults.
    architecture = Architecture(hidden=(128, 128), latent=8)

    rows = 6_172
    sensitive: ClassVar[tuple[str, ...]] = ("race",)
    tasks: ClassVar[tuple[str, ...]] = ("two_year_recid", "score_above_low")
    is_unseen: ClassVar[bool] = False

    def load(self, folder: Path) -> Table:
        import pandas as pd

        people = keep_analysed(read_compas(folder / _NAME))
        attributes = {"race": people.mapped("race", RACES), "sex": people.mapped("sex", SEXES)}
        s, groups = groups_of(*(attributes[name] for name in self.sensitive))
        numbers = {name: people.integers(name, least=0) for name in COUNTS}
        degrees = people.mapped("c_charge_degree", DEGREES)
        labels = people.mapped("two_year_recid", {"0": 0, "1": 1})
        scores = people.mapped("score_text", SCORES)
        return Table(
            x=pd.DataFrame(
                {**numbers, "c_charge_degree": degrees, "jail_days": jail_days(people)},
                columns=list(FEATURES),
            ),
            s=s,
            groups=groups,
            y={
                "two_year_recid": np.array(labels, np.int64),
                "score_above_low": np.array(scores, np.int64),
            },
            transfer=unseen_tasks(people) if self.is_unseen else {},
        )


class CompasSex(CompasRace):
    """S is sex."""

    name = "compas-sex"
    aliases = ()
    summary = "COMPAS two-year recidivism, S = sex (2 groups)"
    demonstration = "X tells too little of sex: I(X;S) is .012 nats at most"
    sensitive = ("sex",)


class CompasSexRace(CompasRace):
    """S is sex x race."""

    name = "compas-sex-race"
    aliases = ()
    summary = "COMPAS two-year recidivism, S = sex x race (6 groups)"
    sensitive = ("sex", "race")


class CompasUnseen(CompasRace):
    """S is race, in three groups; for unseen tasks."""

    name = "compas-unseen"
    aliases = ()
    summary = "COMPAS two-year recidivism, S = race, five unseen tasks"
    is_unseen = True
    unseen_tasks = (
        *("violent_recid", "violence_score_above_low"),
        *("drug_charge", "assault_charge", "theft_charge"),
    )


def read_compas(path: Path) -> TextTable:
    """Read the CSV, all rows; DataError names the line of a malformed one."""
    reader = csv.reader(read_ascii(path, _HINT).splitlines(keepends=True), strict=True)
    rows: list[Sequence[str]] = []
    lines: list[int] = []
    try:
        header = tuple(next(reader, []))
        for fields in reader:
            if fields:
                rows.append(fields)
                lines.append(reader.line_num)
    except csv.Error as error:
        raise DataError(f"{path}, line {reader.line_num}: {error}.", _HINT) from None
    table = TextTable(path, _HINT, header, rows, lines)
    table.require(REQUIRED)
    return table


def keep_analysed(people: TextTable) -> TextTable:
    """Keep the people of ProPublica's analysis: 6,172 of 7,214 (see the table above)."""
    people = people.where(np.array(people.text("days_b_screening_arrest")) != "")
    near = np.abs(people.integers("days_b_screening_arrest")) <= DAYS
    known = people.integers("is_recid") != -1
    charged = np.array(people.text("c_charge_degree")) != "O"
    scored = np.array(people.text("score_text")) != "N/A"
    return people.where(near & known & charged & scored)


def jail_days(people: TextTable) -> Ints:
    """Return calendar days from ``c_jail_in`` to ``c_jail_out``, ``(n,)``."""
    days = np.empty(len(people.rows), np.int64)
    booked, released = (_dates(people, column) for column in ("c_jail_in", "c_jail_out"))
    for row, (start, end) in enumerate(zip(booked, released, strict=True)):
        if end < start:
            raise people.error(row, "c_jail_out", "before c_jail_in")
        days[row] = (end - start).days
    return days


def unseen_tasks(people: TextTable) -> dict[str, Ints]:
    """Return the labels of the unseen tasks, ``(n,)`` each."""
    violent = people.mapped("is_violent_recid", {"0": 0, "1": 1})
    scores = people.mapped("v_score_text", SCORES)
    charges = [text.lower() for text in people.text("c_charge_desc")]
    return {
        "violent_recid": np.array(violent, np.int64),
        "violence_score_above_low": np.array(scores, np.int64),
        **{
            task: np.array([any(part in text for part in parts) for text in charges], np.int64)
            for task, parts in CHARGES.items()
        },
    }


def _dates(people: TextTable, column: str) -> list[date]:
    dates = []
    for row, cell in enumerate(people.text(column)):
        try:
            dates.append(datetime.strptime(cell, "%Y-%m-%d %H:%M:%S").date())
        except ValueError:
            raise people.error(row, column, "not a time like 2013-08-13 06:03:42") from None
    return dates


@hookimpl
def register_datasets() -> Sequence[type[Dataset]]:
    """COMPAS, by race, by sex, by both, and for unseen tasks."""
    return [CompasRace, CompasSex, CompasSexRace, CompasUnseen]
