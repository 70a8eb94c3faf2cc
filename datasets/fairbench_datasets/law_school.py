"""Law school (Wightman 1998): which students pass the bar examination; S is race, Black or white.

Students who began law school in the US in 1991 and took the bar examination, from the National
Longitudinal Bar Passage Study of the Law School Admission Council. The file is the one that comes
with the survey of Le Quy et al. (2022): 18,692 students, complete and cleaned by them. Nothing is
filtered here.

X are all columns but race. ``lsat``, ``ugpa``, family income, sex and whether the study is part
time are known at admission. ``tier`` is the law school's, and four columns are earned there, after
admission: the grades ``zfygpa`` (first year) and ``zgpa`` (whole study), each standardised within
the school, and the deciles that they give, ``decile1b`` and ``decile3``, 10 the best. So X tells
what is known on the day of the bar examination, not what an admission office knows. A decile and
its grade are nearly the same column (r = .97).

What to know of S: the file's ``racetxt`` is often read as white or not. It is white or Black. A
fuller cleaned version of the same study has six races by name and otherwise the same columns. Its
white and Black students are here as 1 and 0; those of the other races are not here at all. There
are 17,491 white and 1,201 Black students.

Y is ``passed_bar``, for 90.2%: 92.1% of the white and 61.8% of the Black students. This can only be
the first attempt, though the file does not say so: in the end, 96.7% of the white and 77.6% of the
Black participants of the study passed (Wightman 1998).

In ``law-school-unseen`` five columns of X are asked for instead: ``upper_tier`` (52.3%),
``college_above_median`` (42.2%), ``well_off`` (53.7%), and of the first year
``first_year_above_mean`` (55.6%) and ``first_year_top_fifth`` (21.7%). Its X are the other five.

Two rows repeat an earlier one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from fairbench.api import Architecture
from fairbench.api.dataset import DataFile, Dataset
from fairbench.hookspecs import hookimpl
from fairbench_datasets.declared import (
    ByCut,
    ByMeaning,
    Category,
    DeclaredTable,
    Label,
    Number,
    fairground,
)
from fairbench_datasets.reading import words

COLUMNS: Mapping[str, Number | Category] = {
    "decile1b": Number(1, 10, "decile in the school by grades of the first year; 10: best"),
    "decile3": Number(1, 10, "decile in the school by grades until the third year; 10: best"),
    "lsat": Number(10, 48, "score in the Law School Admission Test, 10 to 48 in 1991", whole=False),
    "ugpa": Number(0, 4, "grade point average in college", whole=False),
    "zfygpa": Number(-10, 10, "grades of the first year, standardised in the school", whole=False),
    "zgpa": Number(-10, 10, "grades of all years, standardised in the school", whole=False),
    "fulltime": Category({1: "full time", 2: "part time"}, "study"),
    "fam_inc": Number(1, 5, "bracket of family income; 5: highest"),
    "male": Category({0: "female", 1: "male"}, "sex"),
    "racetxt": Category({"0": "Black", "1": "white"}, "race"),
    "tier": Number(1, 6, "group of similar law schools; 6 has the highest test scores"),
    "pass_bar": Category({"0": "no", "1": "yes"}, "passed the bar examination"),
}
"""All 12 columns of the file, in its order."""


class LawSchool(DeclaredTable):
    """S is race."""

    name = "law-school"
    summary = "law school bar passage, S = Black or white (2 groups)"
    citation = (
        "L. F. Wightman. LSAC National Longitudinal Bar Passage Study. LSAC Research Report "
        "Series, 1998; T. Le Quy, A. Roy, V. Iosifidis, W. Zhang and E. Ntoutsi. A survey on "
        "datasets for fairness-aware machine learning. WIREs Data Mining and Knowledge Discovery "
        "12(3), 2022. doi:10.1002/widm.1452"
    )
    licence = "CC BY-SA 4.0"
    url = "https://github.com/tailequy/fairness_dataset"
    folder = "law_school"
    files = (
        DataFile(
            "law_school_lequy.parquet",
            fairground("law_school_lequy.parquet"),
            "e9b17525fc6f3536405050d698c7e14f792b56b87d4fdc59a6a60d49bca2343f",
            384_623,
        ),
    )
    rows = 18_692
    # X is about as wide as that of Adults (10 columns to its 9), so the sizes are those of Adults.
    architecture = Architecture(hidden=(128, 128), latent=8)

    columns = COLUMNS
    features = words("decile1b decile3 lsat ugpa zfygpa zgpa fulltime fam_inc male tier")
    attributes: ClassVar[Mapping[str, ByMeaning | ByCut]] = {"race": ByMeaning("racetxt")}
    sensitive: ClassVar[tuple[str, ...]] = ("race",)
    labels = (Label("passed_bar", "pass_bar", "passed the bar examination", ("1",)),)
    unseen = (
        Label("upper_tier", "tier", "law school in the upper three tiers", above=3),
        Label(
            "college_above_median", "ugpa", "grade point average in college above 3.3", above=3.3
        ),
        Label("well_off", "fam_inc", "family income in the upper two of five brackets", above=3),
        Label("first_year_above_mean", "zfygpa", "first year better than the mean", above=0),
        Label("first_year_top_fifth", "decile1b", "first year in the top fifth", above=8),
    )


class LawSchoolUnseen(LawSchool):
    """S is race; for unseen tasks."""

    name = "law-school-unseen"
    summary = "law school, S = Black or white, five columns kept back as unseen tasks"
    is_unseen = True


@hookimpl
def register_datasets() -> Sequence[type[Dataset]]:
    """Law school, by race, and for unseen tasks."""
    return [LawSchool, LawSchoolUnseen]
