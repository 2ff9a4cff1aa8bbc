"""What each layer of a deep LSTM knows: linear probes for words and for the whole sentence."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from jaxtyping import Int
from torch import Tensor

from dhyan.batch import Tokens
from dhyan.config import Recipe, load_recipe
from dhyan.data.primer import primer_twins
from dhyan.decoding.look import evaluating
from dhyan.decoding.translator import Translator
from dhyan.insight.parts import Curve, Lines, Words, table
from dhyan.lessons.given import whole, wholes
from dhyan.lessons.sequences.miniature import Hear, states_by_token
from dhyan.lessons.sequences.probes import Fact, probe
from dhyan.lessons.shown import Say, Shown, Story
from dhyan.text.skipgram import one_thread

CORE, SHORTEST, LONGEST = 0.15, 4, 7  # of the primer: the share of its words, words a sentence
OFTEN = 20  # how often a word must come for a probe to be asked for it
LITTLE = 30.0  # chrF++ of a model that has not learned to translate
PRESENT, PAST, FUTURE = range(3)
FORMS = {"है": PRESENT, "हैं": PRESENT, "हूँ": PRESENT, "हो": PRESENT}
ENDINGS = (("गा", FUTURE), ("गे", FUTURE), ("गी", FUTURE)) + tuple(
    (one, PAST) for one in ("ा", "े", "ी", "ीं", "ई")
)


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
        names = [say(one.english, one.hindi) for one in self.facts]
        count, loss, chrf = len(self.seeds), _span(self.losses, 2), _span(self.chrfs, 1)
        places = [say("embedding", "एम्बेडिंग")]
        places += [say(f"layer {n + 1}", f"परत {n + 1}") for n in range(self.layers)]
        shares = torch.tensor([[one.chance, *one.shares] for one in self.facts]).T
        guess = say("commonest answer", "सबसे आम उत्तर")
        return Story(
            say("What each layer knows", "हर परत क्या जानती है"),
            (
                Words(
                    say(
                        f"An encoder-decoder with {self.layers} LSTM layers learned the primer, "
                        f"English to Hindi, for {self.steps} updates, from {count} "
                        f"{'seeds' if count > 1 else 'seed'} (loss {loss}, chrF++ {chrf}). "
                        "On each layer's states a linear probe is fitted: which "
                        "word was read, which one before; and, after the last word, the sentence's "
                        "tense and whether it is a question. The share of new sentences it gets "
                        "right:",
                        f"{self.layers} परत के LSTM एनकोडर-डिकोडर ने प्राइमर पर, {self.steps} अद्यतन "
                        f"तक, {count} बीज (seed) से, अंग्रेज़ी से हिंदी अनुवाद सीखा (हानि {loss}, "
                        f"chrF++ {chrf})। हर परत की अवस्थाओं पर एक रैखिक probe बिठाया जाता है: अभी "
                        "कौन-सा शब्द पढ़ा गया, उससे पहले कौन-सा; और अंतिम शब्द के बाद, वाक्य का काल "
                        "क्या है और वह प्रश्नवाचक है या नहीं। नए वाक्यों पर सही उत्तरों का अनुपात:",
                    )
                ),
                table(
                    say("share right", "सही उत्तरों का अनुपात"),
                    shares,
                    [guess, *places],
                    names,
                    kind="weights",
                    digits=3,
                ),
                Lines(
                    say(
                        "layer by layer: the mean, and from the least to the most of any seed",
                        "परत-दर-परत: माध्य, और बीजों में न्यूनतम से अधिकतम तक",
                    ),
                    tuple(
                        Curve(
                            name,
                            one.shares,
                            one.lows,
                            one.highs,
                            style="solid" if one.of_word else "dashed",
                        )
                        for name, one in zip(names, self.facts, strict=True)
                    ),
                    tuple(places),
                    say("states probed", "जाँची गई अवस्थाएँ"),
                    say("share right", "सही उत्तरों का अनुपात"),
                ),
                Words(self._judged(say)),
            ),
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
                " So short a training leaves much unlearned: more steps may change the picture.",
                " इतने छोटे प्रशिक्षण में बहुत कुछ अनसीखा रहता है: अधिक चरणों (steps) से चित्र बदल सकता है।",
            )
        if len(self.seeds) > 1:
            return found
        return found + say(
            " This is one training, and the ± is that of the sentences alone: another seed may "
            "turn out otherwise.",
            " यह एक ही प्रशिक्षण है और ± केवल वाक्यों का है: दूसरे बीज से परिणाम अलग निकल सकता है।",
        )


@dataclass(frozen=True)
class _Read:
    """Sentences without their last sign: their tokens, tense, and whether they are questions."""

    tokens: Tokens
    tense: Int[Tensor, " B"]
    question: Int[Tensor, " B"]


def depth(
    *,
    layers: int = 3,
    steps: int = 300,
    width: int = 64,
    pairs: int = 6000,
    sentences: int = 1200,
    seeds: Sequence[int] = (1, 2, 3),
    hear: Hear | None = None,
) -> Depth:
    """Train stacks of LSTMs on sentences of the primer and probe their encoders; about 50 seconds.

    There is one for every seed, so that what comes out by chance can be told from what does not.
    """
    whole("layers", layers, least=2)
    sizes = {"steps": steps, "width": width, "pairs": pairs, "sentences": sentences}
    for name, size in sizes.items():
        whole(name, size, least=100 if name in ("pairs", "sentences") else 1)
    asked, losses, chrfs = [], [], []
    for seed in (seeds := wholes("seeds", seeds)):
        recipe = _recipe(layers=layers, steps=steps, width=width, pairs=pairs, seed=seed)
        translator, scores = _trained(recipe, hear)
        fit, test = (_read(translator, split, sentences) for split in ("valid", "random"))
        with evaluating(translator.model), torch.no_grad():
            states = [_states(translator, one.tokens) for one in (fit, test)]
        asked.append(_facts(fit, test, *states))
        losses.append(scores["loss"])
        chrfs.append(scores["chrf"])
    facts = tuple(
        replace(own[0], runs=tuple(run for one in own for run in one.runs))
        for own in zip(*asked, strict=True)
    )
    return Depth(facts, layers, steps, seeds, tuple(losses), tuple(chrfs))


def tense_of(hindi: str) -> int | None:
    """The tense of a simple Hindi sentence by its last word; none where that does not show it."""
    last = hindi.rstrip("।?! ").split()[-1]
    if last in FORMS:
        return FORMS[last]
    return next((tense for ending, tense in ENDINGS if last.endswith(ending)), None)


def _facts(
    fit: _Read, test: _Read, before: Sequence[Tensor], after: Sequence[Tensor]
) -> tuple[Fact, ...]:
    """Every probe on the embedding and on every layer."""
    common = torch.bincount(fit.tokens.ids[fit.tokens.mask]) >= OFTEN

    def words(read: _Read, states: Tensor, back: int) -> tuple[Tensor, Tensor]:
        mask = read.tokens.mask[:, back:]
        ids = read.tokens.ids[:, : mask.shape[1]][mask]
        asked = (ids < len(common)) & common[ids.clamp(max=len(common) - 1)]
        return states[:, back:][mask][asked], ids[asked]

    def ends(read: _Read, states: Tensor, answers: Tensor) -> tuple[Tensor, Tensor]:
        return states[torch.arange(len(states)), read.tokens.lengths - 1], answers

    found: list[Fact] = []
    for back, (english, hindi) in enumerate((("word", "शब्द"), ("word before", "पिछला शब्द"))):
        asked = [
            (words(fit, a, back), words(test, b, back)) for a, b in zip(before, after, strict=True)
        ]
        found.append(_fact(english, hindi, asked, of_word=True))
    for english, hindi, name in (("tense", "काल", "tense"), ("question", "प्रश्नवाचक", "question")):
        answers = getattr(fit, name), getattr(test, name)
        asked = [
            (ends(fit, a, answers[0]), ends(test, b, answers[1]))
            for a, b in zip(before, after, strict=True)
        ]
        found.append(_fact(english, hindi, asked, of_word=False))
    return tuple(found)


Asked = tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]


def _fact(english: str, hindi: str, asked: Sequence[Asked], *, of_word: bool) -> Fact:
    (_, learned), (_, judged) = asked[0]
    chance = float((judged == learned.mode().values).double().mean())
    shares = tuple(probe(fit, test) for fit, test in asked)
    return Fact(english, hindi, of_word, chance, len(judged), (shares,))


def _states(translator: Translator, tokens: Tokens) -> list[Tensor]:
    """The embedding of every token, then h of every layer after it."""
    encoder = translator.model.encoder
    read = states_by_token(encoder, tokens)[:, :, 0]
    return [encoder.words(tokens.ids), *read.unbind(2)]


def _read(translator: Translator, split: str, count: int) -> _Read:
    """Sentences that end in a full stop or a question mark and show their tense."""
    made = primer_twins(split, seed=7, shortest=SHORTEST, longest=LONGEST, core=CORE)
    found: list[tuple[list[int], int, int]] = []
    for twin in islice(made, count):
        tense, asks = tense_of(twin.hindi), twin.english.endswith("?")
        if tense is not None and twin.english[-1] in ".?":
            found.append((translator.encode(twin.english)[:-2], tense, int(asks)))
    ids, tenses, questions = zip(*found, strict=True)
    return _Read(Tokens.pad(ids), torch.tensor(tenses), torch.tensor(questions))


def _span(numbers: Sequence[float], digits: int) -> str:
    """From the least to the most."""
    return "–".join(dict.fromkeys(f"{end(numbers):.{digits}f}" for end in (min, max)))


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
    both = {"embedding": width, "width": width, "layers": layers, "dropout": 0.0}
    sides = {f"{side}.{key}": one for side in ("encoder", "decoder") for key, one in both.items()}
    return load_recipe(
        "sutskever2014-small",
        {
            **sides,
            "encoder.backwards": False,
            "data.task": "primer",
            "data.pairs": pairs,
            "data.core": CORE,
            "data.most_words": LONGEST,
            "text.kind": "words",
            "text.source_size": 3000,
            "text.target_size": 4000,
            "training.steps": steps,
            "training.tokens_per_batch": 768,
            "training.learning_rate": 6e-3,
            "training.label_smoothing": 0.0,
            "training.validate_every": steps,
            "training.valid_sentences": 30,
            "training.save_every": steps,
            "training.seed": seed,
        },
    )
