"""What each layer of a deep LSTM knows: linear probes for words and for the whole sentence."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from dhyan.config import Recipe, load_recipe
from dhyan.decoding.translator import Translator
from dhyan.errors import UserError
from dhyan.insight.blocks import Words
from dhyan.lessons.given import whole, wholes
from dhyan.lessons.keeping import KEPT, is_kept, kept
from dhyan.lessons.sequences.facts import CORE, LONGEST, asked_of, read
from dhyan.lessons.sequences.miniature import Hear
from dhyan.lessons.sequences.probes import Fact
from dhyan.lessons.sequences.stacked import Model, layer_states, shares_of, span, stacked
from dhyan.lessons.shown import Say, Shown, Story
from dhyan.text.skipgram import one_thread

USUAL = {"layers": 3, "steps": 300, "width": 64, "pairs": 6000, "sentences": 1200}
SEEDS = (1, 2, 3)
VALID = 30  # sentences by which it is said how well a model translates
LITTLE = 30.0  # chrF++ of a model that has not learned to translate


@dataclass(frozen=True)
class Depth(Shown):
    """What was asked of the encoders, one a seed; `losses` and `chrfs` say how good each is."""

    facts: tuple[Fact, ...]
    layers: int
    steps: int
    seeds: tuple[int, ...]
    losses: tuple[float, ...]
    chrfs: tuple[float, ...]

    def story(self, say: Say) -> Story:
        """The model, the probes' shares layer by layer, the verdict."""
        return Story(
            say("What each layer knows", "हर परत क्या जानती है"),
            (Words(self._asked(say)), *shares_of(self.facts, say), Words(self._judged(say))),
        )

    def _asked(self, say: Say) -> str:
        count, loss, chrf = len(self.seeds), span(self.losses, 2), span(self.chrfs, 1)
        little = max(self.chrfs) < LITTLE
        return say(
            f"An encoder-decoder with {self.layers} LSTM layers was trained on the primer, English "
            f"to Hindi, for {self.steps} updates, from {count} {'seeds' if count > 1 else 'seed'}. "
            f"It reached a loss of {loss} and chrF++ {chrf} on {VALID} held-out sentences"
            f"{': it can hardly translate yet' if little else ''}. On each layer's states a linear "
            "probe is fitted: which word was read, which one before; and, after the last word, the "
            "sentence's tense and whether it is a question. The share it gets right in sentences "
            "it was not fitted to:",
            f"{self.layers} परत के LSTM एनकोडर-डिकोडर को प्राइमर पर, अंग्रेज़ी से हिंदी, {self.steps} "
            f"अद्यतन तक, {count} बीज (seed) से प्रशिक्षित किया गया। अलग रखे गए {VALID} वाक्यों पर उसकी "
            f"हानि {loss} और chrF++ {chrf} है"
            f"{': अनुवाद वह अभी लगभग नहीं कर पाता' if little else ''}। हर परत की अवस्थाओं पर एक रैखिक "
            "probe बिठाया जाता है: अभी कौन-सा शब्द पढ़ा गया, उससे पहले कौन-सा; और अंतिम शब्द के बाद, "
            "वाक्य का काल क्या है और वह प्रश्नवाचक है या नहीं। जिन वाक्यों पर probe नहीं बिठाया गया, उन पर "
            "सही उत्तरों का अनुपात:",
        )

    def _judged(self, say: Say) -> str:
        said = []
        for one in self.facts:
            first, last = one.shares[1], one.shares[-1]
            if not one.clear:
                way = say("no clear change", "कोई स्पष्ट बदलाव नहीं")
            elif one.change < 0:
                way = say("falls", "घटता है")
            else:
                way = say("rises", "बढ़ता है")
            moved = f"{one.change:+.3f} ± {one.margin:.3f}".replace("-", "−")
            said.append(f"{say(one.english, one.hindi)} {first:.3f} → {last:.3f} ({moved}: {way})")
        low = all(one.as_claimed for one in self.facts if one.of_word)
        high = all(one.as_claimed for one in self.facts if not one.of_word)
        found = say(
            f"From the first layer to the last: {', '.join(said)}. That lower layers hold the "
            f"words {'holds' if low else 'does not hold for each of these'}; that higher layers "
            f"hold the sentence {'holds' if high else 'does not hold for each of these'}.",
            f"पहली परत से अंतिम तक: {', '.join(said)}। “निचली परतों में शब्द” का दावा "
            f"{'सही है' if low else 'इनमें से कम से कम एक पर सही नहीं है'}; “ऊपरी परतों में वाक्य” का दावा "
            f"{'सही है' if high else 'इनमें से कम से कम एक पर सही नहीं है'}।",
        )
        if max(self.chrfs) < LITTLE:
            found += say(
                " This is of encoders that have learned little: for one that can translate give "
                f"model={'kept' if is_kept('depth') else 'RUN'}.",
                " यह उन एनकोडरों की बात है जिन्होंने कम सीखा है: अनुवाद कर सकने वाले एनकोडर के लिए "
                f"model={'kept' if is_kept('depth') else 'RUN'} दें।",
            )
        if len(self.seeds) > 1:
            return found
        return found + say(
            " This is one training, and the ± is that of the sentences alone: another seed may "
            "turn out otherwise.",
            " यह एक ही प्रशिक्षण है और ± केवल वाक्यों का है: दूसरे बीज से परिणाम अलग निकल सकता है।",
        )


