"""States by a declared mapping: which words, numbers and booleans stand for a state, the same in every file."""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Mapping
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from reticent.errors import ArgumentError
from reticent.tables.sql import text

Spellings = Mapping[Hashable, tuple[Any, ...]]
Key = tuple[str, Any]

_KINDS = {bool: "BOOLEAN", int: "BIGINT", float: "DOUBLE", str: "VARCHAR"}
_MOST_DIGITS = 400
_WRITTEN = "off=off|0|False, on=on|1|True"


def states_from(words: str) -> tuple[list[Any] | None, dict[Any, tuple[Any, ...]]]:
    """States, and the values that stand for them, from ``off,on`` or ``off=off|0|False, on=on|1|True`` or a JSON file.

    Raises
    ------
    ArgumentError
        A file that cannot be read; a part without a state or a value; see `checked`.
    """
    if words.endswith(".json"):
        return None, _from_file(Path(words))
    parts = [part.strip() for part in words.split(",")]
    if not any("=" in part for part in parts):
        return list(plain(parts)), {}
    pairs = [tuple(part.split("=", 1)) for part in parts if "=" in part]
    if len(pairs) != len(parts) or not all(state.strip() and values.strip() for state, values in pairs):
        raise ArgumentError(f"states: name each state and the values that stand for it, such as '{_WRITTEN}'")
    names = plain([state.strip() for state, _ in pairs])
    values = [tuple(value.strip() for value in values.split("|")) for _, values in pairs]
    return None, checked(list(zip(names, values, strict=True)))


def _from_file(path: Path) -> dict[Any, tuple[Any, ...]]:
    try:
        body = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=lambda pairs: pairs)
        pairs = [(state, tuple(values)) for state, values in body]
    except OSError as error:
        raise ArgumentError(f"states: {path.name} cannot be read ({error.strerror})") from None
    except (ValueError, TypeError):
        raise ArgumentError(
            f'states: {path.name} is no mapping; write it like {{"off": ["off", 0, false], "on": ["on", 1, true]}}'
        ) from None
    return checked(list(zip(plain([state for state, _ in pairs]), (values for _, values in pairs), strict=True)))


def plain(words: list[str]) -> tuple[Any, ...]:
    """All whole numbers, all numbers, all true or false, or words."""
    for kind in (int, float, _boolean):
        try:
            return tuple(kind(word) for word in words)
        except ValueError:
            continue
    return tuple(words)


def _boolean(word: str) -> bool:
    if word.lower() not in ("true", "false"):
        raise ValueError
    return word.lower() == "true"


def checked(pairs: list[tuple[Any, tuple[Any, ...]]]) -> dict[Any, tuple[Any, ...]]:
    """The mapping, if no state is named twice and no value stands for two of them.

    Raises
    ------
    ArgumentError
        One that does; states of several kinds; values that are no words, numbers or booleans.
    """
    if len({state for state, _ in pairs}) != len(pairs):
        raise ArgumentError("states: a state is named twice; give all its values together")
    if len({type(state) for state, _ in pairs}) > 1 or any(type(state) not in _KINDS for state, _ in pairs):
        raise ArgumentError("states: must be all words, all whole numbers, all numbers, or all true and false")
    if any(isinstance(state, int | float) and not abs(state) < 2**63 for state, _ in pairs):
        raise ArgumentError("states: a state that is a number must be finite, and a whole one less than 2^63")
    keys = [key_of(value) for _, values in pairs for value in values]
    if len(set(keys)) != len(keys):
        raise ArgumentError("states: a value stands for two states, or is named twice; 0 and 0.0 are one value")
    return dict(pairs)


def key_of(value: Any) -> Key:
    """What a declared value is compared as: a number, a boolean or a word, whichever way it is written."""
    if isinstance(value, bool):
        return "boolean", value
    if isinstance(value, int | float | Decimal) and math.isfinite(value):
        return "number", Decimal(str(value))
    if not isinstance(value, str):
        raise ArgumentError("states: the values of a state must be words, finite numbers, true or false")
    word = value.strip()
    if word.lower() in ("true", "false"):
        return "boolean", word.lower() == "true"
    try:
        number = Decimal(word)
    except InvalidOperation:
        return "word", word
    is_number = number.is_finite() and abs(number.adjusted()) <= _MOST_DIGITS  # no column holds others as numbers
    return ("number", number) if is_number else ("word", word)


def state_expression(column: str, kind: str, states: Spellings) -> str:
    """SQL of the state that a value stands for; null where it stands for none."""
    cases = [
        f"WHEN {condition} THEN {_literal(state)}"
        for state, values in states.items()
        for value in values
        if (condition := _equals(column, kind, key_of(value))) is not None
    ]
    sort = _KINDS[type(next(iter(states)))]
    return f"CAST(CASE {' '.join(cases)} END AS {sort})" if cases else f"CAST(NULL AS {sort})"


def _equals(column: str, kind: str, key: Key) -> str | None:
    sort, value = key
    if kind == "BOOLEAN":
        return f"{column} = {value}" if sort == "boolean" else None
    if kind != "VARCHAR":
        if sort != "number":
            return None
        if kind.startswith(("FLOAT", "DOUBLE", "DECIMAL")):
            return (
                f"{column} = CAST({text(f'{value:f}')} AS {kind if kind in ('FLOAT', 'DOUBLE') else 'DECIMAL(38, 12)'})"
            )
        return f"{column} = {int(value)}" if value == int(value) else None
    word = f"trim({column})"
    if sort == "word":
        return f"{word} = {text(value)}"
    if sort == "boolean":
        return f"lower({word}) = {text(str(value).lower())}"
    if value != int(value):
        return f"TRY_CAST({word} AS DOUBLE) = {float(value)!r}"
    sign = "[+-]?" if not value else "-" if value < 0 else "\\+?"
    digits = text(sign + f"0*{abs(int(value))}" + r"(\.0*)?")
    return f"regexp_full_match({word}, {digits})"


def _literal(state: Any) -> str:
    return text(state) if isinstance(state, str) else repr(state)
