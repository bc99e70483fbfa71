"""The source of words: AES in counter mode, one stream a series, safe across fork."""

from __future__ import annotations

import copy
import hashlib
import itertools
import os
import pickle
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import example, given
from hypothesis import strategies as st

from reticent.errors import ArgumentError
from reticent.randomness import EncodedIds, Source, encode_id, secure_source, seeded_source


def test_words_are_aes_ctr_of_the_tag() -> None:
    key = bytes(range(32))
    source = Source(key, seeded=True)
    aes = hashlib.blake2b(key, digest_size=32, person=b"reticent-aes").digest()
    stream = Cipher(algorithms.AES(aes), modes.CTR(source.tag("a") + bytes(4))).encryptor().update(bytes(8000))
    assert np.array_equal(source.spawn("a").words(1000), np.frombuffer(stream, dtype="<u8"))


@given(st.lists(st.integers(0, 3000), min_size=1, max_size=8))
def test_how_words_are_asked_for_changes_nothing(sizes: list[int]) -> None:
    whole = seeded_source(1).spawn("a").words(sum(sizes))
    source = seeded_source(1).spawn("a")
    assert np.array_equal(np.concatenate([source.words(size) for size in sizes]), whole)


def test_peeked_words_are_not_used_up() -> None:
    source = seeded_source(1)
    first = source.peek(10).copy()
    assert np.array_equal(source.words(4), first[:4])
    assert np.array_equal(source.peek(5000)[:6], first[4:])


@given(st.lists(st.integers(0, 50), min_size=1, max_size=6))
def test_batch_equals_spawn(counts: list[int]) -> None:
    source = seeded_source(7)
    ids = [("meter", i) for i in range(len(counts))]
    words, offsets = source.batch(source.tags(ids), np.array(counts))
    for i, (each, count) in enumerate(zip(ids, counts, strict=True)):
        own = words[offsets[i] : offsets[i + 1]]
        assert own.size >= count
        assert np.array_equal(own, source.spawn(each).words(own.size))


@given(
    st.lists(st.one_of(st.text(max_size=70), st.integers(), st.none(), st.tuples(st.text(), st.integers())), max_size=9)
)
def test_tags_are_the_cbc_mac_of_length_and_id(ids: list[object]) -> None:
    key = bytes(range(32))
    source = Source(key, seeded=True).spawn("parent")
    cipher = Cipher(algorithms.AES(hashlib.blake2b(key, digest_size=32, person=b"reticent-tag").digest()), modes.ECB())
    parent, tags = Source(key, seeded=True).tag("parent"), source.tags(ids)
    assert tags.shape == (len(ids), 12)
    for each, tag in zip(ids, tags, strict=True):
        encoded = encode_id(each)
        message = parent + len(encoded).to_bytes(4, "big") + encoded + bytes(-len(encoded) % 16)
        state = bytes(16)
        for at in range(0, len(message), 16):
            mixed = bytes(a ^ b for a, b in zip(state, message[at : at + 16], strict=True))
            state = cipher.encryptor().update(mixed)
        assert tag.tobytes() == state[:12] == source.tag(each)
        assert np.array_equal(source.tagged(tag.tobytes()).words(3), source.spawn(each).words(3))


def test_series_are_independent_and_seeds_reproducible() -> None:
    one, two = seeded_source(3), seeded_source(3)
    assert np.array_equal(one.spawn("b").words(8), two.spawn("b").words(8))
    seen = np.concatenate([one.spawn(i).words(64) for i in ("a", "b", 1, 2, (1, "a"), ("1", "a"), None)])
    assert np.unique(seen).size == seen.size
    assert not np.array_equal(secure_source().words(8), secure_source().words(8))


def test_ids_encode_injectively() -> None:
    ids = ["1", 1, 1.5, b"1", None, ("1",), ("1", ""), ("", "1"), (("1",),), "None", "i1"]
    assert len({encode_id(each) for each in ids}) == len(ids)
    assert encode_id(np.int32(5)) == encode_id(5)
    with pytest.raises(ArgumentError, match="series id: object is not supported"):
        encode_id(object())


