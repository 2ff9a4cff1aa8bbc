"""Requests do not block one another: those that wait for a slow model, and a training beside them."""

import asyncio
import json

import httpx

from dhyan.studio.registry import ModelRegistry
from dhyan.studio.server import make_app
from dhyan.studio.training_job import TrainingJob
from tests.studio.test_training import ENDLESS, wait_for

WAITING = 60  # requests; more than the threads of a server by default
PATIENCE = 120  # seconds; a busy machine is slow, not wrong


def request(model, text="We are friends."):
    return {"text": text, "model": model}


def test_a_sentence_is_answered_while_a_toy_trains_and_another_model_is_slow(models, tmp_path):
    registry = ModelRegistry(models)
    transport = httpx.ASGITransport(app=make_app(registry))
    job = TrainingJob("toy", "numbers", tmp_path / "toy", settings=ENDLESS)

    async def ask():
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:

            async def post(path, body):
                return await asyncio.wait_for(client.post(path, json=body), PATIENCE)

            with registry.get("bottleneck").translator():  # busy with a long answer
                slow = [
                    asyncio.create_task(
                        post("/api/translate", request("bottleneck", f"word {number}"))
                    )
                    for number in range(WAITING)
                ]
                await asyncio.sleep(0)  # let them begin
                answer = await post("/api/translate", request("bahdanau"))
                stream = await post("/api/translate/stream", request("luong"))
                assert not any(task.done() for task in slow)
            return answer, stream, await asyncio.gather(*slow)

    try:
        wait_for(lambda: job.progress().step > 0, PATIENCE)
        answer, stream, slow = asyncio.run(ask())
        assert job.state == "running"
    finally:
        job.stop()
    assert answer.json()["text"] == "We are friends."
    assert json.loads(stream.text.rpartition("data: ")[2])["model"] == "luong"
    assert [response.json()["text"] for response in slow] == [
        f"word {number}" for number in range(WAITING)
    ]
