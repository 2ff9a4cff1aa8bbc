"""Linear probes on each layer of a deep LSTM encoder, for properties of words and of sentences."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from dhyan.batch import Tokens
from dhyan.config import Recipe, load_recipe
from dhyan.decoding.forced_decoding import evaluation_mode
from dhyan.decoding.translator import Translator
from dhyan.errors import UserError
from dhyan.evaluation.metrics import count
from dhyan.insight.lesson_blocks import Block, Curve, LineChart, Paragraph, heatmap
from dhyan.insight.probes import (
    CORE,
    LONGEST,
    SHORTEST,
    ProbedFact,
    probe_facts,
    read_probe_sentences,
)
from dhyan.lessons.catalogue import Text
from dhyan.lessons.lesson import LessonResult, ProgressCallback, lesson, parse_int, parse_ints
from dhyan.lessons.snapshots import SNAPSHOT, has_snapshot, read_snapshot
from dhyan.lessons.trained_model import load_translator
from dhyan.models.rnn import RNNEncoder
from dhyan.text.skipgram import single_thread

TRANSLATED_SENTENCES = 200  # sentences by which a model's chrF++ is measured
CEILING = 0.995  # accuracy above which no gain is possible
TINY = 0.02  # a negligible change of accuracy

Model = str | Path | Translator


@dataclass(frozen=True)
class LayerProbes(LessonResult):
    """Probes of the layers of trained encoders; the runs of a fact are samples of sentences.

    `chrfs` are the chrF++ of each model on `translated` of the test sentences.
    """

    trainings: tuple[tuple[ProbedFact, ...], ...]
    layers: int
    cell: str
    bidirectional: bool
    translated: int
    chrfs: tuple[float, ...]

    @property
    def facts(self) -> tuple[ProbedFact, ...]:
        """Each fact with one run per training, the mean over its samples."""
        return tuple(map(mean_of_samples, zip(*self.trainings, strict=True)))

    def blocks(self, text: Text) -> Iterator[Block]:
        """The models, the probes' accuracy layer by layer, and the verdict."""
        yield Paragraph(self._introduction(text))
        yield from probe_blocks(self.facts, text)
        yield Paragraph(self._verdict(text))

    def _introduction(self, text: Text) -> str:
        trainings, draws = len(self.trainings), len(self.trainings[0][0].runs)
        scores = value_range(self.chrfs, 1)
        encoder = text(
            "trained_encoders" if trainings > 1 else "trained_encoder",
            trainings=trainings,
            cell=self.cell.upper(),
            one_layer=self.layers == 1,
        )
        if self.bidirectional:
            encoder += text("bidirectional")
        return text(
            "setup_trained",
            encoder=encoder,
            scores=scores,
            shortest=SHORTEST,
            longest=LONGEST,
            draws=draws,
            several_draws=draws > 1,
        )

    def _verdict(self, text: Text) -> str:
        if self.layers == 1:
            return text("single_layer")
        changes = []
        for facts in zip(*self.trainings, strict=True):
            values = ", ".join(f"{fact.change:+.3f} ± {fact.margin:.3f}" for fact in facts)
            shares = [share for fact in facts for share in (fact.shares[1], fact.shares[-1])]
            note = ""
            if min(shares) > CEILING:
                note = text("ceiling")
            elif all(fact.clear and abs(fact.change) < TINY for fact in facts):
                note = text("clear_but_tiny")
            changes.append(f"{fact_name(facts[0], text)} {values}{note}".replace("-", "−"))
        several = len(self.trainings) > 1
        low, high = (self._claimed(of_word=of_word) for of_word in (True, False))
        verdict = text(
            "layer_claims_trained",
            several=several,
            changes="; ".join(changes),
            low=holds_for(low, text),
            high=holds_for(high, text),
        )
        if several:
            return verdict + text("several_trainings", trainings_count=len(self.trainings))
        return verdict + text("single_training")

    def _claimed(self, *, of_word: bool) -> tuple[int, int]:
        """The number of facts for which the claim holds in every training, and of all facts."""
        facts = [runs for runs in zip(*self.trainings, strict=True) if runs[0].of_word == of_word]
        return sum(all(fact.as_claimed for fact in runs) for runs in facts), len(facts)


