"""Bank marketing: what X, S and the labels are of, and the real file's facts."""

import pytest

from fairbench.api.dataset import Dataset
from fairbench.data.loading import load_dataset
from fairbench_datasets.bank_marketing import BankMarketing, BankMarketingAge, BankMarketingUnseen
from tests.support.real_data import (
    check_prepared,
    fingerprint_elsewhere,
    group_counts,
    root_with,
    share,
    unseen_shares,
)


def test_the_length_of_the_call_is_never_in_x() -> None:
    assert "duration" not in BankMarketing.x_columns()


def test_what_s_is_made_of_is_not_in_x_and_the_other_attribute_stays() -> None:
    assert set(BankMarketing.features) - set(BankMarketing.x_columns()) == {"marital"}
    assert set(BankMarketingAge.features) - set(BankMarketingAge.x_columns()) == {"age"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dataset", "groups"),
    [
        (BankMarketing, {"married": 27_214, "not married": 17_997}),
        (BankMarketingAge, {"40 or more": 21_849, "below 40": 23_362}),
        (BankMarketingUnseen, {"married": 27_214, "not married": 17_997}),
    ],
)
def test_facts_of_the_real_file(dataset: type[Dataset], groups: dict[str, int]) -> None:
    root = root_with(dataset)
    data = load_dataset(dataset, root=root)
    assert group_counts(data) == groups
    assert share(data, "subscribed") == pytest.approx(0.117, abs=0.0005)
    check_prepared(data)
    assert fingerprint_elsewhere(dataset, root) == data.fingerprint


def test_unseen_tasks_of_the_real_file() -> None:
    data = load_dataset(BankMarketingUnseen, root=root_with(BankMarketingUnseen))
    assert unseen_shares(data) == pytest.approx(
        {
            "housing_loan": 0.5558,
            "personal_loan": 0.1602,
            "tertiary": 0.2942,
            "balance_above_median": 0.4999,
            "long_call": 0.4988,
        },
        abs=0.0005,
    )
