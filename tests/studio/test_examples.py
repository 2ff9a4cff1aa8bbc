"""Example sentences: new to the pretrained models, translated sensibly, and fit for every task."""

import shutil
from typing import get_args

import pytest
from fastapi.testclient import TestClient

from dhyan.checkpoint import find_checkpoint
from dhyan.config.sections import Synthetic
from dhyan.model_check import read_training_sentences
from dhyan.pretrained import NAMES, find_pretrained, model_folder
from dhyan.run import load
from dhyan.studio.examples import DEFAULT, OWN, PICTURES, WORDS, examples
from dhyan.studio.registry import ModelRegistry
from dhyan.studio.server import make_app
from tests.model_check.valid_model import rewrite_manifest

# Words that a sensible translation contains; a slash separates words of which one is enough.
KEY_WORDS = {
    "My sister works in a hospital.": ("बहन अस्पताल काम", "sœur travaille hôpital"),
    "The children are playing in the garden.": ("बच्चे बगीचे/बाग खेल", "enfants jouent jardin"),
    "My mother is cooking rice in the kitchen.": (
        "माँ रसोई चावल पका", "mère cuisiner/faire riz cuisine",
    ),
    "He wants to become a pilot.": ("वह पायलट बनना चाहता", "veut devenir pilote"),
    "I have been living here for ten years.": ("मैं दस साल यहाँ रह", "ici depuis dix ans"),
    "Do you want some water?": ("क्या आपको/तुम्हें पानी चाहिए", "Voulez-vous/Veux-tu eau"),
    "What is your sister's name?": ("बहन का नाम क्या", "Quel nom sœur"),
    "I don't know where my keys are.": ("नहीं पता चाबियाँ/चाबी कहाँ", "sais pas où clés sont"),
    "This book is very interesting.": ("यह किताब बहुत दिलचस्प", "livre est très intéressant"),
    "We live near the river.": ("हम नदी पास रहते", "près rivière"),
    "The teacher called the doctor.": ("शिक्षक ने डॉक्टर को बुलाया", "professeur a appelé médecin"),
    "The doctor called the teacher.": ("डॉक्टर ने शिक्षक को बुलाया", "médecin a appelé professeur"),
}  # fmt: skip


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith(("en-hi", "en-fr"))])
def test_default_examples_are_new_to_a_pretrained_model_and_come_out_sensible(name):
    seen = read_training_sentences(model_folder(name))
    assert seen is not None
    translator = load(name)
    assert {example.text for example in DEFAULT} == set(KEY_WORDS)
    for text, words in KEY_WORDS.items():
        assert text not in seen
        [translation] = translator(text, beam=1, nbest=1)
        for choice in words["-fr-" in name].split():
            assert any(word in translation.text for word in choice.split("/")), translation.text


def test_words_are_for_pretrained_models_and_new_to_them():
    assert {example.model for example in WORDS} <= set(NAMES)
    for example in WORDS:
        if find_pretrained(example.model):
            assert example.text not in read_training_sentences(example.model)


def test_every_toy_task_has_examples_and_no_sentence_is_listed_twice():
    assert {example.synthetic for example in examples()} == set(
        get_args(Synthetic)
    ) - PICTURES.keys()
    for task in get_args(Synthetic):
        texts = [example.text for example in examples() if example.synthetic == task]
        assert len(set(texts)) == len(texts)


def test_a_model_of_another_language_has_sentences_of_its_own_validation_text(models, tmp_path):
    checkpoint, text = tmp_path / "german", tmp_path / "valid"
    shutil.copytree(find_checkpoint(models[1]), checkpoint)
    text.write_text("\n".join(["Guten Morgen.", "", "a" * 200, "Wie geht es dir?", "Ja.", "Nein."]))
    recipe = checkpoint / "recipe.toml"
    lines = [
        line for line in recipe.read_text().splitlines()
        if not line.startswith(("valid_source =", "source_language ="))
    ]  # fmt: skip
    place = lines.index("[data]") + 1
    lines[place:place] = [f'valid_source = "{text}"', 'source_language = "de"']
    recipe.write_text("\n".join(lines) + "\n")
    rewrite_manifest(checkpoint)

    def own():
        client = TestClient(make_app(ModelRegistry([checkpoint])), base_url="http://127.0.0.1")
        return [each for each in client.get("/api/examples").json() if each["model"] == "german"]

    assert [each["text"] for each in own()] == ["Guten Morgen.", "Wie geht es dir?", "Ja."]
    assert len(own()) == OWN
    text.unlink()
    assert own() == []