def mean_of_samples(samples: Sequence[ProbedFact]) -> ProbedFact:
    """One fact with a run for each sample, which is the mean of that sample's runs."""
    return replace(
        samples[0],
        majority_share=mean(fact.majority_share for fact in samples),
        runs=tuple(fact.shares for fact in samples),
    )


def fact_name(fact: ProbedFact, text: Text) -> str:
    """The name of a probe's fact in the reader's language."""
    return text(f"fact_{fact.name}")


def probe_blocks(facts: Sequence[ProbedFact], text: Text) -> Iterator[Block]:
    """Accuracy of the probes, as a table and as curves."""
    names = [fact_name(fact, text) for fact in facts]
    layer_names = [text("embedding")]
    layer_names += [text("layer", at=at) for at in range(1, len(facts[0].shares))]
    shares = torch.tensor([[fact.majority_share, *fact.shares] for fact in facts]).T
    guess, right = text("majority_class"), text("accuracy")
    yield heatmap(right, shares, [guess, *layer_names], names, digits=3)
    yield LineChart(
        text("accuracy_by_layer_range") if len(facts[0].runs) > 1 else text("accuracy_by_layer"),
        tuple(
            Curve(
                name,
                fact.shares,
                fact.lows,
                fact.highs,
                style="solid" if fact.of_word else "dashed",
            )
            for name, fact in zip(names, facts, strict=True)
        ),
        tuple(layer_names),
        text("axis_layer"),
        right,
    )


def probe_layers(models: Sequence[Model], *, sentences: int, seeds: Sequence[int]) -> LayerProbes:
    """Probe every layer of encoders of one architecture, with one sample of sentences per seed."""
    trainings, scores, shapes = [], [], []
    for model in models:
        translator = load_translator(model)
        encoder = recurrent_encoder(translator)
        shapes.append((encoder.rnn.num_layers, encoder.rnn.mode, encoder.rnn.bidirectional))
        if shapes[-1] != shapes[0]:
            raise UserError(
                "models: their encoders differ in layers or cell; give trainings of one"
            )
        draws = []
        for seed in seeds:
            fit = read_probe_sentences(
                translator, "valid", sentences, seed=seed, known_words_only=True
            )
            test = read_probe_sentences(
                translator, "random", sentences, seed=seed, exclude=fit.pairs, known_words_only=True
            )
            states = [
                [layer_state.cpu() for layer_state in layer_states(translator, part.tokens)]
                for part in (fit, test)
            ]
            draws.append(probe_facts(fit, test, *states))
            if seed == seeds[0]:
                test_pairs = test.pairs[:TRANSLATED_SENTENCES]
        trainings.append(tuple(map(mean_of_samples, zip(*draws, strict=True))))
        translations = [fact.text for fact in translator([fact.english for fact in test_pairs])]
        right, others = [fact.hindi for fact in test_pairs], [fact.others for fact in test_pairs]
        chrf = count(translations, right, others=others, language="hi", metrics=("chrf",))
        scores.append(chrf["chrf"].value())
    layers, mode, bidirectional = shapes[0]
    return LayerProbes(
        trainings=tuple(trainings),
        layers=layers,
        cell=mode.lower().removesuffix("_tanh"),
        bidirectional=bidirectional,
        translated=len(test_pairs),
        chrfs=tuple(scores),
    )


