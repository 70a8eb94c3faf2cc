"""What is screened: no row learns from its own label, and digits are those of the number."""

from __future__ import annotations

import numpy as np

from fairbench.auditing.auditors.views import standardised
from fairbench.auditing.wide.digits import digits
from fairbench.auditing.wide.localities import local_means
from fairbench.auditing.wide.orders import orders
from fairbench.auditing.wide.screening import screened


def test_no_row_learns_from_its_own_label() -> None:
    rng = np.random.default_rng(0)
    z = rng.random((4_000, 2)).astype(np.float32)
    residual = np.where(np.floor(16 * z[:, :1]) % 2 == 1, 0.5, -0.5)
    other = residual.copy()
    other[7] *= -1
    of_others = -other
    common = standardised(z).apply
    for fit in (screened, local_means):
        made, changed, opposite = (fit(z, common, one) for one in (residual, other, of_others))
        assert made is not None
        assert changed is not None
        assert opposite is not None
        np.testing.assert_allclose(made(z)[7], changed(z)[7], atol=1e-5)
        assert not np.allclose(made(z)[7], opposite(z)[7], atol=0.1), "it learns from the others"


def test_digits_are_those_of_the_number_as_released() -> None:
    z = np.array([[1234.56], [7.0], [0.25], [10.1]])
    columns = digits(z)
    assert columns is not None
    made = columns(z)
    # 52 binary digits of the number in hundredths, then its decimal ones, the lowest first.
    assert made[0, 52:58].tolist() == [6, 5, 4, 3, 2, 1]
    assert made[3, 52:56].tolist() == [0, 1, 0, 1]
    assert made[1, :10].tolist() == [int(bit) for bit in f"{700:010b}"[::-1]]


def test_bits_in_memory_are_those_of_the_precision() -> None:
    z = np.random.default_rng(0).random((100, 1))
    double, single = digits(z), digits(z.astype(np.float32))
    assert double is not None
    assert single is not None
    assert double(z).shape[1] == 53  # and the sign
    code = z.astype(np.float32).view(np.uint32)
    made = single(z.astype(np.float32))[:, :-1]
    np.testing.assert_array_equal(made @ 2.0 ** np.arange(32), code[:, 0])


def test_orders_compare_all_columns() -> None:
    z = np.array([[1.0, 2, 2], [3, 1, 2], [2, 2, 1], [1, 3, 3]])
    columns = orders(z)
    assert columns is not None
    made = columns(np.array([[5.0, 1, 1]]))[0]
    assert made[:3].tolist() == [1, 1, 0]  # larger: first of second, of third, second of third
    assert made[3:5].tolist() == [0, 1]  # equal: first and second, second and third
    assert made[5:8].tolist() == [1, 1, 5]
