"""Products of rows and directions in whole numbers of any size, one by one."""

import math

import numpy as np


def naive_products(rows, directions):
    """``(n, p)``: what :mod:`discreet.exact` says it computes."""
    left, right = [_whole(row) for row in rows], [_whole(row) for row in directions]
    out = [
        [math.ldexp(sum(a * b for a, b in zip(x, y, strict=True)), e + f) for y, f in right]
        for x, e in left
    ]
    return np.array(out)


def _whole(row):
    """A row's entries in multiples of a power of two, and its exponent."""
    largest = float(np.finfo(np.float32).max)
    single = [float(np.float32(min(max(float(x), -largest), largest))) for x in row]
    bits = (53 - len(single).bit_length()) // 2
    exponent = max(math.frexp(abs(x))[1] if x else -200 for x in single)
    if not any(single):
        exponent = 0
    return [round(math.ldexp(x, bits - exponent)) for x in single], exponent - bits
