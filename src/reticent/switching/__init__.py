"""Moving values in time, with temporal local differential privacy.

Source: "Stateful Switch: Optimized Time Series Release with Local Differential Privacy", corrected where it is wrong,
and two mechanisms derived here whose δ is zero (a file) or as small as one likes (a stream).
"""

from reticent.switching.batches import switch_batch
from reticent.switching.costs import CostCounts, Costs, Displacement, compare
from reticent.switching.dispatch import Dispatch
from reticent.switching.footrule import FootruleSwitch, auto_switch
from reticent.switching.mallows import MallowsSwitch
from reticent.switching.mechanism import Switch
from reticent.switching.privacy.replay import replayed_guarantee
from reticent.switching.ran_switch import RanSwitch, ideal_allocation
from reticent.switching.registry import MECHANISMS, switch_from_dict
from reticent.switching.sta_switch import StaSwitch
from reticent.switching.streams import SwitchStream

__all__ = [
    "MECHANISMS",
    "CostCounts",
    "Costs",
    "Dispatch",
    "Displacement",
    "FootruleSwitch",
    "MallowsSwitch",
    "RanSwitch",
    "StaSwitch",
    "Switch",
    "SwitchStream",
    "auto_switch",
    "compare",
    "ideal_allocation",
    "replayed_guarantee",
    "switch_batch",
    "switch_from_dict",
]
