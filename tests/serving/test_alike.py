"""With a real model: batches change nothing, whatever is sent, and streams say the same."""

import asyncio
import itertools
import json
import random
import time

import pytest

from benchmarks.load import request, saturate
from dhyan.data.synthetic import number_pairs
from dhyan.run import load, train
from tests.serving.running import served
from tests.tiny import command, tiny_recipe, write_corpus

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A tiny model, which has learnt to come to an end."""
    place = tmp_path_factory.mktemp("alike")
    recipe = tiny_recipe("rnn", *write_corpus(place), **{
        "training.steps": 20, "training.validate_every": 20, "training.save_every": 20,
        "training.report_every": 20, "training.learning_rate": 1e-2, "decoding.limit": 20,
    })  # fmt: skip
    for _ in train(recipe, place / "run", threads=1):
        pass
    return place / "run"


@pytest.fixture(scope="module")
def real(folder, tmp_path_factory):
    """The tiny model, served as a stranger would."""
    words = command("serve", folder, "--port", "0", "--threads", "1", "--device", "cpu")
    place = tmp_path_factory.mktemp("real")
    with served(place, words=words, ready=False) as running:
        running.until_ready(60)
        yield running


def sentences(count):
    """Different ones, of all lengths."""
    found = dict.fromkeys(pair.source for pair in itertools.islice(number_pairs(seed=9), 5 * count))
    return list(found)[:count]


@pytest.mark.parametrize(
    "count", [60, pytest.param(1000, marks=[pytest.mark.slow, pytest.mark.soak])]
)
def test_what_is_said_does_not_depend_on_who_else_asks(real, count):
    texts = sentences(count)
    alone = [best(real.translate(text)[1])[0] for text in texts]
    scores = [one["score"] for one in alone]
    assert len({round(score, 3) for score in scores}) > count // 10  # one is told from another
    order = [*range(count)] * 2
    random.Random(1).shuffle(order)

    def sent(number):
        return request(real.port, "/v1/translate", {"text": texts[order[number]]})

    _, replies = asyncio.run(saturate(real.port, 32, len(order), sent))
    assert {one.status for one in replies} == {200}
    told = [best(json.loads(one.body))[0] for one in replies]
    alike(told, [alone[place] for place in order])
    together = []
    for first in range(0, count, 50):
        status, found = real.translate(texts[first : first + 50])
        assert status == 200
        together += best(found)
    alike(together, alone)
    counts = real.metrics()
    assert counts["dhyan_batch_texts_sum"] > 2 * counts["dhyan_batch_texts_count"]


def best(found):
    """The first of each."""
    return [own[0] for own in found["translations"]]


def alike(found, wanted):
    """The same words for all, with the same scores but for what single precision rounds."""
    assert [one["text"] for one in found] == [one["text"] for one in wanted]
    gaps = [abs(one["score"] - own["score"]) for one, own in zip(found, wanted, strict=True)]
    assert max(gaps) < 1e-4


def test_what_is_asked_for_comes(real, folder):
    [text] = sentences(1)
    translator = load(folder, device="cpu")
    [wanted] = translator(text, beam=4, nbest=3)
    _, found = real.translate(text, beam=4, nbest=3, align=True)
    own = found["translations"][0]
    assert [one["text"] for one in own] == [wanted.text, *(other.text for other in wanted.others)]
    assert own[0]["score"] == pytest.approx(wanted.score, abs=1e-5)
    words = len(own[0]["text"].split())
    assert {target for _, target in own[0]["alignment"]} <= set(range(words))


def test_a_stream_grows_to_the_same(real):
    texts = sentences(5)
    for text in texts:
        raw = real.ask("POST", "/v1/translate/stream", {"text": text, "beam": 1})[2].decode()
        events = [part.split("\n") for part in raw.strip().split("\n\n")]
        assert events[-1][0] == "event: done"
        said = json.loads(events[-1][1][6:])["text"]
        assert said == real.translate(text, beam=1)[1]["translations"][0][0]["text"]
        words = []
        for _, line in events[:-1]:
            told = json.loads(line[6:])
            words[told["from"] :] = told["words"]
        assert words == said.split()


def test_paragraphs_are_translated_sentence_by_sentence(real):
    texts = sentences(3)
    alone = [real.translate(text)[1]["translations"][0][0]["text"] for text in texts]
    status, found = real.translate("\n".join(texts), paragraphs=True)
    assert (status, found["translations"][0][0]["text"]) == (200, "\n".join(alone))
    body = {"q": "\n".join(texts), "source": "auto", "target": "hi"}
    assert json.loads(real.ask("POST", "/translate", body)[2]) == {
        "translatedText": "\n".join(alone)
    }


ODD = [
    "", " ", "\t\n", "a", "a" * 5000, "aaaa " * 1000, "\x00", "\x00\x01\x1f", "😀" * 500,
    "👩‍👩‍👧‍👦", "\u202e abc",
    "é" * 100, "e\u0301" * 100, "\u200d" * 300, "\u0300" * 1000, "\ufeff", "\ufffd" * 10,
    "\U000e0041",
    "मैं घर जा रहा हूँ।", "我要回家", "Я иду домой", "أنا ذاهب إلى المنزل", "אני הולך הביתה",
    "ฉันกำลังกลับบ้าน",
    "집에 가고 있어요", "გამარჯობა", "ᏣᎳᎩ", "𐎀𐎁", "<script>alert(1)</script>",
    "'; drop table --", "{{7*7}}",
    "\\ud800", "%s%n", "</s>", "<pad>", "<unk> <s> </s>", "▁▁▁", "\n" * 100, "x\u2028y", "a\r\nb",
]  # fmt: skip


def test_no_text_breaks_the_model(real):
    manners = ({}, {"paragraphs": True}, {"beam": 1, "align": True})
    for number, text in enumerate(ODD):
        for more in manners[: 1 + number % 3]:
            began = time.monotonic()
            status, found = real.translate(text, **more)
            assert time.monotonic() - began < 12
            assert status in (200, 400), (text, found)
            if status == 400:
                assert found["error"]["code"] == "too_long", (text, found)
            else:
                [[said]] = found["translations"]
                assert len(said["text"].split()) <= 512
    assert real.metrics()["dhyan_model_starts"] == 1


def test_one_that_leaves_a_long_search_ends_it(real):
    from tests.serving.test_leaving import begin, settled

    before = settled(real)
    for _ in range(10):
        one = begin(real, ["a b c d e f g"] * 60, beam=16)
        time.sleep(0.02)
        one.close()
    until = time.monotonic() + 2
    while real.translate("a")[0] != 200:  # it may take a moment to see that they left
        assert time.monotonic() < until
    after = settled(real)
    assert after["accepted"] - before["accepted"] == sum(
        after[end] - before[end] for end in ("done", "expired", "cancelled", "failed")
    )
