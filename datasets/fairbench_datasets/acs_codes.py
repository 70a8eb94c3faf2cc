"""Meanings of the codes of the ACS tables: the Census Bureau's 2018 dictionary, grouped where long.

Each mapping has an entry for every code that may stand in a file; codes of one group share their
name. Source: PUMS Data Dictionary, 2018 ACS 1-year, of the US Census Bureau.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType


def _ranges(*groups: tuple[int, int, str]) -> Mapping[int, str]:
    """A name for all codes of each range, both ends included."""
    return MappingProxyType(
        {code: name for low, high, name in groups for code in range(low, high + 1)}
    )


def from_zero(codes: Mapping[int, str]) -> Mapping[int, str]:
    """Return codes less the least of them, as the FairGround project's cache has them."""
    least = min(codes)
    return MappingProxyType({code - least: name for code, name in codes.items()})


SEXES: Mapping[int, str] = MappingProxyType({1: "Male", 2: "Female"})

RACES: Mapping[int, str] = MappingProxyType(
    {
        0: "White",
        1: "Black",
        # American Indian, Alaska Native, and either of them without a tribe: one race to the Bureau
        2: "American Indian or Alaska Native",
        3: "American Indian or Alaska Native",
        4: "American Indian or Alaska Native",
        5: "Asian",
        6: "Pacific Islander",
        7: "Other",
        8: "Two or more",
    }
)
"""RAC1P as in the files: the official code less 1."""

WORKERS: Mapping[int, str] = MappingProxyType(
    {
        1: "private for profit",
        2: "private not for profit",
        3: "local government",
        4: "state government",
        5: "federal government",
        6: "self-employed, not incorporated",
        7: "self-employed, incorporated",
        8: "without pay in the family's business",
    }
)
"""COW, class of worker."""

MARITAL: Mapping[int, str] = MappingProxyType(
    {1: "married", 2: "widowed", 3: "divorced", 4: "separated", 5: "never married"}
)
"""MAR."""

MARRIED = 1
"""The code of MAR for married people."""

RELATIONSHIPS: Mapping[int, str] = MappingProxyType(
    {
        0: "reference person",
        1: "husband or wife",
        2: "biological child",
        3: "adopted child",
        4: "stepchild",
        5: "brother or sister",
        6: "parent",
        7: "grandchild",
        8: "parent-in-law",
        9: "child-in-law",
        10: "other relative",
        11: "roomer or boarder",
        12: "housemate",
        13: "unmarried partner",
        14: "foster child",
        15: "other nonrelative",
        16: "institution",
        17: "other group quarters",
    }
)
"""RELP, relationship to the household's reference person."""

OCCUPATIONS = _ranges(
    (10, 440, "management"),
    (500, 960, "business and finance"),
    (1005, 1240, "computers and mathematics"),
    (1305, 1560, "architecture and engineering"),
    (1600, 1980, "science"),
    (2001, 2060, "community and social service"),
    (2100, 2180, "law"),
    (2205, 2555, "education and libraries"),
    (2600, 2920, "arts, sports and media"),
    (3000, 3550, "healthcare"),
    (3601, 3655, "healthcare support"),
    (3700, 3960, "protective service"),
    (4000, 4160, "food"),
    (4200, 4255, "buildings and grounds"),
    (4330, 4655, "personal care"),
    (4700, 4965, "sales"),
    (5000, 5940, "office support"),
    (6005, 6130, "farming, fishing and forestry"),
    (6200, 6950, "construction and extraction"),
    (7000, 7640, "installation and repair"),
    (7700, 8990, "production"),
    (9005, 9760, "transportation"),
    (9800, 9830, "military"),
)
"""OCCP by major group of the Standard Occupational Classification of 2018."""

_STATES = {
    "US Northeast": (9, 23, 25, 33, 34, 36, 42, 44, 50),
    "US Midwest": (17, 18, 19, 20, 26, 27, 29, 31, 38, 39, 46, 55),
    "US South": (1, 5, 10, 11, 12, 13, 21, 22, 24, 28, 37, 40, 45, 47, 48, 51, 54),
    "US West": (2, 4, 6, 8, 15, 16, 30, 32, 35, 41, 49, 53, 56),
}

BIRTHPLACES: Mapping[int, str] = MappingProxyType(
    {
        **{code: region for region, codes in _STATES.items() for code in codes},
        **_ranges(
            (60, 99, "US island areas"),
            (100, 199, "Europe"),
            (200, 299, "Asia"),
            (300, 302, "Northern America"),
            (303, 399, "Latin America"),
            (400, 499, "Africa"),
            (500, 554, "Oceania or at sea"),
        ),
    }
)
"""POBP by Census region (the states' codes are FIPS codes) and by region of the world; Mexico,
Central America and the Caribbean are Latin America, Russia and the Caucasus Europe."""

BORN_ABROAD = tuple(code for code in BIRTHPLACES if code >= 100)
"""The codes of POBP outside the US and its island areas."""

STATES: Mapping[int, str] = MappingProxyType({6: "California", 26: "Michigan"})
"""ST of the two states whose rows ship; the codes are FIPS codes."""

YES_NO: Mapping[int, str] = MappingProxyType({1: "yes", 2: "no"})
"""DIS, DEAR, DEYE and DREM; GCL where it is asked."""

CITIZENSHIP: Mapping[int, str] = MappingProxyType(
    {
        1: "born in the US",
        2: "born in Puerto Rico or the island areas",
        3: "born abroad of American parents",
        4: "naturalised",
        5: "not a citizen",
    }
)
"""CIT."""

NATIVITIES: Mapping[int, str] = MappingProxyType({1: "native", 2: "foreign-born"})
"""NATIVITY; the native are citizens by birth, the first three codes of CIT."""

MOVES: Mapping[int, str] = MappingProxyType(
    {
        1: "same house",
        2: "moved from outside the US and Puerto Rico",
        3: "moved within the US and Puerto Rico",
    }
)
"""MIG, where a person lived a year ago."""

ANCESTRIES: Mapping[int, str] = MappingProxyType(
    {1: "single", 2: "multiple", 3: "unclassified", 4: "not reported"}
)
"""ANC, how many ancestries a person reported."""

SERVICE: Mapping[int, str] = MappingProxyType(
    {
        1: "on active duty",
        2: "on active duty in the past",
        3: "active duty for training only",
        4: "never served",
    }
)
"""MIL, military service."""

EMPLOYMENT: Mapping[int, str] = MappingProxyType(
    {
        1: "employed, at work",
        2: "employed, not at work",
        3: "unemployed",
        4: "armed forces, at work",
        5: "armed forces, not at work",
        6: "not in the labour force",
    }
)
"""ESR."""

PARENTS: Mapping[int, str] = MappingProxyType(
    {
        1: "with both parents, both in the labour force",
        2: "with both parents, only the father in the labour force",
        3: "with both parents, only the mother in the labour force",
        4: "with both parents, neither in the labour force",
        5: "with the father, who is in the labour force",
        6: "with the father, who is not in the labour force",
        7: "with the mother, who is in the labour force",
        8: "with the mother, who is not in the labour force",
    }
)
"""ESP, the employment of the parents with whom a child below 18 lives."""

TRANSPORT: Mapping[int, str] = MappingProxyType(
    {
        1: "car, truck or van",
        2: "bus",
        3: "streetcar",
        4: "subway or elevated train",
        5: "railway",
        6: "ferry",
        7: "taxi",
        8: "motorcycle",
        9: "bicycle",
        10: "walked",
        11: "worked at home",
        12: "other",
    }
)
"""JWTR, the usual way to work in the last week."""
