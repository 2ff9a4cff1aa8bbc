"""Runs that start from a trained model, with its vocabularies or others, or from word vectors."""

import json
import shutil

import pytest
import torch
from torch import nn

import dhyan
from dhyan.checkpoint import read_checkpoint
from dhyan.cli.recipe import find_recipe, override_recipe
from dhyan.cli.train import train as command
from dhyan.config import load_recipe
from dhyan.data.synthetic import reverse_pairs
from dhyan.data.training_sentences import TRAINING_SENTENCES
from dhyan.errors import UserError
from dhyan.model_check import read_training_sentences
from dhyan.run import train
from dhyan.run.fine_tune import (
    NEW,
    PretrainedModel,
    fill_rows,
    match_tokens,
    rearrange_rows,
    transfer_weights,
    vocabulary_weights,
)
from dhyan.run.load import load_saved_recipe
from dhyan.text.tokenizer import Tokenizer
from dhyan.training.events import Validated
from tests.model_check.valid_model import rewrite_manifest
from tests.tiny_models import RECIPES, as_arguments, tiny_recipe, tiny_settings, write_corpus

FAMILIES = ["rnn", "transformer"]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return write_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module")
def others(tmp_path_factory):
    """Other pairs, of other words."""
    return write_corpus(tmp_path_factory.mktemp("others"), generate=reverse_pairs)


@pytest.fixture(scope="module", params=FAMILIES)
def family(request):
    return request.param


@pytest.fixture(scope="module")
def trained(family, files, tmp_path_factory):
    out = tmp_path_factory.mktemp(family) / "run"
    events = list(train(tiny_recipe(family, *files), out, threads=1))
    return out, events


def fine_tune(family, files, trained, out, **more):
    settings = {"training.init_from": str(trained), "training.steps": 2, **more}
    return train(tiny_recipe(family, *files, **settings), out, threads=1)


def test_fine_tuning_starts_from_the_trained_weights(family, files, trained, tmp_path):
    out, events = trained
    last = [e for e in events if isinstance(e, Validated)][-1]
    run = fine_tune(family, files, out / "step-12", tmp_path / "run")
    with run.lock:
        run.trainer.model.eval()
        assert run.trainer.validate() == last.scores
    assert run.trainer.state.step == 0
    assert not run.trainer.optimizer.state


def test_keep_keeps_the_vocabulary(log, family, trained, others, tmp_path):
    old = dhyan.load(trained[0])
    run = fine_tune(family, others, trained[0], tmp_path / "run")
    assert run.folder.translator.source.to_json() == old.source.to_json()
    size = len(old.source)
    assert any(
        f"source vocabulary: {size} of {size} tokens are in" in line for line in log.messages
    )
    for name, weight in run.trainer.model.named_parameters():
        assert torch.equal(weight, dict(old.model.named_parameters())[name])
    list(run)


@pytest.mark.parametrize("vocabulary", ["extend", "new"])
def test_rows_follow_their_tokens(family, trained, others, tmp_path, vocabulary):
    more = {
        "training.init_vocabulary": vocabulary,
        "text.source_vocabulary_size": 360,
        "text.target_vocabulary_size": 370,
    }
    old = dhyan.load(trained[0])
    run = fine_tune(family, others, trained[0], tmp_path / "run", **more)
    check_rows(old, run, vocabulary)
    list(run)
    assert dhyan.load(tmp_path / "run")(["a b c"])


def check_rows(old, run, vocabulary):
    """Every piece both vocabularies know has the same row in every table; nothing else moved."""
    new = run.folder.translator
    sizes = {len(new.source), len(new.target)}
    rowed = {n for n, w in run.trainer.model.named_parameters() if w.shape[0] in sizes}
    assert rowed == set(vocabulary_weights(run.trainer.model))
    sides = {"source": (old.source, new.source), "target": (old.target, new.target)}
    before = dict(old.model.named_parameters())
    for name, weight in run.trainer.model.named_parameters():
        side = vocabulary_weights(run.trainer.model).get(name)
        if side is None:
            assert torch.equal(weight, before[name])
            continue
        was, now = (tokenizer.piece_ids() for tokenizer in sides[side])
        both = was.keys() & now.keys()
        assert both
        assert now.keys() - was.keys()
        for piece in both:
            assert torch.equal(weight[now[piece]], before[name][was[piece]])
    if vocabulary == "extend":
        for was, now in sides.values():
            assert list(now.piece_ids())[: len(was)] == list(was.piece_ids())


