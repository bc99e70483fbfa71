"""What publishing a coarsened mean over all series would cost: the release is made in a folder that is thrown away."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from reticent.advice.commands import Commands, plain
from reticent.advice.draws import Expected, to_numbers
from reticent.advice.facts import Facts, written
from reticent.advice.option import Option
from reticent.errors import InputError
from reticent.quantization.exact import allowed_outputs
from reticent.tables.reading import Records
from reticent.tables.sql import quoted
from reticent.tables.verbs import aggregate

LEAST_SERIES = 15
_FINE = 1 << 10  # outputs of the aggregate that stands for the true one

Number = float | int | str


def aggregate_option(
    records: Records,
    facts: Facts,
    commands: Commands,
    bits: Number,
    low: Number | None,
    high: Number | None,
    resolution: Number | None,
) -> Option:
    """The mean of all series in each step, withheld where the 15/15 rule says so (or fewer than 15 take part)."""
    assert low is not None
    assert high is not None
    unit = _resolution(records) if resolution is None else plain(resolution)
    what: dict[str, Any] = {"query": "mean", "low": low, "high": high, "resolution": unit, "off_grid": "round"}
    rule = {"rule": "15/15"} if float(low) >= 0 else {"at_least": LEAST_SERIES}
    what |= {"outside": "clip", **rule}
    try:
        coarse, fine = _both(records, commands, what, bits)
        who = "who has data is public"
    except InputError:  # not everybody has every reading
        since, until = _period(records, facts)
        what |= {"participation": "private", "since": since, "until": until}
        coarse, fine = _both(records, commands, what, bits)
        who = "who has data is hidden too"
    (column,) = records.columns.value
    values, truth = (to_numbers(each[column]) for each in (coarse, fine))
    there = ~(np.isnan(values) | np.isnan(truth))
    withheld = float(np.isnan(values).mean())
    error = float(np.abs(values - truth)[there].mean()) if there.any() else float("nan")
    reach = (float(high) - float(low)) / _FINE / facts.series
    outputs = allowed_outputs(bits, None)
    options = [part for name, value in what.items() for part in (_flag(name), plain(value))]
    return Option(
        "quantize",
        f"{outputs} outputs as one of {facts.series:,} individuals varies ({plain(bits)} bits): its part in the mean",
        (
            Expected.certain("mean absolute error", error, reach),
            Expected.certain("share of aggregates withheld", withheld),
        ),
        f"the individual series; {who}",
        (commands.line("quantize", *options, "--bits", plain(bits), output=commands.output("mean"), rule=False),),
    )


def _flag(name: str) -> str:
    return "--aggregate" if name == "query" else f"--{name.replace('_', '-')}"


def _both(records: Records, commands: Commands, what: dict[str, Any], bits: Number) -> tuple[Any, Any]:
    """The aggregate as it would be released, and one so fine that it stands for the truth."""
    import pyarrow.parquet

    columns = records.columns
    common: dict[str, Any] = {"time": columns.time, "value": columns.value, "id": columns.id, "ledger": False}
    common |= {"reading": commands.reading, "symbols": "midpoint"}
    with tempfile.TemporaryDirectory(prefix=".reticent-") as folder:
        tables = []
        for name, budget in (("coarse", {"bits": bits}), ("fine", {"outputs": _FINE})):
            path = Path(folder) / f"{name}.parquet"
            aggregate(commands.path, output=path, **what, **budget, **common)
            tables.append(pyarrow.parquet.read_table(path))
        return tables[0], tables[1]


def _resolution(records: Records) -> str:
    """The coarsest power of ten, down to a millionth, that the values are multiples of."""
    value = f"CAST({quoted(records.columns.value[0])} AS DOUBLE)"
    for digits in range(6):
        scaled = f"{value} * {10**digits}"
        off = f"SELECT count(*) FROM {records.view} WHERE abs({scaled} - round({scaled})) > 1e-6"
        if records.con.sql(off).fetchall()[0][0] == 0:
            return plain(10.0**-digits)
    return "0.000001"


def _period(records: Records, facts: Facts) -> tuple[str, str]:
    """From the first record to one step after the last."""
    time = quoted(records.columns.time)
    ticks = time if records.time_is_whole else f"epoch_us({time}::TIMESTAMP)"
    first, last = records.con.sql(f"SELECT min({ticks}), max({ticks}) FROM {records.view}").fetchall()[0]
    ends = int(first), int(last) + facts.grid.step
    since, until = (str(end) if records.time_is_whole else written(records, f"make_timestamp({end})") for end in ends)
    return since, until
