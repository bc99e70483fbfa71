"""Model files: a chain, its sampling period, and keyed fingerprints of the data that it was fitted on."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from reticent.accounting.fingerprints import fingerprint_key, key_name, series_fingerprints
from reticent.errors import ArgumentError, InputError, RefusedError
from reticent.markov import MarkovChain, count_transitions
from reticent.quantization import Quantizer
from reticent.tables.chunks import Chunk, chunks
from reticent.tables.grid import Grid, Gridded, encode_states
from reticent.tables.panels import PRIVATE, Panel, bites
from reticent.tables.private import Finder
from reticent.tables.quantizing import quantize_column
from reticent.tables.spellings import Spellings, checked
from reticent.tables.sql import quoted, text

if TYPE_CHECKING:
    from reticent.tables.reading import Records

FORMAT = "reticent model"
SCHEMA = 1

Spans = dict[str, list[tuple[int, int]]]
Ticks = TypeVar("Ticks", int, NDArray[np.int64])


@dataclass(frozen=True)
class Model:
    """A chain with its origin.

    Parameters
    ----------
    chain : MarkovChain
        A periodic chain counts its instants from the epoch (1970-01-01 00:00, a Thursday).
    every : str, optional
        Sampling period that it was fitted at.
    key : str, optional
        Name of the key that the fingerprints were made with.
    spans : dict
        Fingerprint of each series that it was fitted on, with the stretches of time.
    quantizer : Quantizer, optional
        What makes states of numbers: its symbols are the states.
    spellings : mapping
        For each state the values that stand for it, as declared; none where values are the states themselves.
    """

    chain: MarkovChain
    every: str | None = None
    key: str | None = None
    spans: Spans = field(default_factory=dict)
    quantizer: Quantizer | None = None
    spellings: Spellings = field(default_factory=dict)

    def to_json(self) -> str:
        """The text of a model file."""
        body = {
            "format": FORMAT,
            "schema": SCHEMA,
            "every": self.every,
            "quantizer": None if self.quantizer is None else self.quantizer.to_dict(),
            "chain": self.chain.to_dict(),
            "spellings": [[state, list(values)] for state, values in self.spellings.items()],
            "fitted_on": {"key": self.key, "series": self.spans},
        }
        return json.dumps(body, indent=1, allow_nan=False, ensure_ascii=False) + "\n"

    @classmethod
    def read(cls, path: str | Path) -> Model:
        """Read a model file.

        Raises
        ------
        InputError
            A file that cannot be read or is no model.
        """
        path = Path(path)
        try:
            body = json.loads(path.read_text(encoding="utf-8"))
            if body["format"] != FORMAT or body["schema"] != SCHEMA:
                raise InputError(f"model: {path.name} is no model of this version; make one with reticent fit")
            fitted = body["fitted_on"]
            spans = {name: [(int(a), int(b)) for a, b in stretches] for name, stretches in fitted["series"].items()}
            cells = body.get("quantizer")
            quantizer = None if cells is None else Quantizer.from_dict(cells)
            chain = MarkovChain.from_dict(body["chain"])
            if quantizer is not None and chain.states != quantizer.symbols:
                raise InputError(f"model: the states of {path.name} are not the symbols of its cells")
            spellings = checked([(state, tuple(values)) for state, values in body.get("spellings", ())])
            return cls(chain, body["every"], fitted["key"], spans, quantizer, spellings)
        except OSError as error:
            raise InputError(f"model: {path.name} cannot be read ({error.strerror})") from None
        except InputError:
            raise
        except (KeyError, TypeError, AttributeError, ValueError, RecursionError):
            raise InputError(f"model: {path.name} is no model file; make one with reticent fit") from None

    def stretches(self, names: Sequence[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """What the model was fitted on of these series: the place of each among `names`, its first and last tick."""
        known = [self.spans.get(each, ()) for each in series_fingerprints(fingerprint_key(), names)]
        ends = np.array([each for own in known for each in own], dtype=np.int64).reshape(-1, 2)
        series = np.repeat(np.arange(len(names)), np.fromiter(map(len, known), dtype=np.int64, count=len(names)))
        return series, ends[:, 0], ends[:, 1]

    def refuse_overlap(self, overlap: bool) -> None:
        """Refuse to protect records, or their margin, that the model was fitted on.

        Raises
        ------
        RefusedError
            An overlap; or fingerprints that were made with another key, which cannot be compared.
        """
        if self.spans and key_name(fingerprint_key()) != self.key:
            raise RefusedError(
                "model: it was fitted under another key of fingerprints, so it cannot be told whether it was fitted "
                "on the records to be hidden; fit it here, or bring that key"
            )
        if overlap:
            raise RefusedError(
                "model: it was fitted on records that are to be hidden (or on their margin) and would give them "
                "away; fit it on earlier data (--until), or use --model-from released"
            )


def states_of(chunk: Chunk, grid: Grid, duplicates: str, quantizer: Quantizer | None) -> Chunk:
    """One record a step, its value coarsened to a state where the chain is one of cells.

    The record is chosen first: symbols that are words have another order than the values.
    """
    (column,) = chunk.columns.value
    chunk = grid.one_a_step(chunk, column, duplicates)
    if quantizer is None:
        return chunk
    at = chunk.table.schema.get_field_index(column)
    return replace(
        chunk, table=chunk.table.set_column(at, column, quantize_column(chunk.table[column], quantizer, column))
    )


def series_on_grid(chunk: Chunk, grid: Grid, column: str, states: Sequence[Hashable]) -> list[tuple[Gridded, Any]]:
    """Each series of a chunk on its grid, with the codes of its rows.

    Raises
    ------
    InputError
        Values that are no states.
    """
    codes = state_codes(chunk, column, states)
    ticks = grid.ticks(chunk.table[chunk.columns.time])
    rows = grid.positions(ticks, chunk.offsets)
    parts = zip(chunk.offsets[:-1].tolist(), chunk.offsets[1:].tolist(), strict=True)
    return [(Gridded.of(rows[a:b], ticks[a:b], grid.step), codes[a:b]) for a, b in parts]


def state_codes(chunk: Chunk, column: str, states: Sequence[Hashable]) -> NDArray[np.int64]:
    """Codes of a value column; see `series_on_grid`."""
    codes = encode_states(chunk.table[column], tuple(states))
    strangers = int((codes == -2).sum())
    if strangers:
        raise InputError(
            f"value: {strangers} entries of column {column} are not among the {len(states)} states of the model"
        )
    return codes


def limit(records: Records, since: str | None, until: str | None) -> Records:
    """The records from `since` on and before `until`, in the words of the time column.

    Raises
    ------
    InputError
        A limit that is no time, or no record within.
    """
    import duckdb

    if since is None and until is None:
        return records
    time, kind = quoted(records.columns.time), records.types[records.columns.time]
    limits = [f"{time} {sign} CAST({text(at)} AS {kind})" for sign, at in ((">=", since), ("<", until)) if at]
    try:
        records.con.execute(f"CREATE VIEW limited AS SELECT * FROM {records.view} WHERE {' AND '.join(limits)}")
        rows = records.con.sql("SELECT count(*) FROM limited").fetchall()[0][0]
    except duckdb.Error:
        raise InputError("since, until: must be times like those of the time column") from None
    if not rows:
        raise InputError("since, until: no record lies between them")
    period = " ".join(f"{word} {at}" for word, at in (("from", since), ("until", until)) if at)
    return replace(records, view="limited", rows=rows, plan=(*records.plan, ("period", f"{rows:,} rows {period}")))


def find_states(records: Records) -> tuple[Hashable, ...]:
    """The distinct values of the value column, sorted.

    Raises
    ------
    InputError
        More than 64: such a series is coarsened first.
    """
    column = quoted(records.columns.value[0])
    number = records.types[records.columns.value[0]].startswith(("FLOAT", "DOUBLE"))
    present = f"{column} IS NOT NULL" + (f" AND NOT isnan({column})" if number else "")
    found = records.con.sql(
        f"SELECT DISTINCT {column} AS v FROM {records.view} WHERE {present} ORDER BY v LIMIT 65"
    ).fetchall()
    if len(found) > 64:
        raise InputError(
            "value: more than 64 different values are no states; coarsen the series first (reticent quantize)"
        )
    if not found:
        raise InputError("value: every value is missing")
    return tuple(row[0] for row in found)


def fit_all(
    records: Records,
    grid: Grid,
    states: Sequence[Hashable],
    smoothing: float | None,
    period: int,
    duplicates: str,
    quantizer: Quantizer | None = None,
) -> Model:
    """A model of all that the file holds, with the fingerprints of what it was fitted on."""
    key = fingerprint_key()
    counts = np.zeros((period, len(states), len(states)), dtype=np.int64)
    spans: Spans = {}
    column = records.columns.value[0]
    for chunk in (states_of(each, grid, duplicates, quantizer) for each in chunks(records, duplicates=duplicates)):
        names = iter(series_fingerprints(key, chunk.ids))
        for panel, full, _ in _panels(chunk, grid, state_codes(chunk, column, states)):
            counts += _count(panel, full, len(states), period, grid)
            ends = panel.ticks[panel.offsets[:-1]].tolist(), panel.ticks[panel.offsets[1:] - 1].tolist()
            for first, last, name in zip(*ends, names, strict=False):  # names last: the next panel goes on with them
                spans.setdefault(name, []).append((first, last))
    chain = MarkovChain.from_counts(counts if period > 1 else counts[0], states, smoothing)
    return Model(chain, str(grid), key_name(key), spans, quantizer)


def codes_and_phases(
    records: Records, grid: Grid, chain: MarkovChain, duplicates: str, quantizer: Quantizer | None = None
) -> Iterator[tuple[NDArray[np.int64], int]]:
    """Each series on its grid as codes (-1 where missing), with its first step since the epoch."""
    column = records.columns.value[0]
    for chunk in (states_of(each, grid, duplicates, quantizer) for each in chunks(records, duplicates=duplicates)):
        for series, codes in series_on_grid(chunk, grid, column, chain.states):
            full = np.full(series.n, -1, dtype=np.int64)
            full[series.rows] = codes
            yield full, int(series.ticks[0]) // grid.step


def fit_released(
    records: Records,
    grid: Grid,
    finder: Finder,
    margin: int,
    states: Sequence[Hashable] | None,
    smoothing: float | None,
    period: int,
    duplicates: str,
    quantizer: Quantizer | None = None,
    look: Callable[[Chunk], None] = lambda chunk: None,
) -> MarkovChain:
    """A chain of the records farther than `margin` steps from every secret: those are released with certainty.

    Where no `states` are declared they are those that occur among these records, so the model is a function of what is
    published anyway. `look` is shown all series as they pass.
    """
    extra = (finder.flag,) if finder.flag else ()
    column = records.columns.value[0]
    known = list(states) if states is not None else []
    counts: dict[tuple[int, Any, Any], int] = {}
    seen: set[Any] = set()
    for whole in chunks(records, duplicates=duplicates, extra=extra):
        look(whole)
        chunk = states_of(whole, grid, duplicates, quantizer)
        alphabet = known or _alphabet(chunk, column)
        flags = np.asarray(chunk.table[finder.flag], dtype=bool) if finder.flag else None
        codes = state_codes(chunk, column, alphabet)
        for panel, full, here in _panels(chunk, grid, codes):
            marks = panel.marks(finder, codes[here], None if flags is None else flags[here])
            full[_near(marks == PRIVATE, panel.offsets, margin)] = -1
            seen.update(alphabet[code] for code in np.unique(full).tolist() if code >= 0)
            table = _count(panel, full, len(alphabet), period, grid)
            for t, a, b in np.argwhere(table).tolist():
                at = (t, alphabet[a], alphabet[b])
                counts[at] = counts.get(at, 0) + int(table[t, a, b])
    names = tuple(known) if known else tuple(sorted(seen))
    if not names:
        raise InputError("margin: it leaves no record to fit the model on; choose a smaller one, or a model file")
    index = {name: code for code, name in enumerate(names)}
    total = np.zeros((period, len(names), len(names)), dtype=np.int64)
    for (t, a, b), number in counts.items():
        total[t, index[a], index[b]] += number
    return MarkovChain.from_counts(total if period > 1 else total[0], names, smoothing)


def _panels(chunk: Chunk, grid: Grid, codes: NDArray[np.int64]) -> Iterator[tuple[Panel, NDArray[np.int64], slice]]:
    """The series of a chunk on their grids: the code of each position (-1 where there is none), and their rows."""
    ticks = grid.ticks(chunk.table[chunk.columns.time])
    rows = grid.positions(ticks, chunk.offsets)
    for series in bites(rows, chunk.offsets):
        bounds = chunk.offsets[series.start : series.stop + 1]
        here = slice(int(bounds[0]), int(bounds[-1]))
        panel = Panel.of(rows[here], ticks[here], bounds - bounds[0], grid.step)
        full = np.full(panel.ticks.size, -1, dtype=np.int64)
        full[panel.places] = codes[here]
        yield panel, full, here


def _count(panel: Panel, full: NDArray[np.int64], size: int, period: int, grid: Grid) -> NDArray[np.int64]:
    """Transitions of all series, shape (period, size, size); a gap or a missing value is no bridge."""
    seen = (full[:-1] >= 0) & (full[1:] >= 0)
    seen[panel.offsets[1:-1] - 1] = False
    now = np.flatnonzero(seen)
    pairs = full[now] * size + full[now + 1]
    if period > 1:
        starts = panel.offsets[:-1]
        phases = instant(panel.ticks[starts], grid, period) - starts
        pairs += (now + np.repeat(phases, np.diff(panel.offsets))[now]) % period * size**2
    return np.bincount(pairs, minlength=period * size**2).reshape(period, size, size)


def _near(private: NDArray[np.bool_], offsets: NDArray[np.int64], margin: int) -> NDArray[np.bool_]:
    """Positions at most `margin` steps from a private one of their series: see `near_secrets`."""
    place, lengths = np.arange(private.size), np.diff(offsets)
    before = np.maximum.accumulate(np.where(private, place, -1))
    after = np.minimum.accumulate(np.where(private, place, private.size)[::-1])[::-1]
    near = (before >= np.repeat(offsets[:-1], lengths)) & (place - before <= margin)
    return near | ((after < np.repeat(offsets[1:], lengths)) & (after - place <= margin))


def near_secrets(secrets: Sequence[tuple[int, int]], n: int, margin: int) -> NDArray[np.bool_]:
    """Positions at most `margin` steps from a secret, the secrets included."""
    near = np.zeros(n, dtype=bool)
    for first, last in secrets:
        near[max(first - margin, 0) : last + margin + 1] = True
    return near


def instant(ticks: Ticks, grid: Grid, period: int) -> Ticks:
    """The instant of a periodic chain at a time, or at each of several: steps since the epoch, modulo the period."""
    return (ticks // grid.step) % period


def count_on_grid(series: Gridded, codes: NDArray[np.int64], size: int, period: int, grid: Grid) -> NDArray[np.int64]:
    """Transitions of one series, shape (period, size, size); a gap or a missing value is no bridge."""
    full = np.full(series.n, -1, dtype=np.int64)
    full[series.rows] = codes
    return count_transitions(full, size, period, instant(int(series.ticks[0]), grid, period))


def _alphabet(chunk: Chunk, column: str) -> list[Any]:
    values = chunk.table[column].unique().to_pylist()
    return [value for value in values if value is not None and value == value]


def check_states(states: Sequence[Hashable]) -> None:
    """Refuse an alphabet that is too small to model, or that a model file or certificate could not write down."""
    if len(states) < 2:
        raise ArgumentError("states: a model needs at least two states")
    for state in states:
        plain = state.item() if isinstance(state, np.generic) else state
        if not isinstance(plain, str | int | float) or plain in (math.inf, -math.inf):
            raise ArgumentError("states: must be words, booleans or finite numbers; write dates and decimals as words")
