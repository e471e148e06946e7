"""Names for the arrays that pass between rooms."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Floats32 = NDArray[np.float32]
Ids = NDArray[np.int64]
"""Numbers of words, rows, classes or places."""
Rows = NDArray[np.floating[Any]]
"""Rows of numbers in whatever precision they came."""
Generator = np.random.Generator
Progress = Callable[[int, int], None]
"""Called with (done, total) while something long is under way."""
