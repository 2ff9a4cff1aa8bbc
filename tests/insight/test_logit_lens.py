"""Logit lens: the last layer predicts what the model predicts; other decoders are refused."""

import pytest
import torch

from dhyan.batch import Batch, Tokens
from dhyan.errors import UserError
from dhyan.insight.explain import target_ids
from dhyan.insight.logit_lens import has_logit_lens, logit_lens
from tests.insight.test_explain import translator_of

SENTENCE = "the big dog sees the cat"


@pytest.mark.parametrize("decoder", ["transformer", "transformer-post-learned"])
def test_the_last_layer_predicts_what_the_model_predicts(decoder):
    translator = translator_of((decoder, decoder))
    [translation] = translator(SENTENCE, max_length=9)
    lens = logit_lens(translator, SENTENCE, translation)
    target = target_ids(translation)
    batch = Batch(Tokens.pad([translator.encode(SENTENCE)]), Tokens.pad([target]))
    translator.model.eval()
    with torch.inference_mode():
        expected = translator.model(batch)[0].log_softmax(-1)
    assert lens.outputs == tuple(target[1:])
    assert len(lens.logprobs) == len(translator.model.decoder.layers) + 1
    torch.testing.assert_close(lens.logprobs[-1], expected, atol=1e-5, rtol=1e-5)
    assert not torch.allclose(lens.logprobs[-2], expected, atol=1e-2)


def test_every_layer_has_a_distribution():
    translator = translator_of(("transformer", "transformer"))
    [translation] = translator(SENTENCE, max_length=9)
    sums = logit_lens(translator, SENTENCE, translation).logprobs.exp().sum(-1)
    torch.testing.assert_close(sums, torch.ones_like(sums))


def test_hooks_are_removed():
    translator = translator_of(("transformer", "transformer"))
    [translation] = translator(SENTENCE, max_length=9)
    logit_lens(translator, SENTENCE, translation)
    assert not any(module._forward_hooks for module in translator.model.modules())


def test_a_recurrent_decoder_has_no_logit_lens():
    translator = translator_of(("gru", "luong-dot"))
    assert not has_logit_lens(translator)
    [translation] = translator(SENTENCE, max_length=9)
    with pytest.raises(UserError, match="recurrent"):
        logit_lens(translator, SENTENCE, translation)
