"""What a redaction can show and withhold: needed to verify a release, and to say which records it may touch."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reticent.redaction.leakage import Bools
from reticent.redaction.policy import RedactionPolicy
from reticent.redaction.sequential import SequentialRedaction
from reticent.redaction.sequential.walks import Walk

Codes = NDArray[np.int64]


def touched(mechanism: RedactionPolicy | SequentialRedaction) -> Bools:
    """Records that may be withheld (private and missing ones included), shape (n,); all others are always released."""
    if isinstance(mechanism, RedactionPolicy):
        return mechanism.touched
    mask = np.ones(mechanism.n, dtype=np.bool_)
    for walk in mechanism.walks:
        walk.along(mask)[_surely_released_from(walk) - 1 :] = False
    mask[mechanism.gaps] = True
    return mask


def possible(mechanism: RedactionPolicy | SequentialRedaction, codes: Codes, withheld: Bools) -> bool:
    """Whether the mechanism can produce an outcome, whatever the hidden values are.

    Parameters
    ----------
    codes : int64, shape (n,)
        Codes of the records that are shown, -1 elsewhere.
    withheld : bool, shape (n,)
        Records that are withheld; neither shown nor withheld is missing.
    """
    shown = codes >= 0
    if isinstance(mechanism, RedactionPolicy):
        if (withheld & ~mechanism.touched).any() or (shown & mechanism.certain).any():
            return False
        r, part = mechanism.near, slice(mechanism.low, mechanism.low + len(mechanism.near))
        shown, codes = shown[part], codes[part]
        return bool((r[shown, codes[shown]] < 1).all())
    if withheld[mechanism.gaps].any():
        return False
    outside = np.ones(mechanism.n, dtype=np.bool_)
    for walk in mechanism.walks:
        walk.along(outside)[:] = False
        if not _walk_possible(walk, walk.along(codes), walk.along(withheld)):
            return False
    return not shown[outside].any()


def _walk_possible(walk: Walk, codes: Codes, withheld: Bools) -> bool:
    """Withheld up to a first release that has a positive probability, and released from there on."""
    there = np.flatnonzero(walk.present[1:])
    seen = there[codes[there] >= 0]
    if not seen.size:
        return _surely_released_from(walk) > walk.count
    first = int(seen[0])
    rest = there[there >= first]
    if withheld[rest].any() or first + 1 >= len(walk.release) or first + 1 > _surely_released_from(walk):
        return False
    return bool((walk.release[first + 1, :, codes[first]] > 0).any())


def _surely_released_from(walk: Walk) -> int:
    """The first distance at which release is certain (count + 1 if there is none)."""
    certain = np.flatnonzero((walk.release >= 1).all(axis=(1, 2)))
    return int(certain[0]) if certain.size else walk.count + 1
