"""With a real model: batches change nothing, whatever is sent, and streams say the same."""

import asyncio
import itertools
import json
import os
import random
import shutil
import signal
import sys
import time
from collections import defaultdict
from contextlib import contextmanager
from functools import cache
from unicodedata import category, name

import pytest

from benchmarks.load_generator import request, saturate
from dhyan.data.synthetic import number_pairs
from dhyan.errors import UserError
from dhyan.run import load, train
from dhyan.serving.jobs import Manner
from dhyan.serving.worker import load as model_of
from dhyan.serving.worker_protocol import Talk, Text
from tests.serving.running_server import served
from tests.serving.test_shutdown import child, until
from tests.tiny_models import command, tiny_recipe, write_corpus

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A tiny model of a family, which has learnt to come to an end; trained when first asked."""

    @cache
    def made(family):
        place = tmp_path_factory.mktemp(family)
        recipe = tiny_recipe(family, *write_corpus(place), **{
            "training.steps": 20, "training.validate_every": 20, "training.save_every": 20,
            "training.report_every": 20, "training.learning_rate": 1e-2, "decoding.max_length": 20,
        })  # fmt: skip
        for _ in train(recipe, place / "run", threads=1):
            pass
        return place / "run"

    return made


@pytest.fixture(scope="module")
def folder(trained):
    """One that most are asked of."""
    return trained("rnn")


@contextmanager
def asked(folder, place):
    """A model, served as a stranger would."""
    words = command("serve", folder, "--port", "0", "--threads", "1", "--device", "cpu")
    with served(place, words=words, ready=False) as running:
        running.until_ready(60)
        yield running


@pytest.fixture(scope="module")
def real(folder, tmp_path_factory):
    """The tiny model, for all tests that leave it as it was."""
    with asked(folder, tmp_path_factory.mktemp("real")) as running:
        yield running


def sentences(count):
    """Different ones, of all lengths."""
    found = dict.fromkeys(pair.source for pair in itertools.islice(number_pairs(seed=9), 5 * count))
    return list(found)[:count]


@pytest.mark.parametrize(
    "count", [60, pytest.param(1000, marks=[pytest.mark.slow, pytest.mark.soak])]
)
def test_what_is_said_does_not_depend_on_who_else_asks(real, count):
    says_the_same(real, count)


class Kept(Talk):
    """Answers that are kept here."""

    def __init__(self):
        self.found = {}

    def left(self, number):
        return False

    def answer(self, number, answer):
        self.found[number] = answer["translations"][0]


def test_what_a_transformer_says_does_not_either(trained):
    model = model_of({"folder": str(trained("transformer")), "device": "cpu", "threads": 1})
    texts = [Text(number, one) for number, one in enumerate(sentences(40))]
    chance, told = random.Random(1), []
    for size in (1, 7, len(texts)):
        chance.shuffle(texts)
        kept = Kept()
        for first in range(0, len(texts), size):
            model.say(texts[first : first + size], Manner(beam=2), kept)
        told.append([kept.found[number] for number in range(len(texts))])
    for own in told[1:]:
        alike(own, told[0])


@pytest.mark.soak
def test_what_a_transformer_says_over_http_does_not_either(trained, tmp_path):
    with asked(trained("transformer"), tmp_path) as running:
        says_the_same(running, 1000)


def says_the_same(real, count):
    """Each sentence alone, among others that come at the same time, and in one request."""
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
    print(f"{count:,} sentences alone, twice under load and in requests of 50: all the same")
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
    starts = real.metrics()["dhyan_model_starts"]
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
    assert real.metrics()["dhyan_model_starts"] == starts


def scripts():
    """Sentences in every script of which Unicode names five letters or more."""
    letters = defaultdict(list)
    for code in range(0x110000):
        letter = chr(code)
        if category(letter) in ("Lu", "Ll", "Lo"):
            letters[name(letter, "?").split()[0]].append(letter)
    chance = random.Random(1)
    for own in letters.values():
        if len(own) >= 5:
            yield " ".join("".join(chance.choices(own, k=4)) for _ in range(3))


def test_any_script_is_answered(real):
    texts, starts = list(scripts()), real.metrics()["dhyan_model_starts"]
    assert len(texts) >= 100
    for first in range(0, len(texts), 50):
        began = time.monotonic()
        status, found = real.translate(texts[first : first + 50], beam=1)
        assert (status, len(found["translations"])) == (200, len(texts[first : first + 50]))
        assert time.monotonic() - began < 10
        assert all(len(one["text"].split()) <= 512 for [one] in found["translations"])
    assert real.metrics()["dhyan_model_starts"] == starts


def test_one_that_leaves_a_long_search_ends_it(real):
    from tests.serving.test_cancellation import begin, settled

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


def test_a_killed_model_is_back_within_ten_seconds(real):
    said, starts = real.translate("one")[1], real.metrics()["dhyan_model_starts"]
    os.kill(child(real), signal.SIGKILL)
    died = time.monotonic()
    until(real, "died", within=5)
    assert real.translate("one")[0] == 503
    real.until_ready(10)
    assert time.monotonic() - died < 10
    assert real.translate("one")[1] == said
    assert real.metrics()["dhyan_model_starts"] == starts + 1


def damaged(folder, place):
    """A copy of a model with one bit of its weights turned, their file, and what it was."""
    copy = place / "run"
    shutil.copytree(folder, copy)
    weights = next(copy.glob("step-*/model.safetensors"))
    whole = weights.read_bytes()
    weights.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    return copy, weights, whole


def test_a_damaged_model_is_not_loaded(folder, tmp_path):
    copy, weights, _ = damaged(folder, tmp_path)
    with pytest.raises(UserError, match=weights.name):
        model_of({"folder": str(copy), "device": "cpu", "threads": 1})


@pytest.mark.soak
def test_health_is_true_of_a_damaged_model_and_of_one_that_is_mended(folder, tmp_path):
    copy, weights, whole = damaged(folder, tmp_path)
    load = {"folder": str(copy), "device": "cpu", "threads": 1}
    words = [sys.executable, "-m", "dhyan.serving.worker"]
    given = {"command": words, "load": load, "settings": {"rest": 0.1}}
    with served(tmp_path, ready=False, **given) as running:
        until(running, weights.name, within=30)
        assert running.ask("GET", "/livez")[0] == 200
        status, found = running.translate("one")
        assert (status, found["error"]["code"]) == (503, "unready")
        weights.write_bytes(whole)
        running.until_ready(30)
        assert running.translate("one")[0] == 200
