"""How loops over records are compiled: when first called, kept for later processes, without Python's lock."""

from __future__ import annotations

from functools import partial

import numba

kernel = partial(numba.njit, cache=True, nogil=True, no_cfunc_wrapper=True)
"""A loop that Python calls. Nobody calls it from C, and what that would need takes an eighth of the time."""

inner = partial(kernel, no_cpython_wrapper=True)
"""What only other loops call: it compiles in two thirds of the time."""
