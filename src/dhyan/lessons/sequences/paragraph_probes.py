"""Linear probes on each layer of a deep LSTM that reads paragraphs: word, sentence, paragraph."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from dhyan.data.primer.paragraphs import MAX_SENTENCES, paragraph_pair
from dhyan.decoding.translator import Translator
from dhyan.errors import UserError
from dhyan.evaluation.metrics import count
from dhyan.insight.lesson_blocks import Block, Paragraph
from dhyan.insight.paragraph_probes import (
    PARAGRAPH_FACTS,
    ProbeParagraphs,
    guess_from_last_sentence,
    probe_paragraph_facts,
    read_probe_paragraphs,
)
from dhyan.insight.probes import Level, ProbedFact
from dhyan.lessons.catalogue import Text
from dhyan.lessons.lesson import LessonResult, lesson, parse_int, parse_ints
from dhyan.lessons.sequences.rnn_layer_probes import (
    fact_name,
    holds_for,
    layer_states,
    mean_of_samples,
    probe_blocks,
    recurrent_encoder,
    value_range,
)
from dhyan.lessons.snapshots import SNAPSHOT, read_snapshot
from dhyan.lessons.trained_model import load_translator

TRANSLATED_PARAGRAPHS = 200  # by which a model's chrF++ is measured
PARAGRAPHS, SENTENCES, SEEDS = 1500, 400, (1, 2, 3, 4, 5)  # of a probe; SEEDS of its samples
Model = str | Path | Translator


@dataclass(frozen=True)
class ParagraphProbes(LessonResult):
    """Probes of the layers of trained encoders; the runs of a fact are samples of paragraphs.

    `guesses` are the accuracies of guessing a fact from the last sentence alone. `trained_on` is the
    number of paragraphs that the encoders were trained on, 0 if unknown.
    """

    trainings: tuple[tuple[ProbedFact, ...], ...]
    guesses: Mapping[str, float]
    layers: int
    cell: str
    width: int
    translated: int
    chrfs: tuple[float, ...]
    trained_on: int = 0

    @property
    def facts(self) -> tuple[ProbedFact, ...]:
        """Each fact with one run per training, the mean over its samples."""
        return tuple(map(mean_of_samples, zip(*self.trainings, strict=True)))

    def claimed(self, level: Level) -> tuple[int, int]:
        """The number of facts read best where claimed in every training, and of all facts.

        Words are claimed to be read best in the lowest layer, a sentence in a middle one, the
        paragraph in the highest.
        """
        facts = [runs for runs in zip(*self.trainings, strict=True) if runs[0].level == level]
        places = {
            "word": range(1, 2),
            "sentence": range(2, self.layers),
            "paragraph": range(self.layers, self.layers + 1),
        }
        held = [all(best_layer(fact) in places[level] for fact in runs) for runs in facts]
        return sum(held), len(facts)

    def blocks(self, text: Text) -> Iterator[Block]:
        """The models, the probes' accuracy layer by layer, and the verdict."""
        yield text.paragraph(
            "setup",
            trainings=len(self.trainings),
            scores=value_range(self.chrfs, 1),
            several=len(self.trainings) > 1,
            known=self.trained_on > 0,
            draws=len(self.trainings[0][0].runs),
            sentences=MAX_SENTENCES,
        )
        yield from probe_blocks(self.facts, Text(text.lang, "rnn_layer_probes"))
        yield Paragraph(self._verdict(text))
        yield Paragraph(self._guesses(text))

    def _verdict(self, text: Text) -> str:
        names = Text(text.lang, "rnn_layer_probes")
        changes = []
        for facts in zip(*self.trainings, strict=True):
            values = ", ".join(f"{fact.change:+.3f} ± {fact.margin:.3f}" for fact in facts)
            changes.append(f"{fact_name(facts[0], names)} {values}".replace("-", "−"))
        low, middle, high = (
            holds_for(self.claimed(level), names) for level in ("word", "sentence", "paragraph")
        )
        return text(
            "verdict",
            several=len(self.trainings) > 1,
            changes="; ".join(changes),
            low=low,
            middle=middle,
            high=high,
        )

    def _guesses(self, text: Text) -> str:
        names = Text(text.lang, "rnn_layer_probes")
        read = []
        for fact in self.facts:
            if fact.name in self.guesses:
                best = best_layer(fact)
                read.append(
                    text(
                        "guess",
                        fact=fact_name(fact, names),
                        guess=self.guesses[fact.name],
                        share=fact.shares[best],
                        at=best,
                    )
                )
        return text("guesses", read="; ".join(read))


