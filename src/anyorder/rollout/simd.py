"""Arithmetic that a compiler can run on many lanes at once: branch-free, in single precision."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

F = np.float32
OPTIONS: dict[str, Any] = {
    "fastmath": True,
    "error_model": "numpy",
    "nogil": True,
    "cache": True,
}

ZERO, HALF, ONE = F(0), F(0.5), F(1)
PI, HALF_PI, TWO_PI = F(math.pi), F(math.pi / 2), F(2 * math.pi)

# A rational approximation of tanh on [-TANH_END, TANH_END], good to about 1e-6.
TANH_END = F(7.90531110763549805)
P1, P3, P5 = F(4.89352455891786e-03), F(6.37261928875436e-04), F(1.48572235717979e-05)
P7, P9 = F(5.12229709037114e-08), F(-8.60467152213735e-11)
P11, P13 = F(2.00018790482477e-13), F(-2.76076847742355e-16)
Q0, Q2 = F(4.89352518554385e-03), F(2.26843463243900e-03)
Q4, Q6 = F(1.18534705686654e-04), F(1.19825839466702e-06)

# The Taylor series of sine, its last terms fitted to [-pi/2, pi/2].
S3, S5, S7 = F(-1 / 6), F(8.3333310e-3), F(-1.9840874e-4)
S9, S11 = F(2.7525562e-6), F(-2.3889859e-8)

inlined = njit(inline="always", **OPTIONS)


@inlined
def fast_tanh(x):
    x = max(min(x, TANH_END), -TANH_END)
    y = x * x
    p = x * (P1 + y * (P3 + y * (P5 + y * (P7 + y * (P9 + y * (P11 + y * P13))))))
    return p / (Q0 + y * (Q2 + y * (Q4 + y * Q6)))


@inlined
def sin_of_quarter(x):
    """Sine on [-pi/2, pi/2]."""
    y = x * x
    return x + x * y * (S3 + y * (S5 + y * (S7 + y * (S9 + y * S11))))


@inlined
def fast_sin(x):
    """Sine on [-pi, pi]: fold |x| about pi/2 and put the sign back."""
    folded = sin_of_quarter(HALF_PI - abs(abs(x) - HALF_PI))
    return folded if x >= ZERO else -folded


@inlined
def fast_cos(x):
    """Cosine on [-pi, pi]."""
    return sin_of_quarter(HALF_PI - abs(x))


@inlined
def wrap(angle):
    """Bring an angle within a turn of it back to [-pi, pi]."""
    angle = angle - TWO_PI if angle > PI else angle
    return angle + TWO_PI if angle < -PI else angle
