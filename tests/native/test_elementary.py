"""Elementary functions: near the true value, and the bits of the same steps done by Python."""

from __future__ import annotations

import math

import numpy as np

from actorstream.native.elementary import cosine, exp, log
from actorstream.native.generate import ShardNumbering

LN2_HIGH, LN2_LOW = float.fromhex("0x1.62e42fefa2000p-1"), float.fromhex("0x1.9ef35793c7673p-41")
UNITS = ShardNumbering(seed=4).units(0, 4000, 1)
LEAST = 2.0**-53


def log_model(x: float) -> float:
    m, e = math.frexp(x)
    if m < math.sqrt(0.5):
        m, e = 2 * m, e - 1
    s = (m - 1) / (m + 1)
    z, total = s * s, 1 / 23
    for divisor in range(21, 1, -2):
        total = total * z + 1 / divisor
    return e * LN2_HIGH + (2 * s + (2 * s * (z * total) + e * LN2_LOW))


def exp_model(x: float) -> float:
    k = int(x * float.fromhex("0x1.71547652b82fep+0") + (-0.5 if x < 0 else 0.5))
    r, total = (x - k * LN2_HIGH) - k * LN2_LOW, 1 / math.factorial(13)
    for number in range(12, -1, -1):
        total = total * r + 1 / math.factorial(number)
    return math.ldexp(total, k)


def cosine_model(x: float) -> float:
    eighth = int(x * 8)
    r = x * 8 - eighth
    y = (1 - r if eighth % 2 else r) * (math.pi / 4)
    z = y * y
    sine, value = 1 / math.factorial(17), 1 / math.factorial(16)
    for number in range(15, 1, -2):
        sine = sine * z + (-1) ** (number // 2) / math.factorial(number)
    for number in range(14, -1, -2):
        value = value * z + (-1) ** (number // 2) / math.factorial(number)
    if eighth in (1, 2, 5, 6):
        value = y + y * (sine * z)
    return -value if eighth in (2, 3, 4, 5) else value


def test_logarithms_are_right_and_have_the_bits_of_the_model() -> None:
    values = np.concatenate((1 - UNITS, np.arange(1.0, 3000.0), [1 - LEAST, LEAST, math.sqrt(0.5), 1e300]))
    found = log(values)
    assert found.tolist() == [log_model(each) for each in values.tolist()]
    np.testing.assert_array_max_ulp(found, np.log(values), 4)
    assert log(np.ones(1)).tolist() == [0.0]


def test_exponentials_are_right_and_have_the_bits_of_the_model() -> None:
    values = np.concatenate((UNITS * 1400 - 700, -UNITS, [0.0, -0.5, 0.5, 709.0, -708.0]))
    found = exp(values)
    assert found.tolist() == [exp_model(each) for each in values.tolist()]
    np.testing.assert_array_max_ulp(found, np.exp(values), 4)
    assert exp(np.array([0.0, -709.0, 710.0])).tolist() == [1.0, 0.0, math.inf]


def test_cosines_are_right_and_have_the_bits_of_the_model() -> None:
    values = np.concatenate((UNITS, np.arange(0, 1, 1 / 64), [1 - LEAST]))
    found = cosine(values)
    assert found.tolist() == [cosine_model(each) for each in values.tolist()]
    np.testing.assert_allclose(found, np.cos(2 * np.pi * values), rtol=0, atol=1e-15)