@given(
    st.one_of(
        st.lists(
            st.one_of(st.integers(), st.integers(-(2**63), 2**63 - 1), st.sampled_from([0, 9, 10, -1, -10, 2**32]))
        ),
        st.lists(st.integers(-(2**63), 2**63 - 1)).map(np.array).filter(lambda each: each.dtype.kind == "i"),
        st.lists(st.integers(-(2**15), 2**15 - 1)).map(lambda each: np.array(each, dtype=np.int16)),
        st.lists(st.integers(0, 2**64 - 1)).map(lambda each: np.array(each, dtype=np.uint64)),
        st.builds(range, st.integers(-(2**64), 2**64), st.integers(-200, 200), st.integers(1, 5)).filter(
            lambda each: each.stop - each.start < 1000
        ),
        st.lists(st.text(max_size=20)),
        st.lists(st.text(st.characters(max_codepoint=127), max_size=20)),
        st.lists(st.one_of(st.booleans(), st.integers(0, 3), st.text(max_size=2))),
    )
)
@example([2**63 - 1, -(2**63), 0])
@example([2**63, 1])
@example(range(2**63 - 2, 2**63 + 2))
@example(["\ud800", "a"])
@example(["", ""])
@example([True, 1])
def test_ids_are_encoded_at_once_as_one_by_one(ids: Any) -> None:
    encoded = EncodedIds.of(ids)
    found = [encoded.data[a:b].tobytes() for a, b in itertools.pairwise(encoded.offsets.tolist())]
    assert found == [encode_id(each) for each in ids]


def test_many_ids_have_the_tags_that_each_has_alone() -> None:
    source, count = seeded_source(5), (1 << 14) + 3  # more than are taken at once
    ids = [f"{'long ' * (i % 9)}{i}" for i in range(count)]
    tags = source.tags(ids)
    for i in [*range(0, count, 997), count - 4, count - 3, count - 2, count - 1]:
        assert tags[i].tobytes() == source.tag(ids[i])
    assert source.tags([]).shape == (0, 12)
    empty = EncodedIds(np.frombuffer(b"ab", dtype=np.uint8), np.array([0, 0, 1, 1, 2]))
    assert np.array_equal(
        source.tags(empty), np.concatenate([source.tags(empty.take(np.array([i]))) for i in range(4)])
    )


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 90), st.integers(0, 3000)), min_size=1, max_size=6))
def test_sources_with_words_at_hand_give_the_words_of_their_own(asked: list[tuple[int, int, int]]) -> None:
    source, ids = seeded_source(7), [f"meter {i}" for i in range(len(asked))]
    owns = source.tagged_with(source.tags(ids), np.array([ready for ready, _, _ in asked]))
    for each, own, (_, first, count) in zip(ids, owns, asked, strict=True):
        own.advance(first)
        assert np.array_equal(own.words(count), source.spawn(each).words(first + count)[first:])
        assert own.position == first + count
        assert np.array_equal(own.spawn("a").words(3), source.spawn(each).spawn("a").words(3))


def test_saved_state_goes_on_where_it_was() -> None:
    source = seeded_source(3).spawn("x")
    source.words(1234)
    restored = Source.from_state(source.state())
    assert restored.seeded
    assert np.array_equal(restored.words(3000), source.words(3000))
    with pytest.raises(ArgumentError, match="no saved source"):
        Source.from_state(b"nonsense")


def test_a_source_is_never_copied() -> None:
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="neither copied nor pickled"):
            attempt(secure_source())


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_never_repeats_its_parents_stream() -> None:
    source = secure_source()
    source.peek(4)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, source.words(4).tobytes() + source.spawn("a").words(4).tobytes())
        os._exit(0)
    os.waitpid(child, 0)
    theirs = np.frombuffer(os.read(read, 64), dtype=np.uint64)
    ours = np.concatenate([source.words(4), source.spawn("a").words(4)])
    assert not np.isin(theirs, ours).any()


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_seeded_source_does_not_cross_a_fork() -> None:
    source = seeded_source(1)
    child = os.fork()
    if child == 0:
        try:
            source.words(1)
        except ArgumentError:
            os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_the_seed_is_an_integer() -> None:
    with pytest.raises(ArgumentError, match="seed: str is not an integer"):
        seeded_source("1")  # type: ignore[arg-type]


def test_a_stream_ends_before_its_counter_repeats() -> None:
    with pytest.raises(ArgumentError, match="spawn another"):
        Source(bytes(32), seeded=True, position=2**33 - 1).words(2)
