"""Models of tables: fitted to what is not to be hidden, and tested."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any, Unpack

from reticent.diagnosis import Diagnosis, diagnose_codes
from reticent.errors import ArgumentError
from reticent.markov import MarkovChain
from reticent.quantization import Quantizer
from reticent.quantization.exact import Number
from reticent.tables.delimited import Reading
from reticent.tables.grid import Grid
from reticent.tables.jobs import Options, job_of
from reticent.tables.models import Model, check_states, codes_and_phases, find_states, fit_all, limit
from reticent.tables.pipeline import opened
from reticent.tables.planning import Plan, surveyed
from reticent.tables.reading import Records
from reticent.tables.sifting import quarantine


def fit(
    table: Any,
    *,
    states: Sequence[Hashable] | None = None,
    smoothing: float | None = None,
    period: int = 1,
    every: str | None = None,
    since: str | None = None,
    until: str | None = None,
    edges: Sequence[Number] | None = None,
    symbols: str = "interval",
    **options: Unpack[Options],
) -> Model:
    """Fit a Markov chain to data that are not to be hidden (past data, other people's data).

    Parameters
    ----------
    table : path or frame
    states, smoothing
        As for `MarkovChain.fit`.
    period : int
        Instants of a daily or weekly rhythm, counted from the epoch.
    every : str, optional
        Sampling period.
    since, until : str, optional
        Only records from `since` on and before `until`.
    edges, symbols
        Public edges of the cells that are the states of a series of numbers: see `redact`.
    **options
        Columns and reading: see `Options`.

    Returns
    -------
    Model
        With keyed fingerprints of the data, so that a release can refuse to hide what the model gives away.
    """
    model, _ = fitted(
        table,
        states=states,
        smoothing=smoothing,
        period=period,
        every=every,
        since=since,
        until=until,
        edges=edges,
        symbols=symbols,
        **options,
    )
    if model is None:
        raise ArgumentError("dry-run: it makes no model; leave it out")
    return model


def fitted(
    table: Any,
    *,
    states: Sequence[Hashable] | None = None,
    smoothing: float | None = None,
    period: int = 1,
    every: str | None = None,
    since: str | None = None,
    until: str | None = None,
    edges: Sequence[Number] | None = None,
    symbols: str = "interval",
    **options: Unpack[Options],
) -> tuple[Model | None, Plan]:
    """As `fit`, with the plan of how the input was understood; no model in a dry run."""
    options, states = with_spellings(options, None, states)
    job = job_of(table, options)
    if len(job.columns.value) != 1:
        raise ArgumentError("value: a model has one value column, the state of the chain")
    cells = cells_of(edges, symbols, states)
    with quarantine(job.reading.quarantine, job.overwrite) as aside, opened(job, ()) as records:
        limited = limit(records, since, until)
        grid = grid_of(limited, every)
        limited = surveyed(limited, job, every, grid)
        alphabet = cells.symbols if cells is not None else find_states(limited) if states is None else tuple(states)
        check_states(alphabet)
        plan = (*limited.plan, ("states", f"{len(alphabet)}, {'declared' if states or cells else 'found'}"))
        if job.dry_run:
            return None, plan
        model = fit_all(limited, grid, alphabet, smoothing, period, job.duplicates, cells)
        aside.write(limited)
        aside.commit()
        return replace(model, spellings=job.reading.states), plan


def diagnose(
    table: Any,
    model: Model,
    *,
    rhythm: int | None = None,
    since: str | None = None,
    until: str | None = None,
    **options: Unpack[Options],
) -> Diagnosis:
    """Whether a model fits a table, and what would fit better; private if the table is.

    Parameters
    ----------
    table, since, until, **options
        As for `fit`.
    model : Model
    rhythm : int, optional
        Instants of a day or week: test whether these matter. Those of a day by default, where the sampling period
        divides it and the model has no rhythm yet.
    """
    options, _ = with_spellings(options, model, None)
    job = job_of(table, options)
    with opened(job, ()) as records:
        limited = limit(records, since, until)
        grid = grid_of(limited, model.every)
        instants = grid.a_day() if rhythm is None and model.chain.period == 1 else rhythm
        series = codes_and_phases(limited, grid, model.chain, job.duplicates, model.quantizer)
        return diagnose_codes(model.chain, series, instants)


def cells_of(edges: Sequence[Number] | None, symbols: str, states: Sequence[Hashable] | None) -> Quantizer | None:
    if edges is None:
        return None
    if states is not None:
        raise ArgumentError("states: with edges they are the symbols of the cells; leave them out")
    return Quantizer(edges, symbols)


def with_spellings(
    options: Options, model: Model | None, states: Sequence[Hashable] | None
) -> tuple[Options, Sequence[Hashable] | None]:
    """The options with the mapping of the model where they have none, and the states that a mapping declares."""
    reading = options.get("reading") or Reading()
    if model is not None and model.spellings and not reading.states:
        reading = replace(reading, states=model.spellings)
        return {**options, "reading": reading}, states
    if not reading.states or model is not None:
        return options, states
    if states is not None:
        raise ArgumentError("states: a mapping declares them; leave the list out")
    return options, tuple(reading.states)


def with_cells(model: Model, cells: Quantizer | None) -> Model:
    """The model with the cells that the release declares, which must be its own."""
    if cells is None or cells == model.quantizer:
        return model
    if model.quantizer is not None or model.chain.states != cells.symbols:
        raise ArgumentError(
            "edges: the model is one of other states than the cells between these edges; fit it on them"
        )
    return replace(model, quantizer=cells)


def grid_of(records: Records, every: str | None) -> Grid:
    return Grid.find(records) if every is None else Grid.parse(every, records.time_is_whole)


def model_of(model: Any) -> Model:
    if isinstance(model, Model):
        return model
    return Model(model) if isinstance(model, MarkovChain) else Model.read(model)
