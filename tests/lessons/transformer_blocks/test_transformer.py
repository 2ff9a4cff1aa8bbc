"""A whole Transformer: the way written out is the model's own, and each part is missed."""

from dataclasses import replace
from itertools import permutations

import pytest
import torch
from torch.nn.functional import layer_norm

from dhyan import config
from dhyan.batch import Batch, Tokens
from dhyan.errors import UserError
from dhyan.lessons.transformer_blocks.transformer import (
    BASE,
    Sizes,
    count_built_parameters,
    count_parameters,
    transformer,
)
from dhyan.lessons.transformer_blocks.transformer_trace import WITHOUT, read_weights, sinusoids
from dhyan.models.build import build_model
from dhyan.models.positions import Sinusoids
from dhyan.special_tokens import BOS, EOS
from tests.lessons.untrained_models import untrained_translator

NORMS = ["post", "pre"]
SOURCE, SAID = torch.tensor([4, 5, 6, 7, EOS]), torch.tensor([BOS, 4, 5, 6])


def model_of(norm, *, width=8, heads=2, layers=2, hidden=20, words=(8, 7), **shared):
    """The project's own, in double precision."""
    sizes = {
        "width": width,
        "heads": heads,
        "feed_forward_width": hidden,
        "layers": layers,
        "norm": norm,
    }
    recipe = config.Recipe(
        text=config.Text(shared_vocabulary=bool(shared)),
        encoder=config.TransformerEncoder(**sizes),
        decoder=config.TransformerDecoder(**sizes, **shared),
    )
    return build_model(recipe, *words).double().eval()


def written(norm, **sizes):
    """A model and its way, every bias and norm away from where it starts."""
    torch.manual_seed(0)
    model = model_of(norm, **sizes)
    with torch.no_grad():
        for one in model.parameters():
            one.add_(torch.randn_like(one) * 0.2)
    heads, layers = sizes.get("heads", 2), sizes.get("layers", 2)
    return model, read_weights(model, layers=layers, heads=heads, pre_norm=norm == "pre")


def own_states(model):
    with torch.no_grad():
        batch = Batch(Tokens.pad([SOURCE.tolist()]), Tokens.pad([[*SAID.tolist(), EOS]]))
        return model.encoder(batch.source).states[0], model(batch)[0]


def said(shown, lang="en"):
    return " ".join(shown.text(lang).split())


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize(("width", "heads", "layers"), [(8, 2, 1), (12, 3, 3), (7, 1, 2)])
def test_the_way_written_out_is_the_models_own(norm, width, heads, layers):
    model, hand = written(norm, width=width, heads=heads, layers=layers)
    walk = hand.walk(SOURCE, SAID)
    states, logits = own_states(model)
    assert (walk.encoder.states - states).abs().max() < 1e-6
    assert (walk.logits - logits).abs().max() < 1e-6
    assert torch.allclose(walk.chances, logits.softmax(-1), atol=1e-6)


@pytest.mark.parametrize("without", WITHOUT)
@pytest.mark.parametrize("norm", NORMS)
def test_no_part_can_be_left_out_unseen(norm, without):
    model, hand = written(norm)
    walk = replace(hand, without=without).walk(SOURCE, SAID)
    assert (walk.logits - own_states(model)[1]).abs().max() > 1e-3


@pytest.mark.parametrize("norm", NORMS)
def test_the_lesson_says_how_far_it_is_from_the_model(norm):
    shown = transformer(norm=norm, layers=2)
    assert shown.difference < 1e-6
    assert shown.difference == float((shown.walk.logits - shown.model_logits).abs().max())
    assert shown.source == ("we", "are", "friends", "</s>")
    assert shown.target == ("<s>", "हम", "दोस्त", "हैं")
    assert torch.allclose(shown.walk.chances.sum(-1), torch.ones(4, dtype=torch.float64))


def test_the_places_are_those_of_the_project():
    for width in (8, 7, 32):
        theirs = Sinusoids(width)(0, 12).double()
        assert torch.allclose(sinusoids(12, width), theirs, atol=1e-6)


