"""The parts of the server that need no server: messages, the queue, times, keys and bodies."""

import asyncio
import random
import socket
import stat
import time

import pytest

from dhyan.errors import UserError
from dhyan.serving.api_keys import Allowance, Keys, add_key, read_keys
from dhyan.serving.body_parsing import from_form, from_json
from dhyan.serving.errors import Refusal
from dhyan.serving.fair_queue import Waiting
from dhyan.serving.framing import LENGTH, Unpacker, pack
from dhyan.serving.jobs import Manner, Piece
from dhyan.serving.latency_model import Pace
from dhyan.serving.metrics import Histogram
from dhyan.serving.response_pacing import Hatch
from dhyan.serving.server import Place
from dhyan.serving.supervisor import Canary
from dhyan.serving.translate_routes import Telling
from dhyan.serving.worker_protocol import Talk


def test_messages_come_whole_however_they_are_cut():
    messages = [{"do": "x", "text": "आ" * size} for size in (0, 1, 7, 4000)]
    sent = b"".join(map(pack, messages))
    chance = random.Random(1)
    for _ in range(50):
        unpacker, found, rest = Unpacker(), [], sent
        while rest:
            size = chance.randint(1, 500)
            found += unpacker.feed(rest[:size])
            rest = rest[size:]
        assert found == messages


def test_a_message_that_would_be_huge_is_refused_by_its_length():
    with pytest.raises(ValueError, match="at most"):
        list(Unpacker().feed(LENGTH.pack(2**31)))


def test_numbers_that_json_has_not_are_never_sent():
    with pytest.raises(ValueError, match="JSON"):
        pack({"score": float("nan")})


class Future:
    """Stands for an answer that may be given."""

    def __init__(self):
        self.given = False

    def done(self):
        return self.given


def piece(number, client="a", cost=10, **manner):
    return Piece(number, f"text {number}", Manner(**manner), client, cost, Future())


def queue_of(*pieces):
    waiting = Waiting()
    for one in pieces:
        waiting.add(one)
    return waiting


def test_one_client_is_served_in_order():
    waiting = queue_of(*(piece(number, cost=number % 3 + 1) for number in range(20)))
    found = [one.number for _ in range(20) for one in waiting.take(3)]
    assert found == list(range(20))


def test_a_batch_has_one_manner_and_no_more_work_than_it_may():
    waiting = queue_of(*(piece(number, beam=number % 2, cost=7) for number in range(30)))
    found = []
    while batch := waiting.take(25):
        assert len({one.manner for one in batch}) == 1
        assert sum(one.cost for one in batch) <= 25
        found += [one.number for one in batch]
    assert sorted(found) == list(range(30))


def test_a_text_larger_than_a_batch_goes_alone():
    waiting = queue_of(piece(1, cost=5), piece(2, cost=500), piece(3, cost=5))
    assert [[one.number for one in waiting.take(25)] for _ in range(3)] == [[1], [2], [3]]


def test_a_stream_goes_alone():
    waiting = queue_of(piece(1, stream=True), piece(2, stream=True))
    assert [len(waiting.take(100)) for _ in range(3)] == [1, 1, 0]


def test_who_left_is_not_batched_and_not_counted():
    pieces = [piece(number) for number in range(10)]
    waiting = queue_of(*pieces)
    for one in pieces[::2]:
        one.answer.given = True
        waiting.drop(one)
        waiting.drop(one)
    assert (len(waiting), waiting.cost, waiting.of("a")) == (5, 50, 50)
    pieces[1].answer.given = True  # it has left, but was not dropped yet
    assert [one.number for one in waiting.take(1000)] == [3, 5, 7, 9]
    assert (len(waiting), waiting.cost, waiting.of("a"), waiting.crowd) == (0, 0, 0, 0)


