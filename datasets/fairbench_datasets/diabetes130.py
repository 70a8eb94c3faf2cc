"""Diabetes in 130 US hospitals (Strack et al. 2014): who comes back; S is age, 70 or more.

Stays of patients with diabetes in 130 hospitals and integrated delivery networks of the US, 1999 to
2008: between 1 and 14 days, with laboratory tests and medicines. The filters are those of Strack et
al.: one stay per patient, so that no patient is in two roles, and none after which a patient cannot
come back.

============================================================  ============  =========
filter                                                        rows dropped  rows left
============================================================  ============  =========
``diabetic_data.csv``                                                       101,766
the first of a patient, by ``encounter_id``                   30,248        71,518
not dead at discharge (codes 11, 19, 20, 21)                  1,084         70,434
not discharged to a hospice (codes 13, 14)                    461           69,973
============================================================  ============  =========

Strack et al. report 69,984 stays; what makes the difference of 11 is not known.

X are 28 columns: race, sex, how the patient came and left, length of stay, counts of tests,
procedures, medicines and earlier visits, three diagnoses, two tests of blood sugar, and the doses
of the eight medicines that more than 1% of the patients take. Diagnoses are grouped by ICD-9 code
as in Strack et al.: eight groups of diseases, and all other codes. ``?`` in the file is the
category ``unknown``. Left out are age, of which S is made, the numbers of stay and patient, and:

- ``weight`` and ``medical_specialty``, unknown in 97% and 49% of the file's rows;
- ``payer_code``, unknown in 40%;
- the other 15 medicines, each given to less than 1% of the patients.

The payer is unknown in the first fifth of the stays by number, and known in 90% of the last three
tenths. So whether it is known splits the rows into domains, an earlier and a later practice of
recording: it is for 39,558 patients.

Y is ``readmitted``, at any time after the stay, for 40.7%. The second task, ``readmitted_30_days``,
is the one that Strack et al. and most others ask about: within 30 days, for 9.0%. The first is the
main one, since a class of 9% leaves little to measure.

In ``diabetes130-unseen`` five columns of X are asked for instead: ``female`` (53.2%),
``circulatory``, the primary diagnosis (30.6%), ``long_stay``, more than four days (36.3%),
``had_procedure`` (55.9%), and ``insulin`` (51.0%). With the last, two columns leave X that would
tell it together with the other medicines: whether any was given, and whether one was changed.

What to know of S: age is in the file by bands of ten years.

The file comes in a zip that has been packed in several ways. ``diabetic_data.csv`` itself is
needed, or the zip under the name ``dataset_diabetes.zip``; what else is in it does not matter.
"""

from __future__ import annotations

import hashlib
import io
import re
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import ClassVar

import numpy as np

from fairbench.api import Architecture
from fairbench.api.dataset import DataFile, Dataset
from fairbench.errors import DataError
from fairbench.hookspecs import hookimpl
from fairbench_datasets.declared import (
    ByCut,
    ByMeaning,
    Category,
    DeclaredTable,
    Label,
    Number,
    Values,
)
from fairbench_datasets.reading import DAMAGED_ZIP, words

DIAGNOSES: Mapping[str, tuple[tuple[int, int], ...]] = {
    "circulatory": ((390, 459), (785, 785)),
    "respiratory": ((460, 519), (786, 786)),
    "digestive": ((520, 579), (787, 787)),
    "diabetes": ((250, 250),),
    "injury": ((800, 999),),
    "musculoskeletal": ((710, 739),),
    "genitourinary": ((580, 629), (788, 788)),
    "neoplasms": ((140, 239),),
}
"""Groups of diagnoses by whole ICD-9 codes, first and last of each range; the rest is ``other``."""

MEDICINES = words(
    "metformin repaglinide glimepiride glipizide glyburide pioglitazone rosiglitazone insulin"
)
"""Medicines of X, in the order of the file."""

DEAD = words("11 19 20 21")
HOSPICE = words("13 14")
"""Discharges after which nobody comes back, by code of ``discharge_disposition_id``."""

