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
from dhyan.lessons.catalogue import Text
from dhyan.lessons.parsing import parse_int, parse_ints
from dhyan.lessons.result import LessonResult, Page
from dhyan.lessons.sequences.facts import CORE, LONGEST, asked_of, read
from dhyan.lessons.sequences.miniature import Hear
from dhyan.lessons.sequences.probes import Fact
from dhyan.lessons.sequences.stacked import Model, fact_name, layer_states, shares_of, span, stacked
from dhyan.lessons.snapshots import SNAPSHOT, has_snapshot, read_snapshot
from dhyan.text.skipgram import one_thread

USUAL = {"layers": 3, "steps": 300, "width": 64, "pairs": 6000, "sentences": 1200}
SEEDS = (1, 2, 3)
VALID = 30  # sentences by which it is said how well a model translates
LITTLE = 30.0  # chrF++ of a model that has not learned to translate


@dataclass(frozen=True)
class Depth(LessonResult):
    """What was asked of the encoders, one a seed; `losses` and `chrfs` say how good each is."""

    facts: tuple[Fact, ...]
    layers: int
    steps: int
    seeds: tuple[int, ...]
    losses: tuple[float, ...]
    chrfs: tuple[float, ...]

    def page(self, text: Text) -> Page:
        """The model, the probes' shares layer by layer, the verdict."""
        return Page(
            text("deep_rnn.title"),
            (Words(self._asked(text)), *shares_of(self.facts, text), Words(self._judged(text))),
        )

    def _asked(self, text: Text) -> str:
        count, loss, chrf = len(self.seeds), span(self.losses, 2), span(self.chrfs, 1)
        little = max(self.chrfs) < LITTLE
        return text(
            "deep_rnn.encoder_decoder_lstm_layers",
            layers=self.layers,
            steps=self.steps,
            count=count,
            several_count=count > 1,
            loss=loss,
            chrf=chrf,
            valid=VALID,
            little=little,
        )

    def _judged(self, text: Text) -> str:
        said = []
        for one in self.facts:
            first, last = one.shares[1], one.shares[-1]
            if not one.clear:
                way = text("deep_rnn.clear_change")
            elif one.change < 0:
                way = text("deep_rnn.falls")
            else:
                way = text("deep_rnn.rises")
            moved = f"{one.change:+.3f} ± {one.margin:.3f}".replace("-", "−")
            said.append(f"{fact_name(one, text)} {first:.3f} → {last:.3f} ({moved}: {way})")
        low = all(one.as_claimed for one in self.facts if one.of_word)
        high = all(one.as_claimed for one in self.facts if not one.of_word)
        found = text("deep_rnn.first_layer_last_lower", said=", ".join(said), low=low, high=high)
        if max(self.chrfs) < LITTLE:
            found += text(
                "deep_rnn.encoders_learned_little_translate", has_snapshot=has_snapshot("deep_rnn")
            )
        if len(self.seeds) > 1:
            return found
        return found + text("deep_rnn.training_sentences_alone_another")


def deep_rnn(
    *,
    model: Model | None = None,
    layers: int = USUAL["layers"],
    steps: int = USUAL["steps"],
    width: int = USUAL["width"],
    pairs: int = USUAL["pairs"],
    sentences: int = USUAL["sentences"],
    seeds: Sequence[int] = SEEDS,
    hear: Hear | None = None,
) -> LessonResult:
    """Train stacks of LSTMs on sentences of the primer and probe their encoders; about 50 seconds.

    There is one for every seed, so that what comes out by chance can be told from what does not.
    With a `model`, a run's folder or a translator with a recurrent encoder, its layers are probed
    instead, and every seed draws other sentences; "snapshot" shows some that were trained before.
    """
    own = {"layers": layers, "steps": steps, "width": width, "pairs": pairs}
    if model is not None:
        return _of_model(model, own, sentences, seeds)
    parse_int("layers", layers, least=2)
    for name, size in {**own, "sentences": sentences}.items():
        parse_int(name, size, least=100 if name in ("pairs", "sentences") else 1)
    asked, losses, chrfs = [], [], []
    for seed in (seeds := parse_ints("seeds", seeds)):
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


def _of_model(
    model: Model, own: dict[str, int], sentences: int, seeds: Sequence[int]
) -> LessonResult:
    """What a trained one shows, if nothing is asked that it brings itself."""
    for name, one in own.items():
        if one != USUAL[name]:
            raise UserError(f"{name}: the model brings its own; leave out {name} or the model")
    if model == SNAPSHOT:
        if sentences != USUAL["sentences"] or tuple(seeds) != SEEDS:
            raise UserError("model: the snapshot has its own sentences and seeds; give model=RUN")
        return read_snapshot("deep_rnn")
    count = parse_int("sentences", sentences, least=100)
    return stacked([model], sentences=count, seeds=parse_ints("seeds", seeds))


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
