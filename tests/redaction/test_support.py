"""Support of redactions, and the forced end of a sequential one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reticent as rt
from reticent.errors import ArgumentError, RefusedError
from reticent.redaction import SequentialRedaction, sequential_redaction
from reticent.redaction.support import possible, touched

CHAIN = rt.MarkovChain.binary(0.1, 0.3)


def released(mechanism: object, codes: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    mask = mechanism.release(codes, rt.seeded_source(seed)).mask
    withheld = mask.copy()
    withheld[list(mechanism.missing)] = False
    return np.where(mask, -1, codes), withheld


@settings(max_examples=40)
@given(st.integers(0, 11), st.sampled_from([0.3, 1.0, 2.0]), st.sampled_from([None, 5]), st.integers(0, 2**31))
def test_every_outcome_is_possible_and_untouched_records_are_shown(
    secret: int, epsilon: float, reach: int | None, seed: int
) -> None:
    codes = CHAIN.sample(12, rt.seeded_source(seed))
    mechanisms = [rt.markov_quilt(CHAIN, 12, secret, epsilon)]
    try:
        mechanisms.append(sequential_redaction(CHAIN, 12, secret, epsilon, reach=reach))
    except RefusedError:
        assert reach is not None
    for mechanism in mechanisms:
        shown, withheld = released(mechanism, codes, seed)
        assert possible(mechanism, shown, withheld)
        assert not withheld[~touched(mechanism)].any()
        whole = codes.copy()
        whole[secret] = -1
        only = np.zeros(12, dtype=bool)
        only[secret] = True
        exposed = np.where(only, codes, shown)
        assert not possible(mechanism, exposed, withheld & ~only), "a private record that is shown is never possible"


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("secret", [0, (20, 24), 39])
def test_a_reach_is_a_forced_end(secret: int | tuple[int, int], epsilon: float) -> None:
    free = sequential_redaction(CHAIN, 40, secret, epsilon)
    utilities = []
    for reach in (6, 8, 10, 20):
        try:
            ended = sequential_redaction(CHAIN, 40, secret, epsilon, reach=reach)
        except RefusedError:
            continue
        first, last = ended.private[0]
        far = np.ones(40, dtype=bool)
        far[max(first - reach, 0) : last + reach + 1] = False
        assert not touched(ended)[far].any()
        assert ended.leakage() <= epsilon + 1e-9
        assert SequentialRedaction.from_dict(ended.to_dict()).leakage() == ended.leakage()
        utilities.append(ended.utility())
    assert utilities, "some reach must do"
    assert utilities == sorted(utilities)
    assert utilities[-1] <= free.utility() + 1e-9
    assert utilities[-1] >= free.utility() - 0.01


def test_a_reach_is_a_number_of_records() -> None:
    with pytest.raises(ArgumentError, match="reach: must be a whole number"):
        sequential_redaction(CHAIN, 12, 3, 1.0, reach=-1)
    with pytest.raises(RefusedError, match="at its reach"):
        sequential_redaction(CHAIN, 40, 20, 0.0, reach=3)
