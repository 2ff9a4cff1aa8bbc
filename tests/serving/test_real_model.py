"""A real model behind the server: batching changes nothing, and any text is answered."""

import asyncio
import itertools
import json
import os
import random
import shutil
import signal
import subprocess
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
from dhyan.serving.worker import load as load_worker
from dhyan.serving.worker_protocol import CollectedAnswers, JobOptions, JobText
from tests.serving.running_server import running_server
from tests.serving.test_shutdown import wait_not_ready, worker_pid
from tests.tiny_models import command, environment, tiny_recipe, write_corpus

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Trains a tiny model of a family that has learnt to end its sentences; each once."""

    @cache
    def train_model(family):
        root = tmp_path_factory.mktemp(family)
        recipe = tiny_recipe(family, *write_corpus(root), **{
            "training.steps": 20, "training.validate_every": 20, "training.save_every": 20,
            "training.report_every": 20, "training.learning_rate": 1e-2, "decoding.max_length": 20,
        })  # fmt: skip
        for _ in train(recipe, root / "run", threads=1):
            pass
        return root / "run"

    return train_model


@pytest.fixture(scope="module")
def folder(trained):
    """The model of most tests."""
    return trained("rnn")


@contextmanager
def serve_models(folders, directory):
    """Models behind `dhyan serve`."""
    arguments = command("serve", *folders, "--port", "0", "--threads", "1", "--device", "cpu")
    with running_server(directory, arguments=arguments, ready=False) as running:
        running.wait_until_ready()
        yield running


@pytest.fixture(scope="module")
def real(folder, tmp_path_factory):
    """The tiny model behind a server, for tests that do not change it."""
    with serve_models([folder], tmp_path_factory.mktemp("real")) as running:
        yield running


def sentences(count):
    """Distinct source sentences of all lengths."""
    pairs = itertools.islice(number_pairs(seed=9), 5 * count)
    return list(dict.fromkeys(pair.source for pair in pairs))[:count]


@pytest.mark.parametrize(
    "count", [60, pytest.param(1000, marks=[pytest.mark.slow, pytest.mark.soak])]
)
def test_translations_do_not_depend_on_other_requests(real, count):
    assert_independent(real, count)


def test_a_transformers_translations_do_not_depend_on_the_batch(trained):
    model = load_worker({"folder": str(trained("transformer")), "device": "cpu", "threads": 1})
    texts = [JobText(job, sentence) for job, sentence in enumerate(sentences(40))]
    rng, by_size = random.Random(1), []
    for size in (1, 7, len(texts)):
        rng.shuffle(texts)
        collected = CollectedAnswers()
        for first in range(0, len(texts), size):
            model.translate(texts[first : first + size], JobOptions(beam=2), collected)
        answers = [collected.answers[job] for job in range(len(texts))]
        by_size.append([answer["translations"][0] for answer in answers])
    for translations in by_size[1:]:
        assert_same(translations, by_size[0])


@pytest.mark.soak
def test_a_transformers_translations_over_http_do_not_depend_on_other_requests(trained, tmp_path):
    with serve_models([trained("transformer")], tmp_path) as running:
        assert_independent(running, 1000)


def assert_independent(real, count):
    """Each sentence alone, among others that come at the same time, and in one request."""
    texts = sentences(count)
    alone = [best(real.translate(text)[1])[0] for text in texts]
    scores = [translation["score"] for translation in alone]
    assert len({round(score, 3) for score in scores}) > count // 10  # the sentences differ
    order = [*range(count)] * 2
    random.Random(1).shuffle(order)

    def request_of(number):
        return request(real.port, "/v1/translate", {"text": texts[order[number]]})

    _, replies = asyncio.run(saturate(real.port, 32, len(order), request_of))
    assert {reply.status for reply in replies} == {200}
    under_load = [best(json.loads(reply.body))[0] for reply in replies]
    assert_same(under_load, [alone[index] for index in order])
    together = []
    for first in range(0, count, 50):
        status, body = real.translate(texts[first : first + 50])
        assert status == 200
        together += best(body)
    assert_same(together, alone)
    print(f"{count:,} sentences alone, twice under load and in requests of 50: all the same")
    samples = real.metrics()
    assert samples["dhyan_batch_texts_sum"] > 2 * samples["dhyan_batch_texts_count"]


def best(body):
    """The best translation of each text."""
    return [hypotheses[0] for hypotheses in body["translations"]]


def assert_same(translations, expected):
    """Equal texts, and scores equal up to rounding in single precision."""
    assert [translation["text"] for translation in translations] == [
        other["text"] for other in expected
    ]
    pairs = zip(translations, expected, strict=True)
    assert max(abs(translation["score"] - other["score"]) for translation, other in pairs) < 1e-4


def test_beam_nbest_and_alignment_are_those_of_the_translator(real, folder):
    [text] = sentences(1)
    translator = load(folder, device="cpu")
    [expected] = translator(text, beam=4, nbest=3)
    _, body = real.translate(text, beam=4, nbest=3, align=True)
    hypotheses = body["translations"][0]
    texts = [hypothesis["text"] for hypothesis in hypotheses]
    assert texts == [expected.text, *(other.text for other in expected.others)]
    assert hypotheses[0]["score"] == pytest.approx(expected.score, abs=1e-5)
    words = len(texts[0].split())
    assert {target for _, target in hypotheses[0]["alignment"]} <= set(range(words))


def test_a_stream_ends_with_the_same_translation(real):
    texts = sentences(5)
    for text in texts:
        raw = real.request("POST", "/v1/translate/stream", {"text": text, "beam": 1})[2].decode()
        events = [part.split("\n") for part in raw.strip().split("\n\n")]
        assert events[-1][0] == "event: done"
        translation = json.loads(events[-1][1][6:])["text"]
        assert translation == real.translate(text, beam=1)[1]["translations"][0][0]["text"]
        words = []
        for _, line in events[:-1]:
            change = json.loads(line[6:])
            words[change["from"] :] = change["words"]
        assert words == translation.split()


def test_several_models_translate_as_each_alone(trained, tmp_path):
    folders = [tmp_path / family for family in ("rnn", "transformer")]
    for folder in folders:
        folder.symlink_to(trained(folder.name))
    text = sentences(1)[0]
    with serve_models(folders, tmp_path) as running:
        for folder in folders:
            [expected] = load(folder, device="cpu")(text)
            status, body = running.translate(text, model=folder.name)
            assert (status, body["model"]) == (200, folder.name)
            assert best(body)[0]["text"] == expected.text
        assert running.translate(text)[0] == 400
        body = {"text": text, "model": "transformer"}
        raw = running.request("POST", "/v1/translate/stream", body)[2]
        assert json.dumps(expected.text, ensure_ascii=False).encode() in raw


def test_paragraphs_are_translated_sentence_by_sentence(real):
    texts = sentences(3)
    alone = [real.translate(text)[1]["translations"][0][0]["text"] for text in texts]
    status, body = real.translate("\n".join(texts), paragraphs=True)
    assert (status, body["translations"][0][0]["text"]) == (200, "\n".join(alone))
    body = {"q": "\n".join(texts), "source": "auto", "target": "hi"}
    response = json.loads(real.request("POST", "/translate", body)[2])
    assert response["translatedText"] == "\n".join(alone)
    assert response["detectedLanguage"]["language"] == "en"


def test_alternatives_of_a_text_join_those_of_its_sentences(real):
    texts = sentences(2)
    nbest = [real.translate(text, nbest=3)[1]["translations"][0] for text in texts]
    body = {"q": "\n".join(texts), "source": "en", "target": "hi", "alternatives": 2}
    response = json.loads(real.request("POST", "/translate", body)[2])
    ranked = [
        "\n".join(translation["text"] for translation in rank) for rank in zip(*nbest, strict=True)
    ]
    assert [response["translatedText"], *response["alternatives"]] == ranked


def test_the_models_own_words_are_detected(real, folder):
    words = " ".join(sentences(3))
    _, _, raw = real.request("POST", "/detect", {"q": words})
    assert json.loads(raw)[0]["language"] == "en"
    hindi = load(folder, device="cpu")(sentences(1))[0].text
    _, _, raw = real.request("POST", "/detect", {"q": hindi})
    assert json.loads(raw)[0]["language"] == "hi"


def command_line(folder, text, *options):
    """The translations that `dhyan translate` prints."""
    arguments = command("translate", folder, "--device", "cpu", "--threads", "1", *options)
    process = subprocess.run(
        arguments, input=text.encode(), capture_output=True, env=environment(), check=True
    )
    return process.stdout.decode().splitlines()


def test_prefix_and_glossary_are_those_of_the_command_line(real, folder, tmp_path):
    texts = ["twenty one", "three hundred seven", "forty two"]
    glossary = tmp_path / "glossary.tsv"
    glossary.write_text("twenty one\tसात\nforty\tबीस\n")
    by_command = command_line(folder, "\n".join(texts), "--glossary", str(glossary))
    pairs = [["twenty one", "सात"], ["forty", "बीस"]]
    for glossary in (pairs, dict(pairs)):
        status, body = real.translate(texts, glossary=glossary)
        assert status == 200
        assert [translation["text"] for translation in best(body)] == by_command
    assert "सात" in by_command[0]
    by_command = command_line(folder, "\n".join(texts), "--prefix", "एक सौ")
    _, body = real.translate(texts, prefix="एक सौ")
    assert [translation["text"] for translation in best(body)] == by_command
    assert all(text.startswith("एक सौ") for text in by_command)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"glossary": [["one", "एक"], ["q9Z", "\u2060"]]}, "the target term of glossary[1]"),
        ({"glossary": [["one", "एक"], ["ONE", "दो"]]}, "the source term of glossary[1]"),
        ({"glossary": {"one": "एक"}, "beam": 1}, "glossary needs a beam of 2 or more"),
        ({"prefix": "q9Z " * 100}, "leaves no room for more"),
    ],
)
def test_terms_that_cannot_be_required_are_named_by_their_place(real, options, message):
    status, body = real.translate(["one two", "one"], **options)
    assert (status, body["error"]["code"]) == (400, "unsupported_option")
    assert message in body["error"]["message"]
    assert "q9Z" not in body["error"]["message"]


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
    starts = real.metrics()["dhyan_worker_starts"]
    option_sets = ({}, {"paragraphs": True}, {"beam": 1, "align": True})
    for number, text in enumerate(ODD):
        for options in option_sets[: 1 + number % 3]:
            status, body = real.translate(text, **options)
            assert status in (200, 400), (text, body)
            if status == 400:
                assert body["error"]["code"] == "sentence_too_long", (text, body)
            else:
                [[translation]] = body["translations"]
                assert len(translation["text"].split()) <= 512
    assert real.metrics()["dhyan_worker_starts"] == starts


def scripts():
    """Sentences in every script of which Unicode names five letters or more."""
    characters = defaultdict(list)
    for code in range(0x110000):
        character = chr(code)
        if category(character) in ("Lu", "Ll", "Lo"):
            characters[name(character, "?").split()[0]].append(character)
    rng = random.Random(1)
    for alphabet in characters.values():
        if len(alphabet) >= 5:
            yield " ".join("".join(rng.choices(alphabet, k=4)) for _ in range(3))


def test_every_script_is_translated(real):
    texts, starts = list(scripts()), real.metrics()["dhyan_worker_starts"]
    assert len(texts) >= 100
    for first in range(0, len(texts), 50):
        status, body = real.translate(texts[first : first + 50], beam=1)
        assert (status, len(body["translations"])) == (200, len(texts[first : first + 50]))
        assert all(len(best["text"].split()) <= 512 for [best] in body["translations"])
    assert real.metrics()["dhyan_worker_starts"] == starts


def test_disconnecting_ends_a_long_search(real):
    from tests.serving.test_cancellation import begin, idle

    before = idle(real)
    for _ in range(10):
        connection = begin(real, ["a b c d e f g"] * 60, beam=16)
        time.sleep(0.02)
        connection.close()
    deadline = time.monotonic() + 60
    while real.translate("a")[0] != 200:  # until the disconnects are noticed
        assert time.monotonic() < deadline
    after = idle(real)
    assert after["accepted"] - before["accepted"] == sum(
        after[outcome] - before[outcome] for outcome in ("done", "expired", "cancelled", "failed")
    )


def test_a_killed_worker_is_replaced(real):
    body, starts = real.translate("one")[1], real.metrics()["dhyan_worker_starts"]
    os.kill(worker_pid(real), signal.SIGKILL)
    wait_not_ready(real, "died")
    assert real.translate("one")[0] == 503
    real.wait_until_ready()
    assert real.translate("one")[1] == body
    assert real.metrics()["dhyan_worker_starts"] == starts + 1


def damaged(folder, directory):
    """A copy of a model with one flipped bit, the path of its weights, and their original bytes."""
    copy = directory / "run"
    shutil.copytree(folder, copy)
    weights = next(copy.glob("step-*/model.safetensors"))
    original = weights.read_bytes()
    weights.write_bytes(original[:-1] + bytes([original[-1] ^ 1]))
    return copy, weights, original


def test_a_damaged_model_is_not_loaded(folder, tmp_path):
    copy, weights, _ = damaged(folder, tmp_path)
    with pytest.raises(UserError, match=weights.name):
        load_worker({"folder": str(copy), "device": "cpu", "threads": 1})


@pytest.mark.soak
def test_readyz_fails_while_the_weights_are_damaged(folder, tmp_path):
    copy, weights, original = damaged(folder, tmp_path)
    load = {"folder": str(copy), "device": "cpu", "threads": 1}
    command_line = [sys.executable, "-m", "dhyan.serving.worker"]
    options = {"command": command_line, "load": load, "settings": {"restart_delay": 0.1}}
    with running_server(tmp_path, ready=False, **options) as running:
        wait_not_ready(running, weights.name)
        assert running.request("GET", "/livez")[0] == 200
        status, body = running.translate("one")
        assert (status, body["error"]["code"]) == (503, "model_not_ready")
        weights.write_bytes(original)
        running.wait_until_ready()
        assert running.translate("one")[0] == 200
