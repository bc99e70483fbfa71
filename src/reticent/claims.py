"""What a release claims, computed from its public parameters alone.

The same function writes a certificate and verifies it, so a claim cannot be stated that is not recomputed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import repeat
from typing import Any

from reticent.errors import ArgumentError
from reticent.guarantees import NoGuarantee, PufferfishGuarantee, number
from reticent.markov import MarkovChain
from reticent.quantization import AggregateQuantization, Quantizer, Roster, VectorQuantization
from reticent.redaction import RedactionPolicy, SequentialRedaction
from reticent.redaction.leakage import TOLERANCE
from reticent.redaction.policy import say_model
from reticent.switching import Switch, switch_from_dict

Body = dict[str, Any]

_REDACTIONS: dict[str, Any] = {kind.mechanism: kind for kind in (RedactionPolicy, SequentialRedaction)}


def claims(action: str, parameters: Mapping[str, Any], released: Mapping[str, Any]) -> Body:
    """Guarantee, utility and assumptions of a release.

    Parameters
    ----------
    action : {"redact", "switch", "quantize"}
    parameters : mapping
        Public parameters, as in the certificate.
    released : mapping
        What the released file shows (rows, number and length of its series).

    Returns
    -------
    dict
        ``kept`` says whether the recomputed guarantee is within what was asked.
    """
    match action:
        case "switch":
            body = _switch(parameters, released)
        case "quantize":
            body = _quantize(parameters, released)
        case "redact":
            body = _redact(parameters, released)
        case _:
            raise ArgumentError("action: must be redact, switch or quantize")
    if which := _THINNED.get(parameters.get("duplicates", "error")):
        body["assumptions"].append(
            f"Of several records of a series at one time only the {which} counts: the promise is about the series that "
            "this leaves, and not about the records that it drops."
        )
    if parameters.get("duplicates") == "mean":
        body["assumptions"].append(
            "Several records of a series at one time count as one, their mean, which need not have occurred: the "
            "promise is about the series that this leaves."
        )
    if parameters.get("unread") == "set aside":
        body["assumptions"].append(
            "Rows that could not be read were set aside first: which rows can be read counts as public"
            + (", and so does which values stand for a state." if parameters.get("states") else ".")
        )
    if parameters.get("late") == "drop":
        body["assumptions"].append(
            "Records that came after later ones of their series were left out: when a record comes does not depend on "
            "the values."
        )
    return body


_THINNED = {"min": "smallest", "max": "largest", "first": "first"}


def _switch(parameters: Mapping[str, Any], released: Mapping[str, Any]) -> Body:
    switch = switch_of(parameters)
    asked = parameters["asked"]
    cuts = parameters["cuts"]
    guarantee = replace(switch.guarantee, cuts=cuts is not None)
    stream = parameters.get("continued")
    outside = "" if stream is None else ", outside this stream,"
    zone = f" (of {parameters['zone']})" if parameters.get("zone") else ""
    pieces = "series" if cuts is None else f"calendar {cuts}{zone} of a series"
    return {
        "kept": guarantee.epsilon <= asked["epsilon"] and guarantee.delta <= asked["delta"],
        "guarantee": guarantee.to_dict(),
        "utility": {"mean_displacement_steps": switch.displacement().mean},
        "assumptions": [
            "A step is a record: the times of the records do not depend on the values.",
            f"Each {pieces} is one piece, and the value columns of a record move together.",
            *([] if stream is None else continued(stream)),
            *kept_columns(released),
            f"No other release of the same series{outside} shows the order of its values.",
        ],
    }


def continued(stream: Mapping[str, Any]) -> list[str]:
    """What is said of one file of a stream that goes on from file to file."""
    which = f"release {int(stream['run'])} of the stream {stream['stream']!s}"
    return [
        f"This is {which}{', its last one' if stream['finished'] else ''}: instants come in order, each once.",
        "The guarantee is of all releases of the stream together, not of each by itself.",
        "The state of the stream, which undoes the switch, stays as secret as the values.",
    ]


def kept_columns(released: Mapping[str, Any]) -> list[str]:
    """What columns that were carried along unchanged ask one to assume."""
    names = released["columns"]["kept"]
    return [f"The columns that were kept ({', '.join(names)}) give no value away."] if names else []


def switch_of(parameters: Mapping[str, Any]) -> Switch:
    """The switch of a certificate."""
    return switch_from_dict(parameters["mechanism"])


def _quantize(parameters: Mapping[str, Any], released: Mapping[str, Any]) -> Body:
    if "aggregate" in parameters:
        return _aggregate(parameters, released)
    if "range" in parameters:
        return _quantize_by_own_range(parameters, released)
    asked = parameters["asked"]
    mechanism = VectorQuantization.from_dict({"coordinates": parameters["coordinates"]})
    reading = mechanism.guarantee
    longest = released["longest"]
    return {
        "kept": reading.outputs <= asked["outputs"],
        "guarantee": reading.to_dict(),
        "series": {"readings": longest, "bits": longest * math.log2(reading.outputs)},
        "cells": [
            {"levels": part.levels, "narrowest": float(part.narrowest), "widest": float(part.widest)}
            for part in (coordinate.quantizer for coordinate in mechanism.coordinates)
        ],
        "utility": {"widest_cell": [float(part.quantizer.widest) for part in mechanism.coordinates]},
        "assumptions": [
            "The range and the number of levels were fixed without looking at the data.",
            "When a reading exists is public.",
            *kept_columns(released),
        ],
    }


def _quantize_by_own_range(parameters: Mapping[str, Any], released: Mapping[str, Any]) -> Body:
    """No guarantee; that there are no more cells than were asked for is all that can be checked."""
    levels = [int(each["levels"]) for each in parameters["cells"]]
    if parameters["range"] != "from the data" or len(levels) != len(released["columns"]["value"]) or min(levels) < 1:
        raise ArgumentError("range: must be from the data, with the number of cells of each value column")
    reason = "the range of the cells was read off the data, whose smallest and largest value decide every cell"
    return {
        "kept": math.prod(levels) <= parameters["asked"]["outputs"],
        "guarantee": NoGuarantee(reason).to_dict(),
        "utility": {"levels": levels},
        "assumptions": ["None: nothing is promised.", *kept_columns(released)],
    }


def _aggregate(parameters: Mapping[str, Any], released: Mapping[str, Any]) -> Body:
    mechanism = AggregateQuantization.from_dict(parameters["aggregate"])
    readings, longest = parameters["readings"], released["longest"]
    sizes = {people for people, count in parameters["groups"] if count > 0}
    plans = [mechanism.plan(Roster(people, people * readings, readings)) for people in sorted(sizes)]
    guarantee = mechanism.guarantee
    counted = max(plan.outputs for plan in plans)
    cells = {(plan.quantizer.levels, float(plan.quantizer.narrowest), float(plan.quantizer.widest)) for plan in plans}
    return {
        "kept": counted <= guarantee.outputs <= parameters["asked"]["outputs"],
        "guarantee": guarantee.to_dict(),
        "counted_outputs": counted,
        "series": {"readings": longest, "bits": longest * math.log2(guarantee.outputs)},
        "cells": [dict(zip(("levels", "narrowest", "widest"), each, strict=True)) for each in sorted(cells)],
        "utility": {"widest_cell": [max(widest for _, _, widest in cells)]},
        "assumptions": [
            "The range, the resolution and the rosters were fixed without looking at the readings.",
            f"An aggregate is {mechanism.rule.describe()}; its {withheld(mechanism)}.",
        ],
    }


def withheld(mechanism: AggregateQuantization) -> str:
    """Whether being withheld is an output, in words."""
    return (
        "being withheld is counted as an output" if mechanism.withheld_outputs else "roster decides, not the readings"
    )


def rosters(parameters: Mapping[str, Any], readings: int) -> Iterator[Roster]:
    """The roster of each group of a certificate, one after the other: any number may stand there."""
    for people, count in parameters["groups"]:
        yield from repeat(Roster(people, people * readings, readings), count)


def _redact(parameters: Mapping[str, Any], released: Mapping[str, Any]) -> Body:
    mechanisms = [redaction_from_dict(each, parameters["chains"]) for each in parameters["mechanisms"]]
    leakages = [mechanism.leakage() for mechanism in mechanisms]
    epsilon = max(leakages, default=0.0)
    guarded = [(mechanisms[index], count) for index, count in parameters["series"] if index is not None]
    records = sum(count * mechanism.n for mechanism, count in guarded)
    expected = sum(count * mechanism.n * mechanism.utility() for mechanism, count in guarded)
    private = "; ".join(parameters["private"])
    cells = parameters["quantizer"]
    if cells is not None and any(
        tuple(chain["states"]) != Quantizer.from_dict(cells).symbols for chain in parameters["chains"]
    ):
        raise ArgumentError("chains: their states are not the symbols of the cells")
    model = say_model([MarkovChain.from_dict(chain) for chain in parameters["chains"]])
    guarantee = PufferfishGuarantee(epsilon, f"the private records of a series ({private})", model)
    return {
        "kept": epsilon <= parameters["asked"]["epsilon"] + TOLERANCE,
        "guarantee": guarantee.to_dict(),
        "leakage": [number(leakage) for leakage in leakages],
        "utility": {
            "expected_released_fraction": expected / records if records else 1.0,
            "series_with_private_records": sum(count for _, count in guarded),
            "series_released_whole": sum(count for index, count in parameters["series"] if index is None),
        },
        "assumptions": [
            _ORIGINS[parameters["model"]["origin"]],
            *([] if cells is None else [_COARSENED]),
            "Which records are private was decided without looking at their values.",
            "Which rows exist, and which values outside the private ones are missing, does not depend on the values.",
            *kept_columns(released),
        ],
    }


_ORIGINS = {
    "file": "The chain comes from a file: it is public knowledge, or was estimated on other data than the hidden ones.",
    "released": "The chain was estimated on records of this release that are released with certainty.",
}


_MOST_ENTRIES = 1 << 27

_COARSENED = (
    "The values were coarsened first, to cells that were declared without looking at them: the chain is a model of the "
    "cells, and it is the cell of a record that is protected or released."
)


def redaction_from_dict(data: Mapping[str, Any], chains: list[Any]) -> Any:
    """The redaction mechanism of a certificate, where the chains are written once for all, from the epoch on."""
    own = [{**chain, "phase": chain["phase"] + data["phase"]} for chain in chains]
    return redaction_of({**data, "chains": own})


def redaction_of(data: Mapping[str, Any]) -> Any:
    """The redaction mechanism that `to_dict` wrote.

    Raises
    ------
    ArgumentError
        One of so many records that nobody made it: a few words would take all the memory of whoever reads them.
    """
    walks = data.get("walks", ())
    sizes = [data["n"], *(walk["count"] for walk in walks), *(last for walk in walks for _, last, _ in walk["release"])]
    if max(map(int, sizes)) * len(data["chains"][0]["states"]) > _MOST_ENTRIES:
        raise ArgumentError(f"n: a mechanism has at most {_MOST_ENTRIES:,} records times states")
    return _REDACTIONS[data["mechanism"]].from_dict(dict(data))