_DOSE = {"No": "not given", "Down": "reduced", "Steady": "unchanged", "Up": "increased"}
_AGES = {f"[{low}-{low + 10})": f"{low} to {low + 9}" for low in range(0, 100, 10)}
_YOUNG, _OLD = "below 70", "70 or more"
_OTHER, _UNKNOWN = "other", "unknown"
_CODE = re.compile(r"[EV]?\d{1,3}(\.\d+)?")


def _shared(names: Mapping[str, str]) -> dict[str, str]:
    """Return the meaning of each code, from codes, apart by blanks, of each meaning."""
    return {code: name for name, codes in names.items() for code in words(codes)}


def _diagnosis(meaning: str) -> Category:
    return Category({name: name for name in (*DIAGNOSES, _OTHER, _UNKNOWN)}, meaning)


COLUMNS: Mapping[str, Number | Category] = {
    "encounter_id": Number(0, 1e9, "number of the stay"),
    "patient_nbr": Number(0, 1e9, "number of the patient"),
    "race": Category(
        {
            "Caucasian": "Caucasian",
            "AfricanAmerican": "African American",
            "Hispanic": "Hispanic",
            "Asian": "Asian",
            "Other": _OTHER,
            "?": _UNKNOWN,
        },
        "race",
    ),
    "gender": Category({"Female": "female", "Male": "male", "Unknown/Invalid": _UNKNOWN}, "sex"),
    "age": Category(_AGES, "years, in bands of ten"),
    "admission_type_id": Category(
        _shared(
            {
                "emergency": "1",
                "urgent": "2",
                "elective": "3",
                "newborn": "4",
                "trauma centre": "7",
                _UNKNOWN: "5 6 8",
            }
        ),
        "kind of admission",
    ),
    "discharge_disposition_id": Category(
        _shared(
            {
                "home": "1",
                "home with care": "6 8",
                "another hospital or institution": "2 5 9 10 22 23 27 28 29 30",
                "nursing facility": "3 4 15 24",
                "left against advice": "7",
                "outpatient services": "12 16 17",
                _UNKNOWN: "18 25 26",
            }
        ),
        "where the patient went",
    ),
    "admission_source_id": Category(
        _shared(
            {
                "referral": "1 2 3",
                "transfer": "4 5 6 10 18 19 22 25 26",
                "emergency room": "7",
                _OTHER: "8 11 12 13 14 23 24",
                _UNKNOWN: "9 15 17 20 21",
            }
        ),
        "where the patient came from",
    ),
    "time_in_hospital": Number(1, 14, "days of the stay"),
    "payer_code": Category(
        _shared(
            {
                "payer known": "MC MD HM UN BC SP CP SI DM CM CH PO WC OT OG MP FR",
                "payer unknown": "?",
            }
        ),
        "whether the payer is known",
    ),
    "num_lab_procedures": Number(0, 200, "laboratory tests in the stay"),
    "num_procedures": Number(0, 10, "other procedures in the stay"),
    "num_medications": Number(0, 100, "different medicines in the stay"),
    "number_outpatient": Number(0, 100, "outpatient visits in the year before"),
    "number_emergency": Number(0, 100, "emergency visits in the year before"),
    "number_inpatient": Number(0, 100, "inpatient stays in the year before"),
    "diag_1": _diagnosis("primary diagnosis"),
    "diag_2": _diagnosis("second diagnosis"),
    "diag_3": _diagnosis("third diagnosis"),
    "number_diagnoses": Number(1, 16, "diagnoses of the stay"),
    "max_glu_serum": Category(
        {"None": "not measured", "Norm": "normal", ">200": "above 200", ">300": "above 300"},
        "glucose in serum, mg/dl",
    ),
    "A1Cresult": Category(
        {"None": "not measured", "Norm": "normal", ">7": "above 7%", ">8": "above 8%"},
        "glycated haemoglobin, HbA1c",
    ),
    **{name: Category(_DOSE, f"dose of {name}") for name in MEDICINES},
    "change": Category({"No": "no", "Ch": "yes"}, "a medicine for diabetes was changed"),
    "diabetesMed": Category({"No": "no", "Yes": "yes"}, "a medicine for diabetes was given"),
    "readmitted": Category(
        {"NO": "no", "<30": "within 30 days", ">30": "later"}, "came back to a hospital"
    ),
}
"""The columns that are read, of 50, in the order of the file. Codes of a discharge after which
nobody comes back have no meaning here: such rows are left out."""

