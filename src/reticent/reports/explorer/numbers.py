"""What each mechanism gives at each setting: the numbers of the explorer, before they are put into words."""

from __future__ import annotations

import decimal
import json
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib.resources import files
from itertools import product
from typing import Any

from reticent.errors import ReticentError
from reticent.guarantees import number as plain
from reticent.markov import MarkovChain
from reticent.redaction import (
    RedactionPolicy,
    SequentialRedaction,
    markov_quilt,
    optimal_policy,
    sequential_redaction,
    three_region,
)
from reticent.reports.switching import quantiles
from reticent.switching import FootruleSwitch, MallowsSwitch, RanSwitch, StaSwitch, Switch

Cell = list[Any] | str
"""Numbers of one mechanism at one setting, or the sentence that says why there are none."""

RECORDS = 1000  # of the series that the shipped tables are of
CHANCES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)  # of α and of β
LENGTHS = (1, 2, 6, 12, 24, 48)
OWN_LENGTHS = (1, 4, 12, 48)  # for a chain that was given, computed while somebody waits
EPSILONS = (0.1, 0.2, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0)

WINDOWS = (2, 3, 4, 5, 6, 8, 12, 18, 24, 36, 48, 72, 96, 168)
SWITCH_EPSILONS = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0)
STREAM_DELTA = 1e-6
STA_WINDOW = 12  # beyond it the simulation of its δ takes minutes

DIGITS = 10  # significant ones of a number that ships, four more than are shown
_UP = decimal.Context(prec=DIGITS, rounding=decimal.ROUND_CEILING)

Redaction = RedactionPolicy | SequentialRedaction
Redactor = Callable[[MarkovChain, int, tuple[int, int], float], Redaction]


def _published(chain: MarkovChain, n: int, secret: tuple[int, int], epsilon: float) -> RedactionPolicy:
    return three_region(chain, n, secret, epsilon, variant="published")


REDACTIONS: dict[str, Redactor] = {
    "sequential": sequential_redaction,
    "optimal": optimal_policy,
    "three-region": three_region,
    "quilt": markov_quilt,
    "published": _published,
}


def middle(n: int, length: int) -> tuple[int, int]:
    """A secret of `length` records in the middle of `n`, both ends included."""
    first = (n - length) // 2
    return first, first + length - 1


def redaction(name: str, chain: MarkovChain, n: int, length: int, epsilon: float) -> Cell:
    """Exact leakage (nats), and the number of records that are expected to be withheld, the secret's included.

    Parameters
    ----------
    name : key of `REDACTIONS`
    chain : MarkovChain
    n, length : int
        Records of the series, and of the secret in its middle.
    epsilon : float
        Nats.
    """
    if length > n:
        return "the secret is longer than the series"
    try:
        policy = REDACTIONS[name](chain, n, middle(n, length), epsilon)
    except ReticentError as error:
        return str(error)
    return [plain(policy.leakage()), n - n * policy.utility()]


SWITCHES: dict[str, Callable[[int, float], Switch]] = {
    "footrule": FootruleSwitch,
    "mallows": lambda window, epsilon: MallowsSwitch(window, epsilon, delta=0.0),
    "mallows-stream": lambda window, epsilon: MallowsSwitch(window, epsilon, delta=STREAM_DELTA),
    "ran": RanSwitch,
    "sta": StaSwitch,
}


def switching(name: str, window: int, epsilon: float) -> Cell:
    """ε (nats), δ, whether δ is statistical, mean displacement, steps within which nine in ten stay, look-ahead.

    Parameters
    ----------
    name : key of `SWITCHES`
    window : int
        Steps.
    epsilon : float
        Nats.
    """
    if name == "sta" and window > STA_WINDOW:
        return "not on this page: its δ is found by simulation, which takes minutes for so long a window"
    try:
        switch = SWITCHES[name](window, epsilon)
    except ReticentError as error:
        return str(error)
    guarantee, law = switch.guarantee, switch.displacement()
    (ninety,) = quantiles(law, (0.9,))
    return [guarantee.epsilon, guarantee.delta, guarantee.statistical, law.mean, ninety, switch.look_ahead]


def redaction_settings() -> Iterator[tuple[str, MarkovChain, int, int, float]]:
    """Arguments of `redaction` for the tables that ship, in their order: mechanism, α, β, length, ε."""
    for name, alpha, beta, length, epsilon in product(REDACTIONS, CHANCES, CHANCES, LENGTHS, EPSILONS):
        yield name, MarkovChain.binary(alpha, beta), RECORDS, length, epsilon


def switching_settings() -> Iterator[tuple[str, int, float]]:
    """Arguments of `switching`, in the order of the tables: mechanism, window, ε."""
    yield from product(SWITCHES, WINDOWS, SWITCH_EPSILONS)


def shortened(cell: Cell, costs: int) -> Cell:
    """With as many digits as ship; of what is promised, the first `costs` numbers, never less than it is."""
    if isinstance(cell, str):
        return cell
    promised = [float(_UP.create_decimal(repr(each))) if isinstance(each, float) else each for each in cell[:costs]]
    rest = [float(f"{each:.{DIGITS}g}") if isinstance(each, float) else each for each in cell[costs:]]
    return promised + rest


def packed(redactions: Sequence[Cell], switches: Sequence[Cell]) -> str:
    """The text of the tables that ship."""
    body = {
        "redaction": [shortened(cell, 1) for cell in redactions],
        "switching": [shortened(cell, 2) for cell in switches],
    }
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False) + "\n"


@cache
def shipped() -> dict[str, list[Cell]]:
    """The tables that ship: of `redaction_settings` and of `switching_settings`."""
    body: dict[str, list[Cell]] = json.loads(files(__package__).joinpath("tables.json").read_text(encoding="utf-8"))
    return body
