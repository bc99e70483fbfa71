"""Whether a released file is the one a certificate speaks of, and a possible outcome of its mechanism."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from reticent.claims import redaction_from_dict, rosters
from reticent.errors import EmptyInputError, ReticentError, VerificationError
from reticent.markov import MarkovChain
from reticent.quantization import AggregateQuantization, VectorQuantization
from reticent.redaction.support import possible
from reticent.tables.chunks import Chunk, chunks
from reticent.tables.content import content_hash, content_kinds, series_hashes
from reticent.tables.delimited import Reading
from reticent.tables.following.lines import released_table
from reticent.tables.formulas import unguarded
from reticent.tables.grid import Grid, Gridded, encode_states, runs
from reticent.tables.models import count_on_grid, near_secrets
from reticent.tables.own_range import cell_numbers_of
from reticent.tables.reading import Columns, connect, open_records
from reticent.tables.sources import source_of

if TYPE_CHECKING:
    from reticent.certificates import Certificate

Checks = list[tuple[str, str]]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


def check_released(path: Path, certificate: Certificate) -> Checks:
    """Hash, columns, order of rows, and support of the mechanism; no private data is needed.

    Raises
    ------
    VerificationError
        The first thing that does not hold.
    """
    from reticent.tables.charging import file_hash

    if "content" in certificate.released:
        return _check_content(path, certificate)
    if "sha256" not in certificate.released:
        raise VerificationError("certificate: it is of a data frame and names no file; release to a file to check one")
    try:
        same = file_hash(path) == certificate.released["sha256"]
    except OSError as error:
        raise VerificationError(f"released file: {path.name} cannot be read ({error.strerror})") from None
    if not same:
        raise VerificationError(f"released file: {path.name} is not the file of this certificate (its SHA-256 differs)")
    outcome = _guarded(lambda: _check_outcome(path, certificate))
    return [("released file", "its SHA-256 is the certificate's"), ("outcome", outcome)]


def _check_content(path: Path, certificate: Certificate) -> Checks:
    """Of a release that was no file: its records, in a file or a folder of Parquet files, in whatever order."""
    hashes: list[bytes] = []
    kinds: list[tuple[str, str]] = []

    def look(chunk: Chunk) -> None:
        hashes.extend(series_hashes(chunk))
        kinds[:] = content_kinds(chunk.table.schema)

    if not path.exists():
        raise VerificationError(f"released file: {path.name} is not there")
    outcome = _guarded(lambda: _check_outcome(path, certificate, look))
    if content_hash(kinds, hashes) != certificate.released["content"]:
        raise VerificationError(f"released file: {path.name} does not hold the records of this certificate")
    return [("released file", "the SHA-256 of its records is the certificate's"), ("outcome", outcome)]


def _guarded(check: Callable[[], str]) -> str:
    """The outcome; whatever goes wrong is one sentence."""
    try:
        return check()
    except VerificationError:
        raise
    except ReticentError as error:
        raise VerificationError(f"released file: {error}") from None
    except Exception as error:  # whoever wrote a certificate may have put anything into it
        raise VerificationError(
            f"released file: it is not what the certificate describes ({type(error).__name__})"
        ) from None


def _check_outcome(path: Path, certificate: Certificate, look: Callable[[Chunk], None] = lambda chunk: None) -> str:
    released = certificate.released
    parts = released["columns"]
    values = tuple(parts["value"])
    columns = Columns(parts["time"], (*values, *parts["added"]), tuple(parts["id"]), tuple(parts["kept"]))
    rows = series = longest = 0
    kind = "aggregate" if "aggregate" in certificate.parameters else certificate.action
    support = _SUPPORT[kind](certificate.parameters, values)
    counts = released["rows"], released["series"], released["longest"]
    if counts == (0, 0, 0) and "continued" in certificate.parameters:
        return _check_empty(path, columns, released)
    for chunk in released_chunks(path, columns, released):
        support(chunk)
        look(chunk)
        rows += chunk.table.num_rows
        series += len(chunk.lengths)
        longest = max(longest, int(chunk.lengths.max()))
    support.finish()
    if (rows, series, longest) != counts:
        raise VerificationError("released file: it has another number of rows or series than the certificate says")
    return f"{rows:,} rows in {series:,} series, each a possible outcome of the mechanism"


def _check_empty(path: Path, columns: Columns, released: Mapping[str, Any]) -> str:
    """A file of a stream that holds all back."""
    try:
        next(released_chunks(path, columns, released))
    except EmptyInputError:
        return "no rows: the stream holds all back"
    raise VerificationError("released file: it has rows, and the certificate says that it has none")


def released_chunks(path: Path, columns: Columns, released: Mapping[str, Any]) -> Iterator[Chunk]:
    """The series of a released file, read as the certificate says that it was written."""
    import tempfile

    with tempfile.TemporaryDirectory() as scratch, connect(None, Path(scratch)) as con:
        reading = Reading(released.get("delimiter"), nulls=("",), kinds=released.get("kinds", {}), null_id="group")
        records = open_records(con, _content(path, columns, released), columns, reading)
        if released.get("formulas") == "quote":
            records = unguarded(records)
        yield from chunks(records, duplicates="keep")


def _content(path: Path, columns: Columns, released: Mapping[str, Any]) -> Any:
    """A file, the table that its lines are, or the data set that a folder of Parquet files is."""
    if released.get("format") == "jsonl":
        return released_table(path, columns)
    return source_of(path, words="words" in released.get("kinds", {}).values()) if path.is_dir() else path


class _Support(Protocol):
    """Checks the chunks of a released file one after the other, then the whole."""

    def __call__(self, chunk: Chunk) -> None: ...

    def finish(self) -> None: ...


class _Switched:
    """Any order of any values is possible; the columns must be there."""

    def __init__(self, parameters: Mapping[str, Any], values: tuple[str, ...]) -> None:
        pass

    def __call__(self, chunk: Chunk) -> None:
        pass

    def finish(self) -> None:
        pass


class _Quantized:
    """Every value is a declared symbol, or missing where that is allowed."""

    def __init__(self, parameters: Mapping[str, Any], values: tuple[str, ...]) -> None:
        if "range" in parameters:
            symbols: list[Any] = [*cell_numbers_of(parameters)]
        else:
            coordinates = VectorQuantization.from_dict({"coordinates": parameters["coordinates"]}).coordinates
            symbols = [part.quantizer.symbols for part in coordinates]
        self.symbols = dict(zip(values, symbols, strict=True))

    def __call__(self, chunk: Chunk) -> None:
        for name, symbols in self.symbols.items():
            strangers = int((encode_states(chunk.table[name], symbols) == -2).sum())
            if strangers:
                raise VerificationError(f"released file: {strangers} entries of column {name} are no declared symbol")

    def finish(self) -> None:
        pass


class _Aggregated:
    """Every aggregate is a symbol of its group's cells, or withheld where that can be."""

    def __init__(self, parameters: Mapping[str, Any], values: tuple[str, ...]) -> None:
        self.mechanism = AggregateQuantization.from_dict(parameters["aggregate"])
        self.rosters = rosters(parameters, parameters["readings"])
        (self.column,) = values

    def __call__(self, chunk: Chunk) -> None:
        may_be_withheld = bool(self.mechanism.withheld_outputs)
        for a, b in zip(chunk.offsets[:-1].tolist(), chunk.offsets[1:].tolist(), strict=True):
            roster = next(self.rosters, None)
            if roster is None:
                raise VerificationError("released file: it has more groups than the certificate says")
            codes = encode_states(
                chunk.table[self.column].slice(a, b - a), self.mechanism.plan(roster).quantizer.symbols
            )
            if (codes == -2).any() or ((codes == -1).any() and not may_be_withheld):
                raise VerificationError(f"released file: entries of column {self.column} are no symbols of their group")

    def finish(self) -> None:
        if next(self.rosters, None) is not None:
            raise VerificationError("released file: it has fewer groups than the certificate says")


