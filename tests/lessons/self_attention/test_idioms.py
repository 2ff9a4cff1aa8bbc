"""Idioms: what is meant and what is said, and what the mixers say of it."""

from dataclasses import replace

import pytest

from dhyan.data.primer.sentence_builder import SentenceBuilder
from dhyan.data.primer.templates import fill_template, templates
from dhyan.errors import UserError
from dhyan.lessons.catalogue import Text
from dhyan.lessons.self_attention import idioms as module
from dhyan.lessons.self_attention.idioms import (
    IDIOMATIC,
    LEARNED,
    LITERAL,
    IdiomCounts,
    Idioms,
    IdiomTranslation,
    MixerComparison,
    MixerScores,
    compare_mixers,
    frame_sentences,
    idioms,
    is_idiomatic,
    translate_word_by_word,
)
from experiments.task_vectors import mixer_comparison
from tests.lessons.untrained_models import untrained_translator


def flat_text(result, lang="en"):
    return " ".join(result.text(lang).split())


english = Text("en", "idioms")


def test_every_idiom_has_three_frames_that_mean_it_and_three_that_do_not():
    counts = {}
    for template in templates("idiom"):
        counts.setdefault(template.about, []).append(
            is_idiomatic(fill_template(SentenceBuilder(1), template))
        )
    assert all(sorted(readings) == [False] * 3 + [True] * 3 for readings in counts.values())


def test_word_by_word_a_leg_is_a_leg_and_cake_is_cake():
    assert translate_word_by_word("The exam was a piece of cake for Ravi.") == (
        "परीक्षा था एक टुकड़ा का केक के लिए रवि"
    )
    assert translate_word_by_word("Break a leg, Ravi!") == "तोड़ना एक टाँग रवि"


def test_a_word_that_no_sentence_has_stays_as_it_is():
    assert translate_word_by_word("Xyzzy!") == "Xyzzy"


def test_the_new_frames_are_none_of_the_primers():
    filled = {
        fill_template(SentenceBuilder(seed), template).english
        for template in templates("idiom")
        for seed in range(40)
    }
    primers = {" ".join(_bare(template)) for template in filled}
    for frame in (
        template
        for frames in (IDIOMATIC, LITERAL)
        for idiom_templates in frames.values()
        for template in idiom_templates
    ):
        for names in (("Ravi", "Asha"), ("Asha", "Ravi")):
            assert " ".join(_bare(frame.format(A=names[0], B=names[1]))) not in primers


def _bare(sentence):
    return ["A" if word in NAMES else word for word in sentence.strip(".!").lower().split()]


NAMES = {"ravi", "asha", "ravi,", "asha,"}


def test_the_snapshot_has_the_figures_of_the_mixer_experiment():
    assert idioms().mixer_comparison == mixer_comparison()


def test_the_snapshot_translates_break_a_leg_as_best_wishes():
    examples = {
        (example.idiomatic, "cake" in example.sentence): example for example in idioms().examples
    }
    assert set(examples) == {(True, True), (True, False), (False, True), (False, False)}
    assert "शुभकामनाएँ" in examples[True, False].translation
    assert "टाँग" in examples[True, False].word_by_word
    assert "केक" in examples[True, True].word_by_word
    assert "केक" in examples[False, True].translation
    assert all(example.correct for example in examples.values())


def test_the_snapshot_reports_what_contradicts_the_notes():
    text = flat_text(idioms())
    assert "against parameter-free attention scaled by √d, softmax(X Xᵀ/√d) X" in text
    assert "; the claim holds" in text
    assert "a gain for seen idioms, a loss for new idioms, a tie for new senses" in text
    assert "against the mean, which learns nothing" in text
    assert "लाभ परिचित मुहावरों में है, गिरावट नए मुहावरों में, नए अर्थों में बराबरी" in flat_text(
        idioms(), "hi"
    )


def test_the_verdict_on_the_mixers_follows_the_numbers():
    best, same, worse = (
        MixerScores("mean", 0, share, share, share, (share, share)) for share in (0.9, 0.89, 0.5)
    )
    assert compare_mixers(best, worse, english).endswith("; the claim holds.")
    text = compare_mixers(best, same, english)
    assert text.endswith("does not hold, a tie for seen idioms, new idioms, new senses.")
    text = compare_mixers(worse, best, english)
    assert text.endswith("does not hold, a loss for seen idioms, new idioms, new senses.")
    text = compare_mixers(replace(best, new=0.4), worse, english)
    assert text.endswith("a gain for seen idioms, new senses, a loss for new idioms.")


def test_failing_new_frames_are_reported():
    counts = IdiomCounts("break a leg", 4, 3, 2, 2)
    result = Idioms((IdiomTranslation("a", "b", "c", True, False),), (counts,), (counts,), (1, 2))
    assert "5 of 6 sentences are translated with the right meaning; 1 of 2 templates" in flat_text(
        result
    )
    assert "depends on the template" in flat_text(result)
    assert "(idiomatic: incorrect)" in flat_text(result)
    most = replace(result, new_frame_counts=(IdiomCounts("break a leg", 10, 9, 10, 10),))
    assert "depends little on the training templates" in flat_text(most)
    assert "depends on the template" not in flat_text(most)
    assert "does not depend on the training templates" in flat_text(replace(most, frames=(2, 2)))


def test_a_model_translates_every_frame_and_the_mixers_come_from_the_snapshot(monkeypatch):
    monkeypatch.setattr("dhyan.lessons.trained_model.knows_every_word", lambda model, text: True)
    monkeypatch.setattr(module, "knows_every_word", lambda model, text: True)
    untrained = untrained_translator("transformer", "transformer")
    result = idioms(untrained, sentences=20)
    assert sum(entry.total for entry in result.primer_counts) == 20
    assert sum(entry.total for entry in result.new_frame_counts) == len(frame_sentences(untrained))
    assert result.frames == (0, 33)
    assert not any(entry.correct for entry in result.examples)
    assert isinstance(result.mixer_comparison, MixerComparison)
    assert any(entry.name == LEARNED for entry in result.mixer_comparison.mixers)


def test_wrong_arguments_are_errors():
    with pytest.raises(UserError, match="the snapshot cannot translate it; give model=en-hi too"):
        idioms(sentence="Break a leg!")
    untrained = untrained_translator("transformer", "transformer")
    with pytest.raises(UserError, match="this model does not know cake; choose other words"):
        idioms(untrained, sentence="turn the cake")
    with pytest.raises(UserError, match="it knows the words of none of the primer's sentences"):
        module.measure_idioms(untrained, 1)
    with pytest.raises(UserError, match="sentences is 3: give a whole number of at least 20"):
        idioms(untrained, sentences=3)
