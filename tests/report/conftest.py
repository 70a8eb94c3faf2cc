"""A browser for the tests of the page."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.browser import started


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    yield from started()
