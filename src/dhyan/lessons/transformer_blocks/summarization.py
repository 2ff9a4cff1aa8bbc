"""Extractive summarization by attention: one head per query topic, compared with a single head."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from dhyan.attention import attend
from dhyan.errors import UserError
from dhyan.insight.lesson_blocks import Block, Paragraph, heatmap, table
from dhyan.lessons.catalogue import Text
from dhyan.lessons.lesson import LessonResult, lesson, parse_int
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
Selection = tuple[int, ...]
DEVANAGARI = re.compile("[\u0900-\u097f]")


@dataclass(frozen=True)
class Summarization(LessonResult):
    """Every head's weights over the sentences, and its summary.

    A sentence and a query are TF-IDF vectors, scaled so that their components have mean square 1,
    as the scaled dot product expects. The last of `queries`, `scores`, `weights` and `selections`
    is the single head's, whose query is the mean of all queries. `shared` counts the sentences that
    two selections have in common, the single head's last; `extended_selection` is the single head's
    selection of as many sentences as the others select together. `own_weights` are the weights of each
    head on its own selection, `single_head_weights` those of the single head on the same. `hindi` is
    the result of the lesson's own paragraph in Hindi.
    """

    sentences: tuple[str, ...]
    vocabulary: tuple[str, ...]
    names: tuple[str, ...]
    query_texts: tuple[str, ...]
    keys: Float64[Tensor, "N V"]
    queries: Float64[Tensor, "H V"]
    scores: Float64[Tensor, "H N"]
    weights: Float64[Tensor, "H N"]
    selections: tuple[Selection, ...]
    shared: Int64[Tensor, "H H"]
    extended_selection: Selection
    own_weights: Float64[Tensor, " P"]
    single_head_weights: Float64[Tensor, " P"]
    hindi: "Summarization | None" = None

    @property
    def summaries(self) -> tuple[str, ...]:
        """The chosen sentences of every head, in their order."""
        return tuple(
            " ".join(self.sentences[at] for at in selection) for selection in self.selections
        )

    def title(self, text: Text) -> str:
        """The title, with the number of heads."""
        return text("title", names_count=len(self.names))

    def blocks(self, text: Text) -> Iterator[Block]:
        """The paragraph, the weights, the summaries, their overlap, and what is not claimed."""
        if self.hindi is not None and text.lang == "hi":
            yield from self.hindi.blocks(text)
            return
        single_head = text("shared_head")
        room, more = len(self.selections[-1]), len(self.extended_selection)
        names = (*self.names, single_head)
        numbers = [str(number) for number in range(1, len(self.sentences) + 1)]
        paragraph = zip(numbers, self.sentences, strict=True)
        yield Paragraph(" ".join(f"[{number}] {sentence}" for number, sentence in paragraph))
        yield Paragraph(f"{self._describe_queries(text)} {self._method(text)}")
        yield heatmap(text("weights"), self.weights.T, numbers, names, digits=3)
        yield table(text("selected_sentences"), self._marks(), numbers, names)
        for name, selection, summary in zip(names, self.selections, self.summaries, strict=True):
            yield Paragraph(f"{name} ({', '.join(str(at + 1) for at in selection)}): {summary}")
        yield heatmap(
            text("share_of_own_selection"),
            self._measures(),
            self.names,
            (
                text("column_weight_own_head"),
                text("column_weight_shared_head"),
                text("column_selected", room=room),
                text("column_selected_larger", more=more),
            ),
        )
        yield Paragraph(f"{self._describe_overlap(text)} {_unclaimed(text)}")

    def _describe_queries(self, text: Text) -> str:
        each = "; ".join(
            f"{name}: “{query}”" if name != query else f"“{query}”"
            for name, query in zip(self.names, self.query_texts, strict=True)
        )
        return text("queries", each=each)

    def _method(self, text: Text) -> str:
        width, most = len(self.vocabulary), max(map(len, self.selections))
        return text("setup", width=width, most=most)

    def _marks(self) -> list[list[int]]:
        """1 where a head keeps a sentence."""
        return [
            [int(at in selection) for selection in self.selections]
            for at in range(len(self.sentences))
        ]

    @property
    def kept_shares(self) -> Float64[Tensor, "P 2"]:
        """Share of each head's choice that the single head keeps, and with more room."""
        single_head = (set(self.selections[-1]), set(self.extended_selection))
        shares = [
            [len(summary & set(selection)) / len(selection) for summary in single_head]
            for selection in self.selections[:-1]
        ]
        return torch.tensor(shares, dtype=torch.float64)

    def _measures(self) -> Float64[Tensor, "P 4"]:
        return torch.cat(
            [torch.stack([self.own_weights, self.single_head_weights], dim=1), self.kept_shares],
            dim=1,
        )

    def _describe_overlap(self, text: Text) -> str:
        """The overlap of the summaries, and what the single head leaves out."""
        common = len(set.intersection(*(set(selection) for selection in self.selections[:-1])))
        room, more, count = len(self.selections[-1]), len(self.extended_selection), len(self.names)
        summary = text(
            "overlap",
            count=count,
            common=common,
            room=room,
            counts=self._counts(0, text),
            single_room=room == 1,
        )
        if bool((self.kept_shares[:, 0] == 1).all()):
            return summary
        summary += " " + text("larger_summary", more=more, counts=self._counts(1, text))
        if bool((self.kept_shares[:, 1] == 1).all()):
            return summary + text("all_selected")
        return summary + text("full_stop")

    def _counts(self, room: int, text: Text) -> str:
        """How many sentences of each head's choice the single head keeps."""
        rows = zip(self.names, self.selections, self.kept_shares[:, room].tolist(), strict=False)
        return ", ".join(
            text(
                "selected_of_own",
                chosen=round(share * len(selection)),
                own_count=len(selection),
                name=name,
            )
            for name, selection, share in rows
        )


