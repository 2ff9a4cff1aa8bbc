"""Messages between server and worker: framing, and only the words that changed."""

import random
import socket

import pytest

from dhyan.serving.worker_protocol import LENGTH, Unpacker, WorkerChannel, pack


def test_messages_arrive_whole_however_the_bytes_are_cut():
    messages = [{"type": "x", "text": "आ" * size} for size in (0, 1, 7, 4000)]
    stream = b"".join(map(pack, messages))
    rng = random.Random(1)
    for _ in range(50):
        unpacker, received, rest = Unpacker(), [], stream
        while rest:
            size = rng.randint(1, 500)
            received += unpacker.feed(rest[:size])
            rest = rest[size:]
        assert received == messages


def test_a_huge_message_is_refused_by_its_length():
    with pytest.raises(ValueError, match="at most"):
        list(Unpacker().feed(LENGTH.pack(2**31)))


def test_nan_is_never_sent():
    with pytest.raises(ValueError, match="JSON"):
        pack({"score": float("nan")})


def test_only_changed_words_of_a_growing_translation_are_sent():
    local, remote = socket.socketpair()
    with local, remote:
        channel, unpacker = WorkerChannel(remote), Unpacker()
        states = [["a"], ["a"], ["a", "b"], ["a", "c", "d"], ["a"], ["x", "y"]]
        for words in states:
            channel.words(7, words)
        channel.end_batch()
        channel.words(7, ["a"])
        messages = list(unpacker.feed(local.recv(65536)))
    sent = [(message.get("from"), message.get("words")) for message in messages]
    changes = [(0, ["a"]), (1, ["b"]), (1, ["c", "d"]), (1, []), (0, ["x", "y"])]
    assert sent == [*changes, (None, None), (0, ["a"])]