def test_who_left_owes_nothing():
    others = [piece(100 + number, "b") for number in range(20)]
    left = [piece(number, "a") for number in range(50)]
    waiting = queue_of(*others, *left)
    for one in left:
        waiting.drop(one)
    assert waiting.ahead("a", 10) == 10  # one of the other's has the same tag
    waiting.add(piece(60, "a"))
    assert 60 in [one.number for one in waiting.take(20)]


def test_sums_are_those_of_what_waits():
    chance, waiting, held = random.Random(1), Waiting(40), {}
    for number in range(3000):
        match chance.randrange(4):
            case 0 | 1:
                one = piece(number, chance.choice("abcdef"), chance.randint(1, 30))
                held[number] = one
                waiting.add(one)
            case 2 if held:
                waiting.drop(held.pop(chance.choice(list(held))))
            case _:
                for one in waiting.take(chance.randint(1, 60)):
                    del held[one.number]
        works = {name: sum(o.cost for o in held.values() if o.client == name) for name in "abcdef"}
        assert {one.number for one in waiting} == set(held)
        assert (len(waiting), waiting.cost) == (len(held), sum(works.values()))
        assert {name: waiting.of(name) for name in works} == works
        assert waiting.crowd == sum(min(work, 40) for work in works.values())


def test_to_ask_what_is_ahead_takes_no_longer_when_much_waits():
    def seconds(count):
        waiting = queue_of(*(piece(number) for number in range(count)))
        began = time.perf_counter()
        for _ in range(300):
            waiting.ahead("b", 10**9)
            len(waiting)
        return time.perf_counter() - began

    assert seconds(10_000) < 10 * seconds(10) + 0.01


def test_clients_that_have_gone_are_forgotten():
    waiting = Waiting()
    for number in range(5000):
        waiting.add(piece(number, f"client-{number}", cost=number % 7 + 1))
        if number % 100 == 99:
            waiting.take(1000)
    assert len(waiting._lanes) <= 4096 + 100
    assert not waiting.take(100)
    assert not waiting._lanes


def test_a_flood_waits_behind_itself():
    waiting = queue_of(*(piece(number, "flood") for number in range(1000)))
    waiting.take(50)
    for number in range(3):
        waiting.add(piece(2000 + number, "normal"))
    assert waiting.ahead("normal", 10) <= 100
    soon = [one for _ in range(2) for one in waiting.take(50)]
    assert sum(one.client == "normal" for one in soon) == 3


def test_shares_are_equal_while_all_have_work():
    waiting = Waiting()
    for number in range(300):
        waiting.add(piece(number, "abc"[number % 3], cost=(5, 10, 20)[number % 3]))
    taken = [one for _ in range(20) for one in waiting.take(50)]
    work = [sum(one.cost for one in taken if one.client == name) for name in "abc"]
    assert max(work) - min(work) <= 20


def test_a_pace_is_learnt_from_batches_of_different_sizes():
    pace, chance = Pace(), random.Random(1)
    for _ in range(60):
        work = chance.randint(1, 32)
        pace.learn(work, 0.03 + 0.0025 * work)
    assert pace.seconds(32, 32) == pytest.approx(0.11, rel=0.01)
    assert pace.seconds(64, 32) == pytest.approx(0.22, rel=0.01)
    assert pace.seconds(1, 32) == pytest.approx(0.0325, rel=0.05)


def test_a_pace_of_equal_batches_goes_by_work_and_follows_a_change():
    pace = Pace()
    assert pace.seconds(100, 10) == 0
    for seconds in (0.1, 0.4):
        for _ in range(100):
            pace.learn(10, seconds)
        assert pace.seconds(20, 10) == pytest.approx(2 * seconds, rel=0.01)


def test_a_key_opens_only_as_it_was_given(tmp_path):
    file = tmp_path / "keys"
    keys = {name: add_key(file, name) for name in ("one", "two")}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert not any(key in file.read_text() for key in keys.values())
    known = read_keys(file)
    assert [known.owner(key) for key in keys.values()] == ["one", "two"]
    wrong = ["", " ", "one", keys["one"][:-1], keys["one"] + " ", keys["one"].swapcase()]
    assert not any(known.owner(key) for key in [*wrong, "ключ", "\ud800", "x" * 2**20])
    assert not Keys().owner("")
    with pytest.raises(UserError, match="one has a key already"):
        add_key(file, "one")


