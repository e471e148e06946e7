"""Accessors of pandas and polars: the same as discreet.sanitize, from the other side."""

import pandas as pd
import polars as pl
import pytest

import discreet.integrations.pandas
import discreet.integrations.polars  # noqa: F401 - what adds the accessors
from command import MARKER
from discreet import DiscreetError

COLUMNS = {"body": [f"{MARKER} came", None], "stars": [1, 2]}


@pytest.mark.parametrize("library", [pd, pl])
def test_a_series_and_a_frame_have_it(library, sanitizer, is_released):
    series = library.Series(COLUMNS["body"])
    release = series.discreet.sanitize(sanitizer=sanitizer)
    assert isinstance(release.values, library.Series)
    assert is_released(release.values[0], 2)
    frame = library.DataFrame(COLUMNS)
    release = frame.discreet.sanitize("body", keep=["stars"], sanitizer=sanitizer)
    assert isinstance(release.values, library.DataFrame)
    assert is_released(release.values["body"][0], 2)
    assert release.statement.epsilon == 1.0
    with pytest.raises(DiscreetError, match="what becomes of stars"):
        frame.discreet.sanitize("body", sanitizer=sanitizer)