def test_the_residual_is_the_sum_of_input_and_output():
    _, hand = written("pre")
    walk = hand.walk(SOURCE, SAID)
    for side in (walk.encoder, walk.decoder):
        assert torch.equal(side.entered, side.embedded + side.positions)
        assert torch.equal(side.steps[0].before, side.entered)
        for step in side.steps:
            assert torch.equal(step.after, step.before + step.found)
    assert [one.part for one in walk.encoder.steps] == ["self_attention", "feed_forward"] * 2
    assert [one.part for one in walk.decoder.steps][1] == "cross_attention"


def test_after_post_norm_every_vector_is_as_long_as_the_root_of_the_width():
    walk = transformer(norm="post").walk
    for step in (*walk.encoder.steps, *walk.decoder.steps):
        lengths = step.after.norm(dim=1)
        assert torch.allclose(lengths, torch.full_like(lengths, 8**0.5), atol=1e-3)


def test_only_the_decoder_hides_what_comes_later():
    walk = transformer().walk
    later = torch.ones(4, 4, dtype=torch.bool).triu(1)
    own = walk.decoder.step("self_attention").look
    assert (own.weights[:, later] == 0).all()
    assert own.scores[:, later].isneginf().all()
    assert (walk.encoder.step("self_attention").look.weights > 0).all()
    assert (walk.decoder.step("cross_attention").look.weights > 0).all()


@pytest.mark.parametrize("order", list(permutations(range(3))))
@pytest.mark.parametrize("norm", NORMS)
def test_without_positions_the_states_permute_with_the_words(norm, order):
    words = ["we", "are", "friends"]
    turned = [words[at] for at in order]
    _, hand = written(norm)
    source = torch.tensor([4, 5, 6, EOS])
    places = torch.tensor([*order, 3])
    blind = replace(hand, without="positions")
    here, there = blind.encoded(source).states, blind.encoded(source[places]).states
    assert torch.allclose(there, here[places], atol=1e-12)
    if turned != words:
        seeing = hand.encoded(source[places]).states - hand.encoded(source).states[places]
        assert seeing.abs().max() > 0.01


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("seed", range(1, 6))
def test_each_part_is_missed_where_it_works(norm, seed):
    found = transformer(norm=norm, seed=seed, layers=3, width=16).measured
    positions, residuals, normalisation, feed_forward = range(1, 5)
    assert found.order[positions] < 1e-12 < 0.1 < found.order[0]
    assert found.alike[residuals] > max(0.8, float(found.alike[0]))
    assert found.longest[normalisation] > 1.2 * found.longest[0]
    assert found.moved[feed_forward] > found.moved[0] == 0


@pytest.mark.parametrize("without", WITHOUT)
def test_without_a_part_the_walk_has_none_of_it(without):
    shown = transformer(without=without)
    walk = shown.walk
    assert shown.difference < 1e-6  # of the whole, whatever is drawn
    steps = (*walk.encoder.steps, *walk.decoder.steps)
    match without:
        case "positions":
            assert (walk.encoder.positions == 0).all()
            assert "none are added" in said(shown)
            assert "states change places with the words" in said(shown)
        case "residuals":
            for one in steps:
                alone = layer_norm(one.found, one.found.shape[-1:])
                assert torch.allclose(one.after, alone)
            assert "takes the vector's place" in said(shown)
            assert "words run together" in said(shown)
        case "normalisation":
            assert all(torch.equal(one.after, one.before + one.found) for one in steps)
            assert "Normalisation: " not in said(shown)
            assert "Without normalisation the longest vector is 9.9 long, with it 2.8" in said(
                shown
            )
        case _:
            assert all(one.part != "feed_forward" for one in steps)
            assert "There is no feed-forward." in said(shown)
    assert f"without {without.replace('_', '-')}" in said(shown)
    assert "के बिना" in shown.render("hi").title


