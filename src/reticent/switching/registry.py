"""Mechanisms by the name that certificates and saved streams use."""

from __future__ import annotations

from typing import Any

from reticent.errors import ArgumentError
from reticent.switching.footrule import FootruleSwitch
from reticent.switching.mallows import MallowsSwitch
from reticent.switching.mechanism import Switch
from reticent.switching.ran_switch import RanSwitch
from reticent.switching.sta_switch import StaSwitch

MECHANISMS: dict[str, type[Switch]] = {
    mechanism.name: mechanism for mechanism in (FootruleSwitch, MallowsSwitch, RanSwitch, StaSwitch)
}


def switch_from_dict(parameters: dict[str, Any]) -> Switch:
    """The mechanism that some `to_dict` described.

    Raises
    ------
    ArgumentError
        If the mechanism is unknown or its parameters are not those that it has.
    """
    name = parameters.get("mechanism")
    if name not in MECHANISMS:
        raise ArgumentError(f"mechanism: must be one of {', '.join(MECHANISMS)}")
    try:
        return MECHANISMS[name].from_dict(parameters)
    except TypeError as error:
        raise ArgumentError(f"parameters: not those of the mechanism {name}") from error
