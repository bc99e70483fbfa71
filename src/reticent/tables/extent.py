"""How much a release holds: rows, series, and the length of the longest."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from reticent.tables.chunks import series_offsets

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass
class Extent:
    """Counted table by table; a series that goes on in the next table is one."""

    rows: int = 0
    series: int = 0
    longest: int = 0
    _last: list[Any] = field(default_factory=list)
    _length: int = 0

    def add(self, table: pa.Table, ids: tuple[str, ...]) -> None:
        """Rows in order of the series that the columns `ids` name."""
        if not table.num_rows:
            return
        lengths = np.diff(series_offsets(table, ids))
        first, last = ([table[name][at].as_py() for name in ids] for at in (0, table.num_rows - 1))
        if self.rows and first == self._last:
            lengths[0] += self._length
            self.series -= 1
        self.rows += table.num_rows
        self.series += lengths.size
        self.longest = max(self.longest, int(lengths.max()))
        self._last, self._length = last, int(lengths[-1])

    def facts(self) -> dict[str, int]:
        """As a certificate says it."""
        return {"rows": self.rows, "series": self.series, "longest": self.longest}