def layer_states(translator: Translator, tokens: Tokens) -> list[Float[Tensor, "B S _"]]:
    """The embedding of every token, then its state in every layer."""
    encoder = recurrent_encoder(translator)
    tokens = tokens.to(translator.device)
    rnn, lengths, total = encoder.rnn, tokens.lengths.cpu(), tokens.ids.shape[1]
    with evaluation_mode(translator.model), torch.no_grad():
        states = [encoder.token_embedding(tokens.ids)]
        for layer in range(rnn.num_layers):
            single_layer = type(rnn)(
                states[-1].shape[-1],
                rnn.hidden_size,
                batch_first=True,
                bidirectional=rnn.bidirectional,
            ).to(states[-1])
            for name, weight in single_layer.named_parameters():
                weight.copy_(getattr(rnn, name.replace("_l0", f"_l{layer}")))
            packed = pack_padded_sequence(
                states[-1], lengths, batch_first=True, enforce_sorted=False
            )
            padded, _ = pad_packed_sequence(
                single_layer(packed)[0], batch_first=True, total_length=total
            )
            states.append(padded)
    return states


def value_range(numbers: Sequence[float], digits: int) -> str:
    """The minimum and the maximum as text."""
    return "–".join(dict.fromkeys(f"{end(numbers):.{digits}f}" for end in (min, max)))


def recurrent_encoder(translator: Translator) -> RNNEncoder:
    """The encoder of a model if it is recurrent and reads forwards; else an error."""
    encoder = translator.model.encoder
    if not isinstance(encoder, RNNEncoder):
        raise UserError(
            f"model: its encoder is a {type(encoder).__name__}; give one of recurrent layers, such "
            "as `dhyan train bahdanau2015-small --set encoder.layers=4` makes"
        )
    if encoder.reverse:
        raise UserError(
            "model: its encoder reads backwards; give one that reads on to the last word"
        )
    return encoder


def holds_for(claimed: tuple[int, int], text: Text) -> str:
    """Whether a claim holds for all facts, or for how many."""
    clear, total = claimed
    if clear == total:
        return text("holds")
    return text("holds_for_some", clear=clear, total=total)


USUAL = {"layers": 3, "steps": 300, "width": 64, "pairs": 6000, "sentences": 1200}
SEEDS = (1, 2, 3)
VALID = 30  # validation sentences
LITTLE = 30.0  # chrF++ of a model that has not learned to translate


@dataclass(frozen=True)
class TrainedLayerProbes(LessonResult):
    """Probes of encoders trained here, one per seed, with their validation losses and chrF++."""

    facts: tuple[ProbedFact, ...]
    layers: int
    steps: int
    seeds: tuple[int, ...]
    losses: tuple[float, ...]
    chrfs: tuple[float, ...]

    def blocks(self, text: Text) -> Iterator[Block]:
        """The model, the probes' accuracy layer by layer, and the verdict."""
        yield Paragraph(self._introduction(text))
        yield from probe_blocks(self.facts, text)
        yield Paragraph(self._verdict(text))

    def _introduction(self, text: Text) -> str:
        count, loss, chrf = len(self.seeds), value_range(self.losses, 2), value_range(self.chrfs, 1)
        little = max(self.chrfs) < LITTLE
        return text(
            "setup",
            count=count,
            several_count=count > 1,
            loss=loss,
            chrf=chrf,
            valid=VALID,
            little=little,
        )

    def _verdict(self, text: Text) -> str:
        changes = []
        for fact in self.facts:
            first, last = fact.shares[1], fact.shares[-1]
            if not fact.clear:
                direction = text("change_unclear")
            elif fact.change < 0:
                direction = text("change_falls")
            else:
                direction = text("change_rises")
            change = f"{fact.change:+.3f} ± {fact.margin:.3f}".replace("-", "−")
            changes.append(
                f"{fact_name(fact, text)} {first:.3f} → {last:.3f} ({change}: {direction})"
            )
        low = all(fact.as_claimed for fact in self.facts if fact.of_word)
        high = all(fact.as_claimed for fact in self.facts if not fact.of_word)
        verdict = text("layer_claims", changes=", ".join(changes), low=low, high=high)
        if max(self.chrfs) < LITTLE:
            verdict += text("undertrained_encoders", has_snapshot=has_snapshot("rnn_layer_probes"))
        if len(self.seeds) > 1:
            return verdict
        return verdict + text("single_seed")