@pytest.mark.parametrize("norm", NORMS)
def test_the_formula_counts_what_is_built(norm):
    sizes = Sizes(8, 7, width=12, hidden=20, layers=3, pre_norm=norm == "pre")
    built = model_of(norm, width=12, heads=3, layers=3)
    assert count_parameters(sizes) == count_built_parameters(built)
    assert sum(count_built_parameters(built).values()) == sum(
        one.numel() for one in built.parameters()
    )


def test_the_largest_part_is_named_with_its_share():
    shown = transformer()
    assert max(shown.base.values()) < sum(shown.base.values()) / 2
    assert "the largest part of its parameters: feed-forward, 40%." in said(shown)
    assert "सबसे बड़ा भाग: फ़ीड-फ़ॉरवर्ड, प्राचलों का 40%।" in said(shown, "hi")


def test_the_formula_counts_the_papers_base():
    with torch.device("meta"):
        base = model_of("post", width=512, heads=8, layers=6, hidden=2048, words=(37_000, 37_000),
                        share_source_embedding=True)  # fmt: skip
    assert count_parameters(BASE) == count_built_parameters(base)
    assert transformer().base == {
        "embedding": 18_944_000,
        "attention": 18_911_232,
        "feed_forward": 25_196_544,
        "normalisation": 30_720,
        "output": 37_000,
    }


def test_the_tiny_one_has_2167_parameters():
    assert sum(transformer().parameters.values()) == 2167


def test_a_large_one_is_drawn_in_part_and_says_so():
    shown = transformer("I like eating pizza", width=24, heads=4, layers=2)
    told = said(shown)
    for words in ("first 8 numbers", "Of the heads the first 2", "those of the first layer"):
        assert words in told
    widest = max(len(part.values[0]) for part in shown.render().blocks if hasattr(part, "values"))
    assert widest <= len(shown.vocabulary)


def test_a_sentence_that_reads_the_same_backwards_cannot_show_its_order():
    assert "reads the same backwards" in said(transformer("so", target="तो"))


def test_another_seed_draws_other_weights_and_touches_no_other_chance():
    before = torch.random.get_rng_state()
    one, other = transformer(seed=1), transformer(seed=2)
    assert torch.equal(before, torch.random.get_rng_state())
    assert not torch.equal(one.model_logits, other.model_logits)


KINDS = ["transformer", "transformer-post-learned", "transformer-rotary-swiglu-grouped"]


def seen_by_hooks(translator, source, target):
    """The same shares, from what goes in and out of the modules in the model's own forward pass."""
    model, shares = translator.model, {"encoder": [], "decoder": []}
    inputs, hooks = {}, []

    def enters(layer, given):
        inputs[layer] = given[0]

    def finds(side, layer, norm):
        def hook(module, given, found):
            x, found = inputs[layer], getattr(found, "context", found)
            shares[side].append((found.norm(dim=-1) / x.norm(dim=-1))[0])
            inputs[layer] = x + found if layer.pre_norm else norm(x + found)

        return hook

    for side in shares:
        for layer in getattr(model, side).layers:
            hooks.append(layer.register_forward_pre_hook(enters))
            for part in ("self_attention", "cross_attention", "feed_forward"):
                if hasattr(layer, part):
                    module = getattr(layer, part)
                    hook = finds(side, layer, getattr(layer, f"{part}_norm"))
                    hooks.append(module.register_forward_hook(hook))
    with torch.no_grad():
        logits = model(Batch(Tokens.pad([source]), Tokens.pad([target])))[0]
    for hook in hooks:
        hook.remove()
    return *(torch.stack(one, dim=1).double() for one in shares.values()), logits