_NOT_X = words("encounter_id patient_nbr payer_code readmitted")
_ARCHIVE = "dataset_diabetes.zip"


class Diabetes130(DeclaredTable):
    """S is age."""

    name = "diabetes130"
    summary = "diabetes in 130 US hospitals, S = below 70 or not (2 groups)"
    citation = (
        "B. Strack, J. P. DeShazo, C. Gennings, J. L. Olmo, S. Ventura, K. J. Cios and J. N. "
        "Clore. Impact of HbA1c Measurement on Hospital Readmission Rates: Analysis of 70,000 "
        "Clinical Database Patient Records. BioMed Research International 2014, 781670. "
        "doi:10.1155/2014/781670"
    )
    licence = "CC BY 4.0"
    url = "https://archive.ics.uci.edu/dataset/296/diabetes+130-us+hospitals+for+years+1999-2008"
    folder = "diabetes130"
    files = (
        DataFile(
            "diabetic_data.csv",
            (),  # at no address by itself, only in a zip that has been packed in several ways
            "0689e7ec031237dc63031b938805c48377748761a3b26acab621567afa24df97",
            19_159_383,
        ),
    )
    archive = _ARCHIVE
    rows = 69_973
    # X has 28 columns that hardly go together: by PCA, 8 dimensions leave 55% of their variance
    # behind, 16 leave 27%.
    architecture = Architecture(hidden=(128, 128), latent=16)

    columns = COLUMNS
    features = tuple(name for name in COLUMNS if name not in _NOT_X)
    attributes: ClassVar[Mapping[str, ByMeaning | ByCut]] = {
        "age": ByMeaning(
            "age", {band: _YOUNG if int(band.split()[0]) < 70 else _OLD for band in _AGES.values()}
        ),
        "payer": ByMeaning("payer_code"),
    }
    sensitive: ClassVar[tuple[str, ...]] = ("age",)
    labels = (
        Label("readmitted", "readmitted", "came back at any time", ("<30", ">30")),
        Label("readmitted_30_days", "readmitted", "came back within 30 days", ("<30",)),
    )
    unseen = (
        Label("female", "gender", "is a woman", ("Female",)),
        Label("circulatory", "diag_1", "primary diagnosis circulatory", ("circulatory",)),
        Label("long_stay", "time_in_hospital", "stayed for more than four days", above=4),
        Label("had_procedure", "num_procedures", "had a procedure besides tests", above=0),
        Label(
            "insulin",
            "insulin",
            "insulin was given",
            ("Down", "Steady", "Up"),
            also=("change", "diabetesMed"),  # with the other medicines, they tell it
        ),
    )
    domains = ("payer",)

    def read(self, path: Path) -> Mapping[str, Values]:
        """Read the declared columns of the file, or of the file in the zip beside it."""
        if path.exists() or not path.with_name(_ARCHIVE).exists():
            where, content = f"{path}", _content(path)
        else:
            archive = path.with_name(_ARCHIVE)
            where = f"{path.name} in {archive}"
            content = unpack(archive, self.files[0], self.get_again())
        raw = read_csv(content, where, tuple(self.columns), self.get_again())
        return raw | {name: icd_groups(raw[name]) for name in ("diag_1", "diag_2", "diag_3")}

    def kept(self, raw: Mapping[str, Values]) -> Mapping[str, Values]:
        """Return the first stay of each patient, without deaths and hospices (see above)."""
        import pandas as pd

        number, _, _ = self.columns["encounter_id"].checked(raw["encounter_id"])
        patient, _ = pd.factorize(raw["patient_nbr"])
        in_order = np.lexsort((number, patient))
        _, places = np.unique(patient[in_order], return_index=True)
        first = np.sort(in_order[places])
        gone = np.isin(raw["discharge_disposition_id"][first], DEAD + HOSPICE)
        if gone.all():
            raise DataError("The filters leave none of the rows.", self.get_again())
        return {name: values[first[~gone]] for name, values in raw.items()}