@lesson
def rnn_layer_probes(
    *,
    model: Model | None = None,
    layers: int = USUAL["layers"],
    steps: int = USUAL["steps"],
    width: int = USUAL["width"],
    pairs: int = USUAL["pairs"],
    sentences: int = USUAL["sentences"],
    seeds: Sequence[int] = SEEDS,
    on_progress: ProgressCallback | None = None,
) -> LessonResult:
    """Train stacks of LSTMs on sentences of the primer and probe their encoders; about 50 seconds.

    One model is trained per seed, which gives the margin of error. With a `model`, a run's folder or
    a translator with a recurrent encoder, its layers are probed instead, and every seed samples
    other sentences; "snapshot" shows the stored result of trained models.
    """
    sizes = {"layers": layers, "steps": steps, "width": width, "pairs": pairs}
    if model is not None:
        return _probe_model(model, sizes, sentences, seeds)
    parse_int("layers", layers, least=2)
    for name, size in {**sizes, "sentences": sentences}.items():
        parse_int(name, size, least=100 if name in ("pairs", "sentences") else 1)
    facts_by_seed, losses, chrfs = [], [], []
    for seed in (seeds := parse_ints("seeds", seeds)):
        recipe = _recipe(layers=layers, steps=steps, width=width, pairs=pairs, seed=seed)
        translator, scores = _train(recipe, on_progress)
        fit = read_probe_sentences(translator, "valid", sentences)
        test = read_probe_sentences(translator, "random", sentences, exclude=fit.pairs)
        states = [layer_states(translator, part.tokens) for part in (fit, test)]
        facts_by_seed.append(probe_facts(fit, test, *states))
        losses.append(scores["loss"])
        chrfs.append(scores["chrf"])
    facts = tuple(
        replace(by_seed[0], runs=tuple(run for fact in by_seed for run in fact.runs))
        for by_seed in zip(*facts_by_seed, strict=True)
    )
    return TrainedLayerProbes(facts, layers, steps, seeds, tuple(losses), tuple(chrfs))


def _probe_model(
    model: Model, sizes: dict[str, int], sentences: int, seeds: Sequence[int]
) -> LessonResult:
    """Probe a trained model; sizes that only training here would use are errors."""
    for name, size in sizes.items():
        if size != USUAL[name]:
            raise UserError(f"{name}: the model brings its own; leave out {name} or the model")
    if model == SNAPSHOT:
        if sentences != USUAL["sentences"] or tuple(seeds) != SEEDS:
            raise UserError("model: the snapshot has its own sentences and seeds; give model=RUN")
        return read_snapshot("rnn_layer_probes", LayerProbes)
    count = parse_int("sentences", sentences, least=100)
    return probe_layers([model], sentences=count, seeds=parse_ints("seeds", seeds))


def _train(
    recipe: Recipe, on_progress: ProgressCallback | None
) -> tuple[Translator, dict[str, float]]:
    from dhyan.run import train
    from dhyan.training.events import Stepped, Validated

    scores: dict[str, float] = {}
    with torch.random.fork_rng(devices=[]), single_thread(), TemporaryDirectory() as folder:
        run = train(recipe, Path(folder) / "run", device="cpu", threads=1)
        for event in run:
            if isinstance(event, Validated):
                scores = dict(event.scores)
            if on_progress and isinstance(event, Stepped) and event.step % 100 == 0:
                on_progress(f"step {event.step}: loss {event.loss:.3f}")
    return run.folder.translator, scores


def _recipe(*, layers: int, steps: int, width: int, pairs: int, seed: int) -> Recipe:
    """A small version of Sutskever's recipe, over whole words, without source reversal."""
    settings = {"embedding_width": width, "width": width, "layers": layers, "dropout": 0.0}
    sides = {
        f"{side}.{key}": value for side in ("encoder", "decoder") for key, value in settings.items()
    }
    return load_recipe(
        "sutskever2014-small",
        {
            **sides,
            "encoder.reverse_source": False,
            "data.synthetic": "primer",
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
