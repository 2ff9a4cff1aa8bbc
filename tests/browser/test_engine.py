"""The page's engine in Chromium equals the Python models: tokens, translations, scores and weights."""

import base64
import json
import random
from itertools import islice

import pytest

from dhyan.config import load_recipe
from dhyan.data.primer import generate_sentences
from dhyan.insight.trace import trace_translation
from dhyan.model_check import read_model
from dhyan.pretrained.everyday_sentences import EVERYDAY_SENTENCES
from dhyan.run import load
from dhyan.run.slim_export import write_slim
from dhyan.studio.export_html import worker_url
from dhyan.studio.export_model import check_supported, engine_facts, int8_weights
from dhyan.text.tokenizer import Tokenizer
from tests.browser.conftest import new_context
from tests.data.hostile_text import FRAGMENTS
from tests.model_check.valid_model import files_of, write_model
from tests.plain_search import in_pytorch
from tests.studio.page_answers import assert_alike
from tests.tiny_models import OFTEN, SIZES

TEXTS = (
    "the girl reads a book", "one two three four", "how are you today, my friend?", "seven", "क्या?",
)  # fmt: skip
RNN, TRANSFORMER = SIZES["rnn"], SIZES["transformer"]
PLAIN_RNN = {
    key: value for key, value in RNN.items() if "readout" not in key and "attention" not in key
}
TRANSFORMER_ENCODER = {key: value for key, value in TRANSFORMER.items() if "encoder" in key}
VARIANTS = {
    "bahdanau": ("bahdanau2015-small", RNN),
    "elman": (
        "bahdanau2015-small",
        {**RNN, "encoder.cell": "rnn", "decoder.cell": "rnn", "decoder.layers": 2},
    ),
    "reversed": (
        "bahdanau2015-small", {**RNN, "encoder.bidirectional": False, "encoder.reverse_source": True},
    ),
    "bottleneck": ("cho2014-small", {**PLAIN_RNN, "decoder.readout_width": 16}),
    "untied": ("bahdanau2015-small", {**RNN, "decoder.tie_embeddings": False}),
    "deep-lstm": ("luong2015-small", {**PLAIN_RNN, "encoder.layers": 2, "decoder.layers": 2}),
    "luong-concat": (
        "luong2015-small",
        {**PLAIN_RNN, "decoder.attention.score": "concat", "decoder.input_feeding": False},
    ),
    "luong-scaled-dot": (
        "luong2015-small",
        {**PLAIN_RNN, "decoder.attention.score": "scaled_dot", "encoder.width": 12},
    ),
    "no-attention": ("sutskever2014-small", {**PLAIN_RNN, "decoder.width": 16}),
    "rnn-after-transformer": (
        "transformer2017-small",
        {**TRANSFORMER_ENCODER, "decoder": {"kind": "luong", "embedding_width": 16, "width": 16}},
    ),
    "post-norm": (
        "transformer2017-small",
        {**TRANSFORMER, "encoder.norm": "post", "decoder.norm": "post"},
    ),
    "learned-positions": (
        "transformer2017-small",
        {**TRANSFORMER, "encoder.positions": "learned", "decoder.positions": "learned"},
    ),
    "swiglu": (
        "transformer2017-small",
        {**TRANSFORMER, "encoder.activation": "swiglu", "decoder.activation": "swiglu"},
    ),
    "no-positions": (
        "transformer2017-small", {**TRANSFORMER, "encoder.positions": "none", "decoder.score": "dot"},
    ),
}  # fmt: skip
SETUP = """async ([url, facts, weights]) => {
    const { Translator } = await import(url);
    const bytes = Uint8Array.from(atob(weights), (character) => character.charCodeAt(0));
    window.translator = new Translator(facts, bytes.buffer);
}"""
TRACE = """([text, beam]) => translator.answer("translate", { text, model: "mine", beam, prefix: "" },
    async () => {})"""
