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
SOURCE, PREFIX = torch.tensor([4, 5, 6, 7, EOS]), torch.tensor([BOS, 4, 5, 6])


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


def reference_and_model(norm, **sizes):
    """A model and its way, every bias and norm away from where it starts."""
    torch.manual_seed(0)
    model = model_of(norm, **sizes)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    heads, layers = sizes.get("heads", 2), sizes.get("layers", 2)
    return model, read_weights(model, layers=layers, heads=heads, pre_norm=norm == "pre")


def own_states(model):
    with torch.no_grad():
        batch = Batch(Tokens.pad([SOURCE.tolist()]), Tokens.pad([[*PREFIX.tolist(), EOS]]))
        return model.encoder(batch.source).states[0], model(batch)[0]


def flat_text(lesson, lang="en"):
    return " ".join(lesson.text(lang).split())


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize(("width", "heads", "layers"), [(8, 2, 1), (12, 3, 3), (7, 1, 2)])
def test_the_reference_equals_the_model(norm, width, heads, layers):
    model, reference = reference_and_model(norm, width=width, heads=heads, layers=layers)
    trace = reference.trace(SOURCE, PREFIX)
    states, logits = own_states(model)
    assert (trace.encoder.states - states).abs().max() < 1e-6
    assert (trace.logits - logits).abs().max() < 1e-6
    assert torch.allclose(trace.probabilities, logits.softmax(-1), atol=1e-6)


@pytest.mark.parametrize("without", WITHOUT)
@pytest.mark.parametrize("norm", NORMS)
def test_no_part_can_be_left_out_unseen(norm, without):
    model, reference = reference_and_model(norm)
    trace = replace(reference, without=without).trace(SOURCE, PREFIX)
    assert (trace.logits - own_states(model)[1]).abs().max() > 1e-3


@pytest.mark.parametrize("norm", NORMS)
def test_the_page_states_the_difference_to_the_model(norm):
    result = transformer(norm=norm, layers=2)
    assert result.difference < 1e-6
    assert result.difference == float((result.trace.logits - result.model_logits).abs().max())
    assert result.source == ("we", "are", "friends", "</s>")
    assert result.target == ("<s>", "हम", "दोस्त", "हैं")
    assert torch.allclose(result.trace.probabilities.sum(-1), torch.ones(4, dtype=torch.float64))


def test_sinusoids_are_those_of_the_project():
    for width in (8, 7, 32):
        theirs = Sinusoids(width)(0, 12).double()
        assert torch.allclose(sinusoids(12, width), theirs, atol=1e-6)


def test_the_residual_is_the_sum_of_input_and_output():
    _, reference = reference_and_model("pre")
    trace = reference.trace(SOURCE, PREFIX)
    for side in (trace.encoder, trace.decoder):
        assert torch.equal(side.embedding_sum, side.embedded + side.positions)
        assert torch.equal(side.steps[0].before, side.embedding_sum)
        for step in side.steps:
            assert torch.equal(step.after, step.before + step.output)
    assert [step.part for step in trace.encoder.steps] == ["self_attention", "feed_forward"] * 2
    assert [step.part for step in trace.decoder.steps][1] == "cross_attention"


def test_after_post_norm_every_vector_is_as_long_as_the_root_of_the_width():
    trace = transformer(norm="post").trace
    for step in (*trace.encoder.steps, *trace.decoder.steps):
        lengths = step.after.norm(dim=1)
        assert torch.allclose(lengths, torch.full_like(lengths, 8**0.5), atol=1e-3)


def test_only_the_decoder_hides_what_comes_later():
    trace = transformer().trace
    later = torch.ones(4, 4, dtype=torch.bool).triu(1)
    self_attention = trace.decoder.step("self_attention").attention
    assert (self_attention.weights[:, later] == 0).all()
    assert self_attention.scores[:, later].isneginf().all()
    assert (trace.encoder.step("self_attention").attention.weights > 0).all()
    assert (trace.decoder.step("cross_attention").attention.weights > 0).all()


