"""What is tried: valid tables, broken ones, certificates, models and policies; each ends well or in one sentence."""

from __future__ import annotations

import contextlib
import copy
import json
import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

import reticent as rt
from fuzz.fuzz_grammar import SUFFIXES, Table, instants
from fuzz.fuzz_grammar import tables as table_strategy
from fuzz.fuzz_oracle import check_quantized, check_redacted, check_switched, released_rows
from redaction.redaction_twin import enumerated_leakage, local_law, random_chain, random_policy
from reticent import tables
from reticent.certificates import Certificate, _digest, _dumps
from reticent.claims import claims
from reticent.cli.inspect import _policy
from reticent.errors import ReticentError
from reticent.tables.delimited import Reading
from reticent.tables.models import Model

Run = Callable[[Path, Path], None]

ACCEPTED, REFUSED = "accepted", "refused"


@dataclass(frozen=True)
class Case:
    """One input.

    Attributes
    ----------
    kind : str
    valid : bool
        By construction: it must be accepted, and the release must be what the oracle says.
    run : callable
        ``run(inputs, outputs)``, both empty folders.
    content : bytes
        To find it again.
    """

    kind: str
    valid: bool
    run: Run
    content: Any = b""


# --- tables ----------------------------------------------------------------------------------------------------------


def _source(table: Table, inputs: Path) -> Any:
    if not isinstance(table.source, bytes):
        return table.source
    path = inputs / f"in{table.suffix}"
    path.write_bytes(table.source)
    return path


def _common(table: Table) -> dict[str, Any]:
    return {
        "time": table.time, "value": table.value, "id": table.ids, "keep": table.keep, "ledger": False,
        "reading": Reading(**table.reading),
    }  # fmt: skip


@st.composite
def released(draw: st.DrawFn) -> Case:
    """A valid table through one of the verbs."""
    verb = draw(st.sampled_from(("quantize", "switch", "redact")))
    kinds = {"quantize": ("number", "number"), "switch": ("number", "word"), "redact": ("state", "state")}[verb]
    table = draw(table_strategy(draw(st.sampled_from(kinds))))
    release, check = {"quantize": _quantize, "switch": _switch, "redact": _redact}[verb](draw, table)
    suffix = draw(st.sampled_from(SUFFIXES)) if isinstance(table.source, bytes) or draw(st.booleans()) else None
    verified = draw(st.integers(0, 3)) == 0

    def run(inputs: Path, outputs: Path) -> None:
        output = None if suffix is None else outputs / f"out{suffix}"
        done = release(_source(table, inputs), output)
        names = done.certificate.released["columns"]
        columns = (*table.ids, table.time, table.value, *names["added"], *table.keep)
        check(released_rows(done.table if output is None else output, table, columns))
        assert done.certificate.released["rows"] == len(table.rows)
        if verified and output is not None and done.outputs is not None:
            Certificate.read(done.outputs.certificate).verify(output)

    return Case(f"table {verb}", True, run, table)


def _quantize(draw: st.DrawFn, table: Table) -> tuple[Any, Any]:
    at = len(table.ids) + 1
    present = [Fraction(row[at]) for row in table.rows if row[at] is not None]
    outside = draw(st.sampled_from(("error", "clip", "missing")))
    if outside == "error":
        low, high = min(present, default=Fraction(0)) - draw(st.integers(0, 2)), max(present, default=Fraction(0))
        high += Fraction(draw(st.integers(int(low == high), 5)), 10)
    else:
        low = Fraction(draw(st.integers(-500, 500)), 10)
        high = low + Fraction(draw(st.integers(1, 2000)), 100)
    levels = draw(st.integers(1, 12))
    symbols = draw(st.sampled_from(("midpoint", "left")))
    written = [Decimal(each.numerator) / each.denominator for each in (low, high)]

    def release(source: Any, output: Path | None) -> tables.Release:
        return tables.quantize(
            source, low=written[0], high=written[1], outputs=levels + (outside == "missing"), symbols=symbols,
            outside=outside, output=output, **_common(table),
        )  # fmt: skip

    return release, lambda out: check_quantized(table, out, low, high, levels, outside, symbols)


def _switch(draw: st.DrawFn, table: Table) -> tuple[Any, Any]:
    window = draw(st.integers(1, 6))
    mechanism, seed = draw(st.sampled_from(("auto", "footrule", "mallows", "ran"))), draw(st.integers(0, 99))
    epsilon = draw(st.sampled_from((0.5, 2.0, 8.0)))

    def release(source: Any, output: Path | None) -> tables.Release:
        return tables.switch(
            source, window=window, epsilon=epsilon, mechanism=mechanism, output=output,
            source=rt.seeded_source(seed), delta=None if mechanism != "ran" else 0.999, **_common(table),
        )  # fmt: skip

    return release, lambda out: check_switched(table, out, window, mechanism == "ran")


