"""The attacks that fit a release, run on one's own data: what `reticent attack` does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from reticent.attacks.frame import AttackResult
from reticent.attacks.pairs import MOST_ROWS, SeriesPair, columns_of, grid_of, numbers_of, read_pairs
from reticent.certificates import Certificate
from reticent.errors import ArgumentError, InputError
from reticent.guarantees import TemporalGuarantee
from reticent.randomness import Source, secure_source
from reticent.tables.delimited import Reading

if TYPE_CHECKING:
    from reticent.attacks.reconstruction import Case

Found: TypeAlias = AttackResult | tuple[AttackResult, ...]
Step: TypeAlias = tuple[str, Callable[[], Found]]
Progress = Callable[[str, int, int], None]

RUNS = 10_000
_REALIGNED = 40_000  # rows that are put back in order: the work grows with the square of a piece
_COLUMNS = 3  # value columns that are attacked


@dataclass(frozen=True, eq=False)
class AttackReport:
    """What the attacks found. **Private**: it was computed from original values.

    Attributes
    ----------
    certificate : Certificate
    results : tuple of AttackResult
    notes : tuple of str
        What was left out, and why; each a sentence.
    """

    certificate: Certificate
    results: tuple[AttackResult, ...]
    notes: tuple[str, ...]

    def rows(self) -> list[dict[str, Any]]:
        """One flat row a result."""
        return [result.row() for result in self.results]


def run(
    original: Any,
    released: Any,
    certificate: Certificate | str | Path | None = None,
    *,
    side: str | None = None,
    id: str | tuple[str, ...] = (),
    runs: int = RUNS,
    reading: Reading | None = None,
    source: Source | None = None,
    progress: Progress | None = None,
) -> AttackReport:
    """Run the attacks that fit a release.

    Parameters
    ----------
    original, released : path or frame
        What the release was made from, and the release.
    certificate : Certificate or path, optional
        ``RELEASED.certificate.json`` by default.
    side : str, optional
        For a switch: a column of the original with numbers that the adversary holds, each at its true instant.
    id : str or tuple of str
        For an aggregate: what names an individual in the original.
    runs : int
        Series drawn, or games played, where an attack draws any.
    reading : Reading, optional
        How the original is to be read.
    source : Source, optional
    progress : callable, optional
        Called with what is being done, steps done and steps in all.

    Returns
    -------
    AttackReport

    Raises
    ------
    VerificationError
        A certificate that does not verify, or a released file that is not its own.
    ArgumentError, InputError
        An option that does not fit the release, a column that is not there, an original that is another.
    """
    if runs < 1:
        raise ArgumentError("runs: must be a positive number")
    source = secure_source() if source is None else source
    is_file = isinstance(released, str | Path)
    if certificate is None:
        if not is_file:
            raise ArgumentError("certificate: a frame does not say where its certificate is; pass it too")
        certificate = Path(released).with_name(f"{Path(released).name}.certificate.json")
    if not isinstance(certificate, Certificate):
        certificate = Certificate.read(certificate)
    certificate.verify(released if is_file else None)
    if certificate.claims["guarantee"]["kind"] == "none":
        raise ArgumentError(
            "certificate: nothing is promised of this release, so no attack can be held against a promise"
        )
    kind = "aggregate" if "aggregate" in certificate.parameters else certificate.action
    if side is not None and kind != "switch":
        raise ArgumentError("side: only a switch is realigned with a correlated series; leave it out")
    columns = columns_of(certificate)
    if side in (columns.time, *columns.id):
        raise ArgumentError(f"side: column {side} tells series or times apart; name one with numbers")
    if id and kind != "aggregate":
        raise ArgumentError("id: the certificate names the columns of this release; leave it out")
    notes: list[str] = []
    reader = Reader(original, released, certificate, reading, side, (id,) if isinstance(id, str) else tuple(id))
    steps = list(_STEPS[kind](reader, runs, source, notes))
    results: list[AttackResult] = []
    for done, (label, attack) in enumerate(steps):
        if progress:
            progress(label, done, len(steps))
        found = attack()
        results += found if isinstance(found, tuple) else (found,)
    if progress:
        progress("done", len(steps), len(steps))
    return AttackReport(certificate, tuple(results), tuple(notes))


@dataclass(frozen=True)
class Reader:
    """Where everything is."""

    original: Any
    released: Any
    certificate: Certificate
    reading: Reading | None
    side: str | None
    id: tuple[str, ...]

    @property
    def parameters(self) -> Any:
        """Of the certificate."""
        return self.certificate.parameters

    @property
    def epsilon(self) -> float:
        """Of the certificate's guarantee, in nats."""
        stated = self.certificate.claims["guarantee"]["epsilon"]
        return float("inf") if stated == "infinity" else float(stated)

    def pairs(self, notes: list[str]) -> list[SeriesPair]:
        """The series, before and after."""
        extra = () if self.side is None else (self.side,)
        found = list(read_pairs(self.original, self.released, self.certificate, self.reading, extra=extra))
        left = self.certificate.released["rows"] - sum(pair.before.num_rows for pair in found)
        if left > 0:
            notes.append(f"Attacks on this release use its first {MOST_ROWS:,} rows or so, and leave {left:,} out.")
        return found


