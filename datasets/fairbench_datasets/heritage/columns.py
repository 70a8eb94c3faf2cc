"""Names: the columns of the release's files, of X, and the groups of S.

The condition and procedure groups are those of the look-up tables that come with the release.
SEPSIS has no column: the paper has 65 features, and without it there are just as many.
"""

from __future__ import annotations

from fairbench_datasets.reading import words

CONDITIONS = words(
    "AMI APPCHOL ARTHSPIN CANCRA CANCRB CANCRM CATAST CHF COPD FLaELEC FXDISLC GIBLEED GIOBSENT "
    "GYNEC1 GYNECA HEART2 HEART4 HEMTOL HIPFX INFEC4 LIVERDZ METAB1 METAB3 MISCHRT MISCL1 MISCL5 "
    "MSC2a3 NEUMENT ODaBNCA PERINTL PERVALV PNCRDZ PNEUM PRGNCY RENAL1 RENAL2 RENAL3 RESPR4 ROAMI "
    "SEIZURE SKNAUT STROKE TRAUMA UTI"
)
"""Primary condition groups that are columns of X (44 of the 45)."""

PROCEDURES = words("ANES EM MED PL RAD SAS SCS SDS SEOA SGS SIS SMCD SMS SNS SO SRS SUS")
"""Procedure groups, all 17."""

TOTALS = ("ClaimsCount", "PayDelay", "LabCount", "DrugCount")

FEATURES = (*TOTALS, *CONDITIONS, *PROCEDURES)
"""The 65 columns of X, in order."""

SEXES = ("F", "M")
AGES = ("0-9", "10-19", "20-29", "30-39", "40-49", "50-59", "60-69", "70-79", "80+")
"""Bands of the age at the first claim."""

GROUPS = tuple(f"{sex} {age}" for sex in SEXES for age in AGES)
"""The 18 values of S; code = 9 * sex + age band."""

YEARS = ("Y1", "Y2", "Y3")
CHARLSON = ("0", "1-2", "3-4", "5+")
"""Values of the Charlson index of a claim."""
