"""The measures again, slowly and obviously: sets, loops and enumeration, straight from the definitions."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from itertools import combinations, product
from math import inf, log2

from hypothesis import strategies as st

Pairs = set[tuple[Hashable, Hashable]]


def pairs_of(table: list[list[int]]) -> Pairs:
    return {(x, y) for x, row in enumerate(table) for y, cell in enumerate(row) if cell}


def turned(pairs: Pairs) -> Pairs:
    return {(y, x) for x, y in pairs}


def xs(pairs: Pairs) -> set[Hashable]:
    return {x for x, _ in pairs}


def given(pairs: Pairs, y: Hashable) -> set[Hashable]:
    """⟦X|y⟧."""
    return {x for x, z in pairs if z == y}


def hartley(pairs: Pairs) -> float:
    return log2(len(xs(pairs)))


def conditional(pairs: Pairs) -> float:
    return max(log2(len(given(pairs, y))) for y in xs(turned(pairs)))


def information(pairs: Pairs) -> float:
    return hartley(pairs) - conditional(pairs)


def leakage(pairs: Pairs) -> float:
    return max(log2(len(xs(pairs)) / len(given(pairs, y))) for y in xs(turned(pairs)))


def symmetrized(pairs: Pairs) -> float:
    return min(leakage(pairs), leakage(turned(pairs)))


def partition(pairs: Pairs) -> set[frozenset[Hashable]]:
    """Start from the conditional ranges and merge any two that overlap, until none do."""
    parts = [given(pairs, y) for y in xs(turned(pairs))]
    while True:
        for a, b in combinations(parts, 2):
            if a & b:
                parts = [p for p in parts if p is not a and p is not b] + [a | b]
                break
        else:
            return {frozenset(p) for p in parts}


def maximin(pairs: Pairs) -> float:
    return log2(len(partition(pairs)))


def is_code(pairs: Pairs, words: Iterable[tuple[Hashable, ...]]) -> bool:
    """No output word can come from two of the words (paper, Eq. 10)."""
    seen: set[tuple[Hashable, ...]] = set()
    for word in words:
        outputs = set(product(*(given(turned(pairs), letter) for letter in word)))
        if seen & outputs:
            return False
        seen |= outputs
    return True


def largest_code(pairs: Pairs, letters: int = 1) -> int:
    """Size of the largest zero-error code, by branching on every word."""
    words = list(product(xs(pairs), repeat=letters))
    outputs = [set(product(*(given(turned(pairs), letter) for letter in word))) for word in words]

    def grow(index: int, taken: set[tuple[Hashable, ...]]) -> int:
        if index == len(words):
            return 0
        without = grow(index + 1, taken)
        if taken & outputs[index]:
            return without
        return max(without, 1 + grow(index + 1, taken | outputs[index]))

    return grow(0, set())


def subset_bound(pairs: Pairs) -> float:
    """sup of L_s0 over the subsets of the inputs (paper, Proposition 2)."""
    inputs = xs(pairs)
    return max(
        symmetrized({(x, y) for x, y in pairs if x in chosen})
        for size in range(1, len(inputs) + 1)
        for chosen in combinations(inputs, size)
    )


def performance(pairs: Pairs, test: dict[Hashable, Hashable]) -> float:
    """log2 of the number of y with ⟦H|y⟧ = {T(y)}."""
    correct = sum(given(pairs, y) == {test[y]} for y in xs(turned(pairs)))
    return log2(correct) if correct else -inf


def relations(most: int = 6) -> st.SearchStrategy[list[list[int]]]:
    """Tables of zeros and ones with at least one pair; rows and columns may be empty."""
    return st.tuples(st.integers(1, most), st.integers(1, most)).flatmap(
        lambda shape: st.lists(
            st.lists(st.integers(0, 1), min_size=shape[1], max_size=shape[1]),
            min_size=shape[0],
            max_size=shape[0],
        ).filter(lambda table: any(map(any, table)))
    )
