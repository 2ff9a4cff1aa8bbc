"""Our Transformer with the weights of `transformers`' MarianMT: the same logits, the same words."""

import pytest
import torch
import transformers

from dhyan import config
from dhyan.batch import Batch, Tokens
from dhyan.decoding.search import beam_search, greedy_search
from dhyan.models.build import build_model
from dhyan.special_tokens import BOS, EOS, PAD

VOCABULARY, LONGEST, LIMIT, INPUTS = 40, 40, 32, 200
SHAPES = {
    "square": {
        "width": 32, "heads": 4, "hidden": 64, "layers": (2, 2), "activation": "relu", "seed": 15,
    },
    "deep-shallow": {
        "width": 24, "heads": 2, "hidden": 40, "layers": (4, 1), "activation": "gelu", "seed": 10,
    },
    "one-head": {
        "width": 48, "heads": 1, "hidden": 96, "layers": (1, 3), "activation": "relu", "seed": 8,
    },
}  # fmt: skip


def marian(width, heads, hidden, layers, activation, seed):
    """A MarianMT with random weights, strong enough for opinions, that likes to end."""
    settings = transformers.MarianConfig(
        vocab_size=VOCABULARY, d_model=width, encoder_layers=layers[0], decoder_layers=layers[1],
        encoder_attention_heads=heads, decoder_attention_heads=heads, encoder_ffn_dim=hidden,
        decoder_ffn_dim=hidden, activation_function=activation, scale_embedding=True,
        max_position_embeddings=LONGEST + 2, pad_token_id=PAD, eos_token_id=EOS,
        decoder_start_token_id=BOS, forced_eos_token_id=None,
        tie_word_embeddings=False,
    )  # fmt: skip
    model = transformers.MarianMTModel(settings).eval()
    torch.manual_seed(seed)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.ndim == 2 and "positions" not in name:
                weight.normal_(std=0.35)
        model.lm_head.weight.mul_(2)
        model.final_logits_bias[0, EOS] = 6.0
    return model


def copy_weights(theirs, width, heads, hidden, layers, activation, seed):
    """Our model with their weights; their table of sinusoids is our learned one."""
    sizes = {
        "width": width, "heads": heads, "feed_forward_width": hidden, "activation": activation,
        "norm": "post", "positions": "learned",
    }  # fmt: skip
    recipe = config.Recipe(
        data=config.Data(max_tokens=LONGEST),
        encoder=config.TransformerEncoder(layers=layers[0], **sizes),
        decoder=config.TransformerDecoder(layers=layers[1], tie_embeddings=False, **sizes),
    )
    ours, body = build_model(recipe, VOCABULARY, VOCABULARY).eval(), theirs.model
    with torch.no_grad():
        ours.encoder.token_embedding.weight.copy_(body.encoder.embed_tokens.weight)
        ours.decoder.token_embedding.weight.copy_(body.decoder.embed_tokens.weight)
        ours.decoder.output.weight.copy_(theirs.lm_head.weight)
        ours.decoder.output.bias.copy_(theirs.final_logits_bias[0])
        for our, their in ((ours.encoder, body.encoder), (ours.decoder, body.decoder)):
            our.embedding.positions.table.copy_(their.embed_positions.weight)
            for to, of in zip(our.layers, their.layers, strict=True):
                copy_layer(to, of)
    return ours


def copy_layer(ours, theirs):
    attentions = {"self_attention": "self_attn"}
    norms = {
        "self_attention_norm": "self_attn_layer_norm",
        "feed_forward_norm": "final_layer_norm",
    }
    if hasattr(theirs, "encoder_attn"):
        attentions["cross_attention"] = "encoder_attn"
        norms["cross_attention_norm"] = "encoder_attn_layer_norm"
    for our, their in attentions.items():
        for part, name in (("query", "q"), ("key", "k"), ("value", "v"), ("output", "out")):
            copy_module(
                getattr(getattr(ours, our), part), getattr(getattr(theirs, their), f"{name}_proj")
            )
    for our, their in norms.items():
        copy_module(getattr(ours, our), getattr(theirs, their))
    copy_module(ours.feed_forward.up, theirs.fc1)
    copy_module(ours.feed_forward.down, theirs.fc2)


def copy_module(ours, theirs):
    ours.load_state_dict(theirs.state_dict())


@pytest.fixture(scope="module", params=SHAPES)
def pair(request):
    theirs = marian(**SHAPES[request.param])
    return copy_weights(theirs, **SHAPES[request.param]), theirs


@pytest.fixture(scope="module")
def sources():
    torch.manual_seed(7)
    lengths = torch.randint(1, 13, (INPUTS,)).tolist()
    return [[*torch.randint(4, VOCABULARY, (n,)).tolist(), EOS] for n in lengths]


def test_logits_equal_marian(pair, sources):
    ours, theirs = pair
    source = Tokens.pad(sources)
    target = Tokens.pad([[BOS, *row] for row in reversed(sources)])
    with torch.no_grad():
        our_logits = ours(Batch(source, target))
        their_logits = theirs(
            input_ids=source.ids,
            attention_mask=source.mask,
            decoder_input_ids=target.ids[:, :-1],
        ).logits
    real = target.mask[:, :-1]
    assert (our_logits - their_logits)[real].abs().max() <= 1e-4
    assert their_logits[real].std() > 1  # logits with something in them


def generate(theirs, source, **settings):
    """Their words without the marks, and their scores."""
    generation = theirs.generate(
        input_ids=source.ids, attention_mask=source.mask, max_new_tokens=LIMIT,
        suppress_tokens=[PAD, BOS], do_sample=False, return_dict_in_generate=True,
        output_scores=True, **settings,
    )  # fmt: skip
    return [until_end(row[1:]) for row in generation.sequences.tolist()], generation


def until_end(row):
    """The words up to the first EOS; some versions fill up with more of them, some with PAD."""
    complete = row[: row.index(EOS) + 1] if EOS in row else row
    return [id for id in complete if id != PAD]


def test_greedy_search_equals_marian(pair, sources):
    ours, theirs = pair
    source = Tokens.pad(sources)
    rows, _ = generate(theirs, source, num_beams=1)
    hypotheses = greedy_search(ours, source, max_length=LIMIT)
    assert [[*h.ids, *([EOS] if h.finished else [])] for h in hypotheses] == rows
    assert len({h.ids for h in hypotheses}) > 20
    assert len({h.finished for h in hypotheses}) == 2


@pytest.mark.parametrize(("power", "most"), [(0.0, 180), (0.6, 150), (1.0, 60)])
def test_beam_search_equals_marian(pair, sources, power, most):
    """Theirs counts what the limit cut off among the finished; ours ranks it after them.

    So where theirs is whole, ours is the same, with the same score; and where ours had nothing
    whole, the same was cut. There is no other difference: elsewhere theirs was cut, ours is whole,
    and theirs scores higher. A higher power favours what is long, so that fewer are the same.
    """
    ours, theirs = pair
    source = Tokens.pad(sources)
    rows, generation = generate(
        theirs, source, num_beams=5, length_penalty=power, early_stopping=False
    )
    compared = 0
    for best, row, score in zip(
        beam_search(ours, source, beam=5, max_length=LIMIT, length_penalty=power),
        rows, generation.sequences_scores.tolist(), strict=True,
    ):  # fmt: skip
        complete = row[-1] == EOS
        if complete or not best[0].finished:
            assert [*best[0].ids, *([EOS] if complete else [])] == row
            assert best[0].score == pytest.approx(score, abs=1e-4)
            compared += 1
        else:
            assert len(row) == LIMIT
            assert score > best[0].score
    assert compared >= most
