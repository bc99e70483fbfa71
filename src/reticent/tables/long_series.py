"""A series that is too long to be held, switched part by part as it comes in order of time.

A part is what `chunks` gives of such a series, in a chunk of its own. An instant is drawn once all values in its reach
have come, from the words that the whole series would draw it from (see `SwitchStream`), so the release is that of the
whole series.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reticent.randomness import Source
from reticent.switching import Switch
from reticent.tables.chunks import Chunk

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray


class PartSwitch:
    """One series after another, each in parts.

    Parameters
    ----------
    switch : Switch
        A mechanism with bounded look-ahead.
    values : tuple of str
        Columns that move, together.
    """

    def __init__(self, switch: Switch, values: tuple[str, ...]) -> None:
        assert switch.look_ahead is not None
        self._look_ahead, self._sampler, self._values = switch.look_ahead, switch.sampler(), values
        self._source: Source
        self._waiting: pa.Table  # rows whose instants are not released, with the values that they hold by now
        self._origins: NDArray[np.int64]  # the instants of these values, counted from the next one to be released

    def release(self, part: Chunk, source: Source) -> pa.Table:
        """The rows whose instants are determined now; the others, fewer than the look-ahead, wait.

        Parameters
        ----------
        part : Chunk
            The next of its series, or the first of another.
        source : Source
            The source of the job.
        """
        import pyarrow as pa

        if part.begins:
            (tag,) = source.tags(part.encoded_ids)
            self._source = source.tagged(tag.tobytes())
            self._waiting, self._origins = part.table.slice(0, 0), np.empty(0, dtype=np.int64)
        table = pa.concat_tables([self._waiting, part.table]).combine_chunks()
        before = np.concatenate([self._origins, np.arange(self._origins.size, table.num_rows)])
        count = table.num_rows if part.ends else max(table.num_rows - self._look_ahead + 1, 0)
        after = before.copy()
        self._sampler.advance(after, 0, count, self._source)
        rows = pa.array(_places(before, after))
        for name in self._values:
            at = table.schema.get_field_index(name)
            table = table.set_column(at, table.schema.field(at), table[name].take(rows))
        self._waiting, self._origins = table.slice(count), after[count:] - count
        return table.slice(0, count)


def _places(before: NDArray[np.int64], after: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where in `before` each element of `after` is: the same distinct numbers, close together."""
    lowest = before.min()
    places = np.empty(before.max() - lowest + 1, dtype=np.int64)
    places[before - lowest] = np.arange(before.size)
    return places[after - lowest]
