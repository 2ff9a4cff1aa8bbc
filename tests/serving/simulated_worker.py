"""A worker process that exists only in the test, and answers when the test says so."""

import asyncio


def messages(batch):
    """What a worker sends for a batch: texts in capitals, then the end."""
    for job, text in batch["jobs"]:
        answer = {"translations": [{"text": text.upper()}], "tokens": 1}
        yield {"type": "answer", "batch": batch["batch"], "job": job, "answer": answer}
    yield {"type": "batch_done", "batch": batch["batch"]}


class SimulatedWorker:
    """Records what it is sent."""

    def __init__(self):
        self.exited, self.sent, self.on_message = asyncio.Event(), [], lambda message: None
        self.killed = False

    def send(self, **message):
        if not self.exited.is_set():
            self.sent.append(message)

    def kill(self):
        self.killed = True
        self.exited.set()

    async def stop(self):
        self.exited.set()

    async def request(self, message, *, timeout):
        return {"card": {"beam": 1}, "canary": [text.upper() for text in message["canary"]]}

    def answer(self, batch):
        """Answer a whole batch."""
        for message in messages(batch):
            self.on_message(message)

    async def answer_all(self):
        """Answer every batch that comes, forever."""
        answered = 0
        while True:
            while len(self.sent) <= answered:
                await asyncio.sleep(0)
            if self.sent[answered]["type"] == "translate":
                self.answer(self.sent[answered])
            answered += 1