VARIANTS = {
    **{kind: {"text.tokenizer": kind} for kind in ("bpe", "words", "characters")},
    "shared": {"text.shared_vocabulary": True},
    "copy": {"text.shared_vocabulary": True, "decoder.copy_mechanism": True},
    "one embedding": {"text.shared_vocabulary": True, "decoder.share_source_embedding": True},
    "words, all": {
        "text.tokenizer": "words",
        "text.shared_vocabulary": True,
        "decoder.copy_mechanism": True,
        "decoder.share_source_embedding": True,
    },
}


@pytest.mark.parametrize("vocabulary", ["extend", "new"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_rows_follow_their_tokens_in_every_architecture(
    files, others, tmp_path, variant, vocabulary
):
    few = {**VARIANTS[variant], "training.steps": 1}
    list(train(tiny_recipe("rnn", *files, **few), tmp_path / "old", threads=1))
    sizes = {"text.source_vocabulary_size": 360, "text.target_vocabulary_size": 370}
    more = {**few, **sizes, "training.init_vocabulary": vocabulary}
    run = fine_tune("rnn", others, tmp_path / "old", tmp_path / "new", **more)
    check_rows(dhyan.load(tmp_path / "old"), run, vocabulary)
    list(run)


def test_placeholders_that_a_model_has_no_tokens_for_are_refused(family, files, trained, tmp_path):
    more = {
        "text.placeholders": ["url"],
        "text.source_vocabulary_size": 360,
        "text.target_vocabulary_size": 370,
    }
    with pytest.raises(
        UserError, match="placeholders: url: .* has no tokens.*init_vocabulary': 'extend'"
    ):
        fine_tune(family, files, trained[0], tmp_path / "keep", **more)
    extended = {**more, "training.init_vocabulary": "extend"}
    fine_tune(family, files, trained[0], tmp_path / "extend", **extended).lock.close()
    new = {**more, "training.init_vocabulary": "new"}
    list(fine_tune(family, files, trained[0], tmp_path / "new", **new))
    fine_tune(family, files, tmp_path / "new", tmp_path / "same", **more).lock.close()


def test_new_rows_are_near_the_mean_and_differ():
    table = torch.randn(50, 8) + 3
    rows = torch.tensor([4, NEW, 7, NEW])
    table_after = rearrange_rows(table, rows, torch.Generator().manual_seed(1))
    assert torch.equal(table_after[[0, 2]], table[[4, 7]])
    assert not torch.equal(table_after[1], table_after[3])
    assert (table_after[[1, 3]] - table.mean(dim=0)).abs().max() < 0.5
    again = rearrange_rows(table, rows, torch.Generator().manual_seed(1))
    assert torch.equal(table_after, again)


def test_tokens_are_matched_by_their_spelling():
    old = Tokenizer.train(["b a a"], kind="words", size=9)
    new = Tokenizer.train(["c c c a"], kind="words", size=9)
    rows = match_tokens(old, new).tolist()
    assert rows[:4] == [0, 1, 2, 3]
    assert rows[4:] == [NEW, old.encode("a")[0]]


def test_a_weight_that_does_not_fit_is_named(family, files, trained, tmp_path):
    key = {"rnn": "decoder.readout_width", "transformer": "encoder.feed_forward_width"}[family]
    wrong = {"rnn": r"decoder\.", "transformer": r"encoder\.layers\.0\.feed_forward"}[family]
    with pytest.raises(UserError, match=f"{wrong}.*use the recipe it was trained with"):
        fine_tune(family, files, trained[0], tmp_path / "run", **{key: 20})


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"text.tokenizer": "words"}, "text.tokenizer is 'words', in .* it is 'unigram'"),
        ({"training.init_vocabulary": "extend"}, "leaves no room for new tokens"),
        ({"training.init_from": "nowhere"}, "nowhere: no such model folder"),
        (
            {"training.init_from": "", "training.init_vocabulary": "new"},
            "init_vocabulary: .new. has no effect without init_from",
        ),
    ],
)
def test_contradicting_init_settings_are_refused(family, files, trained, tmp_path, more, message):
    size = len(dhyan.load(trained[0]).source)
    settings = {"text.source_vocabulary_size": size, "text.target_vocabulary_size": 340, **more}
    with pytest.raises(UserError, match=message):
        fine_tune(family, files, trained[0], tmp_path / "run", **settings)