@pytest.mark.parametrize("order", list(permutations(range(3))))
@pytest.mark.parametrize("norm", NORMS)
def test_without_positions_the_states_permute_with_the_words(norm, order):
    words = ["we", "are", "friends"]
    permuted = [words[at] for at in order]
    _, reference = reference_and_model(norm)
    source = torch.tensor([4, 5, 6, EOS])
    indices = torch.tensor([*order, 3])
    blind = replace(reference, without="positions")
    here, there = blind.encode(source).states, blind.encode(source[indices]).states
    assert torch.allclose(there, here[indices], atol=1e-12)
    if permuted != words:
        seeing = reference.encode(source[indices]).states - reference.encode(source).states[indices]
        assert seeing.abs().max() > 0.01


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("seed", range(1, 6))
def test_each_ablation_changes_its_measure(norm, seed):
    measured = transformer(norm=norm, seed=seed, layers=3, width=16).ablations
    positions, residuals, normalisation, feed_forward = range(1, 5)
    assert measured.order[positions] < 1e-12 < 0.1 < measured.order[0]
    assert measured.alike[residuals] > max(0.8, float(measured.alike[0]))
    assert measured.longest[normalisation] > 1.2 * measured.longest[0]
    assert measured.moved[feed_forward] > measured.moved[0] == 0


@pytest.mark.parametrize("without", WITHOUT)
def test_an_ablated_trace_lacks_the_part(without):
    result = transformer(without=without)
    trace = result.trace
    assert result.difference < 1e-6  # of the whole, whatever is drawn
    steps = (*trace.encoder.steps, *trace.decoder.steps)
    match without:
        case "positions":
            assert (trace.encoder.positions == 0).all()
            assert "No positional encodings are added" in flat_text(result)
            assert "only permutes the encoder states" in flat_text(result)
        case "residuals":
            for step in steps:
                alone = layer_norm(step.output, step.output.shape[-1:])
                assert torch.allclose(step.after, alone)
            assert "replaces its input" in flat_text(result)
            assert "the states become more alike" in flat_text(result)
        case "normalisation":
            assert all(torch.equal(step.after, step.before + step.output) for step in steps)
            assert "Layer normalisation: " not in flat_text(result)
            assert "Without layer normalisation the largest norm is 9.9, with it 2.8" in flat_text(
                result
            )
        case _:
            assert all(step.part != "feed_forward" for step in steps)
            assert "layer is left out." in flat_text(result)
    assert f"without {without.replace('_', '-')}" in flat_text(result)
    assert "के बिना" in result.render("hi").title


@pytest.mark.parametrize("norm", NORMS)
def test_the_formula_counts_what_is_built(norm):
    sizes = Sizes(8, 7, width=12, hidden=20, layers=3, pre_norm=norm == "pre")
    built = model_of(norm, width=12, heads=3, layers=3)
    assert count_parameters(sizes) == count_built_parameters(built)
    assert sum(count_built_parameters(built).values()) == sum(
        weight.numel() for weight in built.parameters()
    )


def test_the_largest_part_is_named_with_its_share():
    result = transformer()
    assert max(result.base.values()) < sum(result.base.values()) / 2
    assert "Most of its parameters: feed-forward, 40%." in flat_text(result)
    assert "सबसे अधिक प्राचल: फ़ीड-फ़ॉरवर्ड, 40%।" in flat_text(result, "hi")


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


def test_the_default_model_has_2167_parameters():
    assert sum(transformer().parameters.values()) == 2167


def test_a_large_model_is_drawn_in_part():
    result = transformer("I like eating pizza", width=24, heads=4, layers=2)
    text = flat_text(result)
    for words in ("first 8 numbers", "first 2 heads", "show the first layer"):
        assert words in text
    widest = max(len(part.values[0]) for part in result.render().blocks if hasattr(part, "values"))
    assert widest <= len(result.vocabulary)


def test_a_sentence_that_reads_the_same_backwards_cannot_show_its_order():
    assert "is a palindrome" in flat_text(transformer("so", target="तो"))


