"""The one source of random words.

A `Source` is a stream of 64-bit words: AES-256 in counter mode (from ``cryptography``) over blocks
``tag (12 bytes) | counter (4 bytes)``. The key belongs to the job and comes from the operating system; the tag belongs
to the series and is a keyed code of its identifier. Hence one independent stream a series, whatever the order of
rows, batches, partitions or workers, and many series can be drawn in a single call.

Mechanisms compare these words with integer thresholds, so an event has exactly the probability that was analysed.
"""

from __future__ import annotations

import datetime as dt
import decimal
import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.errors import ArgumentError

Words = NDArray[np.uint64]

_TAG_BYTES = 12
_MAX_WORDS = 2**33  # 2^32 blocks of two words: the counter never runs into the tag
_REFILL = 1024
_FIRST = 32  # words: a short series needs no more
_FEW_IDS = 16  # are encoded sooner one by one
_IDS_AT_ONCE = 1 << 14  # what is made of them stays in the cache
_BLOCK = np.dtype("V16")
_SHOWN = np.where(np.arange(16) < np.arange(17)[:, None], np.uint8(255), np.uint8(0)).reshape(-1).view(_BLOCK)
_TENS = 10 ** np.arange(1, 20, dtype=np.uint64)  # a number of n + 1 digits is at least the n-th

_forks = 0


def _after_fork_in_child() -> None:
    global _forks
    _forks += 1


os.register_at_fork(after_in_child=_after_fork_in_child)


def encode_id(identifier: Any) -> bytes:
    """Injective encoding of a series identifier (text, number, date, bytes, None, or a tuple of these).

    Raises
    ------
    ArgumentError
        For any other type: its text might differ from one machine to the next.
    """
    if isinstance(identifier, tuple):
        parts = [encode_id(part) for part in identifier]
        return b"t" + b"".join(len(part).to_bytes(8, "big") + part for part in parts)
    if isinstance(identifier, np.generic):
        identifier = identifier.item()
    match identifier:
        case None:
            return b"n"
        case bytes():
            return b"b" + identifier
        case str():
            return b"s" + identifier.encode("utf-8", "surrogatepass")
        case bool() | int():
            return b"i" + str(int(identifier)).encode()
        case float():
            return b"f" + repr(identifier).encode()
        case decimal.Decimal():
            return b"d" + str(identifier).encode()
        case dt.datetime() | dt.date() | dt.time():
            return b"c" + identifier.isoformat().encode()
    raise ArgumentError(
        f"series id: {type(identifier).__name__} is not supported; use text, a number, a date or a tuple of these"
    )


@dataclass(frozen=True)
class EncodedIds:
    """Identifiers of many series as `encode_id` writes them, one after the other.

    Parameters
    ----------
    data : uint8, shape (bytes,)
    offsets : int64, shape (series + 1,)
    """

    data: NDArray[np.uint8]
    offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return self.offsets.size - 1

    @classmethod
    def of(cls, identifiers: Iterable[Any]) -> EncodedIds:
        """Those of plain values; whole numbers, and texts of one byte a letter, without a loop over them."""
        whole = whole_numbers(identifiers)
        if whole is not None and whole.size > _FEW_IDS:
            return cls.numerals(whole)
        identifiers = list(identifiers)
        if set(map(type, identifiers)) == {str} and (text := "s" + "s".join(identifiers)).isascii():
            data, more, parts = text.encode(), 1, identifiers
        else:
            parts = [encode_id(each) for each in identifiers]
            data, more = b"".join(parts), 0
        lengths = np.fromiter(map(len, parts), dtype=np.int64, count=len(parts)) + more
        return cls(np.frombuffer(data, dtype=np.uint8), np.concatenate([[0], np.cumsum(lengths)]))

    @classmethod
    def numerals(cls, values: NDArray[np.int64], mark: str = "i") -> EncodedIds:
        """A mark, a minus sign where there is one, then the decimal digits; all of one length at once."""
        below = values < 0
        size = values.astype(np.uint64)
        size[below] = -size[below]  # modulo 2^64, so that -2^63 has its size too
        lengths = 2 + below + np.searchsorted(_TENS, size, side="right")
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        data = np.empty(int(offsets[-1]), dtype=np.uint8)
        for length in np.flatnonzero(np.bincount(lengths)).tolist():
            which = np.flatnonzero(lengths == length)
            rest = size[which] if length > 10 else size[which].astype(np.uint32)
            ten = rest.dtype.type(10)
            words = np.empty((which.size, length), dtype=np.uint8)
            for place in range(length - 1, 0, -1):
                tenth = rest // ten
                words[:, place] = rest - ten * tenth
                rest = tenth
            words += ord("0")
            words[:, 0] = ord(mark)
            words[below[which], 1] = ord("-")
            word = np.dtype(f"V{length}")
            from_each = np.ndarray((data.size - length + 1,), word, data.data, strides=(1,))
            from_each[offsets[which]] = words.view(word)[:, 0]
        return cls(data, offsets)

    def take(self, which: NDArray[np.int64]) -> EncodedIds:
        """Those of some of the series."""
        if np.array_equal(which, np.arange(len(self))):
            return self
        lengths = np.diff(self.offsets)[which]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        return EncodedIds(
            self.data[np.arange(offsets[-1]) + np.repeat(self.offsets[which] - offsets[:-1], lengths)], offsets
        )