# --- redaction -------------------------------------------------------------------------------------------------------


def _redaction(reader: Reader, runs: int, source: Source, notes: list[str]) -> Iterator[Step]:
    from reticent.attacks.linkage import link_redactions
    from reticent.attacks.reconstruction import reconstruct, reconstruct_cases
    from reticent.claims import redaction_from_dict
    from reticent.redaction import SequentialRedaction

    parameters = reader.parameters
    mechanisms = [redaction_from_dict(each, parameters["chains"]) for each in parameters["mechanisms"]]
    which = [index for index, count in parameters["series"] for _ in range(count)]
    cases = _cases(reader, mechanisms, which, notes)
    if not cases:
        notes.append("No series that was read holds a private record, so there is nothing to reconstruct.")
        return
    yield "this release, knowing the chain", partial(reconstruct_cases, cases, reader.epsilon)
    yield "this release, estimating the chain", partial(reconstruct_cases, cases, reader.epsilon, "estimated")
    usual = Counter(index for index in which if index is not None).most_common(1)[0][0]
    design = mechanisms[usual]
    yield (
        "series drawn from the chain",
        partial(reconstruct, design, epsilon=reader.epsilon, runs=runs, source=source.spawn("drawn")),
    )
    if len(mechanisms) > 1:
        notes.append(f"Series are drawn for the commonest of {len(mechanisms):,} designs.")
    if len(design.private) > 1:
        notes.append("Series are drawn for the first secret of the design.")
    if isinstance(design, SequentialRedaction) and len(design.private) > 1:
        notes.append("Two draws of a sequential redaction are linked where it has one secret.")
    else:
        yield "two releases of one series", partial(link_redactions, design, runs=runs, source=source.spawn("linked"))


def _cases(reader: Reader, mechanisms: list[Any], which: list[int | None], notes: list[str]) -> list[Case]:
    """The series with secrets on their grid, by design."""
    from reticent.attacks.reconstruction import Case
    from reticent.tables.grid import encode_states

    grid = grid_of(reader.parameters)
    columns = columns_of(reader.certificate)
    (column,) = columns.value
    grouped: dict[int, list[Any]] = {}
    for index, pair in zip(which, reader.pairs(notes), strict=False):
        if index is None:
            continue
        design = mechanisms[index]
        rows = grid.positions(grid.ticks(pair.after[columns.time]), np.array([0, pair.after.num_rows]))
        both = np.full((2, design.n), -1, dtype=np.int64)
        for line, table in zip(both, (pair.before, pair.after), strict=True):
            line[rows] = encode_states(table[column], design.chain.states)
        if (both == -2).any():
            raise InputError(
                f"original: {int((both[0] == -2).sum())} entries of column {column} are no states of the certificate; "
                "give the file that the release was made from"
            )
        grouped.setdefault(index, []).append(both)
    return [Case(mechanisms[index], *np.stack(found, axis=1)) for index, found in grouped.items()]


# --- switching -------------------------------------------------------------------------------------------------------


def _switching(reader: Reader, runs: int, source: Source, notes: list[str]) -> Iterator[Step]:
    from reticent.attacks.linkage import link_switches
    from reticent.attacks.realignment import neighbour_test
    from reticent.claims import switch_of

    switch = switch_of(reader.parameters)
    stated = reader.certificate.claims["guarantee"]
    guarantee = TemporalGuarantee(reader.epsilon, stated["delta"], stated["window"], stated["statistical"])
    if reader.parameters.get("continued") is None:
        yield from _realigned(reader, switch, notes)
    else:
        notes.append(
            "One file of a stream holds values of the files before it, so its series are not put back in order."
        )
    if switch.window < 2:
        notes.append("Within one step there are no two neighbours to tell apart.")
        return
    for distance in sorted({1, switch.window - 1}):
        pair = (switch.window - 1, switch.window - 1 + distance)
        game = partial(neighbour_test, switch, pair=pair, guarantee=guarantee, runs=runs)
        yield f"neighbours {distance} apart", partial(game, source=source.spawn(distance))
    yield "two releases of one series", partial(link_switches, switch, runs=runs, source=source.spawn("linked"))