def test_another_seed_gives_other_weights_and_leaves_the_random_state():
    before = torch.random.get_rng_state()
    first, second = transformer(seed=1), transformer(seed=2)
    assert torch.equal(before, torch.random.get_rng_state())
    assert not torch.equal(first.model_logits, second.model_logits)


ARCHITECTURES = ["transformer", "transformer-post-learned", "transformer-rotary-swiglu-grouped"]


def shares_by_hooks(translator, source, target):
    """The same shares, from what goes in and out of the modules in the model's own forward pass."""
    model, shares = translator.model, {"encoder": [], "decoder": []}
    inputs, hooks = {}, []

    def enters(layer, inputs_seen):
        inputs[layer] = inputs_seen[0]

    def finds(side, layer, norm):
        def hook(module, inputs_seen, output):
            x, output = inputs[layer], getattr(output, "context", output)
            shares[side].append((output.norm(dim=-1) / x.norm(dim=-1))[0])
            inputs[layer] = x + output if layer.pre_norm else norm(x + output)

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
    return *(torch.stack(columns, dim=1).double() for columns in shares.values()), logits


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_shares_and_probabilities_are_those_of_the_forward_pass(architecture):
    translator = untrained_translator(architecture, architecture)
    result = transformer("turn off the lights", target="लाइट बंद करो", model=translator)
    target_ids = translator.target.encode("लाइट बंद करो")
    source = translator.encode("turn off the lights")
    encoder, decoder, logits = shares_by_hooks(translator, source, [BOS, *target_ids, EOS])
    assert torch.allclose(result.encoder_shares, encoder, atol=1e-5)
    assert torch.allclose(result.decoder_shares, decoder, atol=1e-5)
    assert result.encoder_parts[:2] == (("self_attention", 1), ("feed_forward", 1))
    assert result.source == ("turn", "off", "the", "lights", "</s>")
    assert result.prefix == ("<s>", "लाइट", "बंद", "करो")
    assert result.next_tokens == ("लाइट", "बंद", "करो", "</s>")
    probs = logits.double().softmax(-1)
    assert torch.allclose(result.probabilities, probs[range(4), [*target_ids, EOS]], atol=1e-5)
    for position, rival in enumerate(result.rivals):
        assert rival != result.next_tokens[position]
        assert result.rival_probabilities[position] <= probs[position].max() + 1e-5
    assert sum(result.parameters.values()) == sum(
        weight.numel() for weight in translator.model.parameters()
    )


def test_a_trained_model_translates_if_no_target_is_given():
    translator = untrained_translator("transformer", "transformer")
    result = transformer("turn the lights on", model=translator)
    [best] = translator("turn the lights on")
    assert result.translation == best.text
    assert result.prefix[1:] == tuple(translator.target.pieces(best.ids))
    for lang, words in (("en", "adds most"), ("hi", "सबसे अधिक")):
        assert words in flat_text(result, lang)


def test_an_encoder_without_attention_has_only_feed_forward_layers():
    result = transformer("turn off", model=untrained_translator("transformer-none", "transformer"))
    assert result.encoder_parts == (("feed_forward", 1), ("feed_forward", 2))


@pytest.mark.parametrize("lang", ["en", "hi"])
def test_the_page_and_figure_are_in_both_languages(lang):
    result = transformer()
    assert {"en": "ignores the order", "hi": "क्रम पर ध्यान नहीं देता"}[lang] in flat_text(result, lang)
    assert result.figure(lang=lang, dark=True).get_size_inches()[0] < 9


def ensemble():
    translator = untrained_translator("transformer", "transformer")
    return replace(translator, other_models=(translator.model,))


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
        (lambda: transformer(model=ensemble()), "this is an ensemble of 2 models"),
        (lambda: transformer(model="/nowhere/run"), "/nowhere/run"),
    ],
)
def test_a_wrong_argument_is_a_single_line_error(call, message):
    with pytest.raises(UserError, match=message) as raised:
        call()
    assert "\n" not in str(raised.value)
