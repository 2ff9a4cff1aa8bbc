"""The layers of a trained recurrent encoder, probed one by one."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from dhyan.batch import Tokens
from dhyan.decoding.forced_decoding import evaluation_mode
from dhyan.decoding.translator import Translator
from dhyan.errors import UserError
from dhyan.evaluation.metric_counts import count
from dhyan.insight.blocks import Curve, Lines, Part, Words, table
from dhyan.lessons.sequences.facts import LONGEST, SHORTEST, asked_of, read
from dhyan.lessons.sequences.probes import Fact
from dhyan.lessons.shown import Say, Shown, Story
from dhyan.lessons.trained import translator_of
from dhyan.models.rnn import RNNEncoder

TRANSLATED = 200  # sentences, by which it is said how well a model translates
CEILING = 0.995  # a share above which nothing is left to gain
TINY = 0.02  # a change of a share that is next to none

Model = str | Path | Translator


@dataclass(frozen=True)
class Stacked(Shown):
    """What was asked of each training's layers; the rows of a fact are draws of sentences.

    A row is of the probes fitted to some sentences and judged on others; `chrfs` say how well each
    model translates `translated` of the sentences that judge.
    """

    trainings: tuple[tuple[Fact, ...], ...]
    layers: int
    cell: str
    both_ways: bool
    translated: int
    chrfs: tuple[float, ...]

    @property
    def facts(self) -> tuple[Fact, ...]:
        """Each fact with a row for every training, the mean of its draws."""
        return tuple(
            replace(own[0], chance=mean(one.chance for one in own), runs=_means(own))
            for own in zip(*self.trainings, strict=True)
        )

    def story(self, say: Say) -> Story:
        """The models, the shares layer by layer, and what holds in every one of them."""
        return Story(
            say("What each layer knows", "हर परत क्या जानती है"),
            (Words(self._asked(say)), *shares_of(self.facts, say), Words(self._judged(say))),
        )

    def _asked(self, say: Say) -> str:
        trainings, draws = len(self.trainings), len(self.trainings[0][0].runs)
        scores = span(self.chrfs, 1)
        kind, many = self.cell.upper(), say("layers", "") if self.layers > 1 else say("layer", "")
        english = (
            f"{trainings} trained encoders, each of {self.layers} {kind} {many}"
            if trainings > 1
            else f"A trained encoder of {self.layers} {kind} {many}"
        )
        hindi = (
            f"{trainings} प्रशिक्षित एनकोडर, हर एक में {self.layers} {kind} "
            f"{'परत' if self.layers == 1 else 'परतें'}"
            if trainings > 1
            else f"{self.layers} {kind} परत का एक प्रशिक्षित एनकोडर"
        )
        if self.both_ways:
            english += ", read in both directions"
            hindi += ", जो दोनों दिशाओं में पढ़ता है" if trainings == 1 else ", जो दोनों दिशाओं में पढ़ते हैं"
        return say(
            f"{english}: of {self.translated} new sentences of the primer the translations reach "
            f"chrF++ {scores}. On each layer's states a linear probe is fitted: which word was "
            "read, which one before; and, at the last word, the sentence's tense and whether it is "
            f"a question. The share it gets right in sentences of {SHORTEST} to {LONGEST} words it "
            f"was not fitted to, the mean of {draws} {'draws' if draws > 1 else 'draw'}:",
            f"{hindi}: प्राइमर के {self.translated} नए वाक्यों के अनुवाद का chrF++ {scores} है। हर परत की "
            "अवस्थाओं पर एक रैखिक probe बिठाया जाता है: अभी कौन-सा शब्द पढ़ा गया, उससे पहले कौन-सा; और "
            "अंतिम शब्द पर, वाक्य का काल क्या है और वह प्रश्नवाचक है या नहीं। "
            f"{SHORTEST} से {LONGEST} शब्द के ऐसे वाक्यों पर, जिन पर probe नहीं बिठाया गया, सही उत्तरों का "
            f"अनुपात ({draws} बार चुने गए वाक्यों का माध्य):",
        )

    def _judged(self, say: Say) -> str:
        if self.layers == 1:
            return say(
                "With one layer there is no lower and no higher one to compare.",
                "परत एक ही है, इसलिए निचली और ऊपरी परत की तुलना नहीं हो सकती।",
            )
        told = []
        for own in zip(*self.trainings, strict=True):
            moved = ", ".join(f"{one.change:+.3f} ± {one.margin:.3f}" for one in own)
            shares = [share for one in own for share in (one.shares[1], one.shares[-1])]
            note = ""
            if min(shares) > CEILING:
                note = say(", at the ceiling", ", ऊपरी सीमा पर")
            elif all(one.clear and abs(one.change) < TINY for one in own):
                note = say(", clear but tiny", ", स्पष्ट पर बहुत छोटा")
            told.append(f"{say(own[0].english, own[0].hindi)} {moved}{note}".replace("-", "−"))
        several = len(self.trainings) > 1
        low, high = (self._claimed(of_word=each) for each in (True, False))
        found = say(
            f"From the first layer to the last{', training by training' if several else ''}: "
            f"{'; '.join(told)}. That lower layers hold the words {_holds(low)}; that higher "
            f"layers hold the sentence {_holds(high)}. The ± is of the sentences drawn alone: ",
            f"पहली परत से अंतिम तक{', हर प्रशिक्षण का अलग-अलग' if several else ''}: {'; '.join(told)}। "
            f"“निचली परतों में शब्द” का दावा {_holds_hindi(low)}; “ऊपरी परतों में वाक्य” का दावा "
            f"{_holds_hindi(high)}। ± केवल चुने गए वाक्यों का है: ",
        )
        if several:
            return found + say(
                f"these are {len(self.trainings)} trainings, and another may turn out otherwise.",
                f"प्रशिक्षण {len(self.trainings)} हैं, और किसी और का परिणाम अलग निकल सकता है।",
            )
        return found + say(
            "this is one training, and another may turn out otherwise.",
            "यह एक ही प्रशिक्षण है, और दूसरे का परिणाम अलग निकल सकता है।",
        )

    def _claimed(self, *, of_word: bool) -> tuple[int, int]:
        """Of how many facts the claim holds in every training, and of how many it is asked."""
        own = [one for one in zip(*self.trainings, strict=True) if one[0].of_word == of_word]
        return sum(all(fact.as_claimed for fact in one) for one in own), len(own)


def shares_of(facts: Sequence[Fact], say: Say) -> tuple[Part, ...]:
    """What the probes got right, as a table and as curves."""
    names = [say(one.english, one.hindi) for one in facts]
    places = [say("embedding", "एम्बेडिंग")]
    places += [say(f"layer {at}", f"परत {at}") for at in range(1, len(facts[0].shares))]
    shares = torch.tensor([[one.chance, *one.shares] for one in facts]).T
    guess, right = say("commonest answer", "सबसे आम उत्तर"), say("share right", "सही उत्तरों का अनुपात")
    return (
        table(right, shares, [guess, *places], names, kind="weights", digits=3),
        Lines(
            say(
                "layer by layer: the mean, and from the least to the most of any training",
                "परत-दर-परत: माध्य, और प्रशिक्षणों में न्यूनतम से अधिकतम तक",
            )
            if len(facts[0].runs) > 1
            else say("layer by layer", "परत-दर-परत"),
            tuple(
                Curve(
                    name,
                    one.shares,
                    one.lows,
                    one.highs,
                    style="solid" if one.of_word else "dashed",
                )
                for name, one in zip(names, facts, strict=True)
            ),
            tuple(places),
            say("states probed", "जाँची गई अवस्थाएँ"),
            right,
        ),
    )


def stacked(models: Sequence[Model], *, sentences: int, seeds: Sequence[int]) -> Stacked:
    """Probe every layer of encoders that differ in nothing but their training, draw by draw."""
    trainings, scores, shapes = [], [], []
    for model in models:
        translator = translator_of(model)
        encoder = _encoder(translator)
        shapes.append((encoder.rnn.num_layers, encoder.rnn.mode, encoder.rnn.bidirectional))
        if shapes[-1] != shapes[0]:
            raise UserError(
                "models: their encoders differ in layers or cell; give trainings of one"
            )
        draws = []
        for seed in seeds:
            fit = read(translator, "valid", sentences, seed=seed, knows=True)
            test = read(translator, "random", sentences, seed=seed, but=fit.twins, knows=True)
            states = [
                [one.cpu() for one in layer_states(translator, part.tokens)] for part in (fit, test)
            ]
            draws.append(asked_of(fit, test, *states))
            if seed == seeds[0]:
                asked = test.twins[:TRANSLATED]
        trainings.append(
            tuple(
                replace(
                    own[0],
                    chance=mean(one.chance for one in own),
                    runs=tuple(one.runs[0] for one in own),
                )
                for own in zip(*draws, strict=True)
            )
        )
        said = [one.text for one in translator([one.english for one in asked])]
        right, others = [one.hindi for one in asked], [one.others for one in asked]
        found = count(said, right, others=others, language="hi", metrics=("chrf",))
        scores.append(found["chrf"].value())
    layers, mode, both_ways = shapes[0]
    return Stacked(
        trainings=tuple(trainings),
        layers=layers,
        cell=mode.lower().removesuffix("_tanh"),
        both_ways=both_ways,
        translated=len(asked),
        chrfs=tuple(scores),
    )


def layer_states(translator: Translator, tokens: Tokens) -> list[Float[Tensor, "B S _"]]:
    """The embedding of every token, then the state of every layer there."""
    encoder = _encoder(translator)
    tokens = tokens.to(translator.device)
    rnn, lengths, total = encoder.rnn, tokens.lengths.cpu(), tokens.ids.shape[1]
    with evaluation_mode(translator.model), torch.no_grad():
        found = [encoder.words(tokens.ids)]
        for layer in range(rnn.num_layers):
            one = type(rnn)(
                found[-1].shape[-1],
                rnn.hidden_size,
                batch_first=True,
                bidirectional=rnn.bidirectional,
            ).to(found[-1])
            for name, own in one.named_parameters():
                own.copy_(getattr(rnn, name.replace("_l0", f"_l{layer}")))
            packed = pack_padded_sequence(
                found[-1], lengths, batch_first=True, enforce_sorted=False
            )
            states, _ = pad_packed_sequence(one(packed)[0], batch_first=True, total_length=total)
            found.append(states)
    return found


def span(numbers: Sequence[float], digits: int) -> str:
    """From the least to the most."""
    return "–".join(dict.fromkeys(f"{end(numbers):.{digits}f}" for end in (min, max)))


def _encoder(translator: Translator) -> RNNEncoder:
    encoder = translator.model.encoder
    if not isinstance(encoder, RNNEncoder):
        raise UserError(
            f"model: its encoder is a {type(encoder).__name__}; give one of recurrent layers, such "
            "as `dhyan train bahdanau2015-small --set encoder.layers=4` makes"
        )
    if encoder.backwards:
        raise UserError(
            "model: its encoder reads backwards; give one that reads on to the last word"
        )
    return encoder


def _means(own: Sequence[Fact]) -> tuple[tuple[float, ...], ...]:
    return tuple(one.shares for one in own)


def _holds(claimed: tuple[int, int]) -> str:
    clear, asked = claimed
    return "holds" if clear == asked else f"holds for {clear} of these {asked} questions"


def _holds_hindi(claimed: tuple[int, int]) -> str:
    clear, asked = claimed
    return "सही है" if clear == asked else f"इन {asked} प्रश्नों में से {clear} पर सही है"