SEEN = """async ([url, file, texts]) => {
    const { TrainingSentences } = await import(url);
    const bytes = Uint8Array.from(atob(file), (character) => character.charCodeAt(0));
    const sentences = await TrainingSentences.read(bytes.buffer);
    return texts.map((text) => [sentences.has(text), sentences.unseenWords(text)]);
}"""
TOKENIZE = """async ([url, json, texts]) => {
    const { Tokenizer } = await import(url);
    const tokenizer = new Tokenizer(json);
    return texts.map((text) => {
        const ids = tokenizer.encode(text);
        const words = tokenizer.words(ids).map(({ text, first, last }) => [text, first, last]);
        return [ids, tokenizer.labels(ids), words, tokenizer.decode(ids)];
    });
}"""


@pytest.fixture(scope="module")
def page(browser):
    context = new_context(browser)
    yield context.new_page()
    context.close()


@pytest.mark.parametrize("name", ["en-hi", "en-fr"])
def test_any_text_has_the_same_tokens(page, name):
    draw, checked = random.Random(3), read_model(name)
    texts = [draw.choice(["", " "]).join(draw.choices(FRAGMENTS, k=5)) for _ in range(400)]
    for side in ("source", "target"):
        tokenizer = Tokenizer.from_json(checked.files[f"{side}.json"].decode())
        table = json.loads(checked.files[f"{side}.json"])
        found = page.evaluate(TOKENIZE, [worker_url("engine/tokenizer.js"), table, texts])
        for text, (ids, labels, words, decoded) in zip(texts, found, strict=True):
            assert ids == tokenizer.encode(text), repr(text)
            assert labels == tokenizer.pieces(ids), repr(text)
            expected = [[word.text, word.first, word.last] for word in tokenizer.words(ids)]
            assert words == expected, repr(text)
            assert decoded == tokenizer.decode(ids), repr(text)


@pytest.mark.parametrize("name", ["en-hi", "en-fr"])
def test_sentences_and_words_of_the_training_text_are_recognised(page, name):
    draw, sentences = random.Random(4), read_model(name).training_sentences
    primer = [pair.english for pair in islice(generate_sentences("train"), 150)]
    texts = [*primer, *EVERYDAY_SENTENCES, *(text.upper() + "!" for text in primer)]
    texts += ["x" * length for length in (1, 127, 128, 129, 300)]
    texts += [
        " ".join(draw.choices(["straße", "ẞ", "ΛΌΓΟΣ", "ı", *FRAGMENTS], k=4)) for _ in range(150)
    ]
    file = base64.b64encode(sentences.to_bytes()).decode()
    found = page.evaluate(SEEN, [worker_url("engine/training_sentences.js"), file, texts])
    expected = [[text in sentences, sentences.unseen_words(text)] for text in texts]
    assert 0 < sum(seen for seen, _ in expected) < len(texts)
    assert 0 < sum(bool(words) for _, words in expected) < len(texts)
    different = [pair for pair in zip(texts, found, expected, strict=True) if pair[1] != pair[2]]
    assert not different


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_supported_model_translates_alike(page, tmp_path, variant):
    """Random weights; a trace has the tokens, their probabilities and every attention weight."""
    recipe, sizes = VARIANTS[variant]
    settings = {**OFTEN, **sizes, "text.tokenizer": "bpe", "decoding.max_length": 9}
    write_model(tmp_path / "float", files_of(load_recipe(recipe, settings)))
    write_slim(tmp_path / "float", tmp_path / "mine", precision="int8")
    checked, translator = read_model(tmp_path / "mine"), in_pytorch(load(tmp_path / "mine"))
    check_supported(checked.recipe, "mine")
    weights = base64.b64encode(int8_weights(checked)).decode()
    page.evaluate(SETUP, [worker_url("engine/translator.js"), engine_facts(checked), weights])
    for text in TEXTS:
        for beam in (1, 3):
            [translation] = translator(text, beam=beam, nbest=1)
            expected = trace_translation(translator, text, translation, model="mine")
            assert_alike(page.evaluate(TRACE, [text, beam]), json.loads(expected.to_json()))