class Diabetes130Unseen(Diabetes130):
    """S is age; for unseen tasks."""

    name = "diabetes130-unseen"
    summary = "diabetes in 130 US hospitals, S = below 70 or not, five columns kept back"
    is_unseen = True


def icd_groups(codes: Values) -> Values:
    """Return the group of each ICD-9 code, ``(n,)``; what is no code stays as it is."""
    import pandas as pd

    where, found = pd.factorize(codes)
    # The last is that of missing codes, whose place is -1.
    groups: Values = np.array([*map(_icd_group, found), None], object)
    return groups[where]


def _icd_group(code: str) -> str:
    if code == "?":
        return _UNKNOWN
    if not _CODE.fullmatch(code):
        return code
    if code[0] in "EV":  # causes and circumstances, not diseases
        return _OTHER
    whole = int(code.split(".")[0])
    for name, ranges in DIAGNOSES.items():
        if any(low <= whole <= high for low, high in ranges):
            return name
    return _OTHER


def read_csv(content: bytes, where: str, columns: tuple[str, ...], hint: str) -> dict[str, Values]:
    """Read columns of a CSV file as text, ``(n,)`` each; DataError if it is broken or lacks one."""
    import pandas as pd

    try:
        table = pd.read_csv(io.BytesIO(content), dtype=str, keep_default_na=False, index_col=False)
    except ValueError as error:  # pandas' errors of parsing, and text that is not UTF-8
        raise DataError(f"{where} cannot be read as CSV: {error}", hint) from error
    for name in columns:
        if name not in table:
            raise DataError(f"{where}: the column {name!r} is missing.", hint)
    if table.empty:
        raise DataError(f"{where} has no rows.", hint)
    return {name: table[name].to_numpy(object) for name in columns}


def unpack(archive: Path, file: DataFile, hint: str) -> bytes:
    """Return a file of a zip, from whatever folder in it; DataError unless it is the original.

    What the zip says of itself is not trusted: names are compared, never used as paths, and no more
    than the original's size is unpacked before the sha256 is compared.
    """
    try:
        with zipfile.ZipFile(archive) as packed:
            entry = _entry(packed, archive, file, hint)
            with packed.open(entry) as stream:
                content = stream.read(entry.file_size)
    except DAMAGED_ZIP as error:
        raise DataError(f"{archive} is not a zip file, or is damaged: {error}.", hint) from error
    except OSError as error:
        raise DataError(f"{archive} cannot be read: {error.strerror}.", "Check it.") from error
    found = hashlib.sha256(content).hexdigest()
    if found != file.sha256:
        raise DataError(
            f"{entry.filename} in {archive} is altered: expected sha256 {file.sha256}, "
            f"found {found}.",
            hint,
        )
    return content


def _entry(packed: zipfile.ZipFile, archive: Path, file: DataFile, hint: str) -> zipfile.ZipInfo:
    """Return the entry of the zip that can be the file."""
    named = [e for e in packed.infolist() if PurePosixPath(e.filename).name == file.name]
    if not named:
        raise DataError(f"{archive} holds no {file.name}.", hint)
    entry = next((e for e in named if e.file_size == file.size), named[0])
    if entry.file_size != file.size:
        raise DataError(
            f"{entry.filename} in {archive} has {entry.file_size:,} bytes; the original has "
            f"{file.size:,}.",
            hint,
        )
    # Of ways of packing other than these, zipfile does not limit what a piece unpacks to.
    packings = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
    if entry.flag_bits & 1 or entry.compress_type not in packings:
        raise DataError(
            f"{entry.filename} in {archive} is encrypted, or packed in a way that is not read "
            "here.",
            f"Unpack it, and put {file.name} beside the zip.",
        )
    return entry


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.", "Check it.") from error


@hookimpl
def register_datasets() -> Sequence[type[Dataset]]:
    """Diabetes in 130 US hospitals, by age, and for unseen tasks."""
    return [Diabetes130, Diabetes130Unseen]
