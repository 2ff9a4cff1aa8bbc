"""Terms that must or must not be said, as whole words, however a vocabulary cuts them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from unicodedata import category

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dhyan.decoding.manner import Manner
from dhyan.decoding.rules import Rule
from dhyan.faults import Fault
from dhyan.special import NAMES, UNK
from dhyan.text.normalize import normalize
from dhyan.text.pieces import BYTES, MARK
from dhyan.text.tokenizer import Tokenizer

Phrase = tuple[int, ...]


@dataclass(frozen=True)
class Glossary:
    """Source terms, as lower-cased words, and what each must become in a translation."""

    entries: Mapping[tuple[str, ...], str]
    cut: Callable[[str], tuple[str, ...]]

    @classmethod
    def of(cls, terms: Mapping[str, str], tokenizer: Tokenizer) -> "Glossary":
        """Ready to be asked about sentences that this tokenizer cuts."""

        def cut(text: str) -> tuple[str, ...]:
            words = tokenizer.words(tokenizer.encode(text), text)
            return tuple(word.text.casefold() for word in words)

        return cls({cut(source): target for source, target in terms.items() if cut(source)}, cut)

    def wanted(self, sentence: str) -> list[str]:
        """The target terms a sentence calls for: of terms that overlap, the first and longest."""
        words, found, place = self.cut(sentence), dict[str, None](), 0
        longest = max(map(len, self.entries), default=0)
        while place < len(words):
            for length in range(min(longest, len(words) - place), 0, -1):
                if target := self.entries.get(words[place : place + length]):
                    found[target] = None
                    place += length - 1
                    break
            place += 1
        return list(found)


def check_terms(glossary: Mapping[str, str], forbidden: Sequence[str], manner: Manner) -> None:
    """Refuse terms that this manner of searching cannot see to, or that contradict each other."""
    if glossary and manner.sample:
        raise Fault("required terms are searched for, not drawn: leave out the glossary or sample")
    if glossary and not manner.requires:
        raise Fault("required terms need a beam of 2 or more, for each group of it")
    for term in map(normalize, forbidden):
        if not term:
            raise Fault("an empty term is forbidden: leave it out")
        for wanted in map(normalize, glossary.values()):
            if f" {term} " in f" {wanted} ":
                raise Fault(f"{term!r} is forbidden, but the glossary asks for {wanted!r}")


def phrase(tokenizer: Tokenizer, term: str) -> Phrase:
    """The ids of a term, as it begins a word anywhere in a sentence."""
    ids = tuple(tokenizer.encode(term))
    if not ids:
        raise Fault("an empty term: there is nothing to say")
    if UNK in ids:
        raise Fault(f"the model cannot write {term!r}: its vocabulary has no pieces for it")
    return ids


def never_words(tokenizer: Tokenizer, terms: Iterable[str]) -> Rule:
    """Terms that are not to be said, in whatever pieces.

    The piece that would make a term whole is not said, so a longer word that begins with the term
    and would be written by way of it is not said either.
    """
    spelt = _spelt(tokenizer)
    always, ending = _completions(spelt, [normalize(term).replace(" ", MARK) for term in terms])
    longest = max(map(len, ending), default=0)

    def banned(ids: list[int]) -> list[int]:
        text = ("\n" + "".join(spelt[id] for id in ids))[-longest - 1 :]
        heads = range(len(text), 0, -1)
        return [
            id for at in heads if not is_letter(text[at - 1]) for id in ending.get(text[at:], ())
        ]

    def rule(
        said: Int[Tensor, "R T"], scores: Float[Tensor, "R V"], sentence: Int[Tensor, " R"]
    ) -> Float[Tensor, "R V"]:
        scores = scores.index_fill(1, torch.tensor(always, device=scores.device).long(), -torch.inf)
        for row, ids in enumerate(said[:, -longest - 1 :].tolist()):
            scores[row, banned(ids)] = -torch.inf
        return scores

    return rule


def whole_words(tokenizer: Tokenizer, required: Sequence[Sequence[Phrase]]) -> Rule:
    """After a required phrase the word is over: no piece may go on with it."""
    spelt = _spelt(tokenizer)
    going_on = torch.tensor([id for id, text in enumerate(spelt) if is_letter(text[0])]).long()
    open_ended = [[one for one in phrases if is_letter(spelt[one[-1]][-1])] for phrases in required]

    def rule(
        said: Int[Tensor, "R T"], scores: Float[Tensor, "R V"], sentence: Int[Tensor, " R"]
    ) -> Float[Tensor, "R V"]:
        rows = [
            row
            for row, (ids, which) in enumerate(zip(said.tolist(), sentence.tolist(), strict=True))
            if any(tuple(ids[-len(one) :]) == one for one in open_ended[which])
        ]
        if not rows:
            return scores
        scores = scores.clone()
        scores[rows] = scores[rows].index_fill(1, going_on.to(scores.device), -torch.inf)
        return scores

    return rule


def after(prefixes: Sequence[Phrase], rule: Rule) -> Rule:
    """A rule that leaves the words of a sentence's prefix alone."""
    lengths = torch.tensor([len(prefix) for prefix in prefixes])

    def later(
        said: Int[Tensor, "R T"], scores: Float[Tensor, "R V"], sentence: Int[Tensor, " R"]
    ) -> Float[Tensor, "R V"]:
        forced = lengths.to(scores.device)[sentence] >= said.shape[1]
        return scores.where(forced.unsqueeze(1), rule(said, scores, sentence))

    return later


def is_letter(sign: str) -> bool:
    """Whether a sign is part of a word: letters, marks, digits, and the joiners."""
    return category(sign)[0] in "LMN" or sign in "_\u200c\u200d"


def _spelt(tokenizer: Tokenizer) -> list[str]:
    """What each id writes, a mark for a space; a byte of a longer letter counts as a letter."""
    given = {name: chr(code) if code < 128 else "x" for code, name in enumerate(BYTES)}
    given |= dict.fromkeys(NAMES, "\n")
    pieces = sorted(tokenizer.piece_ids().items(), key=lambda item: item[1])
    return [given.get(piece, piece) for piece, _ in pieces]


def _completions(
    spelt: Sequence[str], terms: Sequence[str]
) -> tuple[list[int], dict[str, list[int]]]:
    """The ids that are a whole term, and for each beginning of one the ids that would end it."""
    ids_of: dict[str, list[int]] = {}
    for id, text in enumerate(spelt):
        ids_of.setdefault(text, []).append(id)
    always = [id for term in terms for id in ids_of.get(MARK + term, ())]
    ending: dict[str, list[int]] = {}
    for term in terms:
        for at in range(len(term)):
            if term[at:] in ids_of:
                ending.setdefault(term[:at], []).extend(ids_of[term[at:]])
    return always, ending
