"""Addresses of arrays, read two ways."""

from __future__ import annotations

import numpy as np
import pytest

from actorstream.native import address


@pytest.mark.parametrize("array", [np.arange(5), np.arange(9)[4:], np.zeros(3, np.int8)[1:2], np.empty(0)])
def test_the_address_is_that_of_the_array_interface(array: np.ndarray) -> None:
    expected = array.__array_interface__["data"][0]
    assert address.address_of(array) == address._by_interface(array) == expected
