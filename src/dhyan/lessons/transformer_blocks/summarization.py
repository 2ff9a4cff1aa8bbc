"""A paragraph summarised from several perspectives: a head for each, or one that must serve all."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from dhyan.attention import attend
from dhyan.errors import UserError
from dhyan.insight.blocks import Words, table
from dhyan.lessons.catalogue import Text
from dhyan.lessons.parsing import parse_int
from dhyan.lessons.result import LessonResult, Page
from dhyan.text.bag_of_words import idf, ids_of, tf_idf, vocabulary, word_counts, words_in
from dhyan.text.sentence_splitter import split_sentences

ENGLISH = (
    "A transformer passes electric power from one winding to another, and no wire joins the two. "
    "Alternating current in the first winding magnetises an iron core back and forth, and the "
    "changing field makes a voltage in the second winding. "
    "The turns of each winding decide the voltage: half the turns give half of it. "
    "A power station raises the voltage, so that long lines carry less current and have less loss. "
    "In our street another transformer lowers it, so that the supply of a home is safe to use. "
    "Thin iron sheets in the core and thick copper in each winding keep the loss small, so the "
    "efficiency of a large one is about 99 per cent. "
    "The charger of a phone holds a tiny one, and makes a few safe volts from the supply of any "
    "home. "
    "Direct current makes no changing field, so with a battery alone a transformer gives nothing."
)
ENGLISH_READERS = {
    "engineer": "core winding loss efficiency",
    "household": "home safe voltage supply",
}
HINDI = (
    "ट्रांसफ़ॉर्मर एक कुंडली से दूसरी कुंडली तक बिजली पहुँचाता है, और दोनों के बीच कोई तार नहीं होता। "
    "पहली कुंडली की प्रत्यावर्ती धारा लोहे के क्रोड को बारी-बारी से दोनों दिशाओं में चुंबकित करती है, और बदलता "
    "क्षेत्र दूसरी कुंडली में वोल्टेज पैदा करता है। "
    "वोल्टेज हर कुंडली के फेरों से तय होता है: फेरे आधे हों तो वह भी आधा। "
    "बिजलीघर वोल्टेज बढ़ा देता है, ताकि लंबी लाइनों में धारा कम रहे और हानि भी कम हो। "
    "हमारी गली में दूसरा ट्रांसफ़ॉर्मर उसे घटा देता है, ताकि घर की आपूर्ति सुरक्षित रहे। "
    "क्रोड में लोहे की पतली पत्तियाँ और हर कुंडली में मोटा ताँबा हानि को कम रखते हैं, इसलिए बड़े ट्रांसफ़ॉर्मर की "
    "दक्षता लगभग 99 प्रतिशत होती है। "
    "फ़ोन के चार्जर में एक बहुत छोटा ट्रांसफ़ॉर्मर होता है, जो घर की आपूर्ति से कुछ ही सुरक्षित वोल्ट बनाता है। "
    "दिष्ट धारा से क्षेत्र नहीं बदलता, इसलिए केवल बैटरी लगाने पर ट्रांसफ़ॉर्मर कुछ नहीं देता।"
)
HINDI_READERS = {"इंजीनियर": "क्रोड कुंडली हानि दक्षता", "परिवार": "घर सुरक्षित वोल्टेज आपूर्ति"}


Readers = Mapping[str, str] | Sequence[str]
Chosen = tuple[int, ...]
DEVANAGARI = re.compile("[\u0900-\u097f]")


@dataclass(frozen=True)
class Summarization(LessonResult):
    """Every head's weights over the sentences, and what each would keep.

    A sentence and a query are TF-IDF vectors, stretched so that their numbers are of size one on
    average, as the scaled dot product expects. The last row of `queries`, `scores`, `weights` and
    `chosen` is the one head's, which asks with the mean of all queries. `shared` counts the
    sentences that two choices have in common, the one head's last; `roomy` is what the one head
    would choose with room for as many sentences as the others choose between them. `given` is the
    weight that each head gives to its own choice, and `given_by_one` what the one head gives to the
    same. `hindi` has all this of the lesson's own paragraph in Hindi.
    """

    sentences: tuple[str, ...]
    vocabulary: tuple[str, ...]
    names: tuple[str, ...]
    asked: tuple[str, ...]
    keys: Float64[Tensor, "N V"]
    queries: Float64[Tensor, "H V"]
    scores: Float64[Tensor, "H N"]
    weights: Float64[Tensor, "H N"]
    chosen: tuple[Chosen, ...]
    shared: Int64[Tensor, "H H"]
    roomy: Chosen
    given: Float64[Tensor, " P"]
    given_by_one: Float64[Tensor, " P"]
    hindi: "Summarization | None" = None

    @property
    def summaries(self) -> tuple[str, ...]:
        """The chosen sentences of every head, in their order."""
        return tuple(" ".join(self.sentences[at] for at in own) for own in self.chosen)

    def page(self, text: Text) -> Page:
        """The paragraph, the weights, the summaries, what they share; and what is not claimed."""
        if self.hindi is not None and text.lang == "hi":
            return self.hindi.page(text)
        one = text("summarization.head")
        room, more = len(self.chosen[-1]), len(self.roomy)
        names = (*self.names, one)
        places = [str(place) for place in range(1, len(self.sentences) + 1)]
        paragraph = zip(places, self.sentences, strict=True)
        told = [
            Words(f"{name} ({', '.join(str(at + 1) for at in own)}): {summary}")
            for name, own, summary in zip(names, self.chosen, self.summaries, strict=True)
        ]
        return Page(
            text("summarization.title", names_count=len(self.names)),
            (
                Words(" ".join(f"[{place}] {sentence}" for place, sentence in paragraph)),
                Words(f"{self._asked(text)} {self._method(text)}"),
                table(
                    text("summarization.weights"),
                    self.weights.T,
                    places,
                    names,
                    kind="weights",
                    digits=3,
                ),
                table(text("summarization.kept_summary"), self._marks(), places, names),
                *told,
                table(
                    text("summarization.own_choice"),
                    self._measures(),
                    self.names,
                    (
                        text("summarization.weight_own_head"),
                        text("summarization.weight_head"),
                        text("summarization.kept_room", room=room),
                        text("summarization.kept_room_2", more=more),
                    ),
                    kind="weights",
                ),
                Words(f"{self._found(text)} {_unclaimed(text)}"),
            ),
        )

    def _asked(self, text: Text) -> str:
        each = "; ".join(
            f"{name}: “{query}”" if name != query else f"“{query}”"
            for name, query in zip(self.names, self.asked, strict=True)
        )
        return text("summarization.queries", each=each)

    def _method(self, text: Text) -> str:
        width, most = len(self.vocabulary), max(map(len, self.chosen))
        return text("summarization.sentences_queries_tf_idf", width=width, most=most)

    def _marks(self) -> list[list[int]]:
        """1 where a head keeps a sentence."""
        return [[int(at in own) for own in self.chosen] for at in range(len(self.sentences))]

    @property
    def kept(self) -> Float64[Tensor, "P 2"]:
        """Of each head's own choice, the share that the one head keeps, and with more room."""
        ones = (set(self.chosen[-1]), set(self.roomy))
        shares = [
            [len(choice & set(own)) / len(own) for choice in ones] for own in self.chosen[:-1]
        ]
        return torch.tensor(shares, dtype=torch.float64)

    def _measures(self) -> Float64[Tensor, "P 4"]:
        return torch.cat([torch.stack([self.given, self.given_by_one], dim=1), self.kept], dim=1)

    def _found(self, text: Text) -> str:
        """What the summaries share, and what the one head's leaves out."""
        common = len(set.intersection(*(set(own) for own in self.chosen[:-1])))
        room, more, count = len(self.chosen[-1]), len(self.roomy), len(self.names)
        told = text(
            "summarization.sentences_summaries_common_room",
            count=count,
            common=common,
            room=room,
            counts=self._counts(0, text),
            single_room=room == 1,
        )
        if bool((self.kept[:, 0] == 1).all()):
            return told
        told += " " + text(
            "summarization.room_many_others_choose", more=more, counts=self._counts(1, text)
        )
        if bool((self.kept[:, 1] == 1).all()):
            return told + text("summarization.finds_them_but_list")
        return told + text("summarization.full_stop")

    def _counts(self, room: int, text: Text) -> str:
        """How many sentences of each head's choice the one head keeps."""
        rows = zip(self.names, self.chosen, self.kept[:, room].tolist(), strict=False)
        return ", ".join(
            text(
                "summarization.of_of", chosen=round(share * len(own)), own_count=len(own), name=name
            )
            for name, own, share in rows
        )


