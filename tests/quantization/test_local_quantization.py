"""Local quantisation: what a reading, a series and a vector cost."""

from __future__ import annotations

import json
import math
import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.errors import ArgumentError
from reticent.quantization import LinearQuantizer, LocalQuantization, Quantizer, VectorQuantization, lloyd_max_quantizer
from reticent.quantization.local import even_split


def test_the_missing_value_is_an_output_where_it_counts() -> None:
    assert LocalQuantization(0, 10, bits=3).quantizer.levels == 8
    assert LocalQuantization(0, 10, bits=3, missing="output").quantizer.levels == 7
    assert LocalQuantization(0, 10, bits=3, outside="missing").quantizer.levels == 7
    assert LocalQuantization(0, 10, bits=3, outside="clip").quantizer.levels == 8
    assert {LocalQuantization(0, 10, bits=3, missing=m).outputs for m in ("public", "output")} == {8}
    nine = LocalQuantization.of(LinearQuantizer(0, 10, 8, missing="output"))
    assert nine.outputs == 9
    assert nine.guarantee.bits == pytest.approx(math.log2(9), abs=1e-12)
    with pytest.raises(ArgumentError, match="only output"):
        LocalQuantization(0, 10, bits=0, missing="output")


def test_what_is_assumed_is_said() -> None:
    assert "public which readings are missing" in LocalQuantization(0, 10, bits=3).guarantee.limits
    counted = LocalQuantization(0, 10, bits=3, missing="output", outside="clip").guarantee
    assert counted.assuming == ""
    assert "lies in [0, 6.7]" in LocalQuantization(0, 6.7, bits=3).describe()
    uneven = LocalQuantization.of(Quantizer([0, "9.999", 10]))
    assert "narrowest 0.001" in uneven.describe()
    assert uneven.to_dict()["narrowest"] == "0.001"


def test_per_reading_and_per_series() -> None:
    local = LocalQuantization(0, 10, bits=3)
    assert (local.guarantee.outputs, local.guarantee.per, local.guarantee.local) == (8, "reading", True)
    year = local.for_series(17520)
    assert (year.outputs, year.per, year.bits) == (8**17520, "series", 3 * 17520)
    json.dumps(year.to_dict())
    assert "52560 bits" in str(year)
    with pytest.raises(ArgumentError, match="readings"):
        local.for_series(0)


def test_release_reaches_every_output_and_no_more() -> None:
    local = LocalQuantization(0, 10, outputs=5, missing="output", outside="missing")
    values = np.concatenate([np.linspace(-1, 11, 1001), [np.nan, np.inf]])
    released = local.release(values)
    assert len(np.unique(released)) == local.outputs == 5


def test_round_trip() -> None:
    local = LocalQuantization("0.1", "1/3", outputs=7, outside="clip", symbols="interval")
    assert LocalQuantization.from_dict(json.loads(json.dumps(local.to_dict()))) == local
    chosen = LocalQuantization.of(lloyd_max_quantizer(lambda x: x, 0, 1, 5, missing="output"))
    assert LocalQuantization.from_dict(json.loads(json.dumps(chosen.to_dict()))) == chosen
    assert pickle.loads(pickle.dumps(chosen)) == chosen
    vector = VectorQuantization.split([("40.49", "40.92"), ("-74.27", "-73.68")], bits=9)
    assert VectorQuantization.from_dict(json.loads(json.dumps(vector.to_dict()))) == vector


def test_vectors_multiply() -> None:
    vector = VectorQuantization.split([(0, 1), (0, 2)], bits=5)
    assert [part.outputs for part in vector.coordinates] == [6, 5]
    assert vector.guarantee.outputs == vector.outputs == 30
    assert vector.for_series(2).outputs == 900
    x, y = np.meshgrid(np.linspace(0, 1, 50), np.linspace(0, 2, 50))
    released = vector.release([x.ravel(), y.ravel()])
    assert len(set(zip(*released, strict=True))) == 30
    stated = VectorQuantization([LocalQuantization(0, 1, bits=1), LocalQuantization(0, 1, bits=3)])
    assert stated.guarantee.bits == 4
    with pytest.raises(ArgumentError, match="2 columns"):
        vector.release([x.ravel()])


@given(st.integers(1, 3000), st.integers(1, 5))
def test_even_split(outputs: int, parts: int) -> None:
    split = even_split(outputs, parts)
    assert math.prod(split) <= outputs
    assert max(split) - min(split) <= 1
    smallest = split.index(min(split))
    raised = [*split[:smallest], split[smallest] + 1, *split[smallest + 1 :]]
    assert math.prod(raised) > outputs


def test_even_split_of_a_huge_budget() -> None:
    assert even_split(2**4000, 2) == (2**2000, 2**2000)


def test_the_room_loads_no_compiler() -> None:
    code = "import sys, reticent.quantization; print([m for m in ('numba', 'scipy', 'pandas') if m in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"