def test_a_resumed_run_does_not_need_the_pretrained_model(family, files, trained, tmp_path):
    model, whole, again = (tmp_path / name for name in ("model", "whole", "again"))
    shutil.copytree(trained[0] / "step-12", model)
    list(
        fine_tune(
            family, files, model, whole, **{"training.steps": 4, "training.keep_checkpoints": 9}
        )
    )
    shutil.copytree(whole / "step-2", again / "step-2")
    shutil.rmtree(model)
    without_init = tiny_recipe(
        family, *files, **{"training.steps": 4, "training.keep_checkpoints": 9}
    )
    list(train(without_init, again, resume=True, threads=1))
    assert read_checkpoint(again / "step-4") == read_checkpoint(whole / "step-4")


def test_a_fine_tuned_model_has_seen_the_sentences_of_both_trainings(
    family, trained, others, tmp_path
):
    vocabulary = {"training.init_vocabulary": "new"}
    list(fine_tune(family, others, trained[0], tmp_path / "run", **vocabulary))
    before, after = read_training_sentences(trained[0]), read_training_sentences(tmp_path / "run")
    assert others[0].read_text().splitlines()[1] in after
    assert len(after) > len(before)
    assert set(before.hashes) < set(after.hashes)
    unknown = tmp_path / "unknown"
    shutil.copytree(trained[0] / "step-12", unknown)
    (unknown / TRAINING_SENTENCES).unlink()
    rewrite_manifest(unknown, step=12)
    list(fine_tune(family, others, unknown, tmp_path / "from-unknown", **vocabulary))
    assert read_training_sentences(tmp_path / "from-unknown") is None


def test_the_command_line_has_init_options(family, files, trained, tmp_path):
    more = {
        "training.steps": 2,
        "text.source_vocabulary_size": 360,
        "text.target_vocabulary_size": 370,
    }
    overrides = as_arguments(tiny_settings(family, *files, **more))[1::2]
    out = tmp_path / "run"
    command(
        RECIPES[family],
        overrides=overrides,
        init_from=str(trained[0]),
        init_vocabulary="new",
        out=str(out),
        quiet=True,
        threads=1,
    )
    assert json.loads((out / "last.json").read_text())["step"] == 2


def test_a_model_can_be_named_as_a_recipe(family, trained):
    path = find_recipe(str(trained[0] / "step-12"))
    assert (
        load_recipe(path).encoder
        == load_saved_recipe(read_checkpoint(trained[0] / "step-12")).encoder
    )
    assert find_recipe("numbers") == "numbers"
    assert find_recipe("nowhere") == "nowhere"


def test_the_recipe_of_a_fine_tuned_model_has_no_init_from(family, files, trained, tmp_path):
    more = {"training.init_vocabulary": "new", "training.steps": 1}
    out = tmp_path / "tuned"
    list(fine_tune(family, files, trained[0], out, **more))
    saved = load_saved_recipe(read_checkpoint(out / "step-1")).training
    assert (saved.init_from, saved.init_vocabulary) == (str(trained[0]), "new")
    again = override_recipe(str(out), None, {}).training
    assert (again.init_from, again.init_vocabulary) == ("", "keep")
    explicit = override_recipe(
        str(out), ["training.init_vocabulary=extend"], {"training.init_from": str(out)}
    )
    assert (explicit.training.init_from, explicit.training.init_vocabulary) == (str(out), "extend")


def test_transfer_is_deterministic(family, files, trained):
    origin = PretrainedModel.read(trained[0])
    new = Tokenizer.train(["nine nine two"], kind="unigram", size=290)
    results = []
    for _ in range(2):
        recipe = tiny_recipe(family, *files)
        model = dhyan.models.build.build_model(recipe, len(new), len(new))
        transfer_weights(model, origin, (new, new), seed=1)
        results.append(torch.cat([w.flatten() for w in model.parameters()]))
        torch.rand(3)
    assert torch.equal(*results)


