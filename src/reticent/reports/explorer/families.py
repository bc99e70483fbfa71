"""The four parts of the explorer in words: their sliders, mechanisms, columns and command lines."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any

from reticent.errors import ReticentError
from reticent.reports.explorer import numbers
from reticent.reports.explorer.numbers import Cell
from reticent.reports.words import at_most, number, period, several, share

if TYPE_CHECKING:
    from reticent.reports.explorer.page import Input

Texts = list[str] | str
"""What the table shows of one mechanism at one setting, by column; or why it shows nothing."""

OUTPUTS = (2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32, 48, 64, 128, 256)
AGGREGATE_OUTPUTS = (2, 3, 4, 6, 8, 12, 16, 24, 32)
INDIVIDUALS = (2, 5, 10, 15, 20, 30, 50, 100, 200, 500, 1000)


@dataclass(frozen=True)
class Slider:
    """A choice among stops.

    Parameters
    ----------
    key, label, note : str
    texts : sequence of str
        Each stop, as it is shown.
    values : sequence of str
        Each stop, as the command line has it.
    start : int
        Where it stands at first.
    """

    key: str
    label: str
    texts: Sequence[str]
    values: Sequence[str]
    start: int
    note: str = ""


@dataclass(frozen=True)
class Way:
    """A mechanism.

    Parameters
    ----------
    key, name, note : str
    command : str
        With ``{key}`` for the value of a slider, the text of a column, or a text of `Family.lookups`; empty where no
        command gives it.
    """

    key: str
    name: str
    note: str
    command: str


@dataclass(frozen=True)
class Column:
    """What a number of the table is."""

    key: str
    label: str


@dataclass(frozen=True)
class Family:
    """One part of the page.

    Parameters
    ----------
    key, name, lead : str
    sliders : sequence of Slider
        The last one is that along which the curves are drawn.
    ways : sequence of Way
    columns : sequence of Column
    cells : mapping
        By mechanism, one entry a setting, the last slider moving fastest.
    x, y : str
        Columns that the chart compares.
    across, up : bool
        Whether the axis is logarithmic.
    across_values : sequence of float
        Where each stop of the last slider lies on the axis across.
    sentence : str
        What the chosen mechanism gives, with ``{key}`` as in a command.
    lookups : mapping
        Texts that follow from the first sliders: their keys, and one text a setting of these.
    notes : sequence of str
    """

    key: str
    name: str
    lead: str
    sliders: Sequence[Slider]
    ways: Sequence[Way]
    columns: Sequence[Column]
    cells: Mapping[str, Sequence[Texts]]
    x: str
    y: str
    across: bool
    up: bool
    across_values: Sequence[float]
    sentence: str
    lookups: Mapping[str, tuple[Sequence[str], Sequence[str]]] = field(default_factory=dict)
    notes: Sequence[str] = ()


def _told(cells: Sequence[Cell], say: Callable[[list[Any]], list[str]]) -> list[Texts]:
    return [cell if isinstance(cell, str) else say(cell) for cell in cells]


def line(verb: str, *options: str, identified: bool = False) -> str:
    """A command; braces are for the page to fill."""
    columns = "{identified}" if identified else "{columns}"
    return " ".join(("reticent", verb, "{file}", columns, *options, "-o {out}"))


def _plain(value: float) -> str:
    return f"{value:g}"


def _steps(count: int, given: Input) -> str:
    """A number of steps, and how long they are where the sampling period is known."""
    if given.every is None or given.every["unit"] == "1":
        return several(count, "step")
    long = period({"step": count * given.every["step"], "unit": given.every["unit"]})
    return f"{several(count, 'step')} ({long})"


# --- withhold --------------------------------------------------------------------------------------------------------


def redaction(given: Input) -> Family:
    """Redaction: of the tables that ship, or of the chain that was given."""
    n = numbers.RECORDS if given.model is None else given.records
    stops = numbers.LENGTHS if given.model is None else numbers.OWN_LENGTHS
    lengths = [length for length in stops if length < n]
    sliders = [
        Slider(
            "length",
            "Records of the secret",
            [_steps(length, given).replace("step", "record") for length in lengths],
            [str(length) for length in lengths],
            lengths.index(12) if 12 in lengths else 0,
            "Neighbouring records that are hidden jointly, in the middle of the series.",
        ),
        Slider(
            "epsilon",
            "ε: what may be learned about the secret",
            [f"{_plain(each)} nats" for each in numbers.EPSILONS],
            [_plain(each) for each in numbers.EPSILONS],
            numbers.EPSILONS.index(1.0),
            "Odds between two possibilities for the secret change by at most a factor of e^ε.",
        ),
    ]
    lookups: dict[str, tuple[Sequence[str], Sequence[str]]] = {}
    if given.model is None:
        chances = [
            Slider(
                key,
                label,
                [_plain(each) for each in numbers.CHANCES],
                [_plain(each) for each in numbers.CHANCES],
                start,
                "Of the two-state chain that the series is taken to follow." if key == "alpha" else "",
            )
            for key, label, start in (
                ("alpha", "α: chance that a record 0 is followed by a 1", 1),
                ("beta", "β: chance that a record 1 is followed by a 0", 3),
            )
        ]
        sliders = [*chances, *sliders]
        texts = [_model_text(alpha, beta) for alpha, beta in product(numbers.CHANCES, numbers.CHANCES)]
        lookups["model"] = (("alpha", "beta"), texts)
        cells = numbers.shipped()["redaction"]
        make = "cat > model.json <<'END'\n{model}END\n"
    else:
        lines = _of_chain(given, n, lengths)
        cells = list(lines)
        make = "{fit}"
    of = len(cells) // len(numbers.REDACTIONS)
    told = _told(cells, lambda cell: [at_most(cell[0]), at_most(cell[1]), share(max(0.0, 1 - cell[1] / n))])
    ask = ("--private START/END", "--model {model_file}", "--epsilon {epsilon}")
    ways = [
        Way(key, name, note, "" if key == "published" else make + line("redact", *ask, f"--mechanism {key}"))
        for key, name, note in (
            (
                "sequential",
                "Sequential",
                "Releases most. Drawn once for each series, which a ledger sees to.",
            ),
            ("optimal", "Best local", "Each record on its own; may be released again. The default with --no-ledger."),
            (
                "three-region",
                "Three regions, calibrated",
                "The paper's idea, with chances that keep the promise.",
            ),
            ("quilt", "Markov quilt, exact", "A window around the secret is withheld for certain."),
            (
                "published",
                "Three regions, as published",
                "Not private in general: its true leakage can exceed the ε asked for. No command runs it.",
            ),
        )
    ]
    chain = "the two-state chain with the α and β below" if given.model is None else f"the chain of {given.origin}"
    return Family(
        "redact",
        "Withhold records",
        f"Hide what happened during a stretch of time: its records are withheld, and with them as many around them as "
        f"ε asks for, if the series follows {chain}. A series of {number(n)} records, the secret in its middle.",
        sliders,
        ways,
        (
            Column("leakage", "Exact leakage (nats)"),
            Column("withheld", "Records withheld, expected"),
            Column("released", "Records released, expected"),
        ),
        {key: told[i * of : (i + 1) * of] for i, key in enumerate(numbers.REDACTIONS)},
        "leakage",
        "withheld",
        True,
        False,
        numbers.EPSILONS,
        f"{{way}}: {{withheld}} of {number(n)} records are expected to be withheld, those of the secret included; the "
        "exact leakage is {leakage} nats.",
        lookups,
        given.redaction_notes,
    )


def _of_chain(given: Input, n: int, lengths: Sequence[int]) -> Iterator[Cell]:
    assert given.model is not None
    for name, length, epsilon in product(numbers.REDACTIONS, lengths, numbers.EPSILONS):
        yield numbers.shortened(numbers.redaction(name, given.model.chain, n, length, epsilon), 1)


def _model_text(alpha: float, beta: float) -> str:
    from reticent.markov import MarkovChain
    from reticent.tables.models import Model

    text = Model(MarkovChain.binary(alpha, beta)).to_json()
    return json.dumps(json.loads(text), separators=(",", ":"), ensure_ascii=False) + "\n"  # on one line


# --- move in time ----------------------------------------------------------------------------------------------------


def switching(given: Input) -> Family:
    """Switching, of the tables that ship."""
    cells = numbers.shipped()["switching"]
    of = len(cells) // len(numbers.SWITCHES)

    def say(cell: list[Any]) -> list[str]:
        epsilon, delta, statistical, mean, ninety, ahead = cell
        waits = "the whole series" if ahead is None else several(ahead, "record")
        how = "a statistical bound" if statistical else "exact" if delta else "none"
        return [at_most(epsilon), at_most(delta), how, at_most(mean), number(ninety), waits]

    told = _told(cells, say)

    def command(mechanism: str, *options: str) -> str:
        return line("switch", "--window {window}", "--epsilon {epsilon}", f"--mechanism {mechanism}", *options)

    ways = (
        Way("footrule", "Footrule", "δ = 0. Needs the whole series at once.", command("footrule")),
        Way("mallows", "Mallows", "δ = 0. Needs the whole series at once.", command("mallows")),
        Way(
            "mallows-stream",
            f"Mallows, δ ≤ {_plain(numbers.STREAM_DELTA)}",
            "For a stream too: with --continue STATE it goes on where the file before ended.",
            command("mallows", f"--delta {_plain(numbers.STREAM_DELTA)}"),
        ),
        Way(
            "ran",
            "RanSwitch",
            "Prior work. Moves values little, but its bound fails with a large δ.",
            command("ran", "--delta {delta}"),
        ),
        Way(
            "sta",
            "StaSwitch",
            "Prior work. Beyond a window of 5 its δ is a statistical bound and its displacement approximate.",
            command("sta", "--delta {delta}", "--accept-statistical"),
        ),
    )
    return Family(
        "switch",
        "Move values in time",
        "Hide when, within a window, each value occurred: values trade places, all of them stay true.",
        (
            Slider(
                "window",
                "Window",
                [_steps(window, given) for window in numbers.WINDOWS],
                [str(window) for window in numbers.WINDOWS],
                numbers.WINDOWS.index(12),
                "The order of values fewer than so many steps apart is hidden, as far as ε and δ say.",
            ),
            Slider(
                "epsilon",
                "ε: for the exchange of two values",
                [f"{_plain(each)} nats" for each in numbers.SWITCH_EPSILONS],
                [_plain(each) for each in numbers.SWITCH_EPSILONS],
                numbers.SWITCH_EPSILONS.index(2.0),
            ),
        ),
        ways,
        (
            Column("exact", "ε, rounding included (nats)"),
            Column("delta", "δ"),
            Column("kind", "δ is"),
            Column("moved", "Mean displacement (steps)"),
            Column("ninety", "Nine in ten move at most (steps)"),
            Column("waits", "Waits for"),
        ),
        {key: told[i * of : (i + 1) * of] for i, key in enumerate(numbers.SWITCHES)},
        "exact",
        "moved",
        True,
        True,
        numbers.SWITCH_EPSILONS,
        "{way}: far from the ends of a series a value moves {moved} steps on average, with ε = {exact} nats and "
        "δ = {delta}.",
        notes=(
            "A small displacement with a large δ is no match for δ = 0: compare lines only where their δ are alike.",
        ),
    )


# --- coarsen ---------------------------------------------------------------------------------------------------------


def quantization(given: Input) -> Family:
    """Quantisation, value by value, over the stated range."""
    from reticent.information import estimation_error_bound
    from reticent.quantization import LocalQuantization

    length = float(given.high) - float(given.low)

    def cell(missing: str, outputs: int) -> Texts:
        try:
            local = LocalQuantization(given.low, given.high, outputs=outputs, missing=missing)  # type: ignore[arg-type]
        except ReticentError as error:
            return str(error)
        quantizer = local.quantizer
        guess = math.sqrt(estimation_error_bound(1 / length, length, outputs=quantizer.levels))
        return [
            at_most(local.guarantee.bits),
            number(quantizer.levels),
            at_most(float(quantizer.widest)),
            at_most(float(quantizer.widest) / 2),
            number(guess),
            at_most(local.for_series(given.records).bits),
        ]

    command = line("quantize", "--low {low}", "--high {high}", "--outputs {outputs}")
    return Family(
        "quantize",
        "Coarsen each value",
        f"Each value becomes one of few symbols; nothing is drawn at random. The range is {given.low} to {given.high}.",
        (_outputs(OUTPUTS, 8, "Different symbols that one reading can become."),),
        (
            Way("public", "Missing values are public", "That a value is missing is shown, and costs nothing.", command),
            Way(
                "output",
                "Missing is one more output",
                "That a value is missing is one of the outputs.",
                line("quantize", "--low {low}", "--high {high}", "--outputs {outputs}", "--missing output"),
            ),
        ),
        (
            Column("bits", "Bits a reading"),
            Column("levels", "Levels"),
            Column("width", "Width of a cell"),
            Column("error", "Error, at most"),
            Column("guess", "Error of the best guess, at least"),
            Column("series", f"Bits a series of {several(given.records, 'reading')}"),
        ),
        {key: [cell(key, outputs) for outputs in OUTPUTS] for key in ("public", "output")},
        "bits",
        "width",
        False,
        True,
        [math.log2(outputs) for outputs in OUTPUTS],
        "{way}: {levels} levels, each {width} wide, so an error of at most {error}; at most {bits} bits a reading.",
        notes=(
            (
                "The error of the best guess is the root of the least mean square error that whoever sees the symbol "
                "can reach, if all values of the range were equally likely before."
            ),
        ),
    )


def aggregation(given: Input) -> Family:
    """Quantisation of aggregates over groups of any size."""
    from reticent.quantization import AggregateQuantization, Roster

    def cell(query: str, individuals: int, outputs: int) -> Texts:
        bounds: dict[str, Any] = (
            {} if query == "count" else {"low": given.low, "high": given.high, "resolution": given.resolution}
        )
        try:
            mechanism = AggregateQuantization(query, outputs=outputs, **bounds)
            quantizer = mechanism.plan(Roster(individuals, individuals, 1)).quantizer
        except ReticentError as error:
            return str(error)
        width = quantizer.high - quantizer.low
        return [
            at_most(mechanism.guarantee.bits),
            number(quantizer.levels),
            at_most(float(quantizer.widest)),
            share(float(quantizer.widest / width)),
            at_most(mechanism.for_series(given.records).bits),
        ]

    def command(query: str, *options: str) -> str:
        return line("quantize", f"--aggregate {query}", *options, "--outputs {outputs}", identified=True)

    readings = ("--low {low}", "--high {high}", "--resolution {resolution}")
    settings = list(product(INDIVIDUALS, AGGREGATE_OUTPUTS))
    return Family(
        "aggregate",
        "Coarsen aggregates",
        "The mean, sum or count of a group becomes one of few symbols, so that one individual can change it little. "
        f"Readings lie in {given.low} to {given.high}, in multiples of {given.resolution}.",
        (
            Slider(
                "individuals",
                "Individuals in the group",
                [number(each) for each in INDIVIDUALS],
                [str(each) for each in INDIVIDUALS],
                INDIVIDUALS.index(15),
            ),
            _outputs(AGGREGATE_OUTPUTS, 4, "Different aggregates that one individual can bring about."),
        ),
        (
            Way("mean", "Mean", "", command("mean", *readings)),
            Way("sum", "Sum", "", command("sum", *readings)),
            Way(
                "count",
                "Count",
                "Of those who have a reading; who has one is hidden too.",
                command("count", "--since START", "--until END"),
            ),
        ),
        (
            Column("bits", "Bits an aggregate"),
            Column("levels", "Levels"),
            Column("width", "Width of a cell"),
            Column("part", "Of the range of the answer"),
            Column("series", f"Bits a series of {several(given.records, 'aggregate')}"),
        ),
        {key: [cell(key, *setting) for setting in settings] for key in ("mean", "sum", "count")},
        "bits",
        "part",
        False,
        True,
        [math.log2(outputs) for outputs in AGGREGATE_OUTPUTS],
        "{way}: {levels} levels, each {width} wide; at most {bits} bits an aggregate as one individual varies.",
        notes=("One reading of each individual in each window; with --per a window may hold several.",),
    )


def _outputs(stops: Sequence[int], start: int, note: str) -> Slider:
    return Slider(
        "outputs",
        "Outputs",
        [f"{stop} ({at_most(math.log2(stop))} bits)" for stop in stops],
        [str(stop) for stop in stops],
        stops.index(start),
        note,
    )
