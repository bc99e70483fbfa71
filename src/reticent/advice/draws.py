"""What a release will realise: the mechanism is drawn many times on the very data, and the next draw is bounded.

*Derived here.* If the mechanism is drawn M times on the same data, these M figures and that of the release to come are
exchangeable. So each is as likely as any other to be the largest of the M + 1, and with probability at least
1 − 2/(M + 1) the figure to come lies between the least and the largest of the M, whatever its law is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.randomness import Source
from reticent.switching import Switch, switch_batch
from reticent.tables.chunks import Chunk, chunks
from reticent.tables.quantizing import QuantizeVerb
from reticent.tables.reading import Records
from reticent.tables.redacting import RedactVerb
from reticent.tables.switching import shuffled

Floats = NDArray[np.float64]

MOST_DRAWS, LEAST_DRAWS = 199, 19
_RECORDS = 40_000_000  # drawn in all, where that leaves enough draws
_ROUNDING = 1e-9  # sums of floats, in another order


@dataclass(frozen=True)
class Expected:
    """A figure that a release realises.

    Parameters
    ----------
    measure : str
        What is measured, in words; in steps, as a share (from 0 to 1), or in the unit of the values.
    value : float
        What is expected.
    low, high : float
        Between these it comes out with probability `confidence` at least.
    confidence : float
        1 where nothing is drawn at random.
    """

    measure: str
    value: float
    low: float
    high: float
    confidence: float

    @classmethod
    def of(cls, measure: str, figures: Floats) -> Expected:
        """From the figures of M independent draws, shape (M,)."""
        wide = _ROUNDING * float(np.abs(figures).max())
        low, high = float(figures.min()) - wide, float(figures.max()) + wide
        return cls(measure, float(figures.mean()), low, high, 1 - 2 / (figures.size + 1))

    @classmethod
    def certain(cls, measure: str, value: float, error: float = 0.0) -> Expected:
        """A figure that does not hang on chance, known up to `error`."""
        wide = error + _ROUNDING * abs(value)
        return cls(measure, value, max(value - wide, 0.0), value + wide, 1.0)


def draws_for(rows: int) -> int:
    """How often to draw: 199 times (99 %), fewer where there are more than 200,000 records, never fewer than 19."""
    return int(np.clip(_RECORDS // max(rows, 1), LEAST_DRAWS, MOST_DRAWS))


def switch_figures(
    records: Records, switch: Switch, duplicates: str, source: Source, numbers: bool
) -> tuple[Expected, Expected]:
    """How far off a value is at its instant (of words: how often another one stands there), and steps moved."""
    (column,) = records.columns.value
    many = draws_for(records.rows)
    off, pairs, steps = np.zeros(many), np.zeros(many), np.zeros(many)
    rows = 0
    for chunk in chunks(records, duplicates=duplicates):
        rows += chunk.table.num_rows
        places = np.arange(chunk.table.num_rows)
        for draw in range(many):
            own = source.spawn(f"draw {draw}")
            mixed = shuffled(chunk, own)
            values = comparable(mixed, column, numbers)
            order = switch_batch(switch, chunk.offsets, own, chunk.ids)
            # what was read, in the order of the file, beside what is released: records of one time may trade places
            change = np.abs(comparable(chunk, column, numbers) - values[order])
            change = change if numbers else change != 0
            there = ~np.isnan(change)
            off[draw] += change[there].sum()
            pairs[draw] += there.sum()
            steps[draw] += np.abs(order - places).sum()
    measure = "mean absolute error at an instant" if numbers else "share of instants changed"
    return (
        Expected.of(measure, off / np.maximum(pairs, 1)),
        Expected.of("mean steps moved", steps / max(rows, 1)),
    )


def redact_figures(verb: RedactVerb, source: Source) -> Expected:
    """The share of records that are released."""
    many = draws_for(verb.records.rows)
    withheld = np.zeros(many)
    rows = 0
    for chunk in chunks(verb.records, duplicates=verb.duplicates, extra=verb.extra):
        for draw in range(many):
            table = verb.apply(chunk, source.spawn(f"draw {draw}"))
            withheld[draw] += np.count_nonzero(np.asarray(table[f"{chunk.columns.value[0]}_redacted"]))
        rows += table.num_rows
    return Expected.of("share of records released", 1 - withheld / max(rows, 1))


def quantize_figures(verb: QuantizeVerb, duplicates: str, source: Source) -> tuple[Expected, Expected]:
    """Mean absolute and root mean squared error of a value; nothing is drawn."""
    (column,) = verb.records.columns.value
    total = squares = count = 0.0
    for chunk in chunks(verb.records, duplicates=duplicates):
        released = verb.apply(chunk, source)
        before, after = (np.asarray(to_numbers(each[column])) for each in (chunk.table, released))
        if chunk.moments is not None:  # records of one time come in the order of their symbols
            before = before[np.lexsort((before, chunk.moments))]
        error = before - after
        error = error[~np.isnan(error)]
        total, squares, count = total + np.abs(error).sum(), squares + (error**2).sum(), count + error.size
    count = max(count, 1)
    return (
        Expected.certain("mean absolute error", total / count),
        Expected.certain("root mean squared error", float(np.sqrt(squares / count))),
    )


def comparable(chunk: Chunk, column: str, numbers: bool) -> Floats:
    """Values as floats (NaN where missing); words as codes, a missing one being a word like any other."""
    if numbers:
        return to_numbers(chunk.table[column])
    encoded = chunk.table[column].combine_chunks().dictionary_encode("encode")
    words: Sequence[Any] = encoded.dictionary.to_pylist()
    rank = {word: float(at) for at, word in enumerate(sorted(words, key=repr))}
    return np.array([rank[word] for word in words])[encoded.indices.to_numpy(zero_copy_only=False)]


def to_numbers(column: Any) -> Floats:
    """A column of numbers as floats, NaN where missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return np.asarray(pc.cast(column, pa.float64()).to_numpy(), dtype=np.float64)