def _redact(draw: st.DrawFn, table: Table) -> tuple[Any, Any]:
    at = len(table.ids)
    moved = instants(table)
    ticks = sorted({moved[row[at]] for row in table.rows})
    first = draw(st.sampled_from(ticks))
    last = first + table.step * draw(st.integers(0, 2))
    states = sorted({row[at + 1] for row in table.rows} - {None}, key=str)
    states += ["spare", "other"][: max(2 - len(states), 0)] if table.kind == "word" else []
    states += [each for each in (7, 8) if table.kind == "whole"][: max(2 - len(states), 0)]
    size = len(states)
    entries = [[draw(st.integers(1, 8)) for _ in range(size)] for _ in range(size)]
    chain = rt.MarkovChain([[each / sum(row) for each in row] for row in entries], states)
    mechanism = draw(st.sampled_from(("quilt", "three-region", "optimal")))
    epsilon = draw(st.sampled_from((0.0, 0.3, 1.0, 4.0)))
    every = str(table.step) if table.clock == "whole" else f"{table.step // 10**6}s"

    def release(source: Any, output: Path | None) -> tables.Release:
        return tables.redact(
            source, private=f"{_written(table, first)}/{_written(table, last)}", epsilon=epsilon, model=chain,
            every=every, mechanism=mechanism, output=output, source=rt.seeded_source(1), **_common(table),
        )  # fmt: skip

    return release, lambda out: check_redacted(table, out, (first, last))


def _written(table: Table, tick: int) -> str:
    if table.clock == "whole":
        return str(tick)
    stamp = np.datetime64(tick, "us").item().isoformat(sep=" ")
    return stamp + "+00" if table.clock in ("offset", "zone") else stamp


# --- broken tables ---------------------------------------------------------------------------------------------------

_PIECES = (
    b'"',
    b"\n",
    b"\r",
    b",",
    b";",
    b"\0",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"NaN",
    b"1e999",
    b"=",
    b"2024-13-45",
    b"\xf0\x9f",
)


def broken(content: bytes, seed: int) -> bytes:
    """Bytes flipped, cut, inserted or repeated; lines dropped or exchanged."""
    rng, data = random.Random(seed), bytearray(content)
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        at = rng.randrange(len(data) + 1)
        match rng.randrange(10):
            case 0 if data:
                data[at % len(data)] ^= 1 << rng.randrange(8)
            case 6 | 7:  # another digit
                digits = [i for i, each in enumerate(data) if 48 <= each <= 57]
                for i in digits and [rng.choice(digits)]:
                    data[i] = 48 + rng.randrange(10)
            case 1:
                del data[at:]
            case 2:
                del data[at : at + rng.randrange(1, 40)]
            case 3:
                data[at:at] = rng.choice(_PIECES)
            case 4:
                data[at:at] = data[at : at + rng.randrange(1, 60)]
            case 5:
                data[at : at + 4] = rng.randbytes(4)
            case _:
                lines = bytes(data).split(b"\n")
                lines.pop(rng.randrange(len(lines)))
                rng.shuffle(lines) if rng.random() < 0.2 else None
                data = bytearray(b"\n".join(lines))
    return bytes(data)


@st.composite
def broken_tables(draw: st.DrawFn) -> Case:
    """A file that was damaged: refused in one sentence, or released whole."""
    verb = draw(st.sampled_from(("quantize", "switch", "redact")))
    strategy = table_strategy({"quantize": "number", "switch": "word", "redact": "state"}[verb])
    table = draw(strategy.filter(lambda table: isinstance(table.source, bytes)))
    release, _ = {"quantize": _quantize, "switch": _switch, "redact": _redact}[verb](draw, table)
    suffix = draw(st.sampled_from(SUFFIXES))
    content = broken(table.source, draw(st.integers(0, 2**32)))

    def run(inputs: Path, outputs: Path) -> None:
        path = inputs / f"in{table.suffix}"
        path.write_bytes(content)
        done = release(path, outputs / f"out{suffix}")
        Certificate.read(done.outputs.certificate).verify(outputs / f"out{suffix}")

    return Case("broken table", False, run, (table, content))


# --- certificates, models, policies ----------------------------------------------------------------------------------

_HOSTILE: list[Any] = [
    None, True, False, 0, -1, 1, 2, 10**6, 2**31, 2**63, 10**30, 0.5, 1e308, -1e-300, "", "x", "0", "1/3", "1e9",
    "infinity", "nan", "\ud800", "a/b", "\x1b[31m", [], {}, [[]], [0], [None], {"a": 1}, [1, 2, 3], "2024-01-01",
]  # fmt: skip


def places(body: Any) -> list[tuple[Any, Any]]:
    """Every container and key."""
    keys: list[Any] = list(body) if isinstance(body, dict) else list(range(len(body))) if isinstance(body, list) else []
    return [(body, key) for key in keys] + [each for key in keys for each in places(body[key])]


