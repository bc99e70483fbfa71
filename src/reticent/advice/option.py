"""What an advice says."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from reticent.advice.draws import Expected


@dataclass(frozen=True)
class Option:
    """One way to release the data.

    Parameters
    ----------
    verb : {"redact", "switch", "quantize"}
    guarantee : str
        What is promised about what, in short.
    utility : tuple of Expected
        What the release will realise, the most telling first.
    lost : str
    commands : tuple of str
        To be run one after the other.
    """

    verb: str
    guarantee: str
    utility: tuple[Expected, ...]
    lost: str
    commands: tuple[str, ...]


@dataclass(frozen=True)
class Advice:
    """What fits a file. **Private**: it is computed from the values.

    Parameters
    ----------
    found : str
        What the file holds.
    options : tuple of Option
    left_out : tuple of (str, str)
        What was not tried or did not work, and why.
    """

    found: str
    options: tuple[Option, ...]
    left_out: tuple[tuple[str, str], ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {"private": True, **asdict(self)}
