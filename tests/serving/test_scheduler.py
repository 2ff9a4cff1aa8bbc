"""The desk and the keeper alone, before a process that is only played."""

import asyncio
import errno
import time

import pytest

from dhyan.serving import supervisor as keeping
from dhyan.serving.errors import Refusal
from dhyan.serving.jobs import Manner
from dhyan.serving.metrics import Metrics
from dhyan.serving.scheduler import Desk
from dhyan.serving.settings import Settings
from dhyan.serving.supervisor import Canary, Keeper


def messages(batch):
    """What a child says to a batch."""
    for number, text in batch["pieces"]:
        answer = {"translations": [{"text": text.upper()}], "tokens": 1}
        yield {"is": "said", "number": batch["number"], "piece": number, "answer": answer}
    yield {"is": "done", "number": batch["number"]}


class Played:
    """In a child's place: keeps what it is told, and answers when the test says so."""

    def __init__(self):
        self.over, self.told, self.heard = asyncio.Event(), [], lambda message: None
        self.killed = False

    def tell(self, **message):
        if not self.over.is_set():
            self.told.append(message)

    def kill(self):
        self.killed = True
        self.over.set()

    async def end(self):
        self.over.set()

    async def ask(self, message, *, within):
        return {"about": {"beam": 1}, "canary": [text.upper() for text in message["canary"]]}

    def answer(self, batch):
        """All of a batch, and its end."""
        for message in messages(batch):
            self.heard(message)

    async def works(self):
        """Answer whatever comes, for good."""
        for place in range(10**9):
            while len(self.told) <= place:
                await asyncio.sleep(0)
            if self.told[place]["do"] == "translate":
                self.answer(self.told[place])


def desk_of(**given):
    """A desk whose model is ready."""
    settings = Settings(**given)
    keeper = Keeper((), {}, settings, Canary(("one",), ("ONE",)), about={"beam": 1}, ready=True)
    keeper.child = Played()
    return Desk(keeper, settings, Metrics())


def asked(desk, *texts, client="a", within=5.0, manner=Manner()):  # noqa: B008
    return asyncio.ensure_future(desk.ask(texts, manner, client=client, within=within))


async def turns(count=5):
    for _ in range(count):
        await asyncio.sleep(0)


def said(answers):
    return [one["translations"][0]["text"] for one in answers]


def played(test):
    """Run a test that is a coroutine."""
    return lambda: asyncio.run(asyncio.wait_for(test(), 10))


@played
async def hog():
    desk = desk_of()
    child = desk.keeper.child
    serving = asyncio.ensure_future(desk.serve(child))
    huge = asked(desk, *["x" * 5000] * 128, client="hog", within=60, manner=Manner(beam=16))
    await turns()
    assert desk.waiting.cost > 100 * desk.settings.queue
    assert desk.full("hog")
    assert not desk.full("other")
    small = asked(desk, "small", client="other")
    await turns()
    child.answer(child.told[0])  # the one text that is under way; then it is the other's turn
    assert [text for _, text in child.told[1]["pieces"]] == ["small"]
    child.answer(child.told[1])
    assert said(await small) == ["SMALL"]
    with pytest.raises(Refusal, match="too much"):
        await asked(desk, "more", client="hog")
    for one in (huge, serving):
        one.cancel()


def test_one_huge_request_shuts_no_one_else_out():
    hog()


@played
async def crowd():
    desk = desk_of(queue=100, batch=100)
    desk._density, held = 1.0, []
    for number in range(5):  # each is small enough to go before those who wait
        held.append(asked(desk, "x" * (99 - number), client=f"client-{number}"))
        await turns(1)
    assert desk.waiting.cost == 99 + 98 + 97 + 96  # the first is under way
    assert not desk.full("one more")
    held.append(asked(desk, "x" * 94, client="client-5"))
    await turns(1)
    assert desk.full("one more")
    for one in held:
        one.cancel()


def test_many_clients_together_fill_the_queue():
    crowd()


@played
async def canary_race():
    desk = desk_of(canary_every=0.02)
    child = desk.keeper.child
    serving = asyncio.ensure_future(desk.serve(child))
    original = desk._over

    async def over(own):  # a request in the very turn in which it is time for the canary
        found = await original(own)
        asyncio.get_running_loop().call_soon(requests.append, asked(desk, "hello"))
        return found

    requests, desk._over = [], over
    working = asyncio.ensure_future(child.works())
    await asyncio.sleep(0.2)
    assert len(requests) > 3
    assert all(one.done() for one in requests[:-2])
    assert {tuple(said(one.result())) for one in requests[:-2]} == {("HELLO",)}
    canaries = [one for one in child.told if one["pieces"][0][1] == "one"]
    assert canaries
    assert not child.killed
    for one in (serving, working):
        one.cancel()


