"""Streams: values in as they come, rearranged values out as soon as they can be, in memory that does not grow.

Instant t is drawn once the record t+w-1 has come, or at the flush, and draws do not depend on how the input is cut:
a stream gives what `release` gives from the same source.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.errors import ArgumentError
from reticent.randomness import Source
from reticent.switching.journal import Digest, Journal
from reticent.switching.mechanism import Order, Switch, check_values

_FORMAT = 1
_journals: dict[bytes, Journal] = {}  # of streams saved or restored in this process, by the stream's own key


class SwitchStream:
    """One series, released as it comes. Made by `Switch.stream` or `SwitchStream.restore`.

    Parameters
    ----------
    switch : Switch
        A mechanism with bounded look-ahead.
    source : Source
        The source of this series.
    journal : path, optional
        A private file in which the digest of what was given is kept, so that the state can be restored after a crash
        without ever drawing alike for different data (`Journal`). Keep it beside the saved state.

    Attributes
    ----------
    consumed, released : int
        Records given and released so far.
    """

    def __init__(self, switch: Switch, source: Source, journal: str | os.PathLike[str] | None = None) -> None:
        if switch.look_ahead is None:
            raise ArgumentError(
                f"stream: this {type(switch).__name__} needs the whole series before it releases any of it; use "
                "release(), or MallowsSwitch with delta above 0"
            )
        self.switch = switch
        self.consumed = self.released = 0
        self._look_ahead = switch.look_ahead
        self._source = source
        self._sampler = switch.sampler()
        self._key = source.tag("stream journal")
        self._digest = Digest(self._key)
        self._journal = None if journal is None else Journal(journal)
        self._values: NDArray[Any] | None = None  # unreleased, by arrival
        self._held: NDArray[Any] | None = None  # given, but not yet verified against the journal
        self._arrived: Order = np.empty(0, dtype=np.int64)  # their instants
        self._order: Order = np.empty(0, dtype=np.int64)  # the instants of the contents of the next positions
        self._flushed = False

    def push(self, values: Any) -> NDArray[Any]:
        """Give further records; the records that can be released now.

        Parameters
        ----------
        values : array_like, shape (m,) or (m, columns)
            Of the same kind in every chunk.

        Raises
        ------
        ArgumentError
            After `flush`, or for a chunk of another kind or width.
        RefusedError
            If a restored stream is given other records than an earlier restoration was.
        """
        if self._flushed:
            raise ArgumentError("push: this stream was flushed, and its series is complete; start another stream")
        if isinstance(values, np.ma.MaskedArray):
            raise ArgumentError("values: a masked array does not stream; mark what is missing with NaN or a value")
        chunk = check_values(values)
        if chunk.shape[0] == 0 and self._values is None:
            return chunk
        chunk = self._fitted(chunk)
        empty = chunk[:0]
        held = chunk if self._held is None else np.concatenate([self._held, chunk])
        out = [empty]
        if self._journal is not None:
            self._journal.check_room(self.consumed + held.shape[0])
        while held.shape[0]:
            # what an earlier run was given is taken up only as far as it can be verified
            known = None if self._journal is None else self._journal.next_position(self.consumed)
            if known is not None and known - self.consumed > held.shape[0]:
                break
            count = held.shape[0] if known is None else known - self.consumed
            digest = self._digest.copy()
            if values_can_be_saved(held):
                digest.update(held[:count])
            if self._journal is not None:
                self._journal.given(digest)
            self._digest = digest
            out.append(self._take(held[:count]))
            held = held[count:]
        self._held = held if held.shape[0] else None
        return np.concatenate(out)

    def flush(self) -> NDArray[Any]:
        """The end of the series: all that has not been released yet."""
        if self._flushed:
            raise ArgumentError("flush: this stream was flushed before, and its series is complete; start another one")
        if self._journal is not None:
            self._journal.ended(self._digest)
        self._flushed = True
        if self._values is None:
            return np.empty(0)
        return self._release(self._order.size)

    def _fitted(self, chunk: NDArray[Any]) -> NDArray[Any]:
        """The chunk in the stream's own type, which the first one set; text may grow longer."""
        if self._values is None:
            self._values = chunk[:0].copy()
        mine = self._values.dtype
        if chunk.shape[1:] != self._values.shape[1:]:
            raise ArgumentError("values: this chunk has another number of columns than the first one")
        if chunk.dtype.kind == mine.kind and mine.kind in "US":
            wider = np.promote_types(mine, chunk.dtype)
            self._values = self._values.astype(wider)
            return chunk.astype(wider)
        if chunk.dtype.kind != mine.kind or not np.can_cast(chunk.dtype, mine, "safe"):
            raise ArgumentError(
                f"values: this chunk is of {chunk.dtype}, the first one was of {mine}; push chunks of one type"
            )
        if self._journal is not None and not values_can_be_saved(chunk):
            raise ArgumentError("values: Python objects cannot be kept in a state; push numbers, dates or text")
        return chunk.astype(mine)

    def _take(self, chunk: NDArray[Any]) -> NDArray[Any]:
        assert self._values is not None
        fresh = np.arange(self.consumed, self.consumed + chunk.shape[0], dtype=np.int64)
        self.consumed += chunk.shape[0]
        self._values = np.concatenate([self._values, chunk])
        self._arrived = np.concatenate([self._arrived, fresh])
        self._order = np.concatenate([self._order, fresh])
        return self._release(max(0, self._order.size - self._look_ahead + 1))

    def _release(self, count: int) -> NDArray[Any]:
        assert self._values is not None
        order = self._order - self.released
        self._sampler.advance(order, 0, count, self._source)
        order += self.released
        places = np.searchsorted(self._arrived, order[:count])
        out = self._values[places]
        kept = np.ones(self._arrived.size, dtype=np.bool_)
        kept[places] = False
        self._values, self._arrived = self._values[kept], self._arrived[kept]
        self._order = order[count:].copy()
        self.released += count
        return out

    def save(self) -> bytes:
        """The state as bytes: key and unreleased values, so **as secret as the data**.

        From here on the stream keeps a journal, if only in memory, so that the state is not restored with other input.
        """
        if self._values is not None and not values_can_be_saved(self._values):
            raise ArgumentError("save: Python objects cannot be kept in a state; push numbers, dates or text")
        if self._journal is None:
            self._journal = _journals.setdefault(self._key, Journal())
        header = {
            "format": _FORMAT,
            "switch": self.switch.to_dict(),
            "consumed": self.consumed,
            "released": self.released,
            "flushed": self._flushed,
            "begun": self._values is not None,
        }
        none = np.empty(0)
        values = none if self._values is None else self._values
        parts: dict[str, Any] = {
            "header": np.frombuffer(json.dumps(header).encode(), dtype=np.uint8),
            "source": np.frombuffer(self._source.state(), dtype=np.uint8),
            "chained": np.frombuffer(self._digest.chained, dtype=np.uint8),
            "rest": np.frombuffer(self._digest.rest, dtype=np.uint8),
            "arrived": self._arrived,
            "order": self._order,
            "values": values,
            "held": values[:0] if self._held is None else self._held,
        }
        buffer = io.BytesIO()
        np.savez(buffer, allow_pickle=False, **parts)
        return hashlib.blake2b(buffer.getvalue(), digest_size=32).digest() + buffer.getvalue()

    @classmethod
    def restore(cls, state: bytes, journal: str | os.PathLike[str] | None = None) -> SwitchStream:
        """Go on from a saved state: the same instants are never drawn afresh.

        Parameters
        ----------
        state : bytes
            From `save`.
        journal : path, optional
            As for the stream that was saved. Without it, only restorations within this process know of one another.

        Raises
        ------
        ArgumentError
            If the bytes are no state, or were altered.
        """
        from reticent.switching.registry import switch_from_dict

        check, body = state[:32], state[32:]
        if hashlib.blake2b(body, digest_size=32).digest() != check:
            raise ArgumentError("state: these bytes are no saved stream, or were altered; pass what save() gave")
        with np.load(io.BytesIO(body), allow_pickle=False) as parts:
            header = json.loads(parts["header"].tobytes())
            stream = cls(switch_from_dict(header["switch"]), Source.from_state(parts["source"].tobytes()))
            stream._digest = Digest(
                stream._key, parts["chained"].tobytes(), parts["rest"].tobytes(), header["consumed"]
            )
            stream._arrived, stream._order = parts["arrived"], parts["order"]
            if header["begun"]:
                stream._values = parts["values"]
                stream._held = parts["held"] if parts["held"].shape[0] else None
        stream.consumed, stream.released = header["consumed"], header["released"]
        stream._flushed = header["flushed"]
        stream._journal = Journal(journal) if journal is not None else _journals.setdefault(stream._key, Journal())
        return stream


def values_can_be_saved(values: NDArray[Any]) -> bool:
    """Numbers, dates and text can; Python objects cannot."""
    return not values.dtype.hasobject
