"""The verbs, for paths and frames alike: each builds what is done to a chunk and hands it to the pipeline."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

from reticent.errors import ArgumentError, RefusedError
from reticent.markov import MarkovChain
from reticent.quantization import AggregateQuantization, PublicationRule, VectorQuantization
from reticent.quantization.exact import Number, allowed_outputs
from reticent.quantization.quantizers import Missing, Outside
from reticent.redaction import (
    RedactionPolicy,
    SequentialRedaction,
    markov_quilt,
    optimal_policy,
    sequential_redaction,
    three_region,
)
from reticent.tables.aggregating import AggregateVerb, grouped, period_of
from reticent.tables.charging import ONLY_WITH_LEDGER, Margin
from reticent.tables.continuing import switch_on
from reticent.tables.delimited import Reading
from reticent.tables.duplicates import one_record_each
from reticent.tables.fitting import cells_of, grid_of, model_of, with_cells, with_spellings
from reticent.tables.grid import Grid
from reticent.tables.jobs import Names, Options, check_names, columns_of, job_of, names_of, remembered
from reticent.tables.models import Model, check_states, fit_released, limit
from reticent.tables.own_range import own_range_verb
from reticent.tables.pipeline import Release, run
from reticent.tables.planning import surveyed
from reticent.tables.private import Private, make_finder
from reticent.tables.quantizing import QuantizeVerb
from reticent.tables.reading import Columns, Records
from reticent.tables.redacting import Design, RedactVerb, Secrets
from reticent.tables.switching import SwitchVerb, choose_switch, cut

_DESIGNS: dict[str, Any] = {"quilt": markov_quilt, "three-region": three_region, "optimal": optimal_policy}
MECHANISMS = (*_DESIGNS, "sequential")


def switch(
    table: Any,
    *,
    window: int,
    epsilon: float,
    delta: float | None = None,
    mechanism: str = "auto",
    cuts: str | None = None,
    accept_statistical: bool = False,
    continue_from: str | Path | None = None,
    finish: bool = False,
    **options: Unpack[Options],
) -> Release:
    """Move the values of each series in time.

    Parameters
    ----------
    table : path or frame
    window : int
        Steps (records) within which the order of values is protected.
    epsilon : float
        Nats.
    delta : float, optional
        The largest δ allowed: 0 by default, and to be stated for a mechanism that cannot reach it.
    mechanism : {"auto", "footrule", "mallows", "ran", "sta"}
        "auto" moves values least among those with δ = 0.
    cuts : {"day", "week", "month", "quarter", "year"}, optional
        Release each calendar piece of a series on its own: values on two sides of a cut are then *not* protected
        against each other, and the guarantee says so.
    accept_statistical : bool
        Take a δ that is a confidence bound ("sta" beyond a window of 5).
    continue_from : path, optional
        The state of a stream, made by its first run and **as secret as the data**: further records of the same series
        go on with it, so that the files of all runs together are one release. The last records of each series are held
        back for the next run. Of a data frame, keep the release: it is made again only from a copy of the state before.
    finish : bool
        Release all that is held; the stream then accepts no more.
    **options
        Columns, reading and output: see `Options`.

    Raises
    ------
    ArgumentError, InputError, RefusedError
        One sentence; nothing is left behind.
    """
    chosen = choose_switch(mechanism, window, epsilon, delta, accept_statistical)
    asked = {"epsilon": float(epsilon), "delta": float(delta or 0.0)}
    job = job_of(table, options, "switch", mechanism=chosen.to_dict(), cuts=cuts, finish=finish)
    if continue_from is not None:
        if cuts is not None:
            raise ArgumentError("cuts: a stream is one piece; give either --cuts or --continue")
        return switch_on(job, Path(continue_from), chosen, asked, finish)
    if finish:
        raise ArgumentError("finish: there is no stream to finish; name its state with --continue")

    def make(records: Records) -> SwitchVerb:
        pieces = cut(surveyed(records, job), cuts)
        return SwitchVerb(pieces, chosen, asked, job.columns, cuts)

    return run(job, make)


def quantize(
    table: Any,
    *,
    low: Number | Sequence[Number] | None = None,
    high: Number | Sequence[Number] | None = None,
    bits: Number | None = None,
    outputs: int | None = None,
    symbols: str = "midpoint",
    outside: Outside = "error",
    missing: Missing = "public",
    range_from_data: bool = False,
    **options: Unpack[Options],
) -> Release:
    """Coarsen each value to one of few symbols.

    Parameters
    ----------
    table : path or frame
    low, high : number, or one a value column
        The public range, exactly as written.
    bits, outputs
        Budget of one record: exactly one of the two; split over the value columns as evenly as integers allow.
    symbols : {"midpoint", "interval", "left"}
    outside : {"error", "clip", "missing"}
    missing : {"public", "output"}
    range_from_data : bool
        Instead of `low` and `high`: cut the range that the values span. There is **no guarantee** then, the certificate
        says so and prints neither bound, the number of its cell (from 0) stands for a value, and no ledger is charged:
        where one would be, the release is refused. See `reticent.tables.own_range`.
    **options
        Columns, reading and output: see `Options`.

    Raises
    ------
    ArgumentError, InputError, RefusedError
        One sentence; nothing is left behind.
    """
    budget = allowed_outputs(bits, outputs)
    if range_from_data:
        if low is not None or high is not None:
            raise ArgumentError("range-from-data: leave low and high out, or state them and leave this out")
        own = job_of(table, options, "quantize", outputs=budget)
        if own.account.ledger is not None:
            raise ArgumentError(
                "range-from-data: a release without a guarantee cannot be charged, and would void what the ledger says "
                "of these data; state low and high, or switch the ledger off (--no-ledger) to release all the same"
            )
        return run(own, lambda records: own_range_verb(records, budget, symbols, outside, missing))
    job = job_of(table, options, "quantize", low=low, high=high, outputs=budget, symbols=symbols)
    ranges = ranges_of(low, high, job.columns)
    mechanism = VectorQuantization.split(ranges, bits, outputs, symbols=symbols, outside=outside, missing=missing)
    return run(job, lambda records: QuantizeVerb(surveyed(records, job), mechanism, {"outputs": budget}))


def aggregate(
    table: Any,
    *,
    query: str,
    over: Names = (),
    per: str | None = None,
    every: str | None = None,
    since: str | None = None,
    until: str | None = None,
    at_least: int = 1,
    rule: str | None = None,
    roster: str | Path | None = None,
    participation: str | None = None,
    fill: Number | None = None,
    low: Number | None = None,
    high: Number | None = None,
    resolution: Number | None = None,
    bits: Number | None = None,
    outputs: int | None = None,
    symbols: str = "midpoint",
    outside: str = "error",
    off_grid: str = "error",
    **options: Unpack[Options],
) -> Release:
    """Publish coarsened aggregates over groups of individuals and windows of time.

    Parameters
    ----------
    table : path or frame
    query : {"mean", "sum", "count", "min", "max"}
    over : column or columns
        What names a group; all individuals are one group by default.
    per : str, optional
        The window, such as "1d"; the sampling period by default. Days are those of the clock that the times are written
        in, of UTC where they have a zone.
    every : str, optional
        The sampling period; the most common step by default.
    since, until : str, optional
        The public period, from `since` up to but not including `until`; other rows are left out. Needed where
        participation is private: the windows of the data would show when anybody had any.
    at_least : int
        Groups whose roster is smaller are left out.
    rule : str, optional
        A publication rule such as "15/15": see `PublicationRule.parse`.
    roster : path, optional
        A public file with the columns of `over` and `id`; by default the roster of a group is everybody who occurs in
        the input, which then counts as public.
    participation, fill, low, high, resolution, bits, outputs, symbols, outside, off_grid
        As for `AggregateQuantization`.
    **options
        Columns, reading and output: see `Options`.

    Raises
    ------
    ArgumentError, InputError, RefusedError
        One sentence; nothing is left behind.
    """
    columns = columns_of(options)
    if len(columns.value) != 1 or columns.keep:
        raise ArgumentError("value: an aggregate has one value column, and keeps no other")
    if not columns.id:
        raise ArgumentError("id: name the column of the individuals; an aggregate protects each of them")
    if (options.get("reading") or Reading()).null_id == "group":
        raise ArgumentError("null-id: an individual without an identifier cannot be protected; choose drop")
    groups = names_of(over)
    check_names(groups)
    if set(groups) & {*columns.id, columns.time, *columns.value}:
        raise ArgumentError("over: must be other columns than those of individuals, time and value")
    parsed = PublicationRule() if rule is None else PublicationRule.parse(rule)
    at_least = max(at_least, parsed.at_least)
    mechanism = AggregateQuantization(
        query,
        low=low,
        high=high,
        bits=bits,
        outputs=outputs,
        resolution=resolution,
        participation=participation,  # type: ignore[arg-type]  # checked there
        fill=fill,
        rule=PublicationRule(at_least, parsed.dominance, parsed.p_percent),
        outside=outside,  # type: ignore[arg-type]  # checked there
        off_grid=off_grid,  # type: ignore[arg-type]  # checked there
        symbols=symbols,
    )

    if mechanism.participation == "private" and (since is None or until is None):
        raise ArgumentError(
            "since, until: state the public period; where participation is private (a count always is), the windows "
            "must not follow who has data"
        )
    asked: dict[str, Any] = {"over": groups, "per": per, "since": since, "until": until}
    job = job_of(table, options, "aggregate", mechanism=mechanism.to_dict(), every=every, **asked)

    def make(records: Records) -> AggregateVerb:
        records = replace(one_record_each(limit(records, since, until), job.duplicates), columns=columns)
        period = grid_of(records, every)
        records = surveyed(records, job, every, period)
        window = period if per is None else Grid.parse(per, records.time_is_whole)
        if window.step % period.step:
            raise ArgumentError(f"per: must be a multiple of the sampling period, {period}")
        readings = window.step // period.step
        complete = 1 if mechanism.participation == "private" else readings if fill is not None else 0
        whole = period_of(records, window, since, until)
        inner = grouped(records, groups, window, None if roster is None else Path(roster), at_least, complete, whole)
        released = Columns(columns.time, columns.value, groups)
        return AggregateVerb(
            inner, released, mechanism, {"outputs": mechanism.outputs}, window, readings, job.duplicates
        )

    both = replace(columns, id=(*groups, *columns.id))  # a group is named like an individual: 007 is not 7
    return run(replace(job, duplicates="keep", columns=both), make)


def redact(
    table: Any,
    *,
    private: Private | str | Sequence[str],
    epsilon: float,
    model: Model | MarkovChain | str | Path,
    margin: int | None = None,
    states: Sequence[Hashable] | None = None,
    smoothing: float | None = None,
    period: int = 1,
    every: str | None = None,
    mechanism: str | None = None,
    edges: Sequence[Number] | None = None,
    symbols: str = "interval",
    **options: Unpack[Options],
) -> Release:
    """Withhold the private records of each series, and as many around them as ε asks for.

    Parameters
    ----------
    table : path or frame
    private : Private, or intervals ``START/END``
        Where the secrets are, both ends included.
    epsilon : float
        Nats.
    model : Model, MarkovChain, path of a model file, or "released"
        "released" fits the chain on the records of this release that lie more than `margin` steps from a secret.
    margin : int
        Steps; with ``model="released"`` only, and then required: fix it before looking.
    states, smoothing, period
        For ``model="released"``: the alphabet (those that occur, by default), and as for `MarkovChain.fit`.
    every : str, optional
        Sampling period, such as "30m"; the most common step by default.
    mechanism : {"quilt", "three-region", "optimal", "sequential"}, optional
        "sequential" releases most, needs the whole series in one hand, and may be drawn once for each: the default
        where a ledger sees to that. "optimal", the best local policy, is the default elsewhere, and right where the
        data will be released again.
    edges, symbols
        Public edges of cells, and what stands for a cell, as for `Quantizer`: numbers are coarsened first, the chain is
        a model of the cells, and their symbols are what is released. Those of the model file by default.
    **options
        Columns, reading and output: see `Options`.

    Raises
    ------
    ArgumentError, InputError, RefusedError
        One sentence; nothing is left behind.
    """
    if len(columns_of(options).value) != 1:
        raise ArgumentError("value: a redaction has one value column, the state of the chain")
    flag = f"{columns_of(options).value[0]}_redacted"
    if flag in columns_of(options).all:
        raise ArgumentError(f"columns: {flag} is what the release marks withheld records in; rename that column")
    mechanism = mechanism or ("sequential" if remembered(options) else "optimal")
    if mechanism not in MECHANISMS:
        raise ArgumentError(f"mechanism: must be one of {', '.join(MECHANISMS)}")
    if mechanism == "sequential" and options.get("ledger") is False and not options.get("dry_run"):
        raise RefusedError(ONLY_WITH_LEDGER)
    if not (isinstance(epsilon, int | float) and 0 <= epsilon < math.inf):
        raise ArgumentError("epsilon: must be a finite number of nats, zero or more")
    stated = private if isinstance(private, Private) else Private(names_of(private))
    released = model == "released"
    if released != (margin is not None):
        raise ArgumentError("margin: give it with model='released', and only then (a number of steps)")
    if margin is not None and margin < 1:
        raise ArgumentError("margin: must be a positive number of steps")
    known = None if released else model_of(model)
    options, states = with_spellings(options, known, states)
    cells = cells_of(edges, symbols, states)
    if known is not None:
        known = with_cells(known, cells)
        check_states(known.chain.states)
    asked = {"epsilon": float(epsilon), "mechanism": mechanism}
    job = job_of(
        table,
        options,
        "redact",
        once=mechanism == "sequential",
        **asked,
        private=stated.describe(),
        model="released" if known is None else known.to_json(),
        margin=margin,
        fitting=(states, smoothing, period, every),
        cells=None if cells is None else cells.to_dict(),
    )

    design = designer(mechanism, epsilon)

    def make(records: Records) -> RedactVerb:
        stated_period = every or (known.every if known else None)
        grid = grid_of(records, stated_period)
        records = surveyed(records, job, stated_period, grid)
        if known and known.every and every and grid != grid_of(records, known.every):
            raise ArgumentError(f"every: the model was fitted on steps of {known.every} and knows no others")
        finder = make_finder(records, stated, grid, job.duplicates)
        found, tried = known, None
        if found is None:
            assert margin is not None
            tried = Margin(job.account, records)
            alphabet = states if cells is None else cells.symbols
            chain = fit_released(
                records, grid, finder, margin, alphabet, smoothing, period, job.duplicates, cells, tried.add
            )
            tried.check()
            found = Model(chain, str(grid), quantizer=cells)
            check_states(found.chain.states)
        return RedactVerb(
            records,
            found,
            grid,
            finder,
            stated,
            design,
            asked,
            margin,
            tried,
            smoothing if released else None,
            job.duplicates,
        )

    return run(job, make, stated.columns)


def designer(mechanism: str, epsilon: float) -> Design:
    """What makes the mechanism of that name (one of `MECHANISMS`) for one geometry of secrets."""

    def design(
        chain: MarkovChain, n: int, secrets: Secrets, absent: tuple[int, ...], reach: int | None
    ) -> RedactionPolicy | SequentialRedaction:
        if mechanism == "sequential":
            return sequential_redaction(chain, n, list(secrets), epsilon, absent, reach)
        return _DESIGNS[mechanism](chain, n, list(secrets), epsilon, missing=absent)

    return design


def ranges_of(
    low: Number | Sequence[Number] | None, high: Number | Sequence[Number] | None, columns: Columns
) -> list[tuple[Number, Number]]:
    """The public range of each value column."""
    return list(zip(_each("low", low, columns), _each("high", high, columns), strict=True))


def _each(name: str, value: Number | Sequence[Number] | None, columns: Columns) -> list[Number]:
    if value is None:
        raise ArgumentError(
            f"{name}: state the public range of the values; one that is read off the data would give them away (with "
            "--range-from-data it is, and nothing is promised)"
        )
    values: list[Any] = list(value) if isinstance(value, list | tuple) else [value]
    if len(values) != len(columns.value):
        raise ArgumentError(f"{name}: give {len(columns.value)} numbers, one a value column")
    return values
