"""Claims that need long trainings, checked on the snapshots of their results."""

import pytest

import dhyan
from dhyan.lessons.catalogue import LESSONS
from dhyan.lessons.lesson import LessonResult
from dhyan.lessons.snapshots import _from_json, _to_json, has_snapshot, read_snapshot
from dhyan.lessons.transformer_blocks.pp_attachment import sign_flip_p_value
from experiments.seq2seq_improvements import measured_depth

SNAPSHOTS = [lesson.name for lesson in LESSONS if has_snapshot(lesson.name)]


@pytest.mark.parametrize("name", SNAPSHOTS)
def test_a_snapshot_names_its_command(name):
    result = read_snapshot(name, LessonResult)
    assert result.provenance is not None
    for lang in ("en", "hi"):
        assert result.provenance.command in result.render(lang).blocks[-1].text


def test_six_words_become_hundreds_up_to_the_trained_length_and_fail_well_beyond_it():
    result = dhyan.lessons.long_output()
    exact, tested = result.exact(seen_together=True, beyond=False)
    assert exact == tested == 280
    exact, tested = result.exact(seen_together=False, beyond=False)
    assert exact / tested > 0.95
    for counts in result.counts:
        shares = {part.length: part.share for part in counts.accuracies}
        assert shares[240] == 1
        assert shares[320] == shares[396] == 0
    assert result.cross.share > 0.9


def test_one_model_writes_two_summaries_and_attends_to_other_sentences_for_each():
    result = dhyan.lessons.perspectives()
    several = [score for score in result.scores if score.heads == 4]
    assert len(several) == 3
    for score in several:
        assert min(*score.exact, *score.new) > 0.98
        engineer, shopper = score.attention
        assert engineer[0] > shopper[0]
        assert shopper[1] > engineer[1]
    assert result.novel == 1


def test_eight_heads_resolve_attachment_better_than_one_wide_head():
    result = dhyan.lessons.pp_attachment()
    [steps] = result.lengths
    lead = result.lead(steps, [8], "new_persons")
    assert len(lead) == 8
    assert sum(lead) / len(lead) == pytest.approx(0.109, abs=0.001)
    assert sign_flip_p_value(lead) == pytest.approx(8 / 256)


def test_two_heads_alone_do_not_differ_from_one():
    result = dhyan.lessons.pp_attachment()
    assert sign_flip_p_value(result.lead(result.lengths[0], [2], "new_persons")) > 0.4


def test_a_probe_reads_the_sense_of_bank_from_states_not_from_its_embedding():
    [bank] = [senses for senses in dhyan.lessons.word_senses().words if senses.word == "bank"]
    right = {level.name: level.probe.right / level.probe.total for level in bank.levels}
    assert right["its own vector"] == 0.5
    assert right["layer 2"] > 0.98
    assert right["untrained encoder"] > 0.98  # so a probe alone does not show what was learned


def test_what_an_encoder_is_trained_for_is_what_can_be_read_off_its_vectors():
    result = dhyan.lessons.task_specific_vectors()
    shares = {
        view.task: [probe.right / probe.total for probe in view.probes] for view in result.views
    }
    (mood, tense, gender), (sentiment, *others) = shares["translation"], shares["sentiment"]
    assert sentiment > 0.99 > 0.7 > mood
    assert tense > others[0] + 0.3
    assert gender > others[1] + 0.1
    assert result.cka[1, 2] < 0.1 < min(result.cka_across_seeds)


def test_sentence_facts_are_clearest_in_the_highest_layer_and_words_in_the_lowest():
    result = read_snapshot("rnn_layer_probes", LessonResult)
    for fact in result.facts:
        for first, *_, last in (run[1:] for run in fact.runs):
            assert (last < first) if fact.name == "word" else True
            assert (last > first + 0.05) if fact.name in ("tense", "question") else True


def test_words_are_read_best_low_the_last_sentence_midway_and_of_the_paragraph_one_fact_on_top():
    result = dhyan.lessons.paragraph_probes()
    assert result.claimed("word") == (2, 2)
    assert result.claimed("sentence") == (2, 2)
    assert result.claimed("paragraph") == (1, 3)
    shares = {fact.name: fact.shares for fact in result.facts}
    assert shares["first_person"][-1] > 0.99 > 0.5 > result.guesses["first_person"]
    assert max(shares["mostly_past"]) < result.guesses["mostly_past"]
    assert max(shares["same_person"]) < 0.6


def test_reversal_helps_the_last_words_and_neither_claim_of_the_notes_holds():
    into = {
        change.language: change
        for change in dhyan.lessons.seq2seq_improvements().changes
        if change.technique == "reversal"
    }
    assert into["hi"].by_position[0].high < 0 < into["hi"].by_position[-1].low
    assert into["en"].by_position[-1].low > 0
    assert into["hi"].gain.low < 0 < into["hi"].gain.high  # not told apart from no change
    assert into["en"].gain.low > 0


def test_depth_is_read_from_its_own_experiment_and_not_from_the_ladder():
    result = dhyan.lessons.seq2seq_improvements()
    assert {change.technique for change in result.changes} == {"reversal"}
    assert result.depth == rounded(measured_depth())
    assert result.depth.depths == (1, 2, 4)
    assert len(result.depth.settings) == 4
    assert {len(score.bleu) for score in result.depth.scores} == {3}


def test_four_layers_learn_too_slowly_for_their_updates():
    depth = dhyan.lessons.seq2seq_improvements().depth
    signs = [depth.gain(*setting, layers).sign for setting in depth.settings for layers in (2, 4)]
    assert (signs.count(1), signs.count(-1)) == (0, 5)
    assert depth.far_behind() == ("no attention", "luong")


def rounded(value):
    """A value as a snapshot keeps it, with fewer digits."""
    return _from_json(_to_json(value))


def test_vectors_learned_beforehand_help_most_where_pairs_are_few():
    starts = dhyan.lessons.seq2seq_improvements().embeddings
    gains = {
        (start.model, start.pairs): start.gain for start in starts if start.embedding == "skip-gram"
    }
    assert gains["bahdanau", 2000].low > 5
    assert gains["bahdanau", 50000].value < gains["bahdanau", 2000].value


def test_bank_is_nearer_to_its_own_cues_than_its_other_state_though_not_nearer_than_before():
    layers = read_snapshot("gravity", LessonResult).by_layer
    assert float(layers.nearer_than_other_sense[-1]) > 0.7
    assert float(layers.nearer[-1]) < 0.5


def test_past_thirty_words_bleu_holds_with_attention_only():
    result = dhyan.lessons.bottleneck()
    assert max(result.retained(attends=False)) < 0.4
    assert min(result.retained(attends=True)) > 0.95


def test_idioms_are_translated_by_meaning():
    result = dhyan.lessons.idioms()
    assert all(example.correct for example in result.examples)
    assert sum(counts.correct for counts in result.primer_counts) == 300
    assert sum(counts.total for counts in result.primer_counts) == 300