@lesson
def summarization(
    paragraph: str | Sequence[str] | None = None,
    *,
    perspectives: Readers | None = None,
    keep: int = 3,
) -> Summarization:
    """Extractive summaries of a paragraph by perspective, a few of its words.

    `perspectives` maps a name to its words, or lists the words alone; each has a head. The best
    `keep` sentences that share a word with its query are a head's summary. Without a paragraph
    and perspectives, the lesson's own are used in the language of the page; if one of them is in
    Hindi, the other is the lesson's Hindi one.

    >>> summarization().selections
    ((1, 3, 5), (3, 4, 6), (4, 5, 6))
    """
    keep = parse_int("keep", keep)
    if paragraph is None and perspectives is None:
        hindi = _computed(_split(HINDI), HINDI_READERS, keep)
        return _computed(_split(ENGLISH), ENGLISH_READERS, keep, hindi)
    default_text, readers = ENGLISH, ENGLISH_READERS
    if DEVANAGARI.search(f"{paragraph} {perspectives}"):
        default_text, readers = HINDI, HINDI_READERS
    sentences = _split(default_text if paragraph is None else paragraph)
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
    terms = vocabulary(texts)
    counts = word_counts(texts, terms)
    size = len(terms) ** 0.5
    keys = tf_idf(counts) * size
    head_queries = [_query(name, text, terms, counts) * size for name, text in readers.items()]
    queries = torch.stack([*head_queries, torch.stack(head_queries).mean(0)])
    tiled_keys = keys.expand(len(queries), -1, -1)
    weights = attend(queries.unsqueeze(1), tiled_keys, tiled_keys).weights.squeeze(1)
    scores = queries @ keys.T / size
    selections = tuple(_best(row, keep) for row in scores.tolist())
    shared = [[len(set(first) & set(second)) for second in selections] for first in selections]
    heads = range(len(head_queries))
    return Summarization(
        sentences=tuple(sentences),
        vocabulary=terms,
        names=tuple(readers),
        query_texts=tuple(readers.values()),
        keys=keys,
        queries=queries,
        scores=scores,
        weights=weights,
        selections=selections,
        shared=torch.tensor(shared),
        extended_selection=_best(scores[-1].tolist(), len(set().union(*selections[:-1]))),
        own_weights=torch.stack([weights[at, list(selections[at])].sum() for at in heads]),
        single_head_weights=torch.stack([weights[-1, list(selections[at])].sum() for at in heads]),
        hindi=hindi,
    )


def _split(paragraph: object) -> list[str]:
    """Its sentences, at least two."""
    if isinstance(paragraph, str):
        sentences = split_sentences(paragraph)
    elif isinstance(paragraph, Sequence) and all(
        isinstance(sentence, str) for sentence in paragraph
    ):
        sentences = [sentence.strip() for sentence in paragraph if sentence.strip()]
    else:
        raise UserError("paragraph: give a text, or its sentences in a list")
    if len(sentences) < 2:
        raise UserError(
            f"paragraph: has {len(sentences)} sentences; give at least 2 to choose from"
        )
    return sentences


def _readers(perspectives: object) -> dict[str, str]:
    """Each perspective's words by its name; without names, by the words."""
    if isinstance(perspectives, Sequence) and not isinstance(perspectives, str):
        perspectives = {str(words): words for words in perspectives}
    if not isinstance(perspectives, Mapping) or not all(
        isinstance(words, str) for words in perspectives.values()
    ):
        raise UserError(
            'perspectives: give words for each, such as {"home": "safe supply", "work": "loss"}'
        )
    if len(perspectives) < 2:
        raise UserError(f"perspectives: {len(perspectives)} given; give at least 2 different ones")
    return {str(name): words for name, words in perspectives.items()}


def _query(
    name: str, text: str, terms: Sequence[str], counts: Float64[Tensor, "N V"]
) -> Float64[Tensor, " V"]:
    """The words of a perspective as a TF-IDF vector of length one."""
    words = words_in(text)
    if not words:
        raise UserError(f"perspectives: {name!r} has no words; give some of the paragraph's")
    try:
        ids_of(words, terms)
    except UserError as unknown:
        raise UserError(f"perspectives: {name!r}: {unknown}") from None
    weighed = word_counts([words], terms)[0] * idf(counts)
    return weighed / weighed.norm()


def _best(scores: Sequence[float], keep: int) -> Selection:
    """Indices of the best sentences in text order; those without a word of the query are out."""
    ranked = sorted((-score, at) for at, score in enumerate(scores) if score > 0)
    return tuple(sorted(at for _, at in ranked[:keep]))


def _unclaimed(text: Text) -> str:
    return text("caveat")