def authenticated(cipher: Any, head: bytes, ids: EncodedIds) -> NDArray[np.uint8]:
    """Keyed codes of many identifiers, shape (len(ids), 16).

    A CBC-MAC of the blocks ``head (12 bytes) | length of the encoded id (4 bytes)``, then the encoded id, filled up
    with zeros. The length comes first, so no message is the beginning of another, and the MAC is a pseudorandom
    function of them (Petrank and Rackoff, 2000).

    Parameters
    ----------
    cipher : cryptography.hazmat.primitives.ciphers.Cipher
        AES in ECB mode, under a key that serves for nothing else.
    head : bytes, length 12
    ids : EncodedIds
    """
    lengths = np.diff(ids.offsets)
    most = int(lengths.max(initial=0))
    first = np.empty((most + 1, 16), dtype=np.uint8)
    first[:, :_TAG_BYTES] = np.frombuffer(head, dtype=np.uint8)
    first[:, _TAG_BYTES:] = np.arange(most + 1, dtype=">u4").view(np.uint8).reshape(-1, 4)
    begun = _encrypted(cipher, first.reshape(-1).view(_BLOCK))  # for each length once
    padded = np.concatenate([ids.data, np.zeros(16, dtype=np.uint8)])
    from_each = np.ndarray((padded.size - 15,), _BLOCK, padded.data, strides=(1,))  # 16 bytes, wherever one begins
    state = np.empty(lengths.size, dtype=_BLOCK)
    for at in range(0, lengths.size, _IDS_AT_ONCE):
        left, starts = lengths[at : at + _IDS_AT_ONCE].copy(), ids.offsets[at : at + _IDS_AT_ONCE]
        some = begun[left]
        for begin in range(0, int(left.max()), 16):
            which: NDArray[np.intp] | slice = slice(None) if (left > 0).all() else np.flatnonzero(left > 0)
            block = from_each[starts[: left.size][which] + begin].view(np.uint64)
            block &= _SHOWN[np.minimum(left[which], 16)].view(np.uint64)
            block ^= some[which].view(np.uint64)
            some[which] = _encrypted(cipher, block.view(_BLOCK))
            left -= 16
        state[at : at + _IDS_AT_ONCE] = some
    return state.view(np.uint8).reshape(-1, 16)


def _encrypted(cipher: Any, blocks: NDArray[np.void]) -> NDArray[np.void]:
    """Each block by itself."""
    out = np.empty(blocks.size + 1, dtype=_BLOCK)  # update_into asks for a block to spare
    cipher.encryptor().update_into(blocks.view(np.uint8).data, out.view(np.uint8).data)
    return out[:-1]


def whole_numbers(identifiers: Iterable[Any]) -> NDArray[np.int64] | None:
    """Those that are all whole numbers of 64 bits, no truth values among them; else None."""
    try:
        if isinstance(identifiers, range) and identifiers:
            np.int64(identifiers[-1])  # does not overflow
            return np.int64(identifiers.start) + np.int64(identifiers.step) * np.arange(len(identifiers))
        if isinstance(identifiers, list | tuple) and set(map(type, identifiers)) == {int}:
            return np.array(identifiers, dtype=np.int64)
    except OverflowError:
        return None
    if isinstance(identifiers, np.ndarray) and identifiers.ndim == 1 and identifiers.dtype.kind == "i":
        return identifiers.astype(np.int64, copy=False)
    return None