def test_a_request_and_the_canary_in_one_turn_are_both_answered():
    canary_race()


@played
async def canary_dies():
    desk = desk_of(canary_every=0.01)
    child = desk.keeper.child
    refused = []

    async def knock():  # one in every turn: some of them after the process is over
        while True:
            if child.over.is_set():
                try:
                    await desk.ask(["late"], Manner(), client="b", within=0.5)
                except Refusal as refusal:
                    refused.append(refusal.code)
            await asyncio.sleep(0)

    serving = asyncio.ensure_future(desk.serve(child))
    while not child.told:
        await asyncio.sleep(0.005)
    assert child.told[0]["pieces"][0][1] == "one"
    knocking = asyncio.ensure_future(knock())
    await turns()
    child.over.set()
    await serving
    assert desk._batch is None
    assert len(desk.waiting) == 0
    await turns()
    assert set(refused) == {"unready"}
    knocking.cancel()


def test_a_process_that_dies_with_the_canary_keeps_no_request():
    canary_dies()


@played
async def answered():
    desk = desk_of()
    child = desk.keeper.child
    child.heard = lambda message: desk._hear(child, message)
    for _ in range(5):
        desk.pace.learn(2, 3.0)
    first = asked(desk, "first")
    await turns()
    *said_, done = messages(child.told[0])
    for message in said_:
        child.heard(message)
    assert said(await first) == ["FIRST"]
    second = asked(desk, "second", within=1.0)  # before the end of the batch is heard
    await turns()
    child.heard(done)
    child.answer(child.told[1])
    assert said(await second) == ["SECOND"]


def test_a_batch_that_is_answered_holds_no_one_up():
    answered()


@played
async def drained():
    desk = desk_of()
    child = desk.keeper.child
    serving = asyncio.ensure_future(desk.serve(child))
    under_way = asked(desk, "under way", within=60)
    waits = asked(desk, "waits", within=60, manner=Manner(beam=2))
    await turns()
    desk.draining = True
    desk.close()
    for one in (under_way, waits):
        with pytest.raises(Refusal, match="ending") as found:
            await one
        assert (found.value.status, found.value.code) == (503, "ending")
    assert desk.open == 0
    serving.cancel()


def test_what_is_not_done_when_the_drain_is_over_is_told_so():
    drained()


def test_a_process_that_cannot_be_started_is_tried_again(monkeypatch):
    starts = []

    async def start(command):
        starts.append(time.monotonic())
        if len(starts) < 4:
            raise OSError(errno.EMFILE, "Too many open files")
        return Played()

    async def run():
        settings = Settings(rest=0.02, longest_rest=0.05)
        keeper = Keeper((), {}, settings)
        served = asyncio.Event()

        async def serve(child):
            served.set()
            await asyncio.sleep(60)

        running = asyncio.ensure_future(keeper.run(serve))
        await asyncio.sleep(0.01)
        assert not keeper.ready
        assert keeper.reason == "the model's process cannot be started: Too many open files"
        await asyncio.wait_for(served.wait(), 5)
        assert keeper.ready
        running.cancel()

    monkeypatch.setattr(keeping.Child, "start", start)
    asyncio.run(run())
    gaps = [after - before for before, after in zip(starts, starts[1:], strict=False)]
    assert [gap >= wanted for gap, wanted in zip(gaps, (0.02, 0.04, 0.05), strict=True)] == [
        True
    ] * 3


def test_a_process_whose_socket_cannot_be_had_is_not_left_behind(monkeypatch):
    async def fails(**given):
        raise OSError(errno.ENOMEM, "Cannot allocate memory")

    started = []
    original = asyncio.create_subprocess_exec

    async def exec_(*words, **given):
        started.append(await original(*words, **given))
        return started[-1]

    async def run():
        with pytest.raises(OSError, match="allocate"):
            await keeping.Child.start(["sleep", "60"])
        return await asyncio.wait_for(started[0].wait(), 5)

    monkeypatch.setattr(asyncio, "open_connection", fails)
    monkeypatch.setattr(asyncio, "create_subprocess_exec", exec_)
    assert asyncio.run(run()) != 0