def test_another_architecture_is_refused_before_any_data_are_read(family, trained, tmp_path):
    other = {"rnn": "transformer", "transformer": "rnn"}[family]
    both = {"rnn": "rnn/bahdanau", "transformer": "transformer/transformer"}
    message = f"is {both[family]}, the recipe is {both[other]}: use the recipe"
    with pytest.raises(UserError, match=message):
        fine_tune(other, ("nowhere.en", "nowhere.hi"), trained[0], tmp_path / "run")


def write_vectors(folder, words, width=16):
    """A GloVe file; every number of the i-th word's vector is i."""
    path = folder / "vectors.txt"
    lines = [f"{word} {' '.join([f'{i}.5'] * width)}\n" for i, word in enumerate(words)]
    path.write_text("".join(lines), encoding="utf-8")
    return path


def test_known_words_get_their_vectors_and_others_stay_random(tmp_path):
    tokenizer = Tokenizer.train(["five six Seven eight"], kind="words", size=20)
    words = nn.Embedding(len(tokenizer), 16)
    before = words.weight.detach().clone()
    path = write_vectors(tmp_path, ["five", "seven", "ninety"])
    assert fill_rows(words, path, tokenizer) == (
        "vectors.txt: 2 of 4 words found, 1 of them by lower case"
    )
    five, six, seven = (tokenizer.encode(word)[0] for word in ("five", "six", "Seven"))
    assert torch.equal(words.weight[five], torch.full((16,), 0.5))
    assert torch.equal(words.weight[seven], torch.full((16,), 1.5))
    assert torch.equal(words.weight[six], before[six])
    assert torch.equal(words.weight[:4], before[:4])


def test_vectors_of_another_width_are_an_error(tmp_path):
    tokenizer = Tokenizer.train(["five six"], kind="words", size=20)
    path = write_vectors(tmp_path, ["five"], width=9)
    with pytest.raises(UserError, match="vectors are 9 wide, the embedding 16"):
        fill_rows(nn.Embedding(len(tokenizer), 16), path, tokenizer)


@pytest.mark.parametrize("frozen", [True, False])
def test_a_resumed_run_does_not_need_the_word_vectors(log, files, tmp_path, frozen):
    path = write_vectors(tmp_path, ["five", "six", "hundred"])
    settings = {
        "text.tokenizer": "words",
        "encoder.pretrained_embedding": str(path),
        "encoder.freeze_embedding": frozen,
        "training.ema_decay": 0.5,
        "training.keep_checkpoints": 99,
    }
    recipe = tiny_recipe("rnn", *files, **settings)
    run = train(recipe, tmp_path / "run", threads=1)
    table = run.trainer.model.encoder.token_embedding.weight
    five = run.folder.translator.source.encode("five")[0]
    assert torch.equal(table[five], torch.full((16,), 0.5))
    assert any("vectors.txt: 3 of" in line for line in log.messages)
    for event in run:
        if event.step == 4:
            run.trainer.stop("enough")
    assert torch.equal(table[five], torch.full((16,), 0.5)) == frozen
    path.unlink()
    list(train(recipe, tmp_path / "run", resume=True, threads=1))
    path = write_vectors(tmp_path, ["five", "six", "hundred"])
    list(train(recipe, tmp_path / "whole", threads=1))
    ours, theirs = (read_checkpoint(tmp_path / name / "step-12") for name in ("run", "whole"))
    assert ours == theirs


def test_a_missing_file_is_refused_before_any_data_are_read(files, tmp_path):
    recipe = tiny_recipe("rnn", *files, **{"encoder.pretrained_embedding": "nowhere.txt"})
    with pytest.raises(UserError, match="encoder.pretrained_embedding: no file 'nowhere.txt'"):
        train(recipe, tmp_path / "run")


@pytest.mark.parametrize(
    ("family", "side", "key"),
    [
        ("rnn", "encoder", "embedding_width"),
        ("rnn", "decoder", "embedding_width"),
        ("transformer", "encoder", "width"),
    ],
)
def test_another_width_is_refused_before_any_data_are_read(tmp_path, family, side, key):
    path = write_vectors(tmp_path, ["five"], width=9)
    recipe = tiny_recipe(
        family, "nowhere.en", "nowhere.hi", **{f"{side}.pretrained_embedding": str(path)}
    )
    remedy = f"give settings={{'{side}.{key}': 9}}"
    with pytest.raises(UserError, match=f"are 9 wide, the embedding 16; {remedy}"):
        train(recipe, tmp_path / "run")