def summarization(
    paragraph: str | Sequence[str] | None = None,
    *,
    perspectives: Readers | None = None,
    keep: int = 3,
) -> Summarization:
    """The sentences of a paragraph that matter to each perspective, which is a few of its words.

    `perspectives` maps a name to its words, or lists the words alone; each has a head. The best
    `keep` sentences that share a word with its query are a head's summary. Without a paragraph
    or perspectives of one's own, the lesson's are told in the language of the story; with one of
    them in Hindi, the other is the lesson's Hindi one.

    >>> summarization().chosen
    ((1, 3, 5), (3, 4, 6), (4, 5, 6))
    """
    keep = parse_int("keep", keep)
    if paragraph is None and perspectives is None:
        hindi = _computed(_split(HINDI), HINDI_READERS, keep)
        return _computed(_split(ENGLISH), ENGLISH_READERS, keep, hindi)
    text, readers = ENGLISH, ENGLISH_READERS
    if DEVANAGARI.search(f"{paragraph} {perspectives}"):
        text, readers = HINDI, HINDI_READERS
    sentences = _split(text if paragraph is None else paragraph)
    return _computed(sentences, _readers(readers if perspectives is None else perspectives), keep)


def _computed(
    sentences: Sequence[str],
    readers: Mapping[str, str],
    keep: int,
    hindi: Summarization | None = None,
) -> Summarization:
    """Vectors, scores, weights and choices."""
    if keep >= len(sentences):
        raise UserError(
            f"keep: {keep} of {len(sentences)} sentences is no summary; keep at most "
            f"{len(sentences) - 1}"
        )
    texts = [words_in(sentence) for sentence in sentences]
    known = vocabulary(texts)
    counts = word_counts(texts, known)
    size = len(known) ** 0.5
    keys = tf_idf(counts) * size
    own = [_query(name, text, known, counts) * size for name, text in readers.items()]
    queries = torch.stack([*own, torch.stack(own).mean(0)])
    every = keys.expand(len(queries), -1, -1)
    weights = attend(queries.unsqueeze(1), every, every).weights.squeeze(1)
    scores = queries @ keys.T / size
    chosen = tuple(_best(row, keep) for row in scores.tolist())
    shared = [[len(set(chosen_one) & set(other)) for other in chosen] for chosen_one in chosen]
    heads = range(len(own))
    return Summarization(
        sentences=tuple(sentences),
        vocabulary=known,
        names=tuple(readers),
        asked=tuple(readers.values()),
        keys=keys,
        queries=queries,
        scores=scores,
        weights=weights,
        chosen=chosen,
        shared=torch.tensor(shared),
        roomy=_best(scores[-1].tolist(), len(set().union(*chosen[:-1]))),
        given=torch.stack([weights[at, list(chosen[at])].sum() for at in heads]),
        given_by_one=torch.stack([weights[-1, list(chosen[at])].sum() for at in heads]),
        hindi=hindi,
    )