def test_a_key_is_added_on_a_line_of_its_own(tmp_path):
    file = tmp_path / "keys"
    first = add_key(file, "one")
    file.write_text(file.read_text().rstrip("\n"))
    second = add_key(file, "two")
    known = read_keys(file)
    assert (known.owner(first), known.owner(second)) == ("one", "two")
    file.write_text("")
    add_key(file, "three")
    assert read_keys(file).sums.keys() == {"three"}


@pytest.mark.parametrize(
    "content", ["", "\n\n", "one", "one zz", "one  " + "a" * 63, "../x " + "a" * 64, "a b c"]
)
def test_a_file_of_keys_that_has_none_is_refused(tmp_path, content):
    file = tmp_path / "keys"
    file.write_text(content)
    with pytest.raises(UserError, match="--add-key"):
        read_keys(file)


def test_an_allowance_is_a_rate_and_a_burst(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("dhyan.serving.api_keys.time.monotonic", lambda: now[0])
    allowance = Allowance(rate=100, burst=10)
    assert allowance.take("a", 1000) == 0
    assert allowance.take("a", 50) == pytest.approx(0.5)
    assert allowance.take("b", 50) == 0
    now[0] += 0.5
    assert allowance.take("a", 50) == 0
    assert allowance.take("a", 1) > 0
    now[0] += 1000
    assert allowance.take("a", 5000) == 0  # more than ever fits: taken, and owed
    assert allowance.take("a", 1) == pytest.approx(40.01)
    allowance.give("a", 5000)
    assert allowance.take("a", 1000) == 0
    assert Allowance(0, 10).take("a", 10**9) == 0


def test_the_memory_of_clients_is_bounded():
    allowance = Allowance(1, 1)
    for number in range(10_000):
        allowance.take(str(number), 1)
    assert len(allowance._left) <= 4096


REFUSED = [
    b"", b"{", b"nul", b'{"a": NaN}', b'{"a": 1e400}', b'{"a": -Infinity}', b'{"a":1,"a":2}',
    b'"\\ud800"', b'{"\\udc00": 1}', b"\xff\xfe{\x00}\x00", b'\xef\xbb\xbf{"a":1}', b'"\xff"',
    b"[" * 100_000, b'{"a":' * 100_000, b"1" * 5000, b'{"a": 01}', b"{'a': 1}", b'"\x00"', b"\x00",
]  # fmt: skip


@pytest.mark.parametrize("raw", REFUSED, ids=lambda raw: repr(raw[:12]))
def test_what_is_not_plain_json_is_refused(raw):
    with pytest.raises(Refusal) as found:
        from_json(raw)
    assert found.value.status == 400
    assert len(found.value.body()) < 200


def test_plain_json_is_read():
    assert from_json(b'{"a": [1, 2.5, "\\u0915\\ud83d\\ude00", null]}') == {
        "a": [1, 2.5, "क😀", None]
    }


@pytest.mark.parametrize("raw", [b"q", b"q=%ff", b"\xff=1", b"&".join([b"a=b"] * 30)])
def test_what_is_not_a_form_is_refused(raw):
    with pytest.raises(Refusal):
        from_form(raw)


def test_a_histogram_counts_what_is_at_most_a_bound():
    histogram = Histogram((1, 2))
    for value in (0.5, 1, 1.5, 2, 3):
        histogram.add(value)
    lines = [line.rpartition(" ")[2] for line in histogram.lines("x", "y") if line[0] != "#"]
    assert lines == ["2", "4", "5", "8.000000", "5"]


@pytest.mark.parametrize("said", [[], [""], [" "], ["एक", "दो"]])
def test_a_canary_that_gets_no_answer_at_first_is_not_satisfied(said):
    canary = Canary(("one",))
    assert "no translation for a canary sentence" in canary.check(said)
    assert not canary.check(["एक"])
    assert "wrongly" in canary.check([""])


def test_a_canary_remembers_what_was_said_first():
    canary = Canary(("one",))
    assert not canary.check(["एक"])
    assert not canary.check(["एक"])
    assert "wrongly" in canary.check(["दो"])
    assert "wrongly" in canary.check([])


def test_a_place_answers_under_its_own_names_with_their_port():
    hosts = Place("10.0.0.5", 80, ("Example.org",)).hosts(81)
    assert hosts == {
        "127.0.0.1:81", "localhost:81", "[::1]:81", "10.0.0.5:81", "example.org",
    }  # fmt: skip
    assert Place("0.0.0.0").hosts(1) == {"127.0.0.1:1", "localhost:1", "[::1]:1"}
    assert not Place("0.0.0.0").loopback
    assert Place("::1").loopback
    with pytest.raises(UserError, match="give an address"):
        assert Place("example.org").loopback


@pytest.mark.parametrize("letter", ["y", "क", "😀", "\x00", '"', "\ud800"])
def test_a_message_to_a_person_is_short(letter):
    refusal = Refusal(400, "x", letter * 10_000)
    assert len(refusal.body()) < 1100
    assert 80 <= len(refusal.message) <= 500
    assert Refusal(400, "x", 20 * letter).message == 20 * letter


def test_of_a_translation_that_grows_only_what_is_new_is_sent():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        talk, unpacker = Talk(theirs), Unpacker()
        so_far = [["a"], ["a"], ["a", "b"], ["a", "c", "d"], ["a"], ["x", "y"]]
        for words in so_far:
            talk.words(7, words)
        talk.end()
        talk.words(7, ["a"])
        found = [(one.get("from"), one.get("words")) for one in unpacker.feed(ours.recv(65536))]
    new = [(0, ["a"]), (1, ["b"]), (1, ["c", "d"]), (1, []), (0, ["x", "y"])]
    assert found == [*new, (None, None), (0, ["a"])]


def test_a_reader_gets_the_latest_words_however_slow_it_is():
    async def read():
        telling = Telling()
        for count in range(1000):
            telling.hear(count, [f"w{count}"])
        telling.hear(998, ["x"])
        assert await telling.begun()
        told = aiter(telling)
        first = await anext(told)
        telling.hear(999, ["y"])
        telling.hear(5, ["z"])
        telling.end(None)
        return first, [one async for one in told]

    first, rest = asyncio.run(read())
    assert (first["from"], len(first["words"]), first["words"][-1]) == (0, 999, "x")
    assert rest == [{"from": 5, "words": ["z"]}]


def test_a_stream_of_nothing_has_not_begun():
    async def read():
        telling = Telling()
        telling.end(None)
        return await telling.begun(), [one async for one in telling]

    assert asyncio.run(read()) == (False, [])


def test_answers_are_handed_out_one_at_a_time_and_who_comes_meanwhile_is_heard_between():
    async def told():
        loop, order = asyncio.get_running_loop(), []
        pieces = [Piece(n, "a", Manner(), "one", 1, loop.create_future()) for n in range(3)]
        for piece in pieces:
            piece.answer.add_done_callback(lambda _, n=piece.number: order.append(n))
        pieces[1].answer.cancel()  # its client has left

        def comes(number):
            order.append(f"new {number}")
            if number < 3:
                loop.call_soon(comes, number + 1)

        loop.call_soon(comes, 0)
        hatch = Hatch()
        for piece in pieces:
            hatch.give(piece, {"translations": []})
        assert not pieces[0].gone
        assert all(piece.said for piece in pieces)
        await asyncio.sleep(0.05)
        return order, [piece.answer.cancelled() for piece in pieces]

    order, cancelled = asyncio.run(told())
    assert cancelled == [False, True, False]
    assert [one for one in order if one in (0, 2)] == [0, 2]
    assert order.index("new 2") < order.index(2)