def _realigned(reader: Reader, switch: Any, notes: list[str]) -> Iterator[Step]:
    from reticent.attacks.realignment import realignment

    pairs: list[SeriesPair] = []
    rows = 0
    for pair in reader.pairs(notes):
        if pairs and rows + pair.before.num_rows > _REALIGNED:
            notes.append(f"The first {len(pairs):,} series are put back in order, {rows:,} rows of them.")
            break
        pairs.append(pair)
        rows += pair.before.num_rows
    if reader.parameters["cuts"] is not None:
        notes.append("Realignment does not make use of the public cuts.")
    held = None if reader.side is None else [numbers_of(pair.before[reader.side]) for pair in pairs]
    if held is not None and held[0] is None:
        raise ArgumentError(f"side: column {reader.side} holds no numbers; name one that does")
    for name, before, after in _numeric(reader, pairs, notes):
        for sides in (None,) if held is None else (None, held):
            what = "smoothness" if sides is None else str(reader.side)
            yield (
                f"order of {name}, by {what}",
                partial(_of_column, name, realignment, before, after, switch, sides),
            )


def _numeric(reader: Reader, pairs: list[SeriesPair], notes: list[str]) -> Iterator[tuple[str, list[Any], list[Any]]]:
    """The value columns that hold numbers before and after, the first few."""
    names = columns_of(reader.certificate).value
    for name in names[:_COLUMNS]:
        before = [numbers_of(pair.before[name]) for pair in pairs]
        after = [numbers_of(pair.after[name]) for pair in pairs]
        if before[0] is None or after[0] is None:
            notes.append(f"Column {name} holds no numbers, and is not attacked by their size.")
        else:
            yield name, before, after
    if len(names) > _COLUMNS:
        notes.append(f"Of {len(names):,} value columns the first {_COLUMNS} are attacked.")


def _of_column(name: str, attack: Callable[..., tuple[AttackResult, ...]], *arguments: Any) -> Found:
    return tuple(replace(each, settings={"column": name, **each.settings}) for each in attack(*arguments))


# --- quantisation ----------------------------------------------------------------------------------------------------


def _quantisation(reader: Reader, runs: int, source: Source, notes: list[str]) -> Iterator[Step]:
    from reticent.attacks.cells import one_cell_more, recover, unique_records, unique_series
    from reticent.attacks.linkage import link_quantizers
    from reticent.quantization import VectorQuantization

    mechanism = VectorQuantization.from_dict({"coordinates": reader.parameters["coordinates"]})
    pairs = reader.pairs(notes)
    columns = columns_of(reader.certificate)
    cells = dict(zip(columns.value, (part.quantizer for part in mechanism.coordinates), strict=True))
    for name in columns.value[:_COLUMNS]:
        before = [numbers_of(pair.before[name]) for pair in pairs]
        own = cells[name]
        yield f"values of {name}", partial(_of_column, name, recover, own, before)
        yield f"two releases of {name}", partial(_of_column, name, link_quantizers, own, one_cell_more(own), before)
    if len(columns.value) > 1:
        yield "unique records", partial(unique_records, pairs, cells)
    if len(pairs) > 1:
        yield "unique series", partial(unique_series, pairs, cells)
    else:
        notes.append("There is one series alone, so it cannot be told from others.")


def _aggregation(reader: Reader, runs: int, source: Source, notes: list[str]) -> Iterator[Step]:
    from reticent.attacks.households import game

    if not reader.id:
        raise ArgumentError("id: name what tells the individuals of the original apart; the certificate does not say")
    yield "membership", lambda: tuple(game(reader, runs, source, notes))


_STEPS: dict[str, Callable[[Reader, int, Source, list[str]], Iterator[Step]]] = {
    "redact": _redaction,
    "switch": _switching,
    "quantize": _quantisation,
    "aggregate": _aggregation,
}