def _split(paragraph: object) -> list[str]:
    """Its sentences, of which there must be two to choose from."""
    if isinstance(paragraph, str):
        found = split_sentences(paragraph)
    elif isinstance(paragraph, Sequence) and all(isinstance(one, str) for one in paragraph):
        found = [one.strip() for one in paragraph if one.strip()]
    else:
        raise UserError("paragraph: give a text, or its sentences in a list")
    if len(found) < 2:
        raise UserError(f"paragraph: has {len(found)} sentences; give at least 2 to choose from")
    return found


def _readers(given: object) -> dict[str, str]:
    """Each perspective's words by its name, or by themselves."""
    if isinstance(given, Sequence) and not isinstance(given, str):
        given = {str(one): one for one in given}
    if not isinstance(given, Mapping) or not all(isinstance(one, str) for one in given.values()):
        raise UserError(
            'perspectives: give words for each, such as {"home": "safe supply", "work": "loss"}'
        )
    if len(given) < 2:
        raise UserError(f"perspectives: {len(given)} given; give at least 2 different ones")
    return {str(name): one for name, one in given.items()}


def _query(
    name: str, text: str, known: Sequence[str], counts: Float64[Tensor, "N V"]
) -> Float64[Tensor, " V"]:
    """The words of a perspective as a TF-IDF vector of length one."""
    words = words_in(text)
    if not words:
        raise UserError(f"perspectives: {name!r} has no words; give some of the paragraph's")
    try:
        ids_of(words, known)
    except UserError as unknown:
        raise UserError(f"perspectives: {name!r}: {unknown}") from None
    weighed = word_counts([words], known)[0] * idf(counts)
    return weighed / weighed.norm()


def _best(scores: Sequence[float], keep: int) -> Chosen:
    """The best sentences in their order; one that shares no word with the query is none."""
    ranked = sorted((-score, at) for at, score in enumerate(scores) if score > 0)
    return tuple(sorted(at for _, at in ranked[:keep]))


def _unclaimed(text: Text) -> str:
    return text("summarization.nothing_trained_queries_written")