class Source:
    """A stream of random 64-bit words.

    Made by `secure_source` or `seeded_source`, never directly. After a fork a secure source draws a fresh key in the
    child, and a seeded one refuses to go on, so a child never repeats its parent's stream. It cannot be pickled or
    copied: two copies would release two series with the same randomness.

    Attributes
    ----------
    seeded : bool
        True where the key comes from a seed: whatever is released with it is *not private*.
    """

    __slots__ = ("_buffer", "_cipher", "_forks", "_key", "_start", "_tag", "_tag_cipher", "_used", "seeded")

    def __init__(self, key: bytes, *, seeded: bool, tag: bytes = bytes(_TAG_BYTES), position: int = 0) -> None:
        self.seeded = seeded
        self._tag = tag
        self._forks = _forks
        self._rekey(key, position)

    def _rekey(self, key: bytes, position: int) -> None:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        self._key = key
        tags = hashlib.blake2b(key, digest_size=32, person=b"reticent-tag").digest()
        self._tag_cipher = Cipher(algorithms.AES(tags), modes.ECB())
        aes = hashlib.blake2b(key, digest_size=32, person=b"reticent-aes").digest()
        self._cipher = Cipher(algorithms.AES(aes), modes.ECB())  # of counter blocks, which is CTR
        self._begin(position)

    def _begin(self, position: int) -> None:
        self._used = position
        self._start = position
        self._buffer: Words = np.empty(0, dtype=np.uint64)

    def _check_fork(self) -> None:
        if self._forks == _forks:
            return
        if self.seeded:
            raise ArgumentError("source: a seeded source does not cross a fork; make one in each process")
        self._forks = _forks
        self._rekey(os.urandom(32), 0)

    def spawn(self, series_id: Any) -> Source:
        """The independent source of one series: a function of the key and of the id alone."""
        self._check_fork()
        return self.tagged(self.tag(series_id))

    def tag(self, series_id: Any) -> bytes:
        """The 96-bit tag of a series (for `batch`): see `tags`."""
        return self.tags(EncodedIds.of([series_id]))[0].tobytes()

    def tags(self, ids: Sequence[Any] | EncodedIds) -> NDArray[np.uint8]:
        """The tags of many series, shape (len(ids), 12): keyed, so ids cannot be made to collide.

        The first 96 bits of a MAC under a key of its own, of the tag of this source and the encoded id: see
        `authenticated`.
        """
        self._check_fork()
        encoded = ids if isinstance(ids, EncodedIds) else EncodedIds.of(ids)
        return authenticated(self._tag_cipher, self._tag, encoded)[:, :_TAG_BYTES].copy()

    def tagged(self, tag: bytes) -> Source:
        """The source of the series of a tag, as `spawn` gives it."""
        self._check_fork()
        own = Source.__new__(Source)
        own.seeded, own._tag, own._forks = self.seeded, tag, _forks
        own._key, own._tag_cipher, own._cipher = self._key, self._tag_cipher, self._cipher
        own._begin(0)
        return own

    def tagged_with(self, tags: NDArray[np.uint8], counts: NDArray[np.int64]) -> Iterator[Source]:
        """`tagged` for many series, each with its first `counts` words at hand: these are drawn in one call."""
        words, offsets = self.batch(tags, counts)
        words.flags.writeable = False
        for tag, begin, end in zip(tags, offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
            own = self.tagged(tag.tobytes())
            own._buffer = words[begin:end]
            yield own

    def peek(self, n: int) -> Words:
        """The next `n` words (read-only view), without using them up."""
        self._check_fork()
        offset = self._used - self._start
        if offset + n > self._buffer.size:
            rest = self._buffer[offset:]
            fresh = max(n - rest.size, min(2 * self._buffer.size, _REFILL), _FIRST)
            self._buffer = np.concatenate([rest, self._generate(self._used + rest.size, fresh)])
            self._buffer.flags.writeable = False
            self._start = self._used
            offset = 0
        return self._buffer[offset : offset + n]

    def advance(self, n: int) -> None:
        """Use up `n` words that were peeked at."""
        self._used += n

    @property
    def position(self) -> int:
        """How many words have been used up."""
        return self._used

    def words(self, n: int) -> Words:
        """The next `n` words, shape (n,), uint64 (read-only)."""
        words = self.peek(n)
        self.advance(n)
        return words

    def _generate(self, first: int, count: int) -> Words:
        """Words `first` … `first + count - 1` of this stream."""
        skip = first % 2
        words, _ = self._blocks(
            np.frombuffer(self._tag, dtype=np.uint8).reshape(1, -1), np.array([count + skip]), first // 2
        )
        return words[skip : skip + count]

    def batch(self, tags: NDArray[np.uint8], counts: NDArray[np.int64]) -> tuple[Words, NDArray[np.int64]]:
        """The first words of many series in one call.

        Parameters
        ----------
        tags : uint8, shape (series, 12)
            From `tags`.
        counts : int64, shape (series,)
            How many words each series needs at least.

        Returns
        -------
        words : uint64
        offsets : int64, shape (series + 1,)
            Series i owns ``words[offsets[i]:offsets[i + 1]]``, at least ``counts[i]`` of them; they are the words that
            ``spawn(id).words(…)`` would give.
        """
        self._check_fork()
        return self._blocks(tags, np.asarray(counts, dtype=np.int64), 0)

    def _blocks(
        self, tags: NDArray[np.uint8], counts: NDArray[np.int64], first_block: int
    ) -> tuple[Words, NDArray[np.int64]]:
        if counts.size and int(counts.max()) + 2 * first_block > _MAX_WORDS:
            raise ArgumentError(f"source: a stream has {_MAX_WORDS} words; spawn another one")
        blocks = (counts + 1) // 2
        offsets = np.zeros(counts.size + 1, dtype=np.int64)
        np.cumsum(2 * blocks, out=offsets[1:])
        total = int(offsets[-1]) // 2
        named = np.zeros((counts.size, 16), dtype=np.uint8)
        named[:, :_TAG_BYTES] = tags
        plain = np.repeat(named.view("V16")[:, 0], blocks)
        counters = np.arange(total, dtype=np.uint32)
        counters += np.repeat((first_block - offsets[:-1] // 2).astype(np.uint32), blocks)  # modulo 2^32
        plain.view(">u4").reshape(total, 4)[:, 3] = counters
        out = np.empty(2 * total + 2, dtype="<u8")  # update_into asks for a block to spare
        self._cipher.encryptor().update_into(plain.view(np.uint8).reshape(-1).data, out.view(np.uint8).data)
        return out[: 2 * total].astype(np.uint64, copy=False), offsets

    def state(self) -> bytes:
        """Key, tag and position as bytes, for the checkpoint of a stream: as secret as the data."""
        self._check_fork()
        return bytes([1, self.seeded]) + self._key + self._tag + self._used.to_bytes(8, "big")

    @classmethod
    def from_state(cls, state: bytes) -> Source:
        """The source that `state` was taken from, at the same position."""
        if len(state) != 2 + 32 + _TAG_BYTES + 8 or state[0] != 1 or state[1] not in (0, 1):
            raise ArgumentError("state: these bytes are no saved source; pass what Source.state() gave")
        key, tag = state[2:34], state[34 : 34 + _TAG_BYTES]
        return cls(key, seeded=bool(state[1]), tag=tag, position=int.from_bytes(state[-8:], "big"))

    def __reduce__(self) -> Any:
        raise TypeError("a source is neither copied nor pickled: a copy would repeat its randomness")

    def __repr__(self) -> str:
        return f"<{'seeded (not private)' if self.seeded else 'secure'} source>"


def secure_source() -> Source:
    """A fresh source, keyed by the operating system."""
    return Source(os.urandom(32), seeded=False)


def seeded_source(seed: int) -> Source:
    """A reproducible source **for tests only**: a release made with it says *not private*.

    Raises
    ------
    ArgumentError
        If `seed` is not an integer.
    """
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
        raise ArgumentError(f"seed: {type(seed).__name__} is not an integer; give one, or use secure_source()")
    key = hashlib.blake2b(str(int(seed)).encode(), digest_size=32, person=b"reticent-seed").digest()
    return Source(key, seeded=True)