def best_layer(fact: ProbedFact) -> int:
    """The layer, from 1, whose probe is most often right."""
    return max(range(1, len(fact.shares)), key=lambda at: fact.shares[at])


def probe_paragraphs(
    models: Sequence[Model],
    *,
    paragraphs: int = PARAGRAPHS,
    sentences: int = SENTENCES,
    seeds: Sequence[int] = SEEDS,
    trained_on: int = 0,
) -> ParagraphProbes:
    """Probe every layer of encoders of one architecture, with a sample of paragraphs per seed."""
    trainings, chrfs, shapes, guesses = [], [], [], []
    for model in models:
        translator = load_translator(model)
        rnn = recurrent_encoder(translator).rnn
        if rnn.bidirectional:
            raise UserError(
                "model: its encoder is bidirectional, so its state at the last word has not read "
                "the paragraph backwards; give one that reads forwards only"
            )
        shapes.append((rnn.num_layers, rnn.mode, rnn.hidden_size))
        if shapes[-1] != shapes[0]:
            raise UserError(
                "models: their encoders differ in layers, cell or width; give trainings of one"
            )
        draws = []
        for seed in seeds:
            fit, test = (
                read_probe_paragraphs(translator, split, paragraphs, sentences=sentences, seed=seed)
                for split in ("valid", "random")
            )
            states = [
                [layer_state.cpu() for layer_state in layer_states(translator, part.tokens)]
                for part in (fit, test)
            ]
            draws.append(probe_paragraph_facts(fit, test, *states))
            guesses.append(
                {name: guess_from_last_sentence(fit, test, name) for name in PARAGRAPH_FACTS}
            )
        trainings.append(tuple(map(mean_of_samples, zip(*draws, strict=True))))
        chrfs.append(_chrf(translator, test))
    layers, mode, width = shapes[0]
    return ParagraphProbes(
        trainings=tuple(trainings),
        guesses={name: mean(guess[name] for guess in guesses) for name in PARAGRAPH_FACTS},
        layers=layers,
        cell=mode.removesuffix("_TANH"),
        width=width,
        translated=TRANSLATED_PARAGRAPHS,
        chrfs=tuple(chrfs),
        trained_on=trained_on,
    )


def _chrf(translator: Translator, test: ProbeParagraphs) -> float:
    pairs = [paragraph_pair(part) for part in test.paragraphs[:TRANSLATED_PARAGRAPHS]]
    translations = [output.text for output in translator([pair.source for pair in pairs])]
    references = [pair.target for pair in pairs]
    return count(translations, references, language="hi", metrics=("chrf",))["chrf"].value()


@lesson
def paragraph_probes(
    model: Model = SNAPSHOT,
    *,
    paragraphs: int = PARAGRAPHS,
    sentences: int = SENTENCES,
    seeds: Sequence[int] = SEEDS,
) -> ParagraphProbes:
    """Probe the layers of a deep LSTM that reads paragraphs for words, sentences and the paragraph.

    Not given, the stored result of trained models is shown. A `model`, a run's folder or a translator
    with a recurrent encoder, is probed on `paragraphs` made of `sentences` of the primer, once per
    seed.
    """
    if model == SNAPSHOT:
        if (paragraphs, sentences, tuple(seeds)) != (PARAGRAPHS, SENTENCES, SEEDS):
            raise UserError("model: the snapshot has its own paragraphs and seeds; give model=RUN")
        return read_snapshot("paragraph_probes", ParagraphProbes)
    return probe_paragraphs(
        [model],
        paragraphs=parse_int("paragraphs", paragraphs, least=100),
        sentences=parse_int("sentences", sentences, least=100),
        seeds=parse_ints("seeds", seeds),
    )
