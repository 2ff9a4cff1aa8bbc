"""`python -m dhyan.serving.worker FD` is the model's process: texts in, translations out."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dhyan.errors import UserError
from dhyan.serving.framing import Message
from dhyan.serving.jobs import Answer, Manner
from dhyan.serving.worker_protocol import Talk, Text, converse

if TYPE_CHECKING:
    from dhyan.decoding.rules import Rule
    from dhyan.decoding.translator import Translation, Translator
    from dhyan.text.sentence_splitter import Paragraph

MOST_SAID = 512  # tokens of one sentence's translation
UNBOUND = 2**40


@dataclass
class Work:
    """A text, its sentences, and what has been said of them."""

    text: Text
    paragraph: "Paragraph | None"
    sentences: Sequence[str]
    sizes: Sequence[int]
    said: "dict[int, Translation]"


@dataclass(frozen=True)
class Unit:
    """One sentence of a work."""

    work: Work
    place: int
    size: int
    alone: bool

    @property
    def sentence(self) -> str:
        """Its words."""
        return self.work.sentences[self.place]


@dataclass(frozen=True)
class Model:
    """A translator that answers texts batch by batch, and stops for those who have left."""

    translator: "Translator"
    name: str

    def about(self) -> dict[str, Any]:
        """What clients may know."""
        translator = self.translator
        return {
            "name": self.name,
            "source": translator.source_language or "en",
            "target": translator.language or "hi",
            "beam": translator.options.width,
            "longest": translator.limits.source,
            "parameters": sum(one.numel() for one in translator.model.parameters()),
        }

    def say(self, texts: Sequence[Text], manner: Manner, talk: Talk) -> None:
        """Answer each; a fault in one is that one's answer."""
        units: list[Unit] = []
        for text in texts:
            if talk.left(text.number):
                continue
            work = self._work(text, manner)
            longest = max(work.sizes, default=0)
            if longest > self.translator.limits.source:
                talk.answer(text.number, _too_long(longest, self.translator.limits.source))
            elif not work.sentences:
                self._finish(work, manner, talk)
            else:
                units += self._units(work)
        for group in self._groups(units, manner):
            self._search(group, manner, talk)

    def _work(self, text: Text, manner: Manner) -> Work:
        from dhyan.text.sentence_splitter import cut

        own = cut(text.text, self.translator.source_language) if manner.paragraphs else None
        sentences = own.sentences if own else [text.text]
        sizes = [len(self.translator.encode(sentence)) - 1 for sentence in sentences]
        return Work(text, own, sentences, sizes, {})

    def _units(self, work: Work) -> Iterator[Unit]:
        """Spans that must be kept change how a search is batched, so they are searched alone."""
        for place, (sentence, size) in enumerate(zip(work.sentences, work.sizes, strict=True)):
            yield Unit(work, place, size, bool(self.translator.with_placeholders(sentence)[1]))

    def _groups(self, units: Sequence[Unit], manner: Manner) -> Iterator[list[Unit]]:
        """Sentences of like length, as many as fit a batch."""
        width = max(manner.beam or self.translator.options.width, manner.nbest)
        group: list[Unit] = []
        for unit in sorted(units, key=lambda one: (one.alone, one.size)):
            full = (len(group) + 1) * (unit.size + 1) * width > self.translator.tokens_per_batch
            if group and (full or unit.alone or manner.stream):
                yield group
                group = []
            group.append(unit)
        if group:
            yield group

    def _search(self, group: Sequence[Unit], manner: Manner, talk: Talk) -> None:
        group = [unit for unit in group if not talk.left(unit.work.text.number)]
        try:
            found = self._translated(group, manner, talk) if group else []
        except UserError as fault:
            if len(group) > 1:
                for unit in group:
                    self._search([unit], manner, talk)
            else:
                problem = {"problem": str(fault), "code": "unfit"}
                talk.answer(group[0].work.text.number, problem)
            return
        for unit, one in zip(group, found, strict=True):
            unit.work.said[unit.place] = one
            whole = len(unit.work.said) == len(unit.work.sentences)
            if whole and not talk.left(unit.work.text.number):
                self._finish(unit.work, manner, talk)

    def _translated(self, group: Sequence[Unit], manner: Manner, talk: Talk) -> "list[Translation]":
        rules = self._rules(group, manner, talk)
        translator = replace(
            self.translator,
            tokens_per_batch=UNBOUND,  # one search, whose rows are the units in their order
            fast=self.translator.fast and not rules,
        )
        return translator(
            [unit.sentence for unit in group],
            beam=manner.beam or None,
            nbest=manner.nbest,
            rules=rules,
            numbers=[0] * len(group),  # what is drawn for one does not depend on the others
        )

    def _rules(self, group: Sequence[Unit], manner: Manner, talk: Talk) -> "list[Rule]":
        """Those who left are done at the next step; a stream is told what was said."""
        from dhyan.decoding.rules import observe
        from dhyan.serving.cancellation import leaving

        if self.translator.fast and not manner.stream:
            return []
        heard = [unit for unit in group if unit.size]  # an empty sentence is not searched
        rules = [leaving([partial(talk.left, unit.work.text.number) for unit in heard])]
        if manner.stream:
            [unit] = group
            said = [unit.work.said[place].text for place in range(unit.place)]
            before = " ".join(said).split()

            def tell(ids: list[int]) -> None:
                words = self.translator.target.decode(ids).split()
                talk.words(unit.work.text.number, [*before, *words])

            rules.append(observe(tell))
        return rules

    def _finish(self, work: Work, manner: Manner, talk: Talk) -> None:
        from dhyan.decoding.paragraphs import rejoined

        said = [work.said[place] for place in range(len(work.sentences))]
        best = rejoined(work.paragraph, said) if work.paragraph else said[0]
        everyone = (best, *best.others)
        told = [self._told(work.text.text, one, manner) for one in everyone]
        talk.answer(work.text.number, {"translations": told, "tokens": sum(work.sizes)})

    def _told(self, text: str, said: "Translation", manner: Manner) -> dict[str, Any]:
        found: dict[str, Any] = {"text": said.text, "score": said.score, "finished": said.finished}
        if manner.align:
            from dhyan.insight.word_alignment import word_attention

            found["alignment"] = (
                word_attention(self.translator, text, said).alignment if said.ids else []
            )
        return found


def _too_long(tokens: int, longest: int) -> Answer:
    problem = f"a sentence of {tokens} tokens; this model takes {longest}: split it"
    return {"problem": problem, "code": "too_long"}


def load(asked: Message) -> Model:
    """The model that the server names."""
    from dhyan.run.load import load_ensemble, set_threads

    set_threads(asked["threads"])
    translator = load_ensemble([asked["folder"]], device=asked["device"])
    limits = translator.limits
    limits = replace(limits, highest=min(limits.highest or MOST_SAID, MOST_SAID))
    options = replace(translator.options, nbest=1)
    return Model(replace(translator, limits=limits, options=options), Path(asked["folder"]).name)


if __name__ == "__main__":
    converse(int(sys.argv[1]), load)