@pytest.mark.parametrize("kind", KINDS)
def test_the_shares_and_chances_of_a_trained_model_are_those_of_its_own_forward_pass(kind):
    translator = untrained_translator(kind, kind)
    shown = transformer("turn off the lights", target="लाइट बंद करो", model=translator)
    told = translator.target.encode("लाइट बंद करो")
    source = translator.encode("turn off the lights")
    encoder, decoder, logits = seen_by_hooks(translator, source, [BOS, *told, EOS])
    assert torch.allclose(shown.encoder_shares, encoder, atol=1e-5)
    assert torch.allclose(shown.decoder_shares, decoder, atol=1e-5)
    assert shown.encoder_parts[:2] == (("self_attention", 1), ("feed_forward", 1))
    assert shown.source == ("turn", "off", "the", "lights", "</s>")
    assert shown.prefix == ("<s>", "लाइट", "बंद", "करो")
    assert shown.following == ("लाइट", "बंद", "करो", "</s>")
    own = logits.double().softmax(-1)
    assert torch.allclose(shown.chances, own[range(4), [*told, EOS]], atol=1e-5)
    for place, rival in enumerate(shown.rivals):
        assert rival != shown.following[place]
        assert shown.rival_chances[place] <= own[place].max() + 1e-5
    assert sum(shown.parameters.values()) == sum(
        one.numel() for one in translator.model.parameters()
    )


def test_a_trained_model_translates_if_no_target_is_given():
    translator = untrained_translator("transformer", "transformer")
    shown = transformer("turn the lights on", model=translator)
    [best] = translator("turn the lights on")
    assert shown.translation == best.text
    assert shown.prefix[1:] == tuple(translator.target.pieces(best.ids))
    for lang, words in (("en", "adds most"), ("hi", "सबसे अधिक")):
        assert words in said(shown, lang)


def test_an_encoder_without_attention_has_only_feed_forward_layers():
    shown = transformer("turn off", model=untrained_translator("transformer-none", "transformer"))
    assert shown.encoder_parts == (("feed_forward", 1), ("feed_forward", 2))


@pytest.mark.parametrize("lang", ["en", "hi"])
def test_the_page_and_figure_are_in_both_languages(lang):
    shown = transformer()
    assert {"en": "blind to order", "hi": "क्रम नहीं दिखता"}[lang] in said(shown, lang)
    assert shown.figure(lang=lang, dark=True).get_size_inches()[0] < 9


def two_at_once():
    one = untrained_translator("transformer", "transformer")
    return replace(one, other_models=(one.model,))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: transformer(" "), "the sentence is empty"),
        (lambda: transformer("we sing"), "target: what does 'we sing' become"),
        (lambda: transformer(width=8, heads=3), "width: 8 numbers do not part evenly into 3 heads"),
        (lambda: transformer(width=1), "width is 1: give a whole number of at least 2"),
        (lambda: transformer(heads=0), "heads is 0"),
        (lambda: transformer(layers=0), "layers is 0"),
        (lambda: transformer(seed=-1), "seed is -1"),
        (lambda: transformer(norm="mid"), "norm: 'mid' is none of post, pre"),
        (
            lambda: transformer(without="heads"),
            "without: 'heads' is none of positions, residuals, normalisation, feed_forward",
        ),
        (
            lambda: transformer(
                model=untrained_translator("transformer", "transformer"), without="heads"
            ),
            "without: is for the small one; leave out without or the model",
        ),
        (
            lambda: transformer(model=untrained_translator("transformer", "transformer"), width=16),
            "width: is for the small one",
        ),
        (
            lambda: transformer(model=untrained_translator("gru", "transformer")),
            "RNNEncoder and TransformerDecoder are not both a Transformer's",
        ),
        (
            lambda: transformer(
                "turn off",
                target="लाइट " * 50,
                model=untrained_translator("transformer-post-learned", "transformer-post-learned"),
            ),
            "target: 50 tokens, but this model says at most 41",
        ),
        (lambda: transformer(model=two_at_once()), "this is an ensemble of 2 models"),
        (lambda: transformer(model="/nowhere/run"), "/nowhere/run"),
    ],
)
def test_a_wrong_argument_is_an_error_of_one_line(call, message):
    with pytest.raises(UserError, match=message) as found:
        call()
    assert "\n" not in str(found.value)