def depth(
    *,
    model: Model | None = None,
    layers: int = USUAL["layers"],
    steps: int = USUAL["steps"],
    width: int = USUAL["width"],
    pairs: int = USUAL["pairs"],
    sentences: int = USUAL["sentences"],
    seeds: Sequence[int] = SEEDS,
    hear: Hear | None = None,
) -> Shown:
    """Train stacks of LSTMs on sentences of the primer and probe their encoders; about 50 seconds.

    There is one for every seed, so that what comes out by chance can be told from what does not.
    With a `model`, a run's folder or a translator with a recurrent encoder, its layers are probed
    instead, and every seed draws other sentences; "kept" shows some that were trained before.
    """
    own = {"layers": layers, "steps": steps, "width": width, "pairs": pairs}
    if model is not None:
        return _of_model(model, own, sentences, seeds)
    whole("layers", layers, least=2)
    for name, size in {**own, "sentences": sentences}.items():
        whole(name, size, least=100 if name in ("pairs", "sentences") else 1)
    asked, losses, chrfs = [], [], []
    for seed in (seeds := wholes("seeds", seeds)):
        recipe = _recipe(layers=layers, steps=steps, width=width, pairs=pairs, seed=seed)
        translator, scores = _trained(recipe, hear)
        fit = read(translator, "valid", sentences)
        test = read(translator, "random", sentences, but=fit.twins)
        states = [layer_states(translator, one.tokens) for one in (fit, test)]
        asked.append(asked_of(fit, test, *states))
        losses.append(scores["loss"])
        chrfs.append(scores["chrf"])
    facts = tuple(
        replace(own[0], runs=tuple(run for one in own for run in one.runs))
        for own in zip(*asked, strict=True)
    )
    return Depth(facts, layers, steps, seeds, tuple(losses), tuple(chrfs))


def _of_model(model: Model, own: dict[str, int], sentences: int, seeds: Sequence[int]) -> Shown:
    """What a trained one shows, if nothing is asked that it brings itself."""
    for name, one in own.items():
        if one != USUAL[name]:
            raise UserError(f"{name}: the model brings its own; leave out {name} or the model")
    if model == KEPT:
        if sentences != USUAL["sentences"] or tuple(seeds) != SEEDS:
            raise UserError("model: what is kept has its own sentences and seeds; give model=RUN")
        return kept("depth")
    count = whole("sentences", sentences, least=100)
    return stacked([model], sentences=count, seeds=wholes("seeds", seeds))


def _trained(recipe: Recipe, hear: Hear | None) -> tuple[Translator, dict[str, float]]:
    from dhyan.run import train
    from dhyan.training.events import Stepped, Validated

    scores: dict[str, float] = {}
    with torch.random.fork_rng(devices=[]), one_thread(), TemporaryDirectory() as folder:
        run = train(recipe, Path(folder) / "run", device="cpu", threads=1)
        for event in run:
            if isinstance(event, Validated):
                scores = dict(event.scores)
            if hear and isinstance(event, Stepped) and event.step % 100 == 0:
                hear(f"step {event.step}: loss {event.loss:.3f}")
    return run.folder.translator, scores


def _recipe(*, layers: int, steps: int, width: int, pairs: int, seed: int) -> Recipe:
    """Sutskever's recipe made small, over whole words, read forwards."""
    both = {"embedding_width": width, "width": width, "layers": layers, "dropout": 0.0}
    sides = {f"{side}.{key}": one for side in ("encoder", "decoder") for key, one in both.items()}
    return load_recipe(
        "sutskever2014-small",
        {
            **sides,
            "encoder.reverse_source": False,
            "data.task": "primer",
            "data.pairs": pairs,
            "data.core_share": CORE,
            "data.max_words": LONGEST,
            "text.tokenizer": "words",
            "text.source_vocabulary_size": 3000,
            "text.target_vocabulary_size": 4000,
            "training.steps": steps,
            "training.tokens_per_batch": 768,
            "training.learning_rate": 6e-3,
            "training.label_smoothing": 0.0,
            "training.validate_every": steps,
            "training.valid_sentences": VALID,
            "training.save_every": steps,
            "training.seed": seed,
        },
    )
