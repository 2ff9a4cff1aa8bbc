"""T5 folders with weights at random: the same ids, logits, words and scores."""

import json

import pytest
import torch
from transformers.models.t5.modeling_t5 import T5Attention

import dhyan
from dhyan.attention import RelativePositionBias
from dhyan.batch import Batch, Tokens
from dhyan.interop.import_model import import_model
from dhyan.special_tokens import BOS, EOS, NAMES, PAD, UNK
from tests.interop.spm_models import SENTENCES
from tests.interop.t5_models import T5, t5_folder

LIMIT = 24
TEXTS = [text for text in SENTENCES if text.strip(" ▁") and "</s>" not in text]


@pytest.fixture(scope="module", params=T5)
def models(request, tmp_path_factory):
    """Theirs, their tokenizer, ours, and their id for each of ours."""
    folder = tmp_path_factory.mktemp("t5") / "theirs"
    theirs, tokenizer = t5_folder(folder, **T5[request.param])
    import_model(folder, folder.with_name("ours"), languages=("en", "de"))
    ours = dhyan.load(folder.with_name("ours"), device="cpu")
    return theirs, tokenizer, ours, their_ids(theirs, tokenizer, ours)


def their_ids(theirs, tokenizer, ours):
    special = {PAD: 0, BOS: 0, EOS: 1, UNK: 2}
    ids = {piece: id for piece, id in tokenizer.get_vocab().items() if id > 2}
    first = len(tokenizer)
    ids |= {f"unused{at:04}": first + at for at in range(theirs.config.vocab_size - first)}
    pieces = enumerate(ours.source.piece_ids())
    return torch.tensor([special[id] if id < len(NAMES) else ids[piece] for id, piece in pieces])


def is_cut_alike(text):
    """Whether `tokenizers` does the same with a text: not with `▁`, nor with Hangul in parts."""
    return "▁" not in text and "\u1100" not in text


def test_ids_are_those_of_their_tokenizer(models):
    _, tokenizer, ours, table = models
    texts = list(filter(is_cut_alike, TEXTS))
    for text in texts:
        assert table[ours.source.encode(text)].tolist() == tokenizer(text).input_ids[:-1], text
    assert len(texts) >= 10


def test_logits_are_equal_over_the_whole_vocabulary(models):
    theirs, _, ours, table = models
    sources = Tokens.pad([[*ours.source.encode(text), EOS] for text in TEXTS])
    targets = Tokens.pad([[BOS, *ours.target.encode(text), EOS] for text in reversed(TEXTS)])
    with torch.no_grad():
        our_logits = ours.model(Batch(sources, targets)).log_softmax(-1)
        their_logits = theirs(
            input_ids=table[sources.ids],
            attention_mask=sources.mask,
            decoder_input_ids=table[targets.ids[:, :-1]],
        ).logits.log_softmax(-1)
    real = targets.mask[:, :-1]
    difference = (our_logits - their_logits[:, :, table])[real]
    assert difference[:, EOS:].abs().max() <= 5e-4
    assert our_logits[real][:, EOS:].std() > 0.9  # logits with something in them


@pytest.mark.parametrize("power", [0.6, 1.0])
def test_a_beam_of_four_finds_their_words_and_scores(models, power):
    theirs, _, ours, table = models
    sources = Tokens.pad([[*ours.source.encode(text), EOS] for text in TEXTS])
    generation = theirs.generate(
        input_ids=table[sources.ids], attention_mask=sources.mask, num_beams=4,
        max_new_tokens=LIMIT, length_penalty=power, do_sample=False, bad_words_ids=[[0]],
        return_dict_in_generate=True, output_scores=True,
    )  # fmt: skip
    translations = ours.translate(TEXTS, beam=4, max_length=LIMIT, length_penalty=power)
    compared = 0
    for translation, row, score in zip(
        translations,
        generation.sequences[:, 1:].tolist(),
        generation.sequences_scores.tolist(),
        strict=True,
    ):
        if 1 in row:  # their EOS
            assert [*table[list(translation.ids)].tolist(), 1] == row[: row.index(1) + 1]
            assert translation.score == pytest.approx(score, abs=2e-4)
            compared += 1
    assert compared >= 6


@pytest.mark.parametrize("causal", [False, True])
def test_distances_fall_into_their_buckets(causal):
    ours = RelativePositionBias(2, buckets=32, max_distance=128, causal=causal)
    distance = torch.arange(-600, 601).unsqueeze(0)
    theirs = T5Attention._relative_position_bucket(
        distance, bidirectional=not causal, num_buckets=32, max_distance=128
    )
    assert torch.equal(ours._bucket(distance), theirs)


def test_all_layers_share_one_bias(models):
    _, _, ours, _ = models
    layers = ours.model.encoder.layers
    assert len({layer.self_attention.score.bias for layer in layers}) == 1
    names = [
        name for name, _ in ours.model.named_parameters() if name.endswith("bias.table.weight")
    ]
    assert names == [
        f"{side}.layers.0.self_attention.score.bias.table.weight" for side in ("encoder", "decoder")
    ]


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"d_kv": 16}, r"d_kv is 16; 4 heads of 8 are what can be imported"),
        ({"layer_norm_epsilon": 1e-5}, r"layer_norm_epsilon is 1e-05; 1e-06 is what"),
        ({"feed_forward_proj": "gated-tanh"}, r"feed_forward_proj is 'gated-tanh'; .*gated-gelu"),
        ({"vocab_size": 9}, r"vocab_size is 9; there are \d+ tokens"),
        ({"relative_attention_num_buckets": 5}, r"5 buckets do not divide distances|is 5"),
    ],
)
def test_settings_that_cannot_be_imported_are_named(tmp_path, change, match):
    t5_folder(tmp_path / "theirs", **T5["relu"])
    path = tmp_path / "theirs" / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(dhyan.UserError, match=match):
        import_model(tmp_path / "theirs", tmp_path / "ours")
    assert not (tmp_path / "ours").exists()