def altered(body: Any, seed: int) -> Any:
    """JSON with fields changed, dropped, repeated or exchanged."""
    rng, body = random.Random(seed), copy.deepcopy(body)
    for _ in range(rng.choice((1, 1, 2, 4))):
        found = places(body)
        if not found:
            return body
        holder, key = rng.choice(found)
        other, there = rng.choice(found)
        match rng.randrange(8):
            case 0:
                del holder[key]
            case 1 if isinstance(holder, list):
                holder.insert(key, copy.deepcopy(holder[key]))
            case 2:
                holder[key] = copy.deepcopy(other[there])
            case 3 if isinstance(holder[key], int | float) and not isinstance(holder[key], bool):
                holder[key] = holder[key] * rng.choice((-1, 0, 2, 1.0000001, 10**9)) + rng.choice((0, 1, -1))
            case 4 if isinstance(holder[key], str):
                holder[key] = holder[key][: rng.randrange(len(holder[key]) + 1)]
            case _:
                holder[key] = copy.deepcopy(rng.choice(_HOSTILE))
    return body


@dataclass(frozen=True)
class Pool:
    """Right certificates with their files, and right models, to be altered."""

    certificates: tuple[tuple[dict[str, Any], Path], ...]
    models: tuple[dict[str, Any], ...]
    policies: tuple[dict[str, Any], ...]


@st.composite
def certificates(draw: st.DrawFn, pool: Pool) -> Case:
    """A certificate that was altered, coherently or not: it verifies or is refused, with or without its file."""
    body, file = draw(st.sampled_from(pool.certificates))
    seed, how, with_file = (
        draw(st.integers(0, 2**32)),
        draw(st.sampled_from(["digest", "claims", "text"])),
        draw(st.integers(0, 9)) == 0,
    )
    if how == "text":
        text = broken(Certificate(body).to_json().encode(), seed).decode("utf-8", "replace")
    else:
        text = json.dumps(altered(body, seed))

    def run(inputs: Path, outputs: Path) -> None:
        stated = Certificate.parse(text)
        if how != "text" and isinstance(stated.body, dict):
            own = {key: value for key, value in stated.body.items() if key not in ("digest", "signature")}
            if how == "claims":
                with contextlib.suppress(Exception):  # whatever it is, verify must say it in a sentence
                    own["claims"] = json.loads(_dumps(claims(own["action"], own["parameters"], own["released"])))
            stated = Certificate({**own, "digest": _digest(own)})
        stated.verify(file if with_file else None)

    return Case("certificate", False, run, text)


@st.composite
def model_files(draw: st.DrawFn, pool: Pool) -> Case:
    """A model file that was altered."""
    text = json.dumps(altered(draw(st.sampled_from(pool.models)), draw(st.integers(0, 2**32))))

    def run(inputs: Path, outputs: Path) -> None:
        (inputs / "model.json").write_text(text)
        Model.read(inputs / "model.json")

    return Case("model", False, run, text)


@st.composite
def policies(draw: st.DrawFn) -> Case:
    """A valid policy: its leakage is that of the enumeration, its release what it says."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, size = draw(st.integers(1, 4)), draw(st.integers(2, 3))
    chain = random_chain(rng, size, draw(st.sampled_from((1, 1, 2))), draw(st.booleans()))
    first = draw(st.integers(0, n - 1))
    secret = (first, min(n - 1, first + draw(st.integers(0, 1))))
    chances = random_policy(rng, n, size, [secret])

    def run(inputs: Path, outputs: Path) -> None:
        policy = rt.RedactionPolicy(chain, chances, secret)
        right = enumerated_leakage(chain, n, secret, local_law(policy.probabilities))
        assert policy.leakage() == right or math.isclose(policy.leakage(), right, rel_tol=1e-9, abs_tol=1e-9)
        states = chain.sample(n, rt.seeded_source(3))
        shown = policy.release(states, rt.seeded_source(4))
        hidden = np.ma.getmaskarray(shown)
        codes = chain.encode(states)
        assert hidden[secret[0] : secret[1] + 1].all()
        assert (np.asarray(shown)[~hidden] == np.asarray(states)[~hidden]).all()
        chance = policy.probabilities[np.arange(n), codes]
        assert hidden[chance == 1].all()
        assert not hidden[chance == 0].any()
        assert rt.RedactionPolicy.from_json(policy.to_json()) == policy

    return Case("policy", True, run, (chain, chances, secret))


@st.composite
def broken_policies(draw: st.DrawFn, pool: Pool) -> Case:
    """A policy's JSON that was altered, as `reticent audit` reads it."""
    text = json.dumps(altered(draw(st.sampled_from(pool.policies)), draw(st.integers(0, 2**32))))

    def run(inputs: Path, outputs: Path) -> None:
        _policy(json.loads(text), "policy.json")

    return Case("broken policy", False, run, text)


OWN = ReticentError