class _Redacted:
    """Secrets are withheld, records that are released with certainty are there, every value is a state."""

    def __init__(self, parameters: Mapping[str, Any], values: tuple[str, ...]) -> None:
        self.mechanisms = [redaction_from_dict(each, parameters["chains"]) for each in parameters["mechanisms"]]
        self.which = (index for index, count in parameters["series"] for _ in range(count))
        self.grid = Grid(parameters["every"]["step"], parameters["every"]["unit"] == "1")
        self.model = parameters["model"]
        self.chain = MarkovChain.from_dict(parameters["chains"][0])
        self.counts = np.zeros((self.chain.period, self.chain.size, self.chain.size), dtype=np.int64)
        (self.column,) = values
        self.flag = f"{self.column}_redacted"

    def __call__(self, chunk: Chunk) -> None:
        import pyarrow as pa

        codes = encode_states(chunk.table[self.column], self.chain.states)
        if not pa.types.is_boolean(chunk.table.schema.field(self.flag).type):
            raise VerificationError(f"released file: the column {self.flag} is not boolean")
        flags = np.asarray(chunk.table[self.flag], dtype=bool)
        ticks = self.grid.ticks(chunk.table[chunk.columns.time])
        rows = self.grid.positions(ticks, chunk.offsets)
        if (flags & (codes != -1)).any():
            raise VerificationError("released file: a record that is marked as redacted has a value")
        for a, b in zip(chunk.offsets[:-1].tolist(), chunk.offsets[1:].tolist(), strict=True):
            index = next(self.which, None)
            series = Gridded.of(rows[a:b], ticks[a:b], self.grid.step)
            if index is not None:
                self._check(series, codes[a:b], flags[a:b], self.mechanisms[index])
            elif flags[a:b].any():
                raise VerificationError("released file: a series without private records has redacted ones")
            if self.model["origin"] == "released":
                secrets = () if index is None else self.mechanisms[index].private
                near = near_secrets(secrets, series.n, self.model["margin"])
                shown = np.where(near[series.rows], -1, codes[a:b])
                self.counts += count_on_grid(series, shown, self.chain.size, self.chain.period, self.grid)

    def finish(self) -> None:
        """The chain must be the one that the released records give, where the certificate says so."""
        if self.model["origin"] == "released":
            given = MarkovChain.from_counts(self.counts, self.chain.states, self.model["smoothing"])
            if not np.allclose(given.transitions, self.chain.transitions, rtol=1e-9, atol=0):
                raise VerificationError("released file: its records do not give the chain of the certificate")

    def _check(self, series: Gridded, codes: Any, flags: Any, mechanism: Any) -> None:
        if series.n != mechanism.n:
            raise VerificationError("released file: a series does not have the length that the certificate says")
        if (codes == -2).any():
            raise VerificationError("released file: a value is not among the states of the chain")
        hidden = np.zeros(series.n, dtype=bool)
        for first, last in mechanism.private:
            hidden[first : last + 1] = True
        absent = np.ones(series.n, dtype=bool)
        absent[series.rows[(codes >= 0) | flags]] = False
        if runs(absent & ~hidden) != runs(_mask(mechanism.missing, series.n)):
            raise VerificationError("released file: other records are missing than the certificate says")
        if not flags[hidden[series.rows]].all():
            raise VerificationError("released file: a private record is not withheld")
        shown, withheld = np.full(series.n, -1, dtype=np.int64), hidden.copy()
        shown[series.rows], withheld[series.rows] = codes, flags
        if not possible(mechanism, shown, withheld):
            raise VerificationError("released file: the mechanism does not withhold these records")


def _mask(positions: Sequence[int], n: int) -> Bools:
    mask = np.zeros(n, dtype=bool)
    mask[list(positions)] = True
    return mask


_SUPPORT: dict[str, Callable[[Mapping[str, Any], tuple[str, ...]], _Support]] = {
    "switch": _Switched,
    "quantize": _Quantized,
    "redact": _Redacted,
    "aggregate": _Aggregated,
}
