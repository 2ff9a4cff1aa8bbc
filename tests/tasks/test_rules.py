"""Search keeps the form of a task whatever the weights are: laws of its rules on random models."""

import pytest
import torch

from dhyan.config import load_recipe
from dhyan.decoding.translator import Translator
from dhyan.models.build import build_model
from dhyan.special_tokens import EOS, UNK
from dhyan.tasks import find_task, with_task
from dhyan.tasks.rules import symbol_count
from dhyan.text.codec import codec_size
from dhyan.text.tokenizer import Tokenizer
from dhyan.text.word_characters import WordCharacters
from tests.tiny_models import RECIPES, SIZES

SENTENCES = ["गंगा बहती है", "Goa", "a b c d e f", "x y"]
TAGS = "O B-LOC I-LOC B-PER I-PER I-MISC"


def random_translator(task, source, target, family, seed):
    """A model of random weights with the rules of a task."""
    torch.manual_seed(seed)
    settings = {**SIZES[family], "task": task, "frames.filters": 8, "frames.characters": 40}
    settings["training.early_stopping_metric"] = "loss"
    recipe = with_task(load_recipe(RECIPES[family], settings))
    model = build_model(recipe, codec_size(source.to_json()), len(target)).eval()
    return Translator(model, source, target, task=task, task_rules=find_task(task).rules)


@pytest.mark.parametrize("family", SIZES)
@pytest.mark.parametrize("beam", [1, 4])
def test_a_classifier_gives_one_known_label(family, beam):
    source = Tokenizer.train(SENTENCES, kind="words", size=40)
    target = Tokenizer.train(["good", "very bad", "mixed"], kind="labels", size=40)
    for seed in range(3):
        translator = random_translator("classify", source, target, family, seed)
        for translation in translator.predict(SENTENCES, beam=beam, nbest=beam):
            found = [item.text for item in (translation, *translation.others)]
            assert set(found) <= {"good", "very bad", "mixed"}
            assert len(set(found)) == len(found)


@pytest.mark.parametrize("family", SIZES)
@pytest.mark.parametrize("beam", [1, 3])
def test_there_is_one_tag_for_each_word_and_entities_begin_with_b(family, beam):
    source = WordCharacters.train(SENTENCES, size=20, characters=40, longest=6)
    target = Tokenizer.train([TAGS], kind="symbols", size=40)
    for seed in range(3):
        translator = random_translator("tag", source, target, family, seed)
        for sentence, translation in zip(
            SENTENCES, translator.predict(SENTENCES, beam=beam), strict=True
        ):
            tags = translation.text.split()
            assert len(tags) == len(sentence.split())
            before = "O"
            for tag in tags:
                assert tag in TAGS.split()
                if tag.startswith("I-"):
                    assert before in (f"B-{tag[2:]}", tag)
                before = tag


def test_a_number_of_symbols_is_met():
    rule = symbol_count(2)(None, [None, None])
    sentence = torch.tensor([0, 1])
    scores = torch.zeros(2, 8)
    for length, ends in ((1, False), (2, False), (3, True)):
        allowed = rule(torch.zeros(2, length, dtype=torch.long), scores, sentence).isfinite()
        assert allowed[:, EOS].eq(ends).all()
        assert allowed[:, UNK + 1 :].ne(ends).all()
