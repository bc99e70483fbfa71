"""Look at a file, try the mechanisms that fit it, and say what each would promise and cost."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Unpack

from reticent.advice.aggregates import LEAST_SERIES, aggregate_option
from reticent.advice.commands import Commands, column_options, plain
from reticent.advice.draws import quantize_figures, redact_figures, switch_figures
from reticent.advice.facts import Facts, model_until
from reticent.advice.option import Advice, Option
from reticent.errors import ArgumentError, ReticentError
from reticent.guarantees import rounded_up
from reticent.quantization import VectorQuantization
from reticent.randomness import Source, secure_source
from reticent.switching import RanSwitch
from reticent.tables.fitting import fit
from reticent.tables.jobs import Options, columns_of, job_of
from reticent.tables.models import Model
from reticent.tables.pipeline import opened
from reticent.tables.private import Private, make_finder
from reticent.tables.quantizing import QuantizeVerb
from reticent.tables.reading import Records
from reticent.tables.redacting import RedactVerb
from reticent.tables.switching import choose_switch
from reticent.tables.verbs import designer

Number = float | int | str

MOST_STATES = 16


def advise(
    table: str | Path,
    *,
    epsilon: float = 2.0,
    bits: Number = 3,
    window: int = 12,
    private: tuple[str, ...] = (),
    model: str | Path | None = None,
    low: Number | None = None,
    high: Number | None = None,
    resolution: Number | None = None,
    **options: Unpack[Options],
) -> Advice:
    """Compare the mechanisms that fit a file. Nothing is released and nothing is charged; the result is private.

    Parameters
    ----------
    table : path
    epsilon : float
        Nats, for redactions and switches.
    bits : number
        For quantisation: of a reading, or of an aggregate as one individual varies.
    window : int
        Steps within which a switch hides the order.
    private : tuple of str
        Intervals ``START/END`` that a redaction hides.
    model : path, optional
        Model file for it; fitted on what lies well before the secrets by default.
    low, high : number, optional
        The public range of the values: needed for quantisation, since one that is read off the data gives them away.
    resolution : number, optional
        Readings are multiples of it, for aggregates; by default the coarsest power of ten that the data allow.
    **options
        Columns and reading: see `Options`. `source` draws.

    Returns
    -------
    Advice

    Raises
    ------
    ArgumentError, InputError
        What the verbs themselves refuse of every mechanism: columns, reading, ε.
    """
    columns = columns_of(options)
    if len(columns.value) != 1:
        raise ArgumentError("value: name one column; the advice is about one kind of value")
    if (low is None) != (high is None):
        raise ArgumentError("low, high: give both ends of the public range, or none")
    if not (math.isfinite(epsilon) and epsilon >= 0):
        raise ArgumentError("epsilon: must be a finite number of nats, zero or more")
    source = options.get("source") or secure_source()
    job = job_of(table, options)
    name = column_options(columns.time, columns.value[0], columns.id)
    commands = Commands(Path(table), name, job.reading, job.duplicates)
    named = {"time": columns.time, "value": columns.value, "id": columns.id, "reading": job.reading}
    named |= {"memory": job.memory, "duplicates": job.duplicates}
    asked = _Asked(epsilon, bits, window, private, model, low, high, resolution, source, job.duplicates, named)
    found: list[Option] = []
    left_out: list[tuple[str, str]] = []
    with opened(job, ()) as records:
        facts = Facts.of(records)
        for verb, make in _attempts(records, facts, asked, commands):
            try:
                found.append(make())
            except ReticentError as error:
                left_out.append((verb, str(error)))
    return Advice(facts.describe(), tuple(found), tuple(left_out))


@dataclass(frozen=True)
class _Asked:
    epsilon: float
    bits: Number
    window: int
    private: tuple[str, ...]
    model: str | Path | None
    low: Number | None
    high: Number | None
    resolution: Number | None
    source: Source
    duplicates: str
    columns: dict[str, Any]


def _attempts(
    records: Records, facts: Facts, asked: _Asked, commands: Commands
) -> Iterator[tuple[str, Callable[[], Option]]]:
    """Every option that fits the kind of data, or what says why it does not."""
    if facts.states > MOST_STATES:
        why = "the values are no states; coarsen them with --edges: see reticent fit and redact"
    else:
        why = "" if asked.private else "name what is to be hidden with --private START/END"
    if why:
        yield "redact", _refuse(why)
    else:
        for mechanism in ("sequential", "optimal", "quilt"):
            yield f"redact, {mechanism}", partial(_redact, records, facts, asked, commands, mechanism)
    for mechanism in ("auto", "ran"):
        yield f"switch, {mechanism}", partial(_switch, records, facts, asked, commands, mechanism)
    if not facts.numbers or facts.states <= 2:
        yield "quantize", _refuse("the values are no numbers, or only two")
        return
    if asked.low is None:
        yield "quantize", _refuse("state the public range with --low and --high; one read off the data gives them away")
        return
    yield "quantize", partial(_quantize, records, asked, commands)
    if facts.series < LEAST_SERIES:
        yield "quantize, aggregate", _refuse(f"takes the series of {LEAST_SERIES} individuals or more, named with --id")
        return
    budget = (asked.bits, asked.low, asked.high, asked.resolution)
    yield "quantize, aggregate", partial(aggregate_option, records, facts, commands, *budget)


def _refuse(why: str) -> Callable[[], Option]:
    def refuse() -> Option:
        raise ArgumentError(why)

    return refuse


def _redact(records: Records, facts: Facts, asked: _Asked, commands: Commands, mechanism: str) -> Option:
    steps = []
    if asked.model is None:
        until = model_until(records, facts.grid, asked.private)
        model = fit(commands.path, until=until, **asked.columns)
        file = f"{commands.path.name.split('.')[0]}.model.json"
        steps.append(commands.line("fit", "--until", until, output=file))
    else:
        model, file = Model.read(asked.model), str(asked.model)
    stated = Private(asked.private)
    finder = make_finder(records, stated, facts.grid, asked.duplicates)
    design = designer(mechanism, asked.epsilon)
    verb = RedactVerb(
        records, model, facts.grid, finder, stated, design, {"epsilon": asked.epsilon}, duplicates=asked.duplicates
    )
    share = redact_figures(verb, asked.source)
    hidden = [part for each in asked.private for part in ("--private", each)]
    how = [] if mechanism == "sequential" else ["--mechanism", mechanism]
    steps.append(
        commands.line(
            "redact",
            *hidden,
            "--model",
            file,
            "--epsilon",
            plain(asked.epsilon),
            *how,
            output=commands.output("redacted"),
        )
    )
    lost = {
        "sequential": "no second redaction of these records",
        "optimal": "as a rule more records; can be redacted again",
        "quilt": "a whole window; can be redacted again",
    }[mechanism]
    return Option(
        "redact",
        f"{mechanism}: ε ≤ {plain(asked.epsilon)} nats about the private hours, if the chain is right",
        (share,),
        f"the private hours and records near them; {lost}",
        tuple(steps),
    )


def _switch(records: Records, facts: Facts, asked: _Asked, commands: Commands, mechanism: str) -> Option:
    chosen = choose_switch(mechanism, asked.window, asked.epsilon, None if mechanism == "auto" else 1 - 1e-9)
    off, steps = switch_figures(records, chosen, asked.duplicates, asked.source, facts.numbers)
    how = ["--window", str(asked.window), "--epsilon", plain(asked.epsilon)]
    failing = "δ = 0"
    if isinstance(chosen, RanSwitch):
        delta = rounded_up(chosen.guarantee.delta, 3)
        how += ["--mechanism", "ran", "--delta", delta]
        failing = f"δ = {delta}"
    return Option(
        "switch",
        f"{type(chosen).__name__}: ε = {plain(asked.epsilon)} nats, {failing}, about when within {asked.window} steps "
        f"({facts.duration(asked.window)}) a value occurred",
        (off, steps),
        "order within the window" + ("" if chosen.guarantee.delta == 0 else "; with probability δ the bound fails"),
        (commands.line("switch", *how, output=commands.output("switched")),),
    )


def _quantize(records: Records, asked: _Asked, commands: Commands) -> Option:
    assert asked.low is not None
    assert asked.high is not None
    mechanism = VectorQuantization.split([(asked.low, asked.high)], asked.bits, None, outside="clip")
    verb = QuantizeVerb(records, mechanism, {"outputs": mechanism.outputs})
    figures = quantize_figures(verb, asked.duplicates, asked.source)
    (part,) = mechanism.coordinates
    width = plain(float(part.quantizer.widest))
    how = ["--low", plain(asked.low), "--high", plain(asked.high), "--bits", plain(asked.bits), "--outside", "clip"]
    return Option(
        "quantize",
        f"{mechanism.outputs} outputs a reading ({plain(asked.bits)} bits): how much, within {width}",
        figures,
        f"differences within a cell of {width}",
        (commands.line("quantize", *how, output=commands.output("coarse")),),
    )
